/** The picture with boxes and names, its rate, and the controls to start and stop it. */

import { byId, fill, make, setText } from "./dom.js";
import { known, people } from "./faces-known.js";
import { isIdle, live, start, stop, troubleOf } from "./faces-live.js";
import { sureOf, whoIs } from "./faces-service.js";
import { formatNumber, labelKey } from "./format.js";
import { mayWrite, on } from "./store.js";
import { colorOf } from "./theme.js";

const LAMP = {
  opening: ["paused", "asking for the camera…"],
  on: ["live", "live"],
  waiting: ["lost", "waiting…"],
  paused: ["paused", "paused"],
};

/** Connect the controls that start, stop and choose the source. */
export function startStage() {
  byId("start").addEventListener("click", () => start(chosen()));
  byId("stop").addEventListener("click", stop);
  byId("source").addEventListener("change", () => {
    if (isIdle()) refresh();
    else start(chosen());
  });
  for (const kind of ["live", "known", "session"]) on(kind, refresh);
  on("frame", hint);
}

/** The sources of frames; a read-only token may not send frames. */
function kinds() {
  const source = known.facts?.source;
  return [
    mayWrite() ? ["browser", "This browser's camera"] : null,
    source ? ["service", source.name] : null,
  ].filter(Boolean);
}

const chosen = () => byId("source").value;

function refresh() {
  const had = document.activeElement;
  offer(kinds());
  lamp();
  curtain();
  byId("stop").hidden = isIdle();
  if (had === byId("start") && had.hidden) byId("stop").focus();
  if (had === byId("stop") && had.hidden) byId("start").focus();
}

function offer(all) {
  const select = byId("source");
  const there = [...select.options].map((one) => [one.value, one.text]);
  if (labelKey(there) !== labelKey(all)) {
    const before = select.value;
    fill(select, ...all.map(([value, words]) => make("option", { value }, words)));
    if (all.some(([kind]) => kind === before)) select.value = before;
  }
  select.hidden = all.length < 2;
}

function lamp() {
  const [state, words] = LAMP[live.state] ?? [null, ""];
  byId("live").hidden = state === null;
  byId("live").dataset.state = state;
  setText(byId("live-words"), words);
}

function curtain() {
  const isHeld = ["opening", "paused"].includes(live.state) && live.frame !== null;
  byId("curtain").hidden = live.state === "on" || isHeld;
  setText(byId("trouble"), live.error ? troubleOf(live.error) : "");
  setText(byId("newcomer"), isIdle() ? newcomer() : "");
  byId("start").hidden = !isIdle() || kinds().length === 0;
  const again = live.state === "failed" && chosen() === live.kind;
  const source = known.facts?.source?.name;
  setText(byId("start"), again ? "Try again" : chosen() === "service" ? `Watch ${source}`
    : "Start the camera");
}

function newcomer() {
  if (!kinds().length) return "This token is read-only, so no frames are sent. People are below.";
  if (people().length || !mayWrite()) return "";
  return "Start, click a face and type its name; it is then recognized.";
}

function hint(frame) {
  byId("hint").hidden = people().length > 0 || !mayWrite() || frame.faces.length === 0;
}

const FONT = "600 14px -apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, sans-serif";
const ROOM = { across: 7, height: 22 }; // around a name, in pixels of the page
const LONGEST = 28; // characters of a name
const SLACK = 0.1; // share of a box, added on each side for clicks
const SHARPEST = 2; // pixels of the picture per pixel of the page

let pointed = null; // the track under the pointer
let marked = null; // the track that is being named

/** Draw the picture whenever it changes; `choose` is called with a face that is clicked. */
export function startPicture(choose) {
  const canvas = byId("picture");
  for (const kind of ["frame", "live", "theme"]) on(kind, draw);
  new ResizeObserver(draw).observe(canvas);
  canvas.addEventListener("pointermove", (event) => point(faceAt(event)));
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("click", (event) => {
    const face = faceAt(event);
    if (face) choose(face);
  });
}

/** Mark the face of a track; with null, no face. */
export function mark(track) {
  marked = track;
  draw();
}

function point(face) {
  if (pointed === (face?.track ?? null)) return;
  pointed = face?.track ?? null;
  byId("picture").classList.toggle("on-a-face", pointed !== null);
  draw();
}

/** The face under the pointer; of several, the one with the nearest center. */
function faceAt(event) {
  if (!live.frame) return null;
  const place = byId("picture").getBoundingClientRect();
  const x = ((event.clientX - place.x) / place.width) * live.frame.width;
  const y = ((event.clientY - place.y) / place.height) * live.frame.height;
  const away = ({ box: [left, top, width, height] }) => Math.max(
    Math.abs(x - left - width / 2) / width, Math.abs(y - top - height / 2) / height,
  );
  const near = live.frame.faces.filter((face) => away(face) <= 0.5 + SLACK);
  return near.sort((a, b) => away(a) - away(b))[0] ?? null;
}

function draw() {
  const { frame } = live;
  const canvas = byId("picture");
  if (!frame) {
    canvas.getContext("2d").reset();
    return;
  }
  canvas.style.setProperty("--ratio", frame.width / frame.height);
  const scale = canvas.clientWidth / frame.width; // from pixels of the frame to those of the page
  const sharp = Math.min(devicePixelRatio, SHARPEST);
  canvas.width = Math.round(frame.width * scale * sharp);
  canvas.height = Math.round(frame.height * scale * sharp);
  const pen = canvas.getContext("2d");
  pen.drawImage(frame.image, 0, 0, canvas.width, canvas.height);
  pen.scale(sharp, sharp);
  for (const face of frame.faces) {
    outline(pen, face, face.box.map((length) => length * scale), canvas.width / sharp);
  }
}

function outline(pen, face, [x, y, width, height], edge) {
  const colour = colorOf(face.name);
  const isMarked = face.track === marked || face.track === pointed;
  pen.lineWidth = isMarked ? 5 : 2.5;
  pen.strokeStyle = colour;
  pen.strokeRect(x, y, width, height);
  pen.font = FONT;
  const words = `${shortened(whoIs(face))} ${sureOf(face)}`.trim();
  const wide = pen.measureText(words).width + 2 * ROOM.across;
  const left = Math.max(0, Math.min(x - pen.lineWidth / 2, edge - wide));
  const top = y >= ROOM.height ? y - ROOM.height : y;
  pen.fillStyle = colour;
  pen.fillRect(left, top, wide, ROOM.height);
  pen.fillStyle = inkOn(colour);
  pen.textBaseline = "middle";
  pen.fillText(words, left + ROOM.across, top + ROOM.height / 2 + 1);
}

function shortened(name) {
  const letters = [...name];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : name;
}

/** Black or white, whichever has more contrast to a color. */
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

const RATE_WINDOW_MS = 2000;
const RATE_INTERVAL_MS = 500;

let frames = []; // {time, roundTrip, milliseconds}
let last = 0;

/** Show the frame rate and the times of the last frames. */
export function startPace() {
  on("frame", ({ roundTrip, milliseconds }) => {
    const time = performance.now();
    frames.push({ time, roundTrip, milliseconds });
    frames = frames.filter((one) => time - one.time <= RATE_WINDOW_MS);
    if (time - last < RATE_INTERVAL_MS) return;
    last = time;
    setText(byId("pace"), words());
  });
  on("live", () => {
    if (live.state === "on") return;
    frames = [];
    setText(byId("pace"), "");
  });
}

function words() {
  const usual = (key) => Math.round(
    frames.map((one) => one[key]).sort((a, b) => a - b)[frames.length >> 1],
  );
  return `${formatNumber(rate())} frames/s · ${usual("roundTrip")} ms round trip, `
    + `${usual("milliseconds")} ms in the service`;
}

/** Frames per second, from the first to the last frame of the window. */
function rate() {
  const took = frames.at(-1).time - frames[0].time;
  return took ? Math.round((10000 * (frames.length - 1)) / took) / 10 : NaN;
}
