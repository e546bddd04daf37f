/** Requests about faces, one function per route, and the description of a face as text. */

import { NO_ANSWER, ServiceError, request, toServiceError } from "./api.js";
import { byId } from "./dom.js";
import { formatPercent } from "./format.js";
import { on } from "./store.js";

const FACES = "/api/faces";

export const facts = () => request("GET", FACES);

export const pictureOf = (example) => `${FACES}/pictures/${example}`;

export const name = (example, given) => request("POST", `${FACES}/name`, { example, name: given });

export const takeBack = (examples) => request("POST", `${FACES}/undo`, { examples });

/** @param {{name: string}|{stranger: number}} whom */
export const forget = (whom) => request("POST", `${FACES}/forget`, whom);

export const sink = () => request("GET", `${FACES}/sink`);

/** @param {number|"auto"} wanted */
export const setSink = (wanted) => request("POST", `${FACES}/sink`, { sink: wanted });

/** Send a frame of a camera, and return its faces; null if the service is busy. */
export async function look(camera, picture) {
  const answer = await once(`${FACES}/frames?camera=${camera}`, { method: "POST", body: picture });
  if (answer.status === 429) return null;
  const text = await answer.text();
  if (!answer.ok) throw toServiceError(answer.status, text);
  return JSON.parse(text);
}

/** Return the newest frame of the camera of the service, and its faces as JSON text. */
export async function view() {
  const answer = await once(`${FACES}/view`);
  if (!answer.ok) throw toServiceError(answer.status, await answer.text());
  return { picture: await answer.blob(), told: answer.headers.get("x-labelwalk-faces") };
}

/** Send a request without repeating it: the next frame replaces this one. */
async function once(path, sent = {}) {
  try {
    return await fetch(path, sent);
  } catch {
    throw new ServiceError(0, NO_ANSWER);
  }
}

/** The name of a face, or the number of a stranger. */
export function whoIs({ name, stranger }) {
  if (name !== null) return name;
  return stranger === null ? "unknown" : `unknown #${stranger}`;
}

/** The confidence of a name; empty for a stranger. */
export const sureOf = ({ name, confidence }) => (name === null ? "" : formatPercent(confidence));

/** Show the link to the face page if the service recognizes faces. */
export function startFacesLink() {
  on("session", async () => {
    const found = await facts().catch(() => null);
    byId("to-faces").hidden = !found?.on;
  });
}
