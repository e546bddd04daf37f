/** The map by keyboard: arrow keys walk from vertex to vertex. */

import { byId, say } from "./dom.js";
import { zoom } from "./map.js";
import { now, on } from "./now.js";
import { setCursor } from "./overlay.js";
import { targetOf, wordsOf } from "./vertices.js";

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const ZOOMS = { "+": "in", "=": "in", "-": "out", "0": "fit" };
const SIDEWAYS = 2; // what lies aside counts as so much further

let at = null;

/** Let the keyboard walk; Enter calls `opened` with the id of the vertex. */
export function startWalking(opened) {
  const map = byId("map");
  map.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target !== map || !now.map?.vertices.id.length) return;
    if (WAYS[event.key]) go(next(WAYS[event.key]));
    else if (event.key === "Enter" && at !== null) opened(at);
    else if (ZOOMS[event.key]) zoom(ZOOMS[event.key]);
    else return;
    event.preventDefault();
  });
  map.addEventListener(
    "focus", () => { if (map.matches(":focus-visible")) go(indexOf(at) < 0 ? largest() : at); },
  );
  map.addEventListener("blur", () => setCursor(null));
  on("learner", () => { at = null; });
}

/** Stand at a vertex, and say what it is. */
export function go(id) {
  at = id;
  now.target = targetOf(id);
  setCursor(id);
  say(byId("map-spoken"), wordsOf(id));
}

const indexOf = (id) => now.map.vertices.id.indexOf(id);

function largest() {
  const { id, count } = now.map.vertices;
  return id[count.indexOf(Math.max(...count))];
}

function next([dx, dy]) {
  const { id, x, y } = now.map.vertices;
  const here = indexOf(at);
  if (here < 0) return largest();
  let [best, least] = [here, Infinity];
  for (let i = 0; i < id.length; i++) {
    const along = (x[i] - x[here]) * dx + (y[i] - y[here]) * dy;
    const aside = Math.abs((x[i] - x[here]) * dy) + Math.abs((y[i] - y[here]) * dx);
    const far = along + SIDEWAYS * aside;
    if (along > 0 && far < least) [best, least] = [i, far];
  }
  return id[best];
}
