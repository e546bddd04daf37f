/** Where the picture stands: starting, stopping, where frames come from, and why there are none. */

import { byId, fill, make, setText } from "./dom.js";
import { known, people } from "./faces-known.js";
import { isIdle, live, start, stop } from "./faces-live.js";
import { troubleOf } from "./faces-troubles.js";
import { labelKey } from "./format.js";
import { mayWrite, on } from "./store.js";

const LAMP = {
  opening: ["paused", "asking for the camera…"],
  on: ["live", "live"],
  waiting: ["lost", "waiting…"],
  paused: ["paused", "paused"],
};

/** Let people start and stop. */
export function startStage() {
  byId("start").addEventListener("click", () => start(chosen()));
  byId("stop").addEventListener("click", stop);
  byId("source").addEventListener("change", () => {
    if (isIdle()) refresh();
    else start(chosen());
  });
  for (const kind of ["live", "known", "session"]) on(kind, refresh);
  on("frame", hint);
}

/** What frames may come from: tokens that only read send none. */
function kinds() {
  const source = known.facts?.source;
  return [
    mayWrite() ? ["browser", "This browser's camera"] : null,
    source ? ["service", source.name] : null,
  ].filter(Boolean);
}

const chosen = () => byId("source").value;

function refresh() {
  const had = document.activeElement;
  offer(kinds());
  lamp();
  curtain();
  byId("stop").hidden = isIdle();
  if (had === byId("start") && had.hidden) byId("stop").focus();
  if (had === byId("stop") && had.hidden) byId("start").focus();
}

function offer(all) {
  const select = byId("source");
  const there = [...select.options].map((one) => [one.value, one.text]);
  if (labelKey(there) !== labelKey(all)) {
    const before = select.value;
    fill(select, ...all.map(([value, words]) => make("option", { value }, words)));
    if (all.some(([kind]) => kind === before)) select.value = before;
  }
  select.hidden = all.length < 2;
}

function lamp() {
  const [state, words] = LAMP[live.state] ?? [null, ""];
  byId("live").hidden = state === null;
  byId("live").dataset.state = state;
  setText(byId("live-words"), words);
}

function curtain() {
  const isHeld = ["opening", "paused"].includes(live.state) && live.frame !== null;
  byId("curtain").hidden = live.state === "on" || isHeld;
  setText(byId("trouble"), live.error ? troubleOf(live.error) : "");
  setText(byId("newcomer"), isIdle() ? newcomer() : "");
  byId("start").hidden = !isIdle() || kinds().length === 0;
  const again = live.state === "failed" && chosen() === live.kind;
  const source = known.facts?.source?.name;
  setText(byId("start"), again ? "Try again" : chosen() === "service" ? `Watch ${source}`
    : "Start the camera");
}

function newcomer() {
  if (!kinds().length) return "This token may only read, so no frames are sent. People are below.";
  if (people().length || !mayWrite()) return "";
  return "Start, click a face and type a name: from then on it is known.";
}

function hint(frame) {
  byId("hint").hidden = people().length > 0 || !mayWrite() || frame.faces.length === 0;
}
