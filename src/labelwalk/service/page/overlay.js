/** What lies over the map: names of classes, what is pointed at, a pulse where an example came. */

import { colourOf } from "./colours.js";
import { byId, make } from "./dom.js";
import { now, on } from "./now.js";
import { isStill } from "./theme.js";
import { placed } from "./view.js";
import { named } from "./words.js";

const MOST_PULSES = 24;
const MOST_NAMES = 24;
const NEAR = 0.12; // of the width of the view

let view = null;
let cursor = null; // id of the vertex that the keyboard is at
let pointed = null; // {x, y} of an example in the stream

/** Begin with nothing, for every learner anew. */
export function startOverlay() {
  on("pointed", (place) => { pointed = place; drawOverlay(view); });
  on("learner", () => {
    [view, cursor, pointed] = [null, null, null];
    byId("overlay").replaceChildren();
    byId("tip").hidden = true;
  });
}

/** Draw it for a view. */
export function drawOverlay(seen) {
  view = seen;
  if (!view || !now.map) return;
  const place = byId("overlay");
  for (const old of place.querySelectorAll(":not(.pulse)")) old.remove();
  place.append(...names(now.map));
  const at = whereIs(cursor);
  if (at) place.append(put(make("span.cursor"), ...at));
  if (pointed) place.append(put(make("span.pointed"), pointed.x, pointed.y));
}

/** Mark the vertex that the keyboard is at. */
export function setCursor(id) {
  cursor = id;
  drawOverlay(view);
}

/** Say beside a vertex what it is, while the pointer is over it. */
export function setHovered(id, words) {
  const tip = byId("tip");
  const at = whereIs(id);
  tip.hidden = !at || !view;
  if (tip.hidden) return;
  tip.textContent = words;
  put(tip, ...at);
}

/** Let a ring fade where each of these examples lies. */
export function pulse(verdicts) {
  const place = byId("overlay");
  const crowded = place.querySelectorAll(".pulse").length > MOST_PULSES;
  if (!view || isStill() || document.hidden || crowded) return;
  for (const { x, y, label } of verdicts) {
    const ring = put(make("span.pulse", { onanimationend: () => ring.remove() }), x, y);
    ring.style.borderColor = colourOf(label);
    place.append(ring);
  }
}

/** The name of each class, above the vertices that are near to the middle of those that have it. */
function names({ classes, vertices }) {
  return classes.slice(0, MOST_NAMES).map((label) => {
    const mine = vertices.id.map((_, i) => i).filter((i) => vertices.label[i] === label);
    return mine.length ? put(make("span.place-name", {}, named(label)), ...above(mine)) : null;
  }).filter(Boolean);
}

function above(mine) {
  const { x, y, count } = now.map.vertices;
  const all = mine.reduce((sum, i) => sum + count[i], 0);
  const mean = (values) => mine.reduce((sum, i) => sum + count[i] * values[i], 0) / all;
  const [across, up] = [mean(x), mean(y)];
  const far = (i) => Math.hypot(x[i] - across, y[i] - up);
  const middle = mine.reduce((best, i) => (far(i) < far(best) ? i : best));
  const reach = NEAR * (view.x[1] - view.x[0]);
  const near = mine.filter((i) => Math.hypot(x[i] - x[middle], y[i] - y[middle]) < reach);
  return [x[middle], Math.min(Math.max(...near.map((i) => y[i])), view.y[1])];
}

function whereIs(id) {
  const i = now.map?.vertices.id.indexOf(id) ?? -1;
  return i < 0 ? null : [now.map.vertices.x[i], now.map.vertices.y[i]];
}

function put(element, x, y) {
  const box = byId("plot");
  const [left, top] = placed(view, x, y, box.clientWidth, box.clientHeight);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
  return element;
}
