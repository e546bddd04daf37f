/** Teaching and removing labels, and the buttons that choose a class. */

import { post } from "./api.js";
import { fill, make } from "./dom.js";
import { formatCount, formatLabel, labelKey } from "./format.js";
import { classes, mayWrite, on, state } from "./store.js";
import { colorOf, swatch } from "./theme.js";
import { showError, toast } from "./toast.js";
import { loadMap, loadTaught } from "./updates.js";

const MAX_NUMBER_KEY = 9;
let nPickers = 0;

/**
 * Teach a label.
 * @param {{example: ?number, row: function, words: string}} target  its example, or its row
 * @param {string|number} label
 */
export async function teach(target, label) {
  await change(async () => {
    let { example } = target;
    if (example === null) {
      const rows = [await target.row()];
      example = (await post("/teach", { rows, labels: [label] })).first;
    } else {
      const before = state.taught.find((one) => one.example === example);
      if (before && labelKey(before.label) !== labelKey(label)) await post("/retract", { example });
      await post("/teach_later", { example, label });
    }
    return {
      message: `${target.words} is ${formatLabel(label)}.`,
      offer: { label: "Undo", act: () => removeLabel(example) },
    };
  });
}

/** Remove the label of an example. */
export async function removeLabel(example) {
  await change(async () => {
    await post("/retract", { example });
    return { message: `The label of example ${example} was removed.` };
  });
}

/** Remove the label that was taught last. */
export async function undo() {
  await loadTaught().catch(showError);
  if (state.taught.length) await removeLabel(state.taught[0].example);
  else toast("There is no label to remove.");
}

async function change(act) {
  if (!mayWrite()) {
    showError(new Error("This token is read-only. Open the page with the other token."));
    return;
  }
  const before = readLabels(state.map);
  try {
    const { message, offer } = await act();
    await loadMap(); // before the labels: their listeners look for the vertices of labels
    await loadTaught();
    toast(`${message} ${describeChanges(before)}`, offer);
  } catch (error) {
    showError(error);
  }
}

function readLabels({ vertices }) {
  return new Map(vertices.id.map((id, i) => [id, labelKey(vertices.label[i])]));
}

function describeChanges(before) {
  const after = [...readLabels(state.map)];
  const n = after.filter(([id, label]) => before.has(id) && before.get(id) !== label).length;
  if (n === 0) return "No other vertex changed its label.";
  if (n === 1) return "1 vertex changed its label.";
  return `${formatCount(n)} vertices changed their labels.`;
}

/**
 * Make the classes as buttons, and a field for a new class.
 * @param {function} targetOf  returns what is taught, or null
 */
export function makePicker(targetOf) {
  const choices = make("div.choices", { role: "group", "aria-label": "Teach a class" });
  const name = make("input", {
    id: `name-${++nPickers}`, placeholder: "new class…", maxlength: 100, autocomplete: "off",
    "data-new-name": true,
  });
  const form = make(
    "form.new-name", {}, make("label.unseen", { for: name.id }, "New class"), name,
    make("button", {}, "Teach"),
  );
  const act = (label) => {
    const target = targetOf();
    if (target) teach(target, label);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name.value.trim()) act(parseLabel(name.value));
    name.value = "";
  });
  const picker = make("div.picker", {}, choices, form);
  let shown = null;
  const refresh = () => {
    picker.hidden = !mayWrite();
    const key = labelKey([state.learner, classes(), classes().map(colorOf)]);
    if (key === shown) return; // do not replace a button that is about to be pressed
    shown = key;
    fill(choices, ...classes().map((label, i) => makeChoice(label, i + 1, act)));
  };
  for (const kind of ["map", "theme", "session"]) on(kind, refresh);
  refresh();
  return picker;
}

function makeChoice(label, number, act) {
  const key = number <= MAX_NUMBER_KEY ? make("kbd", { "aria-label": `key ${number}` }, number)
    : null;
  return make("button.choice", { type: "button", onclick: () => act(label) },
    swatch(label), make("span.name", {}, formatLabel(label)), key);
}

/** The label of a typed name: an existing class, or a new one of the same type. */
function parseLabel(text) {
  const name = text.trim();
  const existing = classes().find((label) => String(label) === name);
  if (existing !== undefined) return existing;
  const areNumbers = classes().length > 0 && classes().every((label) => typeof label === "number");
  return areNumbers && /^-?\d{1,15}$/.test(name) ? Number(name) : name;
}
