/** Short messages at the edge of the page, announced by screen readers too. */

import { OutdatedError } from "./api.js";
import { byId, make } from "./dom.js";

const DURATION_MS = 8000; // errors stay twice as long
const MAX_TOASTS = 3;

/**
 * Show a message.
 * @param {string} text
 * @param {{label: string, act: function}} [offer]  a button in the message
 */
export function toast(text, offer) {
  const button = offer ? makeButton(offer) : null;
  show(byId("toasts"), make("div.toast", {}, make("p", {}, text), button), DURATION_MS);
}

/** Show an error. */
export function showError(error) {
  if (error instanceof OutdatedError) return;
  const text = error.message ?? String(error);
  show(byId("errors"), make("div.toast.wrong", {}, make("p", {}, text)), 2 * DURATION_MS);
}

/** Run a function and return its result; show an error if it fails. */
export async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    showError(error);
    return undefined;
  }
}

function makeButton({ label, act }) {
  return make("button", { type: "button", onclick: (event) => {
    event.target.closest(".toast").remove();
    act();
  } }, label);
}

function show(place, message, durationMs) {
  const remove = () => message.remove();
  message.append(
    make("button.icon", { type: "button", "aria-label": "Dismiss", onclick: remove }, "×"),
  );
  place.append(message);
  while (place.children.length > MAX_TOASTS) place.firstElementChild.remove();
  let timer = setTimeout(remove, durationMs);
  message.addEventListener("pointerenter", () => clearTimeout(timer));
  message.addEventListener("focusin", () => clearTimeout(timer));
  message.addEventListener("pointerleave", () => { timer = setTimeout(remove, durationMs); });
}
