/** The signs of health: what is well, what is not, and what to do; alarms also stand at the top. */

import { get } from "./api.js";
import { byId, fill, make, say } from "./dom.js";
import { now, on, tell } from "./now.js";
import { line } from "./spark.js";
import { number, several } from "./words.js";

const PACE = 15000; // milliseconds between two looks
const POINTS = 120; // of a history
const SHOWN = 2; // alarms at the top
const SHARES = new Set(
  ["outliers", "recent outliers", "new vertices", "sink", "absorbed", "graph"],
);
const TITLES = {
  "sink": "Nobody knows", "graph": "Worth of the graph", "classes": "Spread over classes",
  "absorbed": "Absorbed by labels",
};

let signs = [];
let history = { at: [], signs: {} };
let sounding = "";

/** Look at once and then every few seconds. */
export function startHealth() {
  on("connected", look);
  on("taught", look);
  on(
    "live-standing",
    ({ alarms }) => { if (String(alarms) !== sounding) void look(); sounding = String(alarms); },
  );
  on("learner", () => { signs = []; fill(byId("alarms")); fill(byId("health")); });
  setInterval(
    () => { if (now.learner && !document.hidden && !byId("board").hidden) void look(); }, PACE,
  );
}

async function look() {
  if (!now.learner) return;
  const found = await Promise.all(
    [get("/health"), get("/history")],
  ).catch(() => null); // looked again soon
  if (!found) return;
  [signs, history] = [found[0], thinned(found[1])];
  tell("history", history);
  alarms(signs.filter((sign) => !sign.ok));
  const wrong = signs.filter((sign) => !sign.ok).length;
  say(byId("health-words"), wrong ? several(wrong, "alarm") : "all is well");
  fill(byId("health"), make("ul.signs", {}, ...[...signs].sort((a, b) => a.ok - b.ok).map(row)));
}

function alarms(wrong) {
  const lines = wrong.slice(0, SHOWN).map(
    (sign) => make("p.alarm", {}, mark(false), make("strong", {}, title(sign)), " ", sign.meaning),
  );
  if (wrong.length > SHOWN) lines.push(
    make(
      "p.alarm.quiet", {},
      make("a", { href: "#health-part" }, `and ${wrong.length - SHOWN} more below`),
    ),
  );
  const words = lines.map((one) => one.textContent).join("\n");
  const place = byId("alarms");
  if (place.dataset.words === words) return; // read aloud once
  place.dataset.words = words;
  fill(place, ...lines);
}

function row(sign) {
  const past = history.signs[sign.name] ?? [];
  const limit = sign.limit === null ? "no limit" : `limit ${valueOf(sign.name, sign.limit)}`;
  return make("li.sign", { "data-ok": String(sign.ok) },
    make(
      "div.sign-head", {}, mark(sign.ok), make("h3", {}, title(sign)),
      make("span.state", {}, sign.ok ? "ok" : "alarm"),
    ),
    make(
      "p.sign-value", {}, make("span.value", {}, valueOf(sign.name, sign.value)), " ",
      make("span.more", {}, limit),
    ),
    make(
      "span.past", {}, past.length > 1 ? line(past, `${title(sign)} over the last minutes`) : null,
    ),
    make("p.quiet", {}, sign.meaning));
}

const mark = (ok) => make(
  "span.mark", { "aria-hidden": "true", "data-ok": String(ok) }, ok ? "✓" : "!",
);

const valueOf = (name, value) => (SHARES.has(name) ? `${number(100 * value)} %` : number(value));

const title = ({ name }) => TITLES[name] ?? name[0].toUpperCase() + name.slice(1);

function thinned(whole) {
  const step = Math.max(1, Math.ceil(whole.at.length / POINTS));
  const thin = (values) => values.filter((_, i) => (values.length - 1 - i) % step === 0);
  const numbersOf = (values) => thin(values).map(
    (one) => (typeof one === "object" ? one?.p50 ?? NaN : one),
  );
  const past = Object.fromEntries(
    Object.entries(whole.signs).map(([name, values]) => [name, numbersOf(values)]),
  );
  return {
    at: thin(whole.at), signs: past, rate: numbersOf(whole.rate),
    latency_ms: numbersOf(whole.latency_ms), memory_mib: numbersOf(whole.memory_mib),
  };
}
