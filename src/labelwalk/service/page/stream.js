/** The last verdicts, as they come; the list stands still while one of them is chosen. */

import { chooser } from "./chooser.js";
import { swatch } from "./colours.js";
import { byId, fill, make, say } from "./dom.js";
import { now, on, tell } from "./now.js";
import { bar } from "./spark.js";
import { count, named, percent } from "./words.js";

const SHOWN = 40;
const PACE = 500; // milliseconds between two looks at a list that moves

let rows;
let held = null;
let due = 0;
let newer;

/** Put the stream on the page. */
export function startStream() {
  rows = chooser("verdicts", "Last verdicts, newest first", rowOf, targetOf, chose);
  newer = make("button.newer", { type: "button", hidden: true, onclick: () => rows.choose(null) });
  fill(byId("stream"), newer, rows.list, rows.teacher);
  on("verdicts", soon);
  on("taught", show);
  on("theme", show);
  on("learner", () => rows.choose(null));
}

function soon() {
  due ||= setTimeout(() => {
    due = 0;
    show();
  }, PACE);
}

function chose(item) {
  held = item ? (held ?? now.verdicts.slice(0, SHOWN)) : null;
  tell("pointed", item && { x: item.x, y: item.y });
  if (!item) show();
}

function show() {
  const shown = held ?? now.verdicts.slice(0, SHOWN);
  const taught = new Map(now.taught.map((one) => [one.example, one.label]));
  const told = (example) => taught.get(example) ?? null;
  rows.show(shown.map((one) => ({ ...one, key: one.example, taught: told(one.example) })));
  const missed = held && now.verdicts.length ? now.verdicts[0].example - held[0].example : 0;
  newer.hidden = missed <= 0;
  say(newer, `${count(missed)} newer: let it run on`);
  const words = held ? "held while you choose" : "newest first";
  say(byId("stream-words"), shown.length ? words : "nothing has come yet");
}

function rowOf({ example, label, confidence, outlier, taught }) {
  const given = taught ?? label;
  const name = outlier && given === null ? "like nothing known" : named(given);
  const sure = taught === null && label !== null;
  return [
    make("span.number", {}, `#${example}`),
    swatch(given),
    make("span.name", {}, name),
    taught === null ? null : make("span.chip", {}, "taught"),
    sure ? bar(confidence) : null,
    make("span.share", {}, sure ? percent(confidence) : ""),
  ];
}

const targetOf = (item) => ({ example: item.example, words: `Example ${count(item.example)}` });
