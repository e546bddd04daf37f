/** The classes as buttons, with their number keys, and a field for a new name. */

import { colourOf, swatch } from "./colours.js";
import { fill, make } from "./dom.js";
import { classes, mayWrite, now, on } from "./now.js";
import { labelTyped, teach } from "./teaching.js";
import { keyOf, named } from "./words.js";

const KEYS = 9;
let fields = 0;

/**
 * Make a picker.
 * @param {function} targetOf  returns what is to be taught, or null
 */
export function picker(targetOf) {
  const choices = make("div.choices", { role: "group", "aria-label": "Teach a class" });
  const name = make(
    "input",
    {
      id: `name-${++fields}`, placeholder: "new class…", maxlength: 100, autocomplete: "off",
      "data-new-name": true,
    },
  );
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
    if (name.value.trim()) act(labelTyped(name.value));
    name.value = "";
  });
  const whole = make("div.picker", {}, choices, form);
  let drawn = null;
  const refresh = () => {
    whole.hidden = !mayWrite();
    const wanted = keyOf([now.learner, classes(), classes().map(colourOf)]);
    if (wanted === drawn) return; // a button that somebody is about to press stays
    drawn = wanted;
    fill(choices, ...classes().map((label, i) => choice(label, i, act)));
  };
  for (const kind of ["map", "theme", "session"]) on(kind, refresh);
  refresh();
  return whole;
}

function choice(label, i, act) {
  return make("button.choice", { type: "button", onclick: () => act(label) },
    swatch(label), make("span.name", {}, named(label)), i < KEYS ? make(
      "kbd", { "aria-label": `key ${i + 1}` }, i + 1,
    ) : null);
}
