/** Measurements: figures at the top, alarms, and the health metrics with their history. */

import { get } from "./api.js";
import { byId, fill, make, setText } from "./dom.js";
import { formatCount, formatNumber, pluralize } from "./format.js";
import { sparkline } from "./sparkline.js";
import { on, state } from "./store.js";

const REFRESH_MS = 15000;
const MAX_HISTORY_POINTS = 120;
const MAX_SHOWN_ALARMS = 2; // at the top
const PERCENT_METRICS = new Set(
  ["outliers", "recent outliers", "new vertices", "sink", "absorbed", "graph"],
);
const METRIC_TITLES = {
  "sink": "Unanswered share", "graph": "Benefit of the graph", "classes": "Balance of classes",
  "absorbed": "Absorbed by labels",
};
const FIGURES = {
  examples: {
    title: "Examples", value: (status) => formatCount(status.examples),
    more: (status) => (status.waiting ? `${formatCount(status.waiting)} waiting` : "seen"),
  },
  rate: {
    title: "Rate", value: (status) => formatNumber(status.rate), more: () => "per second",
  },
  vertices: {
    title: "Vertices", value: (status) => formatCount(status.vertices),
    more: (status) => `radius ${formatNumber(status.radius)}`,
  },
  classes: {
    title: "Classes", value: () => formatCount(state.map?.classes.length ?? 0),
    more: () => {
      const n = state.map?.vertices.taught.filter(Boolean).length ?? 0;
      return pluralize(n, "labelled vertex", "labelled vertices");
    },
  },
  latency_ms: {
    title: "Latency", value: (status) => `${formatNumber(status.latency_ms?.p50)} ms`,
    more: (status) => `99 % within ${formatNumber(status.latency_ms?.p99)} ms`,
  },
  memory_mib: {
    title: "Memory", value: (status) => formatCount(status.memory_mib), more: () => "MiB",
  },
};
const FIGURES_WITH_HISTORY = ["rate", "latency_ms", "memory_mib"];

const figures = {};
let metrics = [];
let history = { signs: {} };
let alarmNames = "";

/** Put the measurements on the page, and refresh them every few seconds. */
export function startHealth() {
  for (const [name, { title }] of Object.entries(FIGURES)) {
    const figure = {
      value: make("span.value", {}, "–"), more: make("span.more"), past: make("span.past"),
    };
    figures[name] = figure;
    byId("figures").append(make("div.figure", {},
      make("h2", {}, title), make("p", {}, figure.value, " ", figure.more), figure.past));
  }
  on("connected", refresh);
  on("taught", refresh);
  on("live-standing", (status) => {
    showFigures(status);
    const names = String(status.alarms);
    if (names !== alarmNames) void refresh();
    alarmNames = names;
  });
  on("learner", () => {
    metrics = [];
    fill(byId("alarms"));
    fill(byId("health"));
  });
  setInterval(() => {
    if (state.learner && !document.hidden && !byId("board").hidden) void refresh();
  }, REFRESH_MS);
}

function showFigures(status) {
  for (const [name, { value, more }] of Object.entries(FIGURES)) {
    setText(figures[name].value, value(status));
    setText(figures[name].more, more(status));
  }
}

async function refresh() {
  if (!state.learner) return;
  const answers = await Promise.all([get("/health"), get("/history")]).catch(() => null);
  if (!answers) return; // the next refresh may work
  metrics = answers[0];
  history = thinOut(answers[1]);
  for (const name of FIGURES_WITH_HISTORY) {
    fill(figures[name].past, makeHistory(history[name], FIGURES[name].title));
  }
  const alarms = metrics.filter((metric) => !metric.ok);
  showAlarms(alarms);
  setText(byId("health-words"), alarms.length ? pluralize(alarms.length, "alarm") : "no alarms");
  const sorted = [...metrics].sort((a, b) => a.ok - b.ok);
  fill(byId("health"), make("ul.signs", {}, ...sorted.map(makeMetric)));
}

function showAlarms(alarms) {
  const lines = alarms.slice(0, MAX_SHOWN_ALARMS).map((metric) => make("p.alarm", {},
    makeMark(false), make("strong", {}, titleOf(metric)), " ", metric.meaning));
  const nMore = alarms.length - MAX_SHOWN_ALARMS;
  if (nMore > 0) {
    const link = make("a", { href: "#health-part" }, `and ${nMore} more below`);
    lines.push(make("p.alarm.quiet", {}, link));
  }
  const words = lines.map((line) => line.textContent).join("\n");
  const place = byId("alarms");
  if (place.dataset.words === words) return; // screen readers announce each change
  place.dataset.words = words;
  fill(place, ...lines);
}

function makeMetric(metric) {
  const { name, value, limit, ok, meaning } = metric;
  const limitWords = limit === null ? "no limit" : `limit ${formatMetric(name, limit)}`;
  const title = titleOf(metric);
  return make("li.sign", { "data-ok": String(ok) },
    make("div.sign-head", {},
      makeMark(ok), make("h3", {}, title), make("span.state", {}, ok ? "ok" : "alarm")),
    make("p.sign-value", {},
      make("span.value", {}, formatMetric(name, value)), " ",
      make("span.more", {}, limitWords)),
    make("span.past", {}, makeHistory(history.signs[name], title)),
    make("p.quiet", {}, meaning));
}

function makeHistory(values, title) {
  return values?.length > 1 ? sparkline(values, `${title} over the last few minutes`) : null;
}

const makeMark = (ok) => make(
  "span.mark", { "aria-hidden": "true", "data-ok": String(ok) }, ok ? "✓" : "!",
);

const formatMetric = (name, value) => (
  PERCENT_METRICS.has(name) ? `${formatNumber(100 * value)} %` : formatNumber(value)
);

const titleOf = ({ name }) => METRIC_TITLES[name] ?? name[0].toUpperCase() + name.slice(1);

/** Keep every nth point of a history, the last one included. */
function thinOut({ at, signs, rate, latency_ms: latency, memory_mib: memory }) {
  const step = Math.max(1, Math.ceil(at.length / MAX_HISTORY_POINTS));
  const thin = (values) => values
    .filter((_, i) => (values.length - 1 - i) % step === 0)
    .map((value) => value ?? NaN);
  const past = Object.fromEntries(
    Object.entries(signs).map(([name, values]) => [name, thin(values)]),
  );
  return { signs: past, rate: thin(rate), latency_ms: thin(latency), memory_mib: thin(memory) };
}
