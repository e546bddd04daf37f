/** Teaching and taking back, with a word on what it changed. */

import { post } from "./api.js";
import { loadMap, loadTaught } from "./loading.js";
import { classes, mayWrite, now } from "./now.js";
import { complain, toast } from "./toast.js";
import { count, keyOf, named } from "./words.js";

/**
 * Teach what somebody points at.
 * @param {{example: ?number, row: function, words: string}} target  its example, or its row
 * @param {string|number} label
 */
export async function teach(target, label) {
  await withNews(async () => {
    let example = target.example;
    if (example === null) example = (
      await post("/teach", { rows: [await target.row()], labels: [label] })
    ).first;
    else {
      const before = now.taught.find((one) => one.example === example);
      if (before && keyOf(before.label) !== keyOf(label)) await post("/retract", { example });
      await post("/teach_later", { example, label });
    }
    return {
      said: `${target.words} is ${named(label)}.`,
      offer: { label: "Undo", act: () => takeBack(example) },
    };
  });
}

/** Take back the label of an example. */
export async function takeBack(example) {
  await withNews(async () => {
    await post("/retract", { example });
    return { said: `The label of example ${example} is taken back.` };
  });
}

/** Take back the label that was given last. */
export async function undo() {
  await loadTaught().catch(complain);
  if (now.taught.length) await takeBack(now.taught[0].example);
  else toast("There is nothing to take back.");
}

/** The label that a typed name means: one of the classes there are, or a new one of their kind. */
export function labelTyped(text) {
  const name = text.trim();
  const known = classes().find((label) => String(label) === name);
  if (known !== undefined) return known;
  const numbered = classes().length > 0 && classes().every((label) => typeof label === "number");
  return numbered && /^-?\d{1,15}$/.test(name) ? Number(name) : name;
}

async function withNews(act) {
  if (!mayWrite()) {
    complain(
      new Error("This token may only read: open the page with the one for everything to teach."),
    );
    return;
  }
  const before = labelsOf(now.map);
  try {
    const { said, offer } = await act();
    await loadMap(); // first: who hears of a label looks for its vertex
    await loadTaught();
    toast(`${said} ${changesSince(before)}`, offer);
  } catch (error) {
    complain(error);
  }
}

function labelsOf(map) {
  return new Map(map.vertices.id.map((id, i) => [id, keyOf(map.vertices.label[i])]));
}

function changesSince(before) {
  const after = labelsOf(now.map);
  const changed = [...after].filter(
    ([id, label]) => before.has(id) && before.get(id) !== label,
  ).length;
  if (changed === 0) return "No other vertex changed its label.";
  if (changed === 1) return "1 vertex changed its label.";
  return `${count(changed)} vertices changed their label.`;
}
