/** Vertices as text: a panel with the details of one, the legend, and a table of all. */

import { get } from "./api.js";
import { byId, fill, make, setText } from "./dom.js";
import {
  formatCount, formatLabel, formatNumber, formatPercent, formatRow, pluralize,
} from "./format.js";
import { hideTooltip, setCursor } from "./map.js";
import { rowBars, shareBar } from "./sparkline.js";
import { mayWrite, on, state } from "./store.js";
import { makePicker, removeLabel } from "./teaching.js";
import { swatch } from "./theme.js";
import { attempt } from "./toast.js";
import { loadMap } from "./updates.js";

const MAX_TABLE_ROWS = 200;
const MAX_SHOWN_CLASSES = 6;
const MIN_SHOWN_SHARE = 0.005;

let shown = null; // id of the vertex in the panel
let position = [0, 0]; // where it was in the plane
let previousFocus = null;

const parts = {};

/** What is taught at a vertex: its newest example, or else the row of the vertex. */
export function vertexTarget(id) {
  const i = state.map.vertices.id.indexOf(id);
  return {
    example: i < 0 ? null : state.map.vertices.example[i],
    row: async () => (await get(`/vertices/${id}`)).row,
    words: nameVertex(id),
  };
}

// a negative id has no meaning for people: the first example of the vertex is unknown
const nameVertex = (id) => (id < 0 ? "This vertex" : `Vertex ${id}`);

/** A vertex in one line. */
export function describeVertex(id) {
  const { vertices } = state.map;
  const i = vertices.id.indexOf(id);
  if (i < 0) return "";
  const label = vertices.label[i];
  const certainty = vertices.taught[i] ? "taught"
    : label === null ? "" : formatPercent(vertices.confidence[i]);
  const words = [formatLabel(label), certainty, pluralize(vertices.count[i], "example")];
  return words.filter(Boolean).join(" · ");
}

/** Prepare the panel, the legend and the table. */
export function startVertices() {
  startPanel();
  const table = byId("table-part");
  const refresh = () => {
    if (!state.map) return;
    showLegend();
    if (table.open && !byId("table").contains(document.activeElement)) showTable();
  };
  table.addEventListener("toggle", refresh);
  on("map", refresh);
  on("theme", refresh);
}

function startPanel() {
  byId("panel-close").addEventListener("click", closePanel);
  byId("panel").addEventListener("keydown", (event) => {
    if (event.key === "Escape") closePanel();
  });
  byId("panel").addEventListener("focusin", () => {
    if (shown !== null) state.target = vertexTarget(shown);
  });
  parts.headline = make("div.what");
  parts.remove = make("button", { type: "button", hidden: true }, "Remove its label");
  parts.near = make("ul.near");
  parts.why = make("p.why");
  parts.chances = make("ul.chances");
  const picker = makePicker(() => vertexTarget(shown));
  fill(byId("panel-body"), parts.headline,
    make("section.teach", { "aria-label": "Teach" },
      make("h3", {}, "It is…"), picker, parts.remove),
    parts.chances,
    make("h3", {}, "Nearest examples"), parts.near,
    make("h3", {}, "Why"), parts.why);
  for (const kind of ["taught", "theme"]) {
    on(kind, () => { if (shown !== null) void attempt(refreshPanel); });
  }
  on("learner", closePanel);
}

/** Show a vertex in the panel. */
export async function openPanel(id) {
  if (byId("panel").hidden) previousFocus = document.activeElement;
  shown = id;
  hideTooltip();
  const isLoaded = await attempt(async () => {
    await refreshPanel();
    return true;
  });
  if (!isLoaded) return;
  byId("panel").hidden = false;
  if (matchMedia("(max-width: 640px)").matches) byId("map").scrollIntoView(); // above the panel
  byId("panel-title").focus({ preventScroll: true });
}

function closePanel() {
  if (shown === null) return;
  shown = null;
  byId("panel").hidden = true;
  setCursor(null);
  if (previousFocus?.isConnected) previousFocus.focus({ preventScroll: true });
}

/** Show the vertex as it is now; if it was merged or lost its label, the nearest one. */
async function refreshPanel() {
  shown = findShown();
  const vertex = await get(`/vertices/${shown}`).catch(async (error) => {
    if (error.status !== 404 || shown === null) throw error;
    await loadMap(); // the vertex has gone since the map was loaded
    shown = findShown();
    return get(`/vertices/${shown}`);
  });
  if (vertex.id !== shown) return;
  setCursor(shown);
  setText(byId("panel-title"), nameVertex(vertex.id));
  fill(parts.headline, ...makeHeadline(vertex));
  updateRemoveButton(vertex);
  fill(parts.chances, ...makeChances(vertex.probabilities));
  // an example that was taught later is remembered twice
  const examples = new Map(vertex.examples.map((example) => [example.example, example]));
  fill(parts.near, ...[...examples.values()].map(makeNearExample));
  setText(parts.why, vertex.why);
}

/** The id of the shown vertex, or of the one nearest to where it was. */
function findShown() {
  const { id, x, y } = state.map.vertices;
  const distance = (i) => Math.hypot(x[i] - position[0], y[i] - position[1]);
  let i = id.indexOf(shown);
  if (i >= 0) position = [x[i], y[i]];
  else i = x.reduce((best, _, j) => (distance(j) < distance(best) ? j : best), 0);
  return id[i] ?? shown;
}

function makeHeadline(vertex) {
  const represents = `represents ${pluralize(vertex.count, "example")}`;
  const words = vertex.label === null ? `${represents}; no label reaches it yet`
    : `${formatPercent(vertex.confidence)} confidence · ${represents}`;
  return [
    make("p.label", {},
      swatch(vertex.label), make("span.name", {}, formatLabel(vertex.label)),
      vertex.taught ? make("span.chip", {}, "taught") : null),
    make("p.quiet", {}, words),
    make("div.itself", {},
      rowBars(vertex.row), make("span.numbers", {}, formatRow(vertex.row, 6))),
  ];
}

/** A label is removed by the example that it was given to, if that is known. */
function updateRemoveButton(vertex) {
  const taught = new Set(state.taught.map(({ example }) => example));
  const own = vertex.examples.find((one) => taught.has(one.example) && one.distance === 0);
  const i = state.map.vertices.id.indexOf(vertex.id);
  const example = own?.example ?? state.map.vertices.example[i];
  const hadFocus = document.activeElement === parts.remove;
  parts.remove.hidden = !vertex.taught || !mayWrite() || example === null;
  if (hadFocus && parts.remove.hidden) byId("panel-title").focus({ preventScroll: true });
  parts.remove.onclick = () => removeLabel(example);
}

function makeChances(probabilities) {
  const chances = Object.entries(probabilities).filter(([, share]) => share >= MIN_SHOWN_SHARE);
  chances.sort((a, b) => b[1] - a[1]);
  return chances.slice(0, MAX_SHOWN_CLASSES).map(([name, share]) => make("li", {},
    make("span.name", {}, name), shareBar(share),
    make("span.share", {}, formatPercent(share))));
}

function makeNearExample({ example, row, distance, label, confidence }) {
  return make("li", {}, rowBars(row),
    make("span.two-lines", {},
      make("span.numbers", {}, formatRow(row)),
      make("span.quiet", {}, `#${formatCount(example)} · distance ${formatNumber(distance)}`)),
    make("span.answer", {},
      swatch(label), make("span.name", {}, formatLabel(label)),
      make("span.share", {}, label === null ? "" : formatPercent(confidence))));
}

function showLegend() {
  const { classes, vertices } = state.map;
  const makeEntry = (label) => {
    const n = vertices.label.filter((one) => one === label).length;
    return n || label !== null ? make("li", {},
      swatch(label), make("span.name", {}, formatLabel(label)),
      make("span.quiet", {}, formatCount(n))) : null;
  };
  fill(byId("legend"), ...classes.map(makeEntry), makeEntry(null));
}

function showTable() {
  const { vertices } = state.map;
  const order = vertices.id.map((_, i) => i).sort((a, b) => vertices.count[b] - vertices.count[a]);
  const heads = ["Vertex", "Class", "Confidence", "Examples", "Label"];
  const caption = order.length > MAX_TABLE_ROWS ? `The ${MAX_TABLE_ROWS} largest`
    : "All, largest first";
  fill(byId("table"), make("table", {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...order.slice(0, MAX_TABLE_ROWS).map((i) => makeTableRow(vertices, i)))));
}

function makeTableRow(vertices, i) {
  const id = vertices.id[i];
  const label = vertices.label[i];
  const open = () => openPanel(id);
  const button = make("button.link", { type: "button", onclick: open }, nameVertex(id));
  return make("tr", {},
    make("td", {}, button),
    make("td", {}, swatch(label), " ", formatLabel(label)),
    make("td", {}, label === null ? "–" : formatPercent(vertices.confidence[i])),
    make("td", {}, formatCount(vertices.count[i])),
    make("td", {}, vertices.taught[i] ? "taught" : "spread"));
}
