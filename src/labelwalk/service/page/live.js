/** What happens now, as the service tells it; connected again whenever that breaks. */

import { asked, pathOf } from "./api.js";
import { byId, say } from "./dom.js";
import { now, tell } from "./now.js";

const SILENCE = 20000; // milliseconds without a word, after which the connection counts as dead
const LONGEST = 8000; // milliseconds between two tries
const KINDS = ["map", "verdicts", "standing"];

let source = null;
let watchdog = 0;
let retry = 0;
let wait = 500;

/** Listen to the learner that is shown. */
export function listen() {
  stopListening();
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(lost, SILENCE);
  };
  source = new EventSource(`${pathOf(now.learner)}/live`);
  source.onopen = () => {
    wait = 500;
    heard();
    show("live", "live");
    tell("connected");
  };
  source.onerror = lost;
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => {
      heard();
      tell(`live-${kind}`, JSON.parse(event.data));
    });
  }
}

/** A page that nobody looks at hears nothing, and catches up when somebody does. */
document.addEventListener("visibilitychange", () => {
  if (!now.learner) return;
  if (!document.hidden) listen();
  else {
    stopListening();
    show("paused", "paused");
  }
});

/** Hear no more. */
export function stopListening() {
  clearTimeout(watchdog);
  clearTimeout(retry);
  source?.close();
  source = null;
}

function lost() {
  stopListening();
  show("lost", "reconnecting…");
  retry = setTimeout(again, wait);
  wait = Math.min(2 * wait, LONGEST);
}

/** A stream that was refused says nothing of why: ask whether we and the learner are known. */
async function again() {
  try {
    await asked("GET", pathOf(now.learner));
  } catch (error) {
    if (error.status === 404) tell("gone");
    else if (error.status !== 401) lost();
    return;
  }
  listen();
}

function show(state, words) {
  const place = byId("live");
  place.hidden = false;
  place.dataset.state = state;
  say(byId("live-words"), words);
}
