/** A few large numbers at the top, each with its last minutes. */

import { byId, fill, make, say } from "./dom.js";
import { now, on } from "./now.js";
import { line } from "./spark.js";
import { count, number, several } from "./words.js";

const FIGURES = {
  examples: {
    title: "Examples", of: (it) => count(it.examples),
    more: (it) => (it.waiting ? `${count(it.waiting)} wait` : "seen"),
  },
  rate: { title: "Pace", of: (it) => number(it.rate), more: () => "a second" },
  vertices: {
    title: "Vertices", of: (it) => count(it.vertices), more: (it) => `radius ${number(it.radius)}`,
  },
  classes: {
    title: "Classes", of: () => count(now.map?.classes.length ?? 0),
    more: () => several(
      now.map?.vertices.taught.filter(Boolean).length ?? 0, "labelled vertex", "labelled vertices",
    ),
  },
  latency_ms: {
    title: "Answered in", of: (it) => `${number(it.latency_ms?.p50)} ms`,
    more: (it) => `99 % within ${number(it.latency_ms?.p99)} ms`,
  },
  memory_mib: { title: "Memory", of: (it) => count(it.memory_mib), more: () => "MiB" },
};
const WITH_HISTORY = ["rate", "latency_ms", "memory_mib"];

const places = {};

/** Put the figures on the page. */
export function startFigures() {
  for (const [name, { title }] of Object.entries(FIGURES)) {
    const place = {
      value: make("span.value", {}, "–"), more: make("span.more"), past: make("span.past"),
    };
    places[name] = place;
    byId("figures").append(
      make(
        "div.figure", {}, make("h2", {}, title), make("p", {}, place.value, " ", place.more),
        place.past,
      ),
    );
  }
  on("live-standing", show);
  on("history", (history) => {
    for (const name of WITH_HISTORY) {
      const past = history[name] ?? [];
      fill(
        places[name].past,
        past.length > 1 ? line(past, `${FIGURES[name].title} over the last minutes`) : null,
      );
    }
  });
}

function show(standing) {
  for (const [name, { of, more }] of Object.entries(FIGURES)) {
    say(places[name].value, of(standing));
    say(places[name].more, more(standing));
  }
}
