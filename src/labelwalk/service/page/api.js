/** The service, asked over HTTP: patient where it is busy, and nothing is done twice. */

import { now, on, tell } from "./now.js";

const TRIES = 4;
export const SILENT = "The service does not answer. Is it running?";
const WAIT = 400; // milliseconds before the second try; each further one waits twice as long

/** What the service would not do, with its reason in words. */
export class Refusal extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** What nobody waits for any more, since another learner is shown. */
export class Outdated extends Error {}

let shown = new AbortController();
on("learner", () => {
  shown.abort();
  shown = new AbortController();
});

export const pathOf = (name) => `/api/learners/${encodeURIComponent(name)}`;

/** Get something of the learner that is shown, as in get("/map"). */
export const get = (path) => asked("GET", pathOf(now.learner) + path, undefined, {}, shown.signal);

/** Do something to the learner that is shown. */
export const post = (path, body) => asked("POST", pathOf(now.learner) + path, body);

/**
 * Ask, and return what JSON came back; null where there is nothing to say.
 * A change carries a key, so that trying again after a lost answer does it once.
 */
export async function asked(method, path, body, headers = {}, signal = undefined) {
  const sent = { method, headers: { ...headers }, signal };
  if (method !== "GET") sent.headers["Idempotency-Key"] = someKey();
  if (body instanceof Blob) sent.body = body;
  else if (body !== undefined) {
    sent.body = JSON.stringify(body);
    sent.headers["Content-Type"] = "application/json";
  }
  for (let attempt = 1; ; attempt++) {
    const answer = await tried(path, sent);
    if (signal?.aborted) throw new Outdated();
    const busy = answer === null || answer.status === 429 || answer.status === 503;
    if (!busy) return understood(answer);
    if (attempt === TRIES) {
      if (answer) return understood(answer);
      throw new Refusal(0, SILENT);
    }
    await new Promise((wake) => setTimeout(wake, WAIT * 2 ** (attempt - 1)));
  }
}

async function tried(path, sent) {
  try {
    const answer = await fetch(path, sent);
    return { status: answer.status, ok: answer.ok, text: await answer.text() };
  } catch {
    return null;
  }
}

function understood({ status, ok, text }) {
  if (!ok) throw refusalOf(status, text);
  return text ? JSON.parse(text) : null;
}

/** What an answer that is none says; told on where we are not known. */
export function refusalOf(status, text) {
  if (status === 401) tell("unknown");
  return new Refusal(status, reasonIn(text) ?? `The service answered ${status}.`);
}

function reasonIn(text) {
  try {
    const said = JSON.parse(text);
    return said.error ?? (said.detail ? JSON.stringify(said.detail) : null);
  } catch {
    return null;
  }
}

// randomUUID is not there on pages without TLS
function someKey() {
  return Array.from(
    crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36),
  ).join("-");
}
