/** Who is in the picture, as buttons that do what a click on a face does. */

import { byId, fill, make, setText } from "./dom.js";
import { keyedList } from "./faces-keyed.js";
import { isIdle } from "./faces-live.js";
import { sureOf, whoIs } from "./faces-words.js";
import { pluralize } from "./format.js";
import { mayWrite, on } from "./store.js";
import { swatch } from "./theme.js";

const LINGERS = 1500; // milliseconds that a face stays in the list when it was last seen
const SIDE = 44; // pixels of a small picture
const PAUSE = 3000; // milliseconds between two times that names are read aloud

let show;
let faces = []; // {face, thumb, seen}, in the order in which they came
let lastFrame = 0;
let lastSpoken = 0;

/** Put the list on the page; `choose` is called with the face of a button that is pressed. */
export function startPresent(choose) {
  show = keyedList(byId("present"), (entry) => row(entry, choose), byId("present-title"));
  on("frame", came);
  on("theme", refresh);
  on("live", () => {
    if (!isIdle()) return;
    faces = [];
    refresh();
    setText(byId("spoken"), "");
  });
}

function came(frame) {
  const seen = performance.now();
  lastFrame = seen;
  for (const face of frame.faces) {
    let entry = faces.find((one) => one.face.track === face.track);
    if (!entry) {
      entry = { thumb: make("canvas.thumb", { width: 2 * SIDE, height: 2 * SIDE }) };
      faces.push(entry);
    }
    Object.assign(entry, { face, seen });
    const [x, y, width, height] = face.box;
    const { thumb } = entry;
    thumb.getContext("2d").drawImage(
      frame.image, x, y, width, height, 0, 0, thumb.width, thumb.height,
    );
  }
  faces = faces.filter((one) => one.seen === seen || lingers(one, seen, frame));
  refresh();
  speak(seen);
}

/** Whether a face that is not found just now may be there: not under another track. */
function lingers({ face, seen: last }, seen, frame) {
  const isElsewhere = face.name !== null && frame.faces.some((one) => one.name === face.name);
  return seen - last < LINGERS && !isElsewhere;
}

function refresh() {
  show(faces.map((entry) => [entry.face.track, entry]));
  byId("nobody").hidden = faces.length > 0;
  setText(byId("present-words"), faces.length ? pluralize(faces.length, "face") : "");
}

function row(entry, choose) {
  const mark = make("span.mark-of");
  const who = make("span.name");
  const sure = make("span.share");
  const button = make(
    "button.face", { type: "button", onclick: () => choose(entry.face) }, entry.thumb, mark, who,
    sure,
  );
  let drawn = null;
  const update = ({ face, seen }) => {
    const { name, box, track } = face;
    button.classList.toggle("was-there", seen !== lastFrame);
    Object.assign(button.dataset, { track, box: box.join(" "), example: face.example });
    button.disabled = !mayWrite();
    setText(who, whoIs(face));
    setText(sure, sureOf(face));
    const dot = swatch(name);
    if (dot.innerHTML !== drawn) fill(mark, dot);
    drawn = dot.innerHTML;
  };
  return { element: make("li", {}, button), update };
}

/** Read aloud who came, now and then. */
function speak(time) {
  if (time - lastSpoken < PAUSE) return;
  lastSpoken = time;
  const names = [...new Set(faces.map(({ face }) => face.name).filter((name) => name !== null))];
  setText(byId("spoken"), names.length ? `In the picture: ${names.sort().join(", ")}` : "");
}
