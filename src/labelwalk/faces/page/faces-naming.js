/** A small form that asks who somebody is, and a word on what was taught, with a way back. */

import { make } from "./dom.js";
import { people } from "./faces-known.js";
import * as service from "./faces-service.js";
import { pluralize } from "./format.js";
import { emit } from "./store.js";
import { swatch } from "./theme.js";
import { attempt, toast } from "./toast.js";

const LONGEST = 100; // letters
const OFFERED = 6; // known names as buttons
let fields = 0;

/**
 * Make the form.
 * @param {number} example  the view that is to be named
 * @param {string} question
 * @param {function} close  called when it is done or left
 */
export function nameForm(example, question, close) {
  const input = make("input", {
    id: `who-${++fields}`, list: "known-names", maxlength: LONGEST, required: true,
    autocomplete: "off", spellcheck: "false", placeholder: "a name",
  });
  const act = (name) => void attempt(async () => {
    await named(example, name);
    close();
  });
  const form = make("form.naming", {},
    make("label", { for: input.id }, question),
    make("div.new-name", {}, input, make("button.first", {}, "Name"),
      make("button", { type: "button", onclick: close }, "Cancel")),
    make("div.choices", { role: "group", "aria-label": "Known names" },
      ...people().slice(0, OFFERED).map((name) => make(
        "button.choice", { type: "button", onclick: () => act(name) }, swatch(name),
        make("span.name", {}, name),
      ))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) act(input.value.trim());
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  return { form, focus: () => input.focus() };
}

async function named(example, name) {
  const taught = await service.name(example, name);
  emit("taught");
  toast(`${taught.name} it is (${pluralize(taught.examples.length, "view")}).`, {
    label: "Undo", act: () => void attempt(() => takeBack(taught)),
  });
}

async function takeBack({ name, examples }) {
  const { undone } = await service.takeBack(examples);
  emit("taught");
  toast(`Taken back: ${pluralize(undone, "view")} of ${name}.`);
}
