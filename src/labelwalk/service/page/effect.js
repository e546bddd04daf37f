/** What a move of the dials would have done, in words and small bars. */

import { swatch } from "./colours.js";
import { make } from "./dom.js";
import { classes } from "./now.js";
import { bar } from "./spark.js";
import { count, percent, several } from "./words.js";

const MOST = 8; // classes

/** Return what to show of an answer of dials/try. */
export function effect({ before, after, changed, of }) {
  if (!of) return [make("p", {}, "Nothing has been observed yet that it could be tried on.")];
  const words = changed === 0
    ? `On the last ${several(of, "example")} every answer would stay.`
    : `Of the last ${several(of, "example")}, ${count(changed)} would get another answer.`;
  return [
    make("p.verdict", {}, words),
    make("p.quiet", {}, consequence(before, after)),
    make("div.pairs", {}, ...shares(before, after), ...labels(before, after)),
    make(
      "p.key", { "aria-hidden": "true" }, make("span.then"), "before", make("span.thereafter"),
      "after",
    ),
  ];
}

function consequence(before, after) {
  const more = after.answered - before.answered;
  if (Math.abs(more) >= 0.005) {
    return more > 0 ? "It would answer more." : "It would stay silent more often.";
  }
  const surer = after.confidence - before.confidence;
  if (Math.abs(surer) >= 0.005) {
    return surer > 0 ? "It would be surer of itself." : "It would be less sure of itself.";
  }
  return "It would answer as often, and be as sure.";
}

function shares(before, after) {
  const rows = [
    ["Answered", "answered"], ["Confidence", "confidence"], ["Precision", "precision"],
    ["Recall", "recall"],
  ];
  return rows.filter(([, key]) => Number.isFinite(before[key]) && Number.isFinite(after[key]))
    .map(
      ([name, key]) => pair(
        [name], before[key], after[key], percent(before[key]), percent(after[key]),
      ),
    );
}

function labels(before, after) {
  const names = [...new Set([...Object.keys(before.labels), ...Object.keys(after.labels)])];
  const size = (name) => Math.max(before.labels[name] ?? 0, after.labels[name] ?? 0);
  const largest = Math.max(1, ...names.map(size));
  return names.sort((a, b) => size(b) - size(a)).slice(0, MOST).map((name) => {
    const label = classes().find((one) => String(one) === name) ?? name;
    const [was, is] = [before.labels[name] ?? 0, after.labels[name] ?? 0];
    return pair(
      [swatch(label), make("span.name", {}, name)], was / largest, is / largest, count(was),
      count(is),
    );
  });
}

function pair(name, was, is, wasWords, isWords) {
  return make("div.pair", {}, make("span.of", {}, ...name),
    make("span.both", {}, bar(was), bar(is)),
    make("span.share", {}, wasWords === isWords ? isWords : `${wasWords} → ${isWords}`));
}
