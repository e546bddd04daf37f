/** What the service does with faces, route by route, and how a face is described. */

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

/** Send a frame of a camera and return who is in it; null where the service has no time for it. */
export async function look(camera, picture) {
  const answer = await once(`${FACES}/frames?camera=${camera}`, { method: "POST", body: picture });
  if (answer.status === 429) return null;
  const text = await answer.text();
  if (!answer.ok) throw toServiceError(answer.status, text);
  return JSON.parse(text);
}

/** Return the newest frame that the service itself took, and what it says of it, as text. */
export async function view() {
  const answer = await once(`${FACES}/view`);
  if (!answer.ok) throw toServiceError(answer.status, await answer.text());
  return { picture: await answer.blob(), told: answer.headers.get("x-labelwalk-faces") };
}

/** Ask without patience: the next frame is worth more than this one. */
async function once(path, sent = {}) {
  try {
    return await fetch(path, sent);
  } catch {
    throw new ServiceError(0, NO_ANSWER);
  }
}

/** Who it is: a name, or a number where it has been seen before. */
export function whoIs({ name, stranger }) {
  if (name !== null) return name;
  return stranger === null ? "unknown" : `unknown #${stranger}`;
}

/** How sure that is; of strangers there is nothing to be sure of. */
export const sureOf = ({ name, confidence }) => (name === null ? "" : formatPercent(confidence));

/** Show the way where there is one. */
export function startFacesLink() {
  on("session", async () => {
    const found = await facts().catch(() => null);
    byId("to-faces").hidden = !found?.on;
  });
}
