/** Short news at the edge of the page, read aloud too. */

import { Outdated } from "./api.js";
import { byId, make } from "./dom.js";

const STAYS = 8000; // milliseconds; errors stay twice as long
const MOST = 3;

/**
 * Say something.
 * @param {string} text
 * @param {{label: string, act: function}} [offer]  a button beside it
 */
export function toast(text, offer) {
  show(
    byId("toasts"), make("div.toast", {}, make("p", {}, text), offer ? button(offer) : null), STAYS,
  );
}

/** Say what went wrong. */
export function complain(error) {
  if (error instanceof Outdated) return;
  show(
    byId("errors"), make("div.toast.wrong", {}, make("p", {}, error.message ?? String(error))),
    2 * STAYS,
  );
}

/** Run something, and say what went wrong. */
export async function trying(act) {
  try {
    return await act();
  } catch (error) {
    complain(error);
    return undefined;
  }
}

function button({ label, act }) {
  return make("button", { type: "button", onclick: (event) => {
    event.target.closest(".toast").remove();
    act();
  } }, label);
}

function show(place, one, stays) {
  one.append(
    make(
      "button.icon", { type: "button", "aria-label": "Dismiss", onclick: () => one.remove() }, "×",
    ),
  );
  place.append(one);
  while (place.children.length > MOST) place.firstElementChild.remove();
  let left = setTimeout(() => one.remove(), stays);
  one.addEventListener("pointerenter", () => clearTimeout(left));
  one.addEventListener("focusin", () => clearTimeout(left));
  one.addEventListener("pointerleave", () => { left = setTimeout(() => one.remove(), stays); });
}
