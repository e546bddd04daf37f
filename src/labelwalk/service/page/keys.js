/** Single keys. They can be switched off, for those whose software speaks in them. */

import { byId, fill, isTyping, make } from "./dom.js";
import { classes, mayWrite, now } from "./now.js";
import { switchTheme } from "./theme.js";
import { teach, undo } from "./teaching.js";

const KEPT = "labelwalk.keys";
const PLACES = { m: "map", s: "verdicts", a: "questions", d: "dial-sink", h: "health-title" };
const HELP = [
  ["m", "to the map"], ["s", "to the stream"], [
    "a", "to what to label next",
  ], ["d", "to the dials"], ["h", "to the health"],
  [
    "← ↑ → ↓", "from vertex to vertex, from row to row",
  ], ["Enter", "open the vertex"], ["Esc", "close, let go"],
  [
    "1 … 9", "teach what is chosen the class of that number",
  ], ["n", "give it a new class"], ["u", "take back the last label"],
  ["+ − 0", "on the map: closer, further, all"], ["t", "light or dark"], ["?", "this help"],
];

/** Let keys do their work. */
export function startKeys() {
  byId("keys-open").addEventListener("click", help);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") || localStorage.getItem(KEPT) === "off") return;
    if (pressed(event.key)) event.preventDefault();
  });
}

function pressed(key) {
  if (key === "?") help();
  else if (key === "t") switchTheme();
  else if (byId("board").hidden) return false;
  else if (PLACES[key]) goTo(byId(PLACES[key]));
  else if (key === "u" && mayWrite()) void undo();
  else if (key === "n" && mayWrite()) newName();
  else if (/^[1-9]$/.test(key)) return digit(Number(key));
  else return false;
  return true;
}

/** A digit teaches what the focus is on, and nothing else. */
function digit(n) {
  const here = document.activeElement?.closest("[data-teaches]");
  if (!mayWrite() || !now.target || !here) return false;
  const label = classes()[n - 1];
  if (label === undefined) return false;
  void teach(now.target, label);
  return true;
}

function newName() {
  const here = document.activeElement?.closest("section, aside")?.querySelector("[data-new-name]");
  const open = byId("panel").hidden ? null : byId("panel").querySelector("[data-new-name]");
  (here ?? open ?? byId("stream").querySelector("[data-new-name]")).focus();
}

function goTo(place) {
  if (!place || place.hidden) return;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus();
  place.scrollIntoView({ block: "nearest" });
}

function help() {
  const dialog = byId("keys");
  const on = make(
    "input", { type: "checkbox", id: "keys-on", checked: localStorage.getItem(KEPT) !== "off" },
  );
  on.addEventListener("change", () => localStorage.setItem(KEPT, on.checked ? "on" : "off"));
  fill(dialog,
    make(
      "div.head", {}, make("h2", { id: "keys-title" }, "Keys"),
      make(
        "button.icon", { type: "button", "aria-label": "Close", onclick: () => dialog.close() },
        "×",
      ),
    ),
    make(
      "dl.keys", {},
      ...HELP.flatMap(
        ([key, words]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, words)],
      ),
    ),
    make("p.line", {}, on, make("label", { for: on.id }, "Single keys are on")));
  if (!dialog.open) dialog.showModal();
}
