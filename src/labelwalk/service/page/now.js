/** What the page knows at the moment, and who wants to hear when it changes. */

export const now = {
  /** "write", "read" or null where there is no session */
  may: null,
  /** name of the learner that is shown */
  learner: null,
  /** what GET /api/learners/NAME said */
  facts: null,
  /** what GET …/map said */
  map: null,
  /** newest first */
  verdicts: [],
  /** labels that people gave and that stand, newest first */
  taught: [],
  /** what number keys teach: {example, row, words} */
  target: null,
};

const news = new EventTarget();

/** Call a function whenever something of a kind changes. */
export function on(kind, listener) {
  news.addEventListener(kind, (event) => listener(event.detail));
}

/** Say that something of a kind has changed. */
export function tell(kind, detail) {
  news.dispatchEvent(new CustomEvent(kind, { detail }));
}

export const mayWrite = () => now.may === "write";

/** The classes there are, in the order of their number keys. */
export const classes = () => now.map?.classes ?? now.facts?.classes ?? [];
