/** The dials: each move is tried on the recent stream first, and counts when it is applied. */

import { post } from "./api.js";
import { byId, fill, make, say } from "./dom.js";
import { effect } from "./effect.js";
import { loadFacts, loadMapSoon } from "./loading.js";
import { mayWrite, now, on } from "./now.js";
import { toast, trying } from "./toast.js";
import { count, number, percent } from "./words.js";

const PAUSE = 300; // milliseconds without a move, before it is tried
const NEVER = 6.25; // where the slider of the half-life ends

/** Each slider: its ends in words, and how its place and the setting become each other. */
const SLIDERS = {
  sink: {
    title: "Boldness", ends: ["cautious", "bold"], range: [0, 8, 0.25],
    about: "Cautious says nothing rather than something wrong; bold names more, and errs more.",
    placeOf: (sink) => -Math.log10(sink), valueOf: (place) => 10 ** -place,
    words: (sink) => `sink ${number(sink)}`,
  },
  abstain_below: {
    title: "Silence", ends: ["always answers", "only when sure"], range: [0, 0.95, 0.05],
    about: "Below this confidence there is no answer.",
    placeOf: (share) => share, valueOf: (place) => place,
    words: (share) => (share === 0 ? "never silent" : `silent below ${percent(share)}`),
  },
  half_life: {
    title: "Forgetting", ends: ["soon", "never"], range: [2, NEVER, 0.25],
    about: "After so many examples an old one weighs half.",
    placeOf: (life) => (life === null ? NEVER : Math.log10(life)),
    valueOf: (place) => (place >= NEVER ? null : Math.round(10 ** place)),
    words: (life) => (life === null ? "never forgets" : `half after ${count(life)} examples`),
  },
};
const PRIORS = { none: "as they come", uniform: "equally often", own: "in shares of their own" };

let wanted = {};
let due = 0;
let turn = 0;
const fields = {};
let outcome;
let buttons;

/** Put the dials on the page. */
export function startDials() {
  outcome = make("div.effect", { "aria-live": "polite" });
  const act = () => void trying(applied);
  const apply = make("button.first", { type: "button", onclick: act }, "Apply");
  const reset = make("button", { type: "button", onclick: settle }, "Reset");
  buttons = make("div.line.deciding", {}, apply, reset);
  fill(
    byId("dials"), make("div.knobs", {}, ...Object.keys(SLIDERS).map(slider), prior()),
    make("div.tried", {}, outcome, buttons),
  );
  on("facts", () => { if (!Object.keys(wanted).length) settle(); });
  on("learner", () => { wanted = {}; });
}

function slider(name) {
  const { title, ends, range: [min, max, step], about } = SLIDERS[name];
  const input = make(
    "input",
    { type: "range", id: `dial-${name}`, min, max, step, "aria-describedby": `dial-${name}-about` },
  );
  const value = make("output", { for: input.id });
  input.addEventListener("input", () => move(name, SLIDERS[name].valueOf(Number(input.value))));
  fields[name] = { input, value };
  return make("div.dial", {},
    make("div.dial-head", {}, make("label", { for: input.id }, title), value),
    input,
    make(
      "div.ends", { "aria-hidden": "true" }, make("span", {}, ends[0]), make("span", {}, ends[1]),
    ),
    make("p.quiet", { id: `dial-${name}-about` }, about));
}

function prior() {
  const choice = (key) => {
    const input = make("input", { type: "radio", name: "prior", value: key, id: `prior-${key}` });
    input.addEventListener(
      "change",
      () => move("prior", { none: null, uniform: "uniform", own: now.facts.settings.prior }[key]),
    );
    fields[key] = input;
    return make(
      "label.segment", { for: input.id, "data-prior": key }, input, make("span", {}, PRIORS[key]),
    );
  };
  return make("fieldset.dial", {},
    make("legend", {}, "Classes come"),
    make("div.segments", {}, ...Object.keys(PRIORS).map(choice)),
    make("p.quiet", {}, "What the learner believes of how often each class comes."));
}

const priorKey = (value) => (value === null ? "none" : value === "uniform" ? "uniform" : "own");

/** Show the settings that hold. */
function settle() {
  wanted = {};
  clearTimeout(due);
  turn++;
  for (const name of Object.keys(SLIDERS)) showSlider(name, now.facts.settings[name], true);
  const held = priorKey(now.facts.settings.prior);
  fields[held].checked = true;
  document.querySelector("[data-prior=own]").hidden = held !== "own";
  const words = "Move a dial to see what it would have done to the last examples.";
  fill(outcome, make("p.quiet", {}, words));
  if (buttons.contains(document.activeElement)) fields.sink.input.focus();
  buttons.hidden = true;
}

function showSlider(name, value, moveIt = false) {
  const { input, value: output } = fields[name];
  if (moveIt) input.value = SLIDERS[name].placeOf(value);
  const words = SLIDERS[name].words(value);
  input.setAttribute("aria-valuetext", words);
  say(output, words);
}

function move(name, value) {
  if (JSON.stringify(value) === JSON.stringify(now.facts.settings[name])) delete wanted[name];
  else wanted[name] = value;
  if (SLIDERS[name]) showSlider(name, value);
  clearTimeout(due);
  if (!Object.keys(wanted).length) settle();
  else due = setTimeout(tryOut, PAUSE);
}

async function tryOut() {
  const mine = ++turn;
  outcome.setAttribute("aria-busy", "true");
  let shown;
  try {
    shown = effect(await post("/dials/try", wanted));
  } catch (error) {
    shown = [make("p.wrong", {}, error.message)];
  }
  if (mine !== turn) return; // moved on meanwhile
  outcome.removeAttribute("aria-busy");
  fill(outcome, ...shown);
  buttons.hidden = false;
  buttons.firstElementChild.hidden = !mayWrite();
}

async function applied() {
  const before = Object.fromEntries(
    Object.keys(wanted).map((name) => [name, now.facts.settings[name]]),
  );
  await turned(wanted);
  toast("The dials are set: from now on the learner answers so.", {
    label: "Undo", act: () => void trying(() => turned(before)),
  });
}

async function turned(dials) {
  await post("/dials", dials);
  wanted = {};
  await loadFacts();
  loadMapSoon();
}
