/** What to label next. */

import { get } from "./api.js";
import { chooser } from "./chooser.js";
import { swatch } from "./colours.js";
import { byId, fill, make } from "./dom.js";
import { now, on, tell } from "./now.js";
import { bars } from "./spark.js";
import { count, numbers, percent, several } from "./words.js";

const QUESTIONS = 4;
const PACE = 15000; // milliseconds between two looks, while nobody has chosen one

let cards;
let nothing;

/** Put the questions on the page. */
export function startAsking() {
  cards = chooser("questions", "What to label next, the best first", rowOf, targetOf, point);
  nothing = make("p.quiet", {}, "When examples have come, this says which labels would help most.");
  fill(byId("ask"), nothing, cards.list, cards.teacher);
  on("connected", refresh);
  on("taught", refresh);
  on("theme", refresh);
  on("learner", () => cards.show([]));
  setInterval(() => {
    if (now.learner && !document.hidden && !byId("board").hidden && !cards.chosen()) refresh();
  }, PACE);
}

async function refresh() {
  if (!now.learner) return;
  const found = await get(`/ask?n=${QUESTIONS}`).catch(() => null); // asked again soon
  if (!found) return;
  nothing.hidden = found.length > 0;
  cards.show(found.map((one, i) => ({ ...one, key: one.example ?? `row-${i}-${one.row[0]}` })));
}

function rowOf(item) {
  const guess = item.guess === null
    ? [make("span", {}, "nobody knows yet")]
    : [
      swatch(item.guess), make("span.name", {}, `perhaps ${item.guess}`),
      make("span.share", {}, percent(item.confidence)),
    ];
  return [
    bars(item.row),
    make("span.two-lines", {},
      make("span.guess", {}, ...guess),
      make("span.quiet", {}, `stands for ${several(item.count, "example")}`)),
    make("span.unseen", {}, numbers(item.row)),
  ];
}

/** Show on the map where an example lies, if it is one that the page has seen. */
function point(item) {
  const seen = item && now.verdicts.find((one) => one.example === item.example);
  const { example, x, y } = now.map?.vertices ?? { example: [] };
  const i = item && item.example !== null ? example.indexOf(item.example) : -1;
  tell("pointed", seen ?? (i < 0 ? null : { x: x[i], y: y[i] }));
}

function targetOf(item) {
  const words = item.example === null ? "This example" : `Example ${count(item.example)}`;
  return { example: item.example, row: async () => item.row, words };
}
