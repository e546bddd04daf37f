/** Forgetting somebody: nothing is erased by a slip, and what was erased is said. */

import { fill, make } from "./dom.js";
import { forget } from "./faces-service.js";
import { pluralize } from "./format.js";
import { emit } from "./store.js";
import { attempt, toast } from "./toast.js";

let fields = 0;

/**
 * Make the button that begins it.
 * @param {{key: object, words: string, typed: boolean}} whom  for the service and for people, and
 *   whether the words have to be typed
 * @param {Element} question  where it is asked whether that is meant
 */
export function forgetting(whom, question) {
  const opener = make("button.danger", { type: "button" }, "Forget…");
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
  const go = make("button.danger", { disabled: typed }, "Forget");
  const isMeant = () => !typed || input.value === words;
  input.addEventListener("input", () => { go.disabled = !isMeant(); });
  const asked = typed ? `Type ${words} to forget them for ever` : `Forget ${words} for ever?`;
  const form = make("form.stack", {},
    typed ? make("label", { for: input.id }, asked) : make("p", {}, asked),
    typed ? input : null,
    make("p.quiet", {}, "Everything that was seen of them is erased. There is no way back."),
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
  toast(`${words} is forgotten: ${pluralize(erased, "view")} erased. ${meaning}`);
}
