/** Galleries: people by name, and whoever has none yet; both can be named or forgotten. */

import { byId, fill, make, setText } from "./dom.js";
import { cropRow } from "./faces-crops.js";
import { forgetting } from "./faces-forgetting.js";
import { keyedList } from "./faces-keyed.js";
import { known } from "./faces-known.js";
import { nameForm } from "./faces-naming.js";
import { pluralize } from "./format.js";
import { on } from "./store.js";
import { swatch } from "./theme.js";

const PICTURES = 5; // of each

/** Keep both galleries as the service knows them. */
export function startGallery() {
  const showPeople = keyedList(byId("people"), person, byId("people-title"));
  const showStrangers = keyedList(byId("strangers"), stranger, byId("strangers-title"));
  const refresh = () => {
    if (!known.facts) return;
    const { people, strangers, examples } = known.facts;
    const inOrder = [...strangers].sort((a, b) => a.number - b.number);
    showPeople(people.map((one) => [one.name, one]));
    showStrangers(inOrder.map((one) => [one.number, one]));
    byId("no-people").hidden = people.length > 0;
    byId("no-strangers").hidden = strangers.length > 0;
    setText(byId("people-words"), examples ? `among ${pluralize(examples, "view")} of faces` : "");
    setText(byId("strangers-words"), strangers.length ? "name them, or let them be forgotten" : "");
  };
  on("known", refresh);
  on("theme", refresh);
}

function person(first) {
  const { name } = first;
  const part = card([...name][0]?.toUpperCase() ?? "?", { key: { name }, words: name, typed: true });
  return { element: part.element, update: ({ examples, taught, views }) => {
    fill(part.title, swatch(name), make("strong.name", {}, name));
    setText(part.about, examples || taught
      ? `seen ${times(examples)} · ${pluralize(taught, "view")} taught`
      : "nobody is called that any more");
    part.crops.update(views);
  } };
}

function stranger(first) {
  const { number } = first;
  const words = `unknown #${number}`;
  const part = card("?", { key: { stranger: number }, words, typed: false });
  let newest = null;
  const name = make("button", { type: "button" }, "Name…");
  name.addEventListener("click", () => asking(part, newest, name));
  part.buttons.prepend(name);
  fill(part.title, swatch(null), make("strong.name", {}, words));
  return { element: part.element, update: (one) => {
    newest = one.newest;
    name.disabled = newest === null;
    name.title = newest === null ? "It must be seen again before it can be named." : "";
    setText(part.about, `seen ${times(one.examples)}`);
    part.crops.update(one.views);
  } };
}

const times = (n) => pluralize(n, "time");

/** What both have: pictures, a title, some words, buttons, and room for a question. */
function card(initial, whom) {
  const question = make("div.question");
  const part = {
    crops: cropRow(initial, PICTURES),
    title: make("p.card-title"),
    about: make("p.quiet"),
    buttons: make("div.line.writes", {}, forgetting(whom, question)),
    question,
  };
  part.element = make(
    "li.one-of-them", {}, part.crops.element, part.title, part.about, part.buttons, part.question,
  );
  return part;
}

function asking(part, example, opener) {
  const close = () => {
    fill(part.question);
    opener.focus();
  };
  const { form, focus } = nameForm(example, "Who is it?", close);
  fill(part.question, form);
  focus();
}
