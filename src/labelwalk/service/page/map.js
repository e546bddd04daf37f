/**
 * The map of the vertices: area by examples, color by class, opacity by confidence, and a ring
 * around vertices that were labeled.
 *
 * Plotly draws only marks. All text over the map is placed by this module as text: plotly would
 * parse some of it as HTML.
 */

import { byId, make, setText } from "./dom.js";
import { formatCount, formatLabel, pluralize } from "./format.js";
import { classes, mayWrite, on, state } from "./store.js";
import { colorOf, isDark, isMotionReduced, shapeOf } from "./theme.js";
import { showError } from "./toast.js";

const PLOT_OPTIONS = {
  displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false, responsive: false,
};
const MAX_ANIMATED_VERTICES = 800; // with more, colors change without a transition
const ZOOM_FACTOR = 1.5;
const MAX_MARK_SIZE = 42; // pixels across
const MIN_FULL_COUNT = 12; // examples of a vertex that may be drawn at full size
const MIN_LABELED_SIZE = 13; // pixels across
const MARGIN = 0.1; // around the vertices, as a share of their range
const MIN_FILLED = 0.5; // share of the view that the vertices fill, before it is fitted again
const MAX_PULSES = 24;
const MAX_CLASS_NAMES = 24;
const CLUSTER_RADIUS = 0.12; // as a share of the width of the view

let plot;
let plotly = null;
let view = null; // {x: [left, right], y: [low, high]}
let axesVersion = null;
let isMoved = false; // by the user: then the view is not fitted
let drawOrder = [];
let cursor = null; // id of the vertex that the keyboard is at
let highlight = null; // {x, y} of an example that is chosen in a list

/**
 * Put the map on the page.
 * @param {function} opened  called with the id of a vertex that was clicked
 * @param {function} describe  id → text of the tooltip
 */
export function startMap(opened, describe) {
  plot = byId("plot");
  on("map", () => void drawMap());
  on("theme", () => void drawMap());
  on("learner", reset);
  on("live-verdicts", ({ verdicts }) => pulse(verdicts));
  on("highlight", (place) => { highlight = place; drawOverlay(); });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(button.dataset.zoom));
  }
  new ResizeObserver(() => { if (!isMoved) view = null; void drawMap(); }).observe(byId("map"));
  plot.addEventListener("plotted", () => {
    plot.on("plotly_click", ({ points }) => opened(findTopmost(points[0].customdata)));
    plot.on("plotly_hover", ({ points }) => {
      const id = findTopmost(points[0].customdata);
      showTooltip(id, describe(id));
    });
    plot.on("plotly_unhover", hideTooltip);
    for (const kind of ["plotly_relayout", "plotly_relayouting"]) plot.on(kind, followPan);
  }, { once: true });
}

function reset() {
  [view, axesVersion, isMoved, cursor, highlight] = [null, null, false, null, null];
  plot.style.visibility = "hidden";
  byId("overlay").replaceChildren();
  hideTooltip();
}

/** Zoom "in" or "out", or "fit" all vertices. */
export function zoom(how) {
  if (!view) return;
  isMoved = how !== "fit";
  view = how === "fit" ? null : scaleView(view, how === "in" ? ZOOM_FACTOR : 1 / ZOOM_FACTOR);
  void drawMap();
}

/** A labeled vertex covers the one that its example belonged to: the user means the labeled one. */
function findTopmost(id) {
  const { vertices } = state.map;
  const position = (i) => toPixels(vertices.x[i], vertices.y[i]);
  const index = vertices.id.indexOf(id);
  if (index < 0) return id;
  const [left, top] = position(index);
  const covering = drawOrder.findLast((i) => {
    const [x, y] = position(i);
    return vertices.taught[i] && Math.hypot(x - left, y - top) < MIN_LABELED_SIZE / 2;
  });
  return covering === undefined ? id : vertices.id[covering];
}

async function drawMap() {
  const [width, height] = [plot.clientWidth, plot.clientHeight];
  if (!state.map || !width) return;
  const { vertices, quarantine } = state.map;
  const isNew = axesVersion !== state.map.axes;
  if (!view || isNew || (!isMoved && !isFitting(view, vertices.x, vertices.y))) {
    view = fitView(vertices.x, vertices.y, width, height);
    [axesVersion, isMoved] = [state.map.axes, false];
  }
  describeMap();
  plot.style.visibility = view ? "visible" : "hidden";
  if (!view) return;
  const drawn = view;
  plotly ??= loadPlotly();
  const { react } = await plotly;
  if (drawn !== view) return;
  drawOrder = sortForDrawing(vertices);
  plot.classList.toggle("crowded", drawOrder.length > MAX_ANIMATED_VERTICES);
  const traces = [quarantineTrace(quarantine), vertexTrace(vertices, width * height)];
  await react(plot, traces, plotLayout(width, height), PLOT_OPTIONS);
  plot.dispatchEvent(new Event("plotted"));
  drawOverlay();
}

/** Load plotly, but not its styles of geographic maps, which the security policy rejects. */
function loadPlotly() {
  const { head } = document;
  head.appendChild = (node) => (
    node.localName === "style" ? node : Node.prototype.appendChild.call(head, node)
  );
  return new Promise((ready) => {
    const script = document.createElement("script");
    script.src = "/page/plotly.js";
    script.onload = () => {
      delete head.appendChild;
      ready(window.Plotly);
    };
    script.onerror = () => showError("The map cannot be drawn: plotly.js did not load.");
    head.append(script);
  });
}

/** Labeled vertices are drawn last, small ones after large ones. */
function sortForDrawing({ id, count, taught }) {
  return id.map((_, i) => i).sort((a, b) => taught[a] - taught[b] || count[b] - count[a]);
}

function vertexTrace(vertices, area) {
  const pick = (values) => drawOrder.map((i) => values[i]);
  const size = Math.min(MAX_MARK_SIZE, 0.8 * Math.sqrt(area / vertices.id.length));
  const unit = Math.max(...vertices.count, MIN_FULL_COUNT) / size ** 2;
  const minLabeled = unit * MIN_LABELED_SIZE ** 2;
  const markSize = (i) => (
    vertices.taught[i] ? Math.max(vertices.count[i], minLabeled) : vertices.count[i]
  );
  const opacity = (i) => (vertices.label[i] === null ? 0.55 : 0.3 + 0.7 * vertices.confidence[i]);
  const [ink, paper] = isDark() ? ["#f3f1ec", "#1b1d20"] : ["#1c1b1a", "#ffffff"];
  return {
    type: "scatter", mode: "markers", hoverinfo: "none",
    x: pick(vertices.x), y: pick(vertices.y),
    ids: pick(vertices.id).map(String), customdata: pick(vertices.id),
    marker: {
      sizemode: "area", sizeref: unit, sizemin: 3,
      size: drawOrder.map(markSize),
      color: pick(vertices.label).map(colorOf),
      symbol: pick(vertices.label).map(shapeOf),
      opacity: drawOrder.map(opacity),
      line: {
        width: drawOrder.map((i) => (vertices.taught[i] ? 2.5 : 0.75)),
        color: drawOrder.map((i) => (vertices.taught[i] ? ink : paper)),
      },
    },
  };
}

/** Rows in quarantine, moved to the edge of the view. */
function quarantineTrace({ x, y }) {
  const points = x.map((value, i) => moveInside(value, y[i]));
  return {
    type: "scatter", mode: "markers", hoverinfo: "skip",
    x: points.map((point) => point[0]), y: points.map((point) => point[1]),
    marker: {
      symbol: "x-thin", size: 7, opacity: 0.8,
      line: { width: 1.5, color: isDark() ? "#a3a09a" : "#6b675f" },
    },
  };
}

function plotLayout(width, height) {
  const axis = { visible: false, fixedrange: false };
  const isTouch = matchMedia("(pointer: coarse)").matches;
  return {
    width, height, margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false, hovermode: "closest", hoverdistance: 12,
    dragmode: isTouch ? false : "pan",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    xaxis: { ...axis, range: [...view.x] }, yaxis: { ...axis, range: [...view.y] },
  };
}

function followPan() {
  const [x, y] = [plot.layout.xaxis.range, plot.layout.yaxis.range];
  if (x[0] === view.x[0] && y[0] === view.y[0] && x[1] === view.x[1]) return;
  view = { x: [...x], y: [...y] };
  isMoved = true;
  drawOverlay();
}

function describeMap() {
  const { vertices, examples, outliers, quarantine } = state.map;
  const nVertices = pluralize(vertices.id.length, "vertex", "vertices");
  const parts = [`${nVertices} for ${pluralize(examples, "example")}`];
  const nWaiting = formatCount(quarantine.x.length);
  if (outliers) parts.push(`${pluralize(outliers, "outlier")}, ${nWaiting} in quarantine (×)`);
  setText(byId("map-words"), parts.join(" · "));
  byId("hint").hidden = !vertices.id.length || classes().length > 0 || !mayWrite();
}

/** Draw the class names, the cursor and the highlight over the map. */
function drawOverlay() {
  if (!view || !state.map) return;
  const overlay = byId("overlay");
  for (const old of overlay.querySelectorAll(":not(.pulse)")) old.remove();
  overlay.append(...makeClassNames(state.map));
  const position = findVertex(cursor);
  if (position) overlay.append(place(make("span.cursor"), ...position));
  if (highlight) overlay.append(place(make("span.pointed"), highlight.x, highlight.y));
}

/** Mark the vertex that the keyboard is at. */
export function setCursor(id) {
  cursor = id;
  drawOverlay();
}

function showTooltip(id, words) {
  const position = view && findVertex(id);
  byId("tip").hidden = !position;
  if (!position) return;
  byId("tip").textContent = words;
  place(byId("tip"), ...position);
}

/** Hide the tooltip of the vertex under the pointer. */
export function hideTooltip() {
  byId("tip").hidden = true;
}

/** Show a ring that fades at each of these examples. */
function pulse(verdicts) {
  const overlay = byId("overlay");
  const isCrowded = overlay.querySelectorAll(".pulse").length > MAX_PULSES;
  if (!view || isMotionReduced() || document.hidden || isCrowded) return;
  for (const { x, y, label } of verdicts) {
    const ring = place(make("span.pulse", { onanimationend: () => ring.remove() }), x, y);
    ring.style.borderColor = colorOf(label);
    overlay.append(ring);
  }
}

function makeClassNames({ classes: labels, vertices }) {
  return labels.slice(0, MAX_CLASS_NAMES).map((label) => {
    const members = vertices.id.map((_, i) => i).filter((i) => vertices.label[i] === label);
    if (!members.length) return null;
    return place(make("span.place-name", {}, formatLabel(label)), ...findNamePosition(members));
  }).filter(Boolean);
}

/** Return a point above the vertices of a class that are near to their center. */
function findNamePosition(members) {
  const { x, y, count } = state.map.vertices;
  const total = members.reduce((sum, i) => sum + count[i], 0);
  const mean = (values) => members.reduce((sum, i) => sum + count[i] * values[i], 0) / total;
  const [meanX, meanY] = [mean(x), mean(y)];
  const distance = (i) => Math.hypot(x[i] - meanX, y[i] - meanY);
  const center = members.reduce((best, i) => (distance(i) < distance(best) ? i : best));
  const radius = CLUSTER_RADIUS * (view.x[1] - view.x[0]);
  const cluster = members.filter((i) => Math.hypot(x[i] - x[center], y[i] - y[center]) < radius);
  return [x[center], Math.min(Math.max(...cluster.map((i) => y[i])), view.y[1])];
}

function findVertex(id) {
  const i = state.map?.vertices.id.indexOf(id) ?? -1;
  return i < 0 ? null : [state.map.vertices.x[i], state.map.vertices.y[i]];
}

function place(element, x, y) {
  const [left, top] = toPixels(x, y);
  element.style.left = `${left}px`;
  element.style.top = `${top}px`;
  return element;
}

/** The position of a point in the view, in pixels. */
function toPixels(x, y) {
  const across = (x - view.x[0]) / (view.x[1] - view.x[0]);
  const down = (view.y[1] - y) / (view.y[1] - view.y[0]);
  return [across * plot.clientWidth, down * plot.clientHeight];
}

/** The point of the view that is nearest to a point outside. */
function moveInside(x, y) {
  const [dx, dy] = [0.02 * (view.x[1] - view.x[0]), 0.02 * (view.y[1] - view.y[0])];
  return [clamp(x, view.x[0] + dx, view.x[1] - dx), clamp(y, view.y[0] + dy, view.y[1] - dy)];
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** The smallest view of all points with a margin and equal units; null without points. */
function fitView(xs, ys, width, height) {
  if (!xs.length || !width || !height) return null;
  const [left, right] = findRange(xs);
  const [low, high] = findRange(ys);
  const range = Math.max((right - left) / width, (high - low) / height);
  const unit = range * (1 + 2 * MARGIN) || 1 / width;
  return makeView((left + right) / 2, (low + high) / 2, unit * width, unit * height);
}

/** Whether a view shows all points, and they fill enough of it. */
function isFitting({ x, y }, xs, ys) {
  const [left, right] = findRange(xs);
  const [low, high] = findRange(ys);
  const isInside = x[0] <= left && right <= x[1] && y[0] <= low && high <= y[1];
  const filled = Math.max((right - left) / (x[1] - x[0]), (high - low) / (y[1] - y[0]));
  return isInside && (filled >= MIN_FILLED || filled === 0);
}

function scaleView({ x, y }, factor) {
  return makeView(
    (x[0] + x[1]) / 2, (y[0] + y[1]) / 2, (x[1] - x[0]) / factor, (y[1] - y[0]) / factor,
  );
}

function makeView(x, y, width, height) {
  return { x: [x - width / 2, x + width / 2], y: [y - height / 2, y + height / 2] };
}

function findRange(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
