/** Settings that can be changed, with a preview of their effect on the last examples. */

import { post } from "./api.js";
import { byId, fill, make, setText } from "./dom.js";
import { formatCount, formatNumber, formatPercent, pluralize } from "./format.js";
import { shareBar } from "./sparkline.js";
import { classes, mayWrite, on, state } from "./store.js";
import { swatch } from "./theme.js";
import { attempt, toast } from "./toast.js";
import { loadFacts, loadMapSoon } from "./updates.js";

const PREVIEW_DELAY_MS = 300; // after the last move
const NEVER = 6.25; // the end of the half-life slider
const MIN_SHOWN_CHANGE = 0.005;
const MAX_SHOWN_CLASSES = 8;

/** Each slider: its ends in words, and how its position and the setting are converted. */
const SLIDERS = {
  sink: {
    title: "Boldness", ends: ["cautious", "bold"], range: [0, 8, 0.25],
    about: "A cautious learner abstains more often; a bold one answers more, with more errors.",
    toPosition: (sink) => -Math.log10(sink), toValue: (position) => 10 ** -position,
    describe: (sink) => `sink ${formatNumber(sink)}`,
  },
  abstain_below: {
    title: "Abstention", ends: ["always answers", "only when sure"], range: [0, 0.95, 0.05],
    about: "Below this confidence the learner does not answer.",
    toPosition: (share) => share, toValue: (position) => position,
    describe: (share) => (share === 0 ? "never" : `below ${formatPercent(share)}`),
  },
  half_life: {
    title: "Forgetting", ends: ["soon", "never"], range: [2, NEVER, 0.25],
    about: "An unlabelled example's weight halves after this many examples.",
    toPosition: (life) => (life === null ? NEVER : Math.log10(life)),
    toValue: (position) => (position >= NEVER ? null : Math.round(10 ** position)),
    describe: (life) => (
      life === null ? "never" : `half after ${formatCount(life)} examples`
    ),
  },
};
const PRIORS = { none: "as observed", uniform: "equally often", own: "with given shares" };

let changes = {}; // settings that were moved and not applied
let timer = 0;
let version = 0;
const fields = {};
let preview;
let buttons;

/** Put the settings on the page. */
export function startSettings() {
  preview = make("div.effect", { "aria-live": "polite" });
  const act = () => void attempt(applyChanges);
  const apply = make("button.first", { type: "button", onclick: act }, "Apply");
  const undo = make("button", { type: "button", onclick: reset }, "Reset");
  buttons = make("div.line.deciding", {}, apply, undo);
  fill(byId("dials"),
    make("div.knobs", {}, ...Object.keys(SLIDERS).map(makeSlider), makePriorField()),
    make("div.tried", {}, preview, buttons));
  on("facts", () => { if (!Object.keys(changes).length) reset(); });
  on("learner", () => { changes = {}; });
}

function makeSlider(name) {
  const { title, ends, range: [min, max, step], about, toValue } = SLIDERS[name];
  const id = `dial-${name}`;
  const input = make(
    "input", { type: "range", id, min, max, step, "aria-describedby": `${id}-about` },
  );
  const value = make("output", { for: id });
  input.addEventListener("input", () => change(name, toValue(Number(input.value))));
  fields[name] = { input, value };
  return make("div.dial", {},
    make("div.dial-head", {}, make("label", { for: id }, title), value),
    input,
    make("div.ends", { "aria-hidden": "true" }, ...ends.map((end) => make("span", {}, end))),
    make("p.quiet", { id: `${id}-about` }, about));
}

function makePriorField() {
  const makeChoice = (key) => {
    const id = `prior-${key}`;
    const input = make("input", { type: "radio", name: "prior", value: key, id });
    input.addEventListener("change", () => {
      const values = { none: null, uniform: "uniform", own: state.facts.settings.prior };
      change("prior", values[key]);
    });
    fields[key] = input;
    return make("label.segment", { for: id, "data-prior": key },
      input, make("span", {}, PRIORS[key]));
  };
  return make("fieldset.dial", {},
    make("legend", {}, "Class frequencies"),
    make("div.segments", {}, ...Object.keys(PRIORS).map(makeChoice)),
    make("p.quiet", {}, "How often the learner expects each class."));
}

/** Show the current settings. */
function reset() {
  const { settings } = state.facts;
  changes = {};
  clearTimeout(timer);
  version++;
  for (const name of Object.keys(SLIDERS)) {
    fields[name].input.value = SLIDERS[name].toPosition(settings[name]);
    describeSlider(name, settings[name]);
  }
  const prior = settings.prior === null ? "none" : settings.prior === "uniform" ? "uniform" : "own";
  fields[prior].checked = true;
  document.querySelector("[data-prior=own]").hidden = prior !== "own";
  const words = "Move a slider to see its effect on the latest examples.";
  fill(preview, make("p.quiet", {}, words));
  if (buttons.contains(document.activeElement)) fields.sink.input.focus();
  buttons.hidden = true;
}

function describeSlider(name, value) {
  const words = SLIDERS[name].describe(value);
  fields[name].input.setAttribute("aria-valuetext", words);
  setText(fields[name].value, words);
}

function change(name, value) {
  if (JSON.stringify(value) === JSON.stringify(state.facts.settings[name])) delete changes[name];
  else changes[name] = value;
  if (SLIDERS[name]) describeSlider(name, value);
  clearTimeout(timer);
  if (!Object.keys(changes).length) reset();
  else timer = setTimeout(loadPreview, PREVIEW_DELAY_MS);
}

async function loadPreview() {
  const mine = ++version;
  preview.setAttribute("aria-busy", "true");
  let shown;
  try {
    shown = describeEffect(await post("/dials/try", changes));
  } catch (error) {
    shown = [make("p.wrong", {}, error.message)];
  }
  if (mine !== version) return; // changed again
  preview.removeAttribute("aria-busy");
  fill(preview, ...shown);
  buttons.hidden = false;
  buttons.firstElementChild.hidden = !mayWrite();
}

async function applyChanges() {
  const { settings } = state.facts;
  const before = Object.fromEntries(Object.keys(changes).map((name) => [name, settings[name]]));
  await send(changes);
  toast("The settings were changed.", {
    label: "Undo", act: () => void attempt(() => send(before)),
  });
}

async function send(settings) {
  await post("/dials", settings);
  changes = {};
  await loadFacts();
  loadMapSoon();
}

function describeEffect({ before, after, changed, of }) {
  if (!of) return [make("p", {}, "There are no examples to preview yet.")];
  const words = changed === 0
    ? `None of the last ${pluralize(of, "answer")} changes.`
    : `${formatCount(changed)} of the last ${pluralize(of, "answer")} change.`;
  return [
    make("p.verdict", {}, words),
    make("p.quiet", {}, describeTendency(before, after)),
    make("div.pairs", {}, ...compareShares(before, after), ...compareClasses(before, after)),
    make("p.key", { "aria-hidden": "true" },
      make("span.then"), "before", make("span.thereafter"), "after"),
  ];
}

function describeTendency(before, after) {
  const answered = after.answered - before.answered;
  if (Math.abs(answered) >= MIN_SHOWN_CHANGE) {
    return answered > 0 ? "The learner answers more often." : "The learner abstains more often.";
  }
  const confidence = after.confidence - before.confidence;
  if (Math.abs(confidence) >= MIN_SHOWN_CHANGE) {
    return confidence > 0 ? "Its confidence is higher." : "Its confidence is lower.";
  }
  return "Abstentions and confidence do not change.";
}

function compareShares(before, after) {
  const rows = [
    ["Answered", "answered"], ["Confidence", "confidence"], ["Precision", "precision"],
    ["Recall", "recall"],
  ];
  return rows
    .filter(([, key]) => Number.isFinite(before[key]) && Number.isFinite(after[key]))
    .map(([name, key]) => makePair([name], [before[key], after[key]], formatPercent));
}

function compareClasses(before, after) {
  const names = [...new Set([...Object.keys(before.labels), ...Object.keys(after.labels)])];
  const counts = (name) => [before.labels[name] ?? 0, after.labels[name] ?? 0];
  const size = (name) => Math.max(...counts(name));
  const largest = Math.max(1, ...names.map(size));
  return names.sort((a, b) => size(b) - size(a)).slice(0, MAX_SHOWN_CLASSES).map((name) => {
    const label = classes().find((one) => String(one) === name) ?? name;
    const title = [swatch(label), make("span.name", {}, name)];
    return makePair(title, counts(name), formatCount, largest);
  });
}

/** Two bars, as shares of a largest value. */
function makePair(title, values, format, largest = 1) {
  const [before, after] = values.map(format);
  return make("div.pair", {}, make("span.of", {}, ...title),
    make("span.both", {}, ...values.map((value) => shareBar(value / largest))),
    make("span.share", {}, before === after ? after : `${before} → ${after}`));
}
