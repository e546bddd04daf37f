/** A face is pointed at: the frame stands still, and it is asked who that is. */

import { byId, fill } from "./dom.js";
import { hold, isIdle, release } from "./faces-live.js";
import { nameForm } from "./faces-naming.js";
import { mark } from "./faces-picture.js";
import { whoIs } from "./faces-words.js";
import { mayWrite, on } from "./store.js";

let origin = null; // what had the focus before

/** Ask who a face is. */
export function pointAt(face) {
  if (!mayWrite()) return;
  const place = byId("naming");
  if (place.hidden) origin = document.activeElement;
  hold();
  mark(face.track);
  const question = face.name === null ? "Who is this?" : `${whoIs(face)}, or who is it really?`;
  const { form, focus } = nameForm(face.example, question, close);
  fill(place, form);
  place.hidden = false;
  focus();
}

/** Let nobody be asked about when there is no picture any more. */
export function startPointing() {
  on("live", () => { if (isIdle()) close(); });
}

function close() {
  const place = byId("naming");
  if (place.hidden) return;
  place.hidden = true;
  fill(place);
  mark(null);
  release();
  if (origin?.isConnected) origin.focus({ preventScroll: true });
}
