/** Forms to name a face and to forget a person. */

import { byId, fill, make } from "./dom.js";
import { people } from "./faces-known.js";
import { hold, isIdle, release } from "./faces-live.js";
import * as service from "./faces-service.js";
import { forget, whoIs } from "./faces-service.js";
import { mark } from "./faces-stage.js";
import { pluralize } from "./format.js";
import { emit, mayWrite, on } from "./store.js";
import { swatch } from "./theme.js";
import { attempt, toast } from "./toast.js";

const LONGEST = 100; // characters
const OFFERED = 6; // known names as buttons
let fields = 0;

/**
 * Make the form that names a face.
 * @param {number} example  the view that is to be named
 * @param {string} question
 * @param {function} close  called when the form is sent or closed
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
  toast(`Named ${taught.name} (${pluralize(taught.examples.length, "view")}).`, {
    label: "Undo", act: () => void attempt(() => takeBack(taught)),
  });
}

async function takeBack({ name, examples }) {
  const { undone } = await service.takeBack(examples);
  emit("taught");
  toast(`Undone: ${pluralize(undone, "view")} of ${name}.`);
}

let origin = null; // the element that had the focus before

/** Ask for the name of a face. */
export function pointAt(face) {
  if (!mayWrite()) return;
  const place = byId("naming");
  if (place.hidden) origin = document.activeElement;
  hold();
  mark(face.track);
  const question = face.name === null ? "Who is this?" : `Not ${whoIs(face)}? Who is it?`;
  const { form, focus } = nameForm(face.example, question, close);
  fill(place, form);
  place.hidden = false;
  focus();
}

/** Close the form when there is no picture any more. */
export function startPointing() {
  on("live", () => { if (isIdle()) close(); });
}

function close() {
  const place = byId("naming");
  if (place.hidden) return;
  place.hidden = true;
  fill(place);
  mark(null);
  release();
  if (origin?.isConnected) origin.focus({ preventScroll: true });
}

/**
 * Make the button that erases a person after a confirmation.
 * @param {{key: object, words: string, typed: boolean}} whom  the person for the service and as
 *   text, and whether the text has to be typed
 * @param {Element} question  the place of the confirmation
 */
export function forgetting(whom, question) {
  const opener = make("button.danger", { type: "button" }, "Erase…");
  opener.addEventListener("click", () => {
    const close = () => {
      fill(question);
      opener.focus();
    };
    fill(question, confirmation(whom, close));
    question.querySelector("input, button").focus();
  });
  return opener;
}

function confirmation(whom, close) {
  const { words, typed } = whom;
  const input = make(
    "input", { id: `forget-${++fields}`, autocomplete: "off", spellcheck: "false" },
  );
  const go = make("button.danger", { disabled: typed }, "Erase");
  const isMeant = () => !typed || input.value === words;
  input.addEventListener("input", () => { go.disabled = !isMeant(); });
  const asked = typed ? `Type ${words} to erase them permanently` : `Erase ${words} permanently?`;
  const form = make("form.stack", {},
    typed ? make("label", { for: input.id }, asked) : make("p", {}, asked),
    typed ? input : null,
    make("p.quiet", {}, "Everything that was stored about them is erased. This cannot be undone."),
    make("div.line", {}, go, make("button", { type: "button", onclick: close }, "Keep")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isMeant()) void attempt(() => erase(whom, close));
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  return form;
}

async function erase({ key, words }, close) {
  const { erased, meaning } = await forget(key);
  close();
  emit("taught");
  toast(`${words}: ${pluralize(erased, "view")} erased. ${meaning}`);
}
