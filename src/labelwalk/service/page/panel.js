/** One vertex, close up: what it is, why, what lies near it, and what it shall be. */

import { get } from "./api.js";
import { swatch } from "./colours.js";
import { byId, fill, make, say } from "./dom.js";
import { mayWrite, now, on } from "./now.js";
import { setCursor, setHovered } from "./overlay.js";
import { picker } from "./picker.js";
import { bar, bars } from "./spark.js";
import { takeBack } from "./teaching.js";
import { toast, trying } from "./toast.js";
import { nameOf, targetOf } from "./vertices.js";
import { count, named, number, numbers, percent, several } from "./words.js";

let shown = null; // id
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
  setCursor(id);
  setHovered(null, "");
  if (await trying(async () => { await refresh(); return true; })) {
    byId("panel").hidden = false;
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

async function refresh() {
  if (!now.map.vertices.id.includes(shown)) {
    close();
    toast("That vertex is gone: it has merged with another.");
    return;
  }
  const asked = shown;
  const vertex = await get(`/vertices/${shown}`);
  if (asked !== shown) return;
  say(byId("panel-title"), nameOf(vertex.id));
  fill(parts.what, ...headline(vertex));
  takingBack(vertex);
  fill(parts.chances, ...chances(vertex.probabilities));
  fill(parts.near, ...once(vertex.examples).map(neighbour));
  say(parts.why, vertex.why);
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
  parts.back.hidden = !vertex.taught || !mayWrite() || example === null;
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
