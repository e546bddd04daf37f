/** One vertex, close up: what it is, why, what lies near it, and what it shall be. */

import { get } from "./api.js";
import { swatch } from "./colours.js";
import { byId, fill, make, say } from "./dom.js";
import { loadMap } from "./loading.js";
import { mayWrite, now, on } from "./now.js";
import { setCursor, setHovered } from "./overlay.js";
import { picker } from "./picker.js";
import { bar, bars } from "./spark.js";
import { takeBack } from "./teaching.js";
import { trying } from "./toast.js";
import { nameOf, targetOf } from "./vertices.js";
import { count, named, number, numbers, percent, several } from "./words.js";

let shown = null; // id
let where = [0, 0]; // in the plane
let origin = null; // what had the focus before

const parts = {};

/** Prepare the panel; it opens by `open`. */
export function startPanel() {
  byId("panel-close").addEventListener("click", close);
  byId("panel").addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  byId("panel").addEventListener(
    "focusin", () => { if (shown !== null) now.target = targetOf(shown); },
  );
  parts.what = make("div.what");
  parts.back = make("button", { type: "button", hidden: true }, "Take back its label");
  parts.near = make("ul.near");
  parts.why = make("p.why");
  parts.chances = make("ul.chances");
  fill(byId("panel-body"), parts.what,
    make(
      "section.teach", { "aria-label": "Teach" }, make("h3", {}, "It is…"),
      picker(() => targetOf(shown)), parts.back,
    ),
    parts.chances,
    make("h3", {}, "Near it"), parts.near,
    make("h3", {}, "Why"), parts.why);
  on("taught", () => { if (shown !== null) void trying(refresh); });
  on("theme", () => { if (shown !== null) void trying(refresh); });
  on("learner", close);
}

/** Show a vertex. */
export async function open(id) {
  if (byId("panel").hidden) origin = document.activeElement;
  shown = id;
  setHovered(null, "");
  if (await trying(async () => { await refresh(); return true; })) {
    byId("panel").hidden = false;
    if (matchMedia("(max-width: 640px)").matches) byId("map").scrollIntoView(); // above the panel
    byId("panel-title").focus({ preventScroll: true });
  }
}

/** Put the panel away, and go back to where one came from. */
export function close() {
  if (shown === null) return;
  shown = null;
  byId("panel").hidden = true;
  setCursor(null);
  if (origin?.isConnected) origin.focus({ preventScroll: true });
}

/** Show it as it is now; where it has merged or gone with its label, the one that is nearest. */
async function refresh() {
  shown = there(shown);
  const vertex = await get(`/vertices/${shown}`).catch(async (error) => {
    if (error.status !== 404 || shown === null) throw error;
    await loadMap(); // it went since the map was drawn
    shown = there(shown);
    return get(`/vertices/${shown}`);
  });
  if (vertex.id !== shown) return;
  setCursor(shown);
  say(byId("panel-title"), nameOf(vertex.id));
  fill(parts.what, ...headline(vertex));
  takingBack(vertex);
  fill(parts.chances, ...chances(vertex.probabilities));
  fill(parts.near, ...once(vertex.examples).map(neighbour));
  say(parts.why, vertex.why);
}

/** The vertex itself, or the one nearest to where it was. */
function there(wanted) {
  const { id, x, y } = now.map.vertices;
  const far = (i) => Math.hypot(x[i] - where[0], y[i] - where[1]);
  let at = id.indexOf(wanted);
  if (at < 0) at = x.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
  else where = [x[at], y[at]];
  return id[at] ?? wanted;
}

/** An example that was taught later is remembered twice. */
const once = (examples) => [...new Map(examples.map((one) => [one.example, one])).values()];

function headline(vertex) {
  return [
    make(
      "p.label", {}, swatch(vertex.label), make("span.name", {}, named(vertex.label)),
      vertex.taught ? make("span.chip", {}, "taught") : null,
    ),
    make("p.quiet", {}, vertex.label === null
      ? `stands for ${several(vertex.count, "example")}; no label reaches it yet`
      : `${percent(vertex.confidence)} sure · stands for ${several(vertex.count, "example")}`),
    make("div.itself", {}, bars(vertex.row), make("span.numbers", {}, numbers(vertex.row, 6))),
  ];
}

/** A label goes by the example it was given to, as long as that is known. */
function takingBack(vertex) {
  const known = new Set(now.taught.map((one) => one.example));
  const i = now.map.vertices.id.indexOf(vertex.id);
  const example = vertex.examples.find(
    (one) => known.has(one.example) && one.distance === 0,
  )?.example ?? now.map.vertices.example[i];
  const had = document.activeElement === parts.back;
  parts.back.hidden = !vertex.taught || !mayWrite() || example === null;
  if (had && parts.back.hidden) byId("panel-title").focus({ preventScroll: true });
  parts.back.onclick = () => takeBack(example);
}

function chances(probabilities) {
  const found = Object.entries(probabilities).filter(
    ([, share]) => share >= 0.005,
  ).sort((a, b) => b[1] - a[1]);
  return found.slice(0, 6).map(
    ([name, share]) => make(
      "li", {}, make("span.name", {}, name), bar(share), make("span.share", {}, percent(share)),
    ),
  );
}

function neighbour({ example, row, distance, label, confidence }) {
  return make("li", {}, bars(row),
    make("span.two-lines", {},
      make("span.numbers", {}, numbers(row)),
      make("span.quiet", {}, `#${count(example)} · ${number(distance)} away`)),
    make(
      "span.answer", {}, swatch(label), make("span.name", {}, named(label)),
      make("span.share", {}, label === null ? "" : percent(confidence)),
    ));
}
