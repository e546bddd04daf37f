/** Requests to the service, and the session: a token becomes a cookie that no script can read. */

import { byId, fill } from "./dom.js";
import { emit, on, state } from "./store.js";

export const NO_ANSWER = "The service does not respond. Check that it is running.";
const MAX_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 400; // before the second attempt; doubles with each further one

/** The service rejected a request; the message is its reason. */
export class ServiceError extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** The answer is not needed any more: another learner is shown. */
export class OutdatedError extends Error {}

let abort = new AbortController();
on("learner", () => {
  abort.abort();
  abort = new AbortController();
});

export const learnerPath = (name) => `/api/learners/${encodeURIComponent(name)}`;

/** Get something of the learner that is shown, as in get("/map"). */
export const get = (path) => (
  request("GET", learnerPath(state.learner) + path, undefined, {}, abort.signal)
);

/** Send a command to the learner that is shown. */
export const post = (path, body) => request("POST", learnerPath(state.learner) + path, body);

/**
 * Send a request and return the JSON of the response, or null without content.
 * A change carries an idempotency key, so that a repetition is not applied twice.
 */
export async function request(method, path, body, headers = {}, signal = undefined) {
  const options = { method, headers: { ...headers }, signal };
  if (method !== "GET") options.headers["Idempotency-Key"] = makeKey();
  if (body instanceof Blob) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  for (let attempt = 1; ; attempt++) {
    const response = await tryFetch(path, options);
    if (signal?.aborted) throw new OutdatedError();
    const isBusy = response === null || response.status === 429 || response.status === 503;
    if (!isBusy) return readResponse(response);
    if (attempt === MAX_ATTEMPTS) {
      if (response) return readResponse(response);
      throw new ServiceError(0, NO_ANSWER);
    }
    await new Promise((wake) => setTimeout(wake, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
  }
}

async function tryFetch(path, options) {
  try {
    const response = await fetch(path, options);
    return { status: response.status, ok: response.ok, text: await response.text() };
  } catch {
    return null;
  }
}

function readResponse({ status, ok, text }) {
  if (!ok) throw toServiceError(status, text);
  return text ? JSON.parse(text) : null;
}

/** The error of a response; emits "unauthorized" if the token is not valid. */
export function toServiceError(status, text) {
  if (status === 401) emit("unauthorized");
  return new ServiceError(status, readReason(text) ?? `The service returned status ${status}.`);
}

function readReason(text) {
  try {
    const body = JSON.parse(text);
    return body.error ?? (body.detail ? JSON.stringify(body.detail) : null);
  } catch {
    return null;
  }
}

// crypto.randomUUID does not exist on pages without TLS
function makeKey() {
  const parts = crypto.getRandomValues(new Uint32Array(4));
  return Array.from(parts, (part) => part.toString(36)).join("-");
}

/** Return once there is a session: take the token of the link, or ask for one. */
export async function openSession() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname);
    await sendToken(token).catch((error) => fill(byId("gate-error"), explain(error)));
  }
  await loadSession().catch(askForToken);
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#token=")) location.reload(); // the link was opened in this page
  });
}

async function sendToken(token) {
  const headers = { Authorization: `Bearer ${token.trim()}` };
  await request("POST", "/api/session", undefined, headers);
}

async function loadSession() {
  state.may = (await request("GET", "/api/session")).may;
  byId("reading").hidden = state.may === "write";
  document.body.dataset.may = state.may;
  emit("session");
}

function explain(error) {
  const isInvalid = error instanceof ServiceError && error.status === 401;
  return isInvalid ? "This token is invalid." : error.message;
}

/** Show the form for a token, and return when a valid one was entered. */
export function askForToken() {
  const [gate, form, field, message] = ["gate", "gate-form", "token", "gate-error"].map(byId);
  for (const part of document.querySelectorAll("[data-inside]")) part.hidden = true;
  gate.hidden = false;
  field.focus();
  return new Promise((entered) => {
    form.onsubmit = async (event) => {
      event.preventDefault();
      fill(message);
      try {
        await sendToken(field.value);
        await loadSession();
      } catch (error) {
        fill(message, explain(error));
        return;
      }
      form.reset();
      gate.hidden = true;
      entered();
    };
  });
}

/** Delete the cookie. */
export async function closeSession() {
  await request("DELETE", "/api/session");
  location.reload();
}
