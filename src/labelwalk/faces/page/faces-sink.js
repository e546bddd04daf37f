/** The slider between missed people and named strangers, and the curve behind it. */

import { byId, fill, make, makeSvg, setText } from "./dom.js";
import { isIdle } from "./faces-live.js";
import * as service from "./faces-service.js";
import { formatNumber, formatPercent } from "./format.js";
import { mayWrite, on } from "./store.js";
import { attempt } from "./toast.js";

const REFRESH_MS = 10000;
const STEP = 1 / 32; // decades

let facts = null;
let isMoving = false;
let asked = 0;
const parts = {};

/** Put the dial on the page. */
export function startSink() {
  build();
  on("session", () => {
    parts.slider.disabled = parts.automatic.disabled = !mayWrite();
  });
  on("taught", refresh);
  setInterval(() => { if (!isIdle() && !document.hidden) refresh(); }, REFRESH_MS);
}

/** Fetch the sink. */
export const loadSink = () => answered(service.sink());

const refresh = () => void loadSink().catch(() => null); // the next refresh may work

function build() {
  parts.slider = make("input", {
    type: "range", id: "dial", min: 0, step: STEP, "aria-describedby": "sink-about cliff-words",
  });
  parts.value = make("span.quiet"); // screen readers announce each change of an output
  parts.curve = make("div.curve");
  parts.automatic = make("input", { type: "checkbox", id: "automatic" });
  parts.cliff = make("p.cliff-words", { id: "cliff-words" });
  parts.warning = make("p.wrong", { role: "status" });
  parts.early = make(
    "p.quiet", {}, "To set it here, name a person and process a few more faces.",
  );
  parts.whole = make("div.dial", {},
    make("div.dial-head", {}, make("label", { for: "dial" }, "How often faces are named"),
      parts.value),
    parts.curve, parts.slider,
    make("div.ends", { "aria-hidden": "true" }, make("span", {}, "cautious"),
      make("span", {}, "bold")),
    parts.cliff,
    make("p.quiet", { id: "sink-about" },
      "Too cautious misses people; too bold names strangers. The line is the share of all views so far "
      + "that would have a name."));
  fill(byId("sink"), parts.early, parts.whole,
    make("p.switch", {}, parts.automatic, make("label", { for: "automatic" },
      "Automatic: as bold as possible without naming strangers")),
    parts.warning);
  parts.slider.addEventListener("input", moved);
  parts.slider.addEventListener("change", () => set(sinkAt(Number(parts.slider.value))));
  parts.automatic.addEventListener(
    "change", () => set(parts.automatic.checked ? "auto" : facts.sink),
  );
}

/** The ends of the dial: all sinks of the curve and the current one lie between them. */
const highest = () => Math.max(...facts.sinks, facts.sink);
const lowest = () => Math.min(...facts.sinks, facts.sink);
const decades = (sink) => Math.log10(highest() / sink);
const sinkAt = (place) => highest() / 10 ** place;

function moved() {
  isMoving = true;
  parts.automatic.checked = false;
  draw(sinkAt(Number(parts.slider.value)));
}

function set(wanted) {
  isMoving = false;
  void attempt(() => answered(service.setSink(wanted)));
}

async function answered(answer) {
  const question = ++asked;
  const found = await answer;
  if (question !== asked || isMoving) return;
  const warning = found.sink === facts?.sink ? facts.warning : null; // valid until the sink changes
  facts = { warning, ...found };
  show();
}

function show() {
  const isEarly = facts.sinks.length === 0;
  parts.early.hidden = !isEarly;
  parts.whole.hidden = isEarly;
  parts.automatic.checked = facts.automatic;
  setText(parts.warning, facts.warning ?? "");
  setText(byId("sink-words"), isEarly ? "" : facts.automatic ? "automatic" : "set by hand");
  if (isEarly) return;
  parts.slider.max = STEP * Math.round(decades(lowest()) / STEP);
  parts.slider.value = decades(facts.sink);
  draw(facts.sink);
}

function draw(sink) {
  const words = `sink ${formatNumber(sink)}: ${formatPercent(claimedAt(facts, sink))} named`;
  setText(parts.value, words);
  parts.slider.setAttribute("aria-valuetext", words);
  const width = decades(lowest());
  fill(parts.curve, staircase({ ...facts, sink }, (one) => decades(one) / width));
  setText(parts.cliff, facts.cliff === null
    ? "No critical value found."
    : `The red edge is the critical value, ${formatNumber(facts.cliff)}: from there on, strangers `
      + "would get names.");
}

const WIDTH = 100;
const HEIGHT = 40;

/**
 * Draw the share of named views as a function of the sink.
 * @param {{sinks: number[], claimed: number[], cliff: ?number, sink: number}} facts
 * @param {function} place  sink → from 0, the highest, to 1, the lowest
 */
export function staircase({ sinks, claimed, cliff, sink }, place) {
  const x = (one) => (WIDTH * place(one)).toFixed(2);
  const y = (share) => (HEIGHT - 1 - share * (HEIGHT - 3)).toFixed(2);
  const steps = sinks.flatMap((one, i) => [
    i ? `${x(one)},${y(claimed[i - 1])}` : null, `${x(one)},${y(claimed[i])}`,
  ]).filter(Boolean);
  const upright = (kind, one) => makeSvg(
    `line.${kind}`, { x1: x(one), x2: x(one), y1: 0, y2: HEIGHT },
  );
  return makeSvg("svg.staircase", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true",
  },
    cliff === null ? null : makeSvg("rect.beyond", {
      x: x(cliff), y: 0, width: (WIDTH - x(cliff)).toFixed(2), height: HEIGHT,
    }),
    makeSvg("polyline", { points: steps.join(" ") }),
    cliff === null ? null : upright("edge", cliff),
    upright("here", sink));
}

/** The share that is named with a sink, according to the curve. */
export function claimedAt({ sinks, claimed }, sink) {
  let share = claimed[0];
  sinks.forEach((one, i) => { if (one >= sink * (1 - 1e-9)) share = claimed[i]; });
  return share;
}
