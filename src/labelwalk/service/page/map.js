/**
 * The vertices as a map: area by examples, colour by class, opacity by confidence, and a ring
 * around those that were labelled.
 *
 * Plotly draws marks alone. Every word near them is put there by us, as text: plotly would read
 * some as HTML.
 */

import { colourOf, shapeOf } from "./colours.js";
import { byId, say } from "./dom.js";
import { classes, mayWrite, now, on } from "./now.js";
import { drawOverlay, pulse } from "./overlay.js";
import { isDark } from "./theme.js";
import { complain } from "./toast.js";
import { nearer, placed, suits, viewOf, within } from "./view.js";
import { count, several } from "./words.js";

const CONFIG = {
  displayModeBar: false, scrollZoom: false, doubleClick: false, showTips: false, responsive: false,
};
const CROWD = 800; // vertices: so many no longer fade from colour to colour
const ZOOM = 1.5;
const LARGEST = 42; // pixels across
const GROWN = 12; // examples of a vertex that may be drawn large
const RINGED = 13; // pixels across, at least, where a label was taught

let plot;
let plotly = null;
let view = null;
let axes = null;
let moved = false; // by a person: then it stays where it is
let order = [];

/** Put the map on the page. `opened` is called with the id of a vertex that was clicked. */
export function startMap(opened, hovered) {
  plot = byId("plot");
  on("map", () => void show());
  on("theme", () => void show());
  on(
    "learner",
    () => { [view, axes, moved] = [null, null, false]; plot.style.visibility = "hidden"; },
  );
  on("live-verdicts", ({ verdicts }) => pulse(verdicts));
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(button.dataset.zoom));
  }
  new ResizeObserver(() => { if (!moved) view = null; void show(); }).observe(byId("map"));
  plot.addEventListener("plotted", () => {
    plot.on("plotly_click", ({ points }) => opened(topmost(points[0].customdata)));
    plot.on("plotly_hover", ({ points }) => hovered(topmost(points[0].customdata)));
    plot.on("plotly_unhover", () => hovered(null));
    for (const kind of ["plotly_relayout", "plotly_relayouting"]) plot.on(kind, panned);
  }, { once: true });
}

/** Show a nearer or further part, or all. */
export function zoom(how) {
  if (!view) return;
  moved = how !== "fit";
  view = how === "fit" ? null : nearer(view, how === "in" ? ZOOM : 1 / ZOOM);
  void show();
}

/** A labelled vertex lies over the one its example belonged to: that is the one that is meant. */
function topmost(id) {
  const { vertices } = now.map;
  const at = (i) => placed(view, vertices.x[i], vertices.y[i], plot.clientWidth, plot.clientHeight);
  const here = vertices.id.indexOf(id);
  if (here < 0) return id;
  const [left, top] = at(here);
  const over = order.findLast((i) => {
    const [x, y] = at(i);
    return vertices.taught[i] && Math.hypot(x - left, y - top) < RINGED / 2;
  });
  return over === undefined ? id : vertices.id[over];
}

async function show() {
  const [width, height] = [plot.clientWidth, plot.clientHeight];
  if (!now.map || !width) return;
  const { vertices, quarantine } = now.map;
  const fresh = axes !== now.map.axes;
  if (!view || fresh || (!moved && !suits(view, vertices.x, vertices.y))) {
    view = viewOf(vertices.x, vertices.y, width, height);
    [axes, moved] = [now.map.axes, false];
  }
  inWords();
  plot.style.visibility = view ? "visible" : "hidden";
  if (!view) return;
  const seen = view;
  plotly ??= loadPlotly();
  const { react } = await plotly;
  if (seen !== view) return;
  order = drawingOrder(vertices);
  plot.classList.toggle("crowded", order.length > CROWD);
  await react(
    plot, [waiting(quarantine), marks(vertices, width * height)], layout(width, height), CONFIG,
  );
  plot.dispatchEvent(new Event("plotted"));
  drawOverlay(view);
}

/** Plotly brings rules for maps of the world: of no use here, and refused aloud by our policy. */
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
    script.onerror = () => complain("The map cannot be drawn: plotly.js did not load.");
    head.append(script);
  });
}

/** Labelled ones are drawn last, small ones after large ones. */
function drawingOrder({ id, count: counts, taught }) {
  return id.map((_, i) => i).sort((a, b) => taught[a] - taught[b] || counts[b] - counts[a]);
}

function marks(vertices, area) {
  const pick = (values) => order.map((i) => values[i]);
  const across = Math.min(LARGEST, 0.8 * Math.sqrt(area / vertices.id.length));
  const unit = Math.max(...vertices.count, GROWN) / across ** 2;
  return {
    type: "scatter", mode: "markers", hoverinfo: "none",
    x: pick(vertices.x), y: pick(vertices.y),
    ids: pick(vertices.id).map(String), customdata: pick(vertices.id),
    marker: {
      sizemode: "area", sizeref: unit, sizemin: 3,
      size: order.map(
        (i) => (
          vertices.taught[i] ? Math.max(vertices.count[i], unit * RINGED ** 2) : vertices.count[i]
        ),
      ),
      color: pick(vertices.label).map(colourOf),
      symbol: pick(vertices.label).map(shapeOf),
      opacity: order.map(
        (i) => (vertices.label[i] === null ? 0.55 : 0.3 + 0.7 * vertices.confidence[i]),
      ),
      line: {
        width: order.map((i) => (vertices.taught[i] ? 2.5 : 0.75)),
        color: order.map((i) => (vertices.taught[i] ? ink() : paper())),
      },
    },
  };
}

/** What is far from everything waits at the edge, apart. */
function waiting({ x, y }) {
  const points = x.map((value, i) => within(view, value, y[i]));
  return {
    type: "scatter", mode: "markers", hoverinfo: "skip",
    x: points.map((one) => one[0]), y: points.map((one) => one[1]),
    marker: {
      symbol: "x-thin", size: 7, opacity: 0.8,
      line: { width: 1.5, color: isDark() ? "#a3a09a" : "#6b675f" },
    },
  };
}

function layout(width, height) {
  const axis = { visible: false, fixedrange: false };
  const touched = matchMedia("(pointer: coarse)").matches;
  return {
    width, height, margin: {
      l: 0, r: 0, t: 0, b: 0,
    }, showlegend: false, hovermode: "closest", hoverdistance: 12,
    dragmode: touched ? false : "pan",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    xaxis: { ...axis, range: [...view.x] }, yaxis: { ...axis, range: [...view.y] },
  };
}

function panned() {
  const [x, y] = [plot.layout.xaxis.range, plot.layout.yaxis.range];
  if (x[0] === view.x[0] && y[0] === view.y[0] && x[1] === view.x[1]) return;
  view = { x: [...x], y: [...y] };
  moved = true;
  drawOverlay(view);
}

function inWords() {
  const { vertices, examples, outliers, quarantine } = now.map;
  const n = several(vertices.id.length, "vertex", "vertices");
  const parts = [`${n} stand for ${several(examples, "example")}`];
  const waits = count(quarantine.x.length);
  if (outliers) parts.push(`${several(outliers, "outlier")}, ${waits} waiting at ×`);
  say(byId("map-words"), parts.join(" · "));
  byId("hint").hidden = !vertices.id.length || classes().length > 0 || !mayWrite();
}

const ink = () => (isDark() ? "#f3f1ec" : "#1c1b1a");
const paper = () => (isDark() ? "#1b1d20" : "#ffffff");
