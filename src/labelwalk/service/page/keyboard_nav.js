/** Single keys of the page, which can be switched off, and arrow keys on the map. */

import { byId, fill, isTyping, make, setText } from "./dom.js";
import { setCursor, zoom } from "./map.js";
import { classes, mayWrite, on, state } from "./store.js";
import { teach, undo } from "./teaching.js";
import { switchTheme } from "./theme.js";
import { describeVertex, vertexTarget } from "./vertices.js";

const SETTING_KEY = "labelwalk.keys";
const PLACES = { m: "map", s: "verdicts", a: "questions", d: "dial-sink", h: "health-title" };
const HELP = [
  ["m", "go to the map"],
  ["s", "go to the stream"],
  ["a", "go to what to label next"],
  ["d", "go to the settings"],
  ["h", "go to the health metrics"],
  ["← ↑ → ↓", "move between vertices, or rows of a list"],
  ["Enter", "open the vertex"],
  ["Esc", "close, or clear the selection"],
  ["1 … 9", "teach the class of that number"],
  ["n", "teach a new class"],
  ["u", "remove the last label"],
  ["+ − 0", "on the map: zoom in, zoom out, show all"],
  ["t", "light or dark theme"],
  ["?", "show this help"],
];
const DIRECTIONS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};
const ZOOM_KEYS = { "+": "in", "=": "in", "-": "out", "0": "fit" };
const SIDEWAYS_WEIGHT = 2; // of the distance across the direction

let current = null; // id of the vertex that the keyboard is at

/** Handle the keys. Enter on the map calls `opened` with the id of the vertex. */
export function startKeyboard(opened) {
  byId("keys-open").addEventListener("click", showHelp);
  document.addEventListener("keydown", (event) => {
    if (hasModifier(event) || event.defaultPrevented || isTyping(event.target)) return;
    const isOff = localStorage.getItem(SETTING_KEY) === "off";
    if (document.querySelector("dialog[open]") || isOff) return;
    if (handleKey(event.key)) event.preventDefault();
  });
  startMapKeys(opened);
}

const hasModifier = (event) => event.ctrlKey || event.metaKey || event.altKey;

/** Return whether the key has a meaning. */
function handleKey(key) {
  if (key === "?") showHelp();
  else if (key === "t") switchTheme();
  else if (byId("board").hidden) return false;
  else if (PLACES[key]) focusOn(byId(PLACES[key]));
  else if (key === "u" && mayWrite()) void undo();
  else if (key === "n" && mayWrite()) focusNewName();
  else if (/^[1-9]$/.test(key)) return teachClass(Number(key));
  else return false;
  return true;
}

/** Teach what has the focus, and nothing else. */
function teachClass(number) {
  const isChoosing = document.activeElement?.closest("[data-teaches]");
  if (!mayWrite() || !state.target || !isChoosing) return false;
  const label = classes()[number - 1];
  if (label === undefined) return false;
  void teach(state.target, label);
  return true;
}

function focusNewName() {
  const find = (element) => element?.querySelector("[data-new-name]");
  const panel = byId("panel").hidden ? null : byId("panel");
  const section = document.activeElement?.closest("section, aside");
  (find(section) ?? find(panel) ?? find(byId("stream"))).focus();
}

function focusOn(element) {
  if (!element || element.hidden) return;
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus();
  element.scrollIntoView({ block: "nearest" });
}

function showHelp() {
  const dialog = byId("keys");
  const isOn = localStorage.getItem(SETTING_KEY) !== "off";
  const setting = make("input", { type: "checkbox", id: "keys-on", checked: isOn });
  setting.addEventListener("change", () => {
    localStorage.setItem(SETTING_KEY, setting.checked ? "on" : "off");
  });
  const close = () => dialog.close();
  const rows = HELP.flatMap(([key, words]) => [
    make("dt", {}, make("kbd", {}, key)), make("dd", {}, words),
  ]);
  fill(dialog,
    make("div.head", {},
      make("h2", { id: "keys-title" }, "Shortcuts"),
      make("button.icon", { type: "button", "aria-label": "Close", onclick: close }, "×")),
    make("dl.keys", {}, ...rows),
    make("p.line", {}, setting, make("label", { for: setting.id }, "Enable shortcuts")));
  if (!dialog.open) dialog.showModal();
}

function startMapKeys(opened) {
  const map = byId("map");
  map.addEventListener("keydown", (event) => {
    if (hasModifier(event) || event.target !== map || !state.map?.vertices.id.length) return;
    if (DIRECTIONS[event.key]) moveTo(findNext(DIRECTIONS[event.key]));
    else if (event.key === "Enter" && current !== null) opened(current);
    else if (ZOOM_KEYS[event.key]) zoom(ZOOM_KEYS[event.key]);
    else return;
    event.preventDefault();
  });
  map.addEventListener("focus", () => {
    if (map.matches(":focus-visible")) moveTo(indexOf(current) < 0 ? findLargest() : current);
  });
  map.addEventListener("blur", () => setCursor(null));
  on("learner", () => { current = null; });
}

function moveTo(id) {
  current = id;
  state.target = vertexTarget(id);
  setCursor(id);
  setText(byId("map-spoken"), describeVertex(id));
}

const indexOf = (id) => state.map.vertices.id.indexOf(id);

function findLargest() {
  const { id, count } = state.map.vertices;
  return id[count.indexOf(Math.max(...count))];
}

/** Return the nearest vertex in a direction. */
function findNext([dx, dy]) {
  const { id, x, y } = state.map.vertices;
  const start = indexOf(current);
  if (start < 0) return findLargest();
  let [best, shortest] = [start, Infinity];
  for (let i = 0; i < id.length; i++) {
    const [toX, toY] = [x[i] - x[start], y[i] - y[start]];
    const along = toX * dx + toY * dy;
    const distance = along + SIDEWAYS_WEIGHT * (Math.abs(toX * dy) + Math.abs(toY * dx));
    if (along > 0 && distance < shortest) [best, shortest] = [i, distance];
  }
  return id[best];
}
