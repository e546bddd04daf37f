/** Two lists of examples: what to label next, and the stream of the last verdicts. */

import { get } from "./api.js";
import { byId, fill, make, setText } from "./dom.js";
import { formatCount, formatLabel, formatPercent, formatRow, pluralize } from "./format.js";
import { rowBars, shareBar } from "./sparkline.js";
import { emit, on, state } from "./store.js";
import { makePicker } from "./teaching.js";
import { swatch } from "./theme.js";

const MAX_QUESTIONS = 4;
const QUESTION_INTERVAL_MS = 15000; // while none is chosen
const MAX_SHOWN_VERDICTS = 40;
const STREAM_INTERVAL_MS = 500;

/** Put both lists on the page. */
export function startExampleLists() {
  startQuestions();
  startStream();
}

/**
 * Make a list in which one item is chosen by click or arrow keys, with a picker below it.
 * @param {string} id
 * @param {string} words  name of the list
 * @param {function} describeRow  item → children of its row
 * @param {function} targetOf  item → what is taught
 * @param {function} changed  called with the chosen item, or null
 */
function makeChooser(id, words, describeRow, targetOf, changed) {
  const list = make(
    "ul.rows", { id, role: "listbox", tabindex: "0", "aria-label": words, "data-teaches": true },
  );
  const about = make("p.about");
  const picker = makePicker(() => (chosen() ? targetOf(chosen()) : null));
  const teacher = make("div.teacher", {}, about, picker);
  let items = [];
  let key = null;
  const chosen = () => items.find((item) => item.key === key) ?? null;

  function choose(item) {
    key = item?.key ?? null;
    state.target = item ? targetOf(item) : null;
    mark();
    changed(item);
  }

  function mark() {
    const isChosen = (row) => row.dataset.key === String(key);
    for (const row of list.children) row.setAttribute("aria-selected", String(isChosen(row)));
    const row = [...list.children].find(isChosen);
    if (row) list.setAttribute("aria-activedescendant", row.id);
    else list.removeAttribute("aria-activedescendant");
    row?.scrollIntoView({ block: "nearest" });
    const item = chosen();
    about.textContent = item ? `${targetOf(item).words} is` : "Select one to label it.";
    teacher.dataset.idle = String(!item);
  }

  function makeRow(item) {
    const attributes = {
      role: "option", id: `${id}-${item.key}`, "data-key": item.key, "aria-selected": "false",
    };
    return make("li", attributes, ...describeRow(item));
  }

  function show(newItems) {
    items = newItems;
    list.hidden = teacher.hidden = items.length === 0;
    fill(list, ...items.map(makeRow));
    if (key !== null && !chosen()) choose(null);
    else mark();
  }

  list.addEventListener("click", (event) => {
    const row = event.target.closest("li");
    if (row) choose(items.find((item) => String(item.key) === row.dataset.key));
  });
  list.addEventListener("focus", () => {
    if (chosen()) state.target = targetOf(chosen());
  });
  list.addEventListener("keydown", (event) => {
    const at = items.indexOf(chosen());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined && items.length) {
      event.preventDefault();
      choose(items[Math.min(Math.max(to, 0), items.length - 1)]);
    } else if (event.key === "Escape") choose(null);
  });
  mark();
  return { list, teacher, show, choose, chosen };
}

function startQuestions() {
  const questions = makeChooser(
    "questions", "What to label next, best first", describeQuestion, questionTarget,
    highlightQuestion,
  );
  const nothing = make("p.quiet", {}, "The most useful labels are suggested here.");
  fill(byId("ask"), nothing, questions.list, questions.teacher);

  async function refresh() {
    if (!state.learner) return;
    const answer = await get(`/ask?n=${MAX_QUESTIONS}`).catch(() => null); // the next one may work
    if (!answer) return;
    nothing.hidden = answer.length > 0;
    const keyOf = (item, i) => item.example ?? `row-${i}-${item.row[0]}`;
    questions.show(answer.map((item, i) => ({ ...item, key: keyOf(item, i) })));
  }

  for (const kind of ["connected", "taught", "theme"]) on(kind, refresh);
  on("learner", () => questions.show([]));
  setInterval(() => {
    const isVisible = state.learner && !document.hidden && !byId("board").hidden;
    if (isVisible && !questions.chosen()) refresh();
  }, QUESTION_INTERVAL_MS);
}

function describeQuestion(item) {
  const guess = item.guess === null
    ? [make("span", {}, "no guess yet")]
    : [
      swatch(item.guess), make("span.name", {}, `perhaps ${item.guess}`),
      make("span.share", {}, formatPercent(item.confidence)),
    ];
  return [
    rowBars(item.row),
    make("span.two-lines", {},
      make("span.guess", {}, ...guess),
      make("span.quiet", {}, `represents ${pluralize(item.count, "example")}`)),
    make("span.unseen", {}, formatRow(item.row)),
  ];
}

/** Show on the map where an example is, if the page knows it. */
function highlightQuestion(item) {
  const verdict = item && state.verdicts.find(({ example }) => example === item.example);
  const { example, x, y } = state.map?.vertices ?? { example: [] };
  const i = item && item.example !== null ? example.indexOf(item.example) : -1;
  emit("highlight", verdict ?? (i < 0 ? null : { x: x[i], y: y[i] }));
}

function questionTarget(item) {
  const words = item.example === null ? "This example" : `Example ${formatCount(item.example)}`;
  return { example: item.example, row: async () => item.row, words };
}

/** The stream does not move while an item is chosen. */
function startStream() {
  let held = null;
  let timer = 0;
  const stream = makeChooser(
    "verdicts", "Last verdicts, newest first", describeVerdict, verdictTarget, hold,
  );
  const newer = make(
    "button.newer", { type: "button", hidden: true, onclick: () => stream.choose(null) },
  );
  fill(byId("stream"), newer, stream.list, stream.teacher);

  function hold(item) {
    held = item ? (held ?? state.verdicts.slice(0, MAX_SHOWN_VERDICTS)) : null;
    emit("highlight", item && { x: item.x, y: item.y });
    if (!item) show();
  }

  function show() {
    const verdicts = held ?? state.verdicts.slice(0, MAX_SHOWN_VERDICTS);
    const labels = new Map(state.taught.map(({ example, label }) => [example, label]));
    stream.show(verdicts.map((verdict) => ({
      ...verdict, key: verdict.example, taught: labels.get(verdict.example) ?? null,
    })));
    const nNewer = held && state.verdicts.length
      ? state.verdicts[0].example - held[0].example : 0;
    newer.hidden = nNewer <= 0;
    setText(newer, `Show ${formatCount(nNewer)} newer`);
    const words = held ? "paused while a row is selected" : "newest first";
    setText(byId("stream-words"), verdicts.length ? words : "no examples yet");
  }

  on("verdicts", () => {
    timer ||= setTimeout(() => {
      timer = 0;
      show();
    }, STREAM_INTERVAL_MS);
  });
  on("taught", show);
  on("theme", show);
  on("learner", () => stream.choose(null));
}

function describeVerdict({ example, label, confidence, outlier, taught }) {
  const shown = taught ?? label;
  const isAnswer = taught === null && label !== null;
  return [
    make("span.number", {}, `#${example}`),
    swatch(shown),
    make("span.name", {}, outlier && shown === null ? "outlier" : formatLabel(shown)),
    taught === null ? null : make("span.chip", {}, "taught"),
    isAnswer ? shareBar(confidence) : null,
    make("span.share", {}, isAnswer ? formatPercent(confidence) : ""),
  ];
}

const verdictTarget = ({ example }) => ({ example, words: `Example ${formatCount(example)}` });
