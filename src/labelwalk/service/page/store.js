/** The state of the page, and events that announce its changes. */

export const state = {
  /** "write", "read", or null without a session */
  may: null,
  /** name of the learner that is shown */
  learner: null,
  /** response of GET /api/learners/NAME */
  facts: null,
  /** response of GET …/map */
  map: null,
  /** newest first */
  verdicts: [],
  /** labels that people taught and that are in effect, newest first */
  taught: [],
  /** what number keys teach: {example, row, words} */
  target: null,
};

const events = new EventTarget();

/** Call a function at every event of a kind. */
export function on(kind, listener) {
  events.addEventListener(kind, (event) => listener(event.detail));
}

/** Announce an event. */
export function emit(kind, detail) {
  events.dispatchEvent(new CustomEvent(kind, { detail }));
}

export const mayWrite = () => state.may === "write";

/** The classes, in the order of their number keys. */
export const classes = () => state.map?.classes ?? state.facts?.classes ?? [];
