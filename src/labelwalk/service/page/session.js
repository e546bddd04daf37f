/** Who is here: a token from the link or a box becomes a cookie that no script can read. */

import { asked, Refusal } from "./api.js";
import { byId, fill } from "./dom.js";
import { now, tell } from "./now.js";

/** Return once there is a session; show the box for a token where there is none. */
export async function enter() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname);
    await show(given).catch((error) => fill(byId("gate-error"), wordsOf(error)));
  }
  await whoAmI().catch(askForToken);
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) location.reload(); // the link, opened in an open page
  });
}

async function show(token) {
  await asked("POST", "/api/session", undefined, { Authorization: `Bearer ${token.trim()}` });
}

async function whoAmI() {
  now.may = (await asked("GET", "/api/session")).may;
  byId("reading").hidden = now.may === "write";
  document.body.dataset.may = now.may;
  tell("session");
}

function wordsOf(error) {
  const unknown = error instanceof Refusal && error.status === 401;
  return unknown ? "This token is not known here." : error.message;
}

/** Show the box, and return when a token was good. */
export function askForToken() {
  const [gate, form, field, wrong] = ["gate", "gate-form", "token", "gate-error"].map(byId);
  for (const part of document.querySelectorAll("[data-inside]")) part.hidden = true;
  gate.hidden = false;
  field.focus();
  return new Promise((entered) => {
    form.onsubmit = async (event) => {
      event.preventDefault();
      fill(wrong);
      try {
        await show(field.value);
        await whoAmI();
      } catch (error) {
        fill(wrong, wordsOf(error));
        return;
      }
      form.reset();
      gate.hidden = true;
      entered();
    };
  });
}

/** Forget the token in this browser. */
export async function leave() {
  await asked("DELETE", "/api/session");
  location.reload();
}
