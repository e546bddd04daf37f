/** Lists of people: those in the picture, those with a name, and strangers. */

import { byId, fill, make, setText } from "./dom.js";
import { forgetting, nameForm } from "./faces-forms.js";
import { known } from "./faces-known.js";
import { isIdle } from "./faces-live.js";
import { pictureOf, sureOf, whoIs } from "./faces-service.js";
import { pluralize } from "./format.js";
import { mayWrite, on } from "./store.js";
import { swatch } from "./theme.js";

const PICTURES = 5; // of each

/** Show people and strangers, and refresh them whenever they change. */
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
    setText(byId("people-words"), examples ? `from ${pluralize(examples, "face view")}` : "");
    setText(byId("strangers-words"), strangers.length ? "name or erase them" : "");
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
      : "no one has that name any more");
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
    name.title = newest === null ? "This person must be seen again before being named." : "";
    setText(part.about, `seen ${times(one.examples)}`);
    part.crops.update(one.views);
  } };
}

const times = (n) => pluralize(n, "time");

/** Make the card of a person or stranger: pictures, title, text, buttons, place for a form. */
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

const ABSENCE_MS = 1500; // until a face that is no longer found leaves the list
const SIDE = 44; // pixels of a small picture
const SPEECH_INTERVAL_MS = 3000; // between two announcements of names

let show;
let faces = []; // {face, thumb, seen}, in the order in which they appeared
let lastFrame = 0;
let lastSpoken = 0;

/** Put the list on the page; `choose` is called with the face of a button that is pressed. */
export function startPresent(choose) {
  show = keyedList(byId("present"), (entry) => row(entry, choose), byId("present-title"));
  on("frame", came);
  on("theme", refresh);
  on("live", () => {
    if (!isIdle()) return;
    faces = [];
    refresh();
    setText(byId("spoken"), "");
  });
}

function came(frame) {
  const seen = performance.now();
  lastFrame = seen;
  for (const face of frame.faces) {
    let entry = faces.find((one) => one.face.track === face.track);
    if (!entry) {
      entry = { thumb: make("canvas.thumb", { width: 2 * SIDE, height: 2 * SIDE }) };
      faces.push(entry);
    }
    Object.assign(entry, { face, seen });
    const [x, y, width, height] = face.box;
    const { thumb } = entry;
    thumb.getContext("2d").drawImage(
      frame.image, x, y, width, height, 0, 0, thumb.width, thumb.height,
    );
  }
  faces = faces.filter((one) => one.seen === seen || lingers(one, seen, frame));
  refresh();
  speak(seen);
}

/** Whether a face that was not found stays in the list: recently seen, not on another track. */
function lingers({ face, seen: last }, seen, frame) {
  const isElsewhere = face.name !== null && frame.faces.some((one) => one.name === face.name);
  return seen - last < ABSENCE_MS && !isElsewhere;
}

function refresh() {
  show(faces.map((entry) => [entry.face.track, entry]));
  byId("nobody").hidden = faces.length > 0;
  setText(byId("present-words"), faces.length ? pluralize(faces.length, "face") : "");
}

function row(entry, choose) {
  const mark = make("span.mark-of");
  const who = make("span.name");
  const sure = make("span.share");
  const button = make(
    "button.face", { type: "button", onclick: () => choose(entry.face) }, entry.thumb, mark, who,
    sure,
  );
  let drawn = null;
  const update = ({ face, seen }) => {
    const { name, box, track } = face;
    button.classList.toggle("was-there", seen !== lastFrame);
    Object.assign(button.dataset, { track, box: box.join(" "), example: face.example });
    button.disabled = !mayWrite();
    setText(who, whoIs(face));
    setText(sure, sureOf(face));
    const dot = swatch(name);
    if (dot.innerHTML !== drawn) fill(mark, dot);
    drawn = dot.innerHTML;
  };
  return { element: make("li", {}, button), update };
}

/** Announce the names to screen readers, every few seconds. */
function speak(time) {
  if (time - lastSpoken < SPEECH_INTERVAL_MS) return;
  lastSpoken = time;
  const names = [...new Set(faces.map(({ face }) => face.name).filter((name) => name !== null))];
  setText(byId("spoken"), names.length ? `In the picture: ${names.sort().join(", ")}` : "");
}

/**
 * A row of a few pictures; each is fetched once.
 * @param {string} initial  is shown instead of a missing picture
 * @param {number} most
 */
export function cropRow(initial, most) {
  const element = make("div.crops", { "aria-hidden": "true" });
  const none = placeholder(initial);
  const crops = new Map(); // by example

  function update(examples) {
    const wanted = examples.slice(0, most);
    for (const example of [...crops.keys()]) if (!wanted.includes(example)) crops.delete(example);
    for (const example of wanted) {
      if (!crops.has(example)) crops.set(example, crop(example, initial));
    }
    const shown = wanted.length ? wanted.map((one) => crops.get(one)) : [none];
    const same = shown.length === element.children.length
      && shown.every((one, i) => one === element.children[i]);
    if (!same) element.replaceChildren(...shown);
  }

  return { element, update };
}

/** Make a picture in a frame; a missing picture becomes a placeholder. */
function crop(example, initial) {
  const place = make("span.crop");
  const image = make("img", { src: pictureOf(example), alt: "" });
  image.addEventListener("error", () => place.replaceChildren(...placeholder(initial).childNodes));
  place.append(image);
  return place;
}

const placeholder = (initial) => make("span.crop", {}, make("span.initial", {}, initial));

/**
 * Make a list that reuses its elements when their items change; an element with a form stays
 * until the form is closed.
 * @param {Element} place
 * @param {function} made  item → {element, update}
 * @param {Element} [home]  gets the focus of an element that is removed
 * @returns {function} to be called with [key, item] pairs, in order
 */
export function keyedList(place, made, home = null) {
  const parts = new Map();

  function leave(key, { element }) {
    const hadFocus = element.contains(document.activeElement);
    element.remove();
    parts.delete(key);
    if (hadFocus) home?.focus();
  }

  return (pairs) => {
    const wanted = new Map(pairs);
    for (const [key, part] of [...parts]) {
      if (!wanted.has(key) && !part.element.querySelector("form")) leave(key, part);
    }
    let before = null;
    for (const [key, item] of wanted) {
      if (!parts.has(key)) parts.set(key, made(item));
      const { element, update } = parts.get(key);
      update(item);
      const next = before ? before.nextSibling : place.firstChild;
      if (next !== element) place.insertBefore(element, next);
      before = element;
    }
  };
}
