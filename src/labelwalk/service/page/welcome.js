/** For a newcomer: three ways to begin. */

import { asked } from "./api.js";
import { byId, fill, make } from "./dom.js";
import { importForm, makingForm, which } from "./learners.js";
import { mayWrite, now, on } from "./now.js";
import { trying } from "./toast.js";

/** Fill the page that is shown where there is no learner. */
export function startWelcome(choose) {
  const demo = make("button.first", { type: "button", onclick: () => void trying(async () => {
    await asked("POST", "/api/demo");
    await choose(await which("demo"));
  }) }, "Start the demo");
  const way = (title, words, ...rest) => make(
    "section.way", {}, make("h3", {}, title), make("p", {}, words), ...rest,
  );
  on("session", () => fill(byId("ways"), ...(mayWrite() ? [
    way(
      "Watch it",
      "A stream that comes with labelwalk. Two or three clicks on the map, and it has names.", demo,
    ),
    way(
      "Make a learner",
      "Then send it rows of numbers over HTTP, from Python or from the command line.", makingForm(),
    ),
    way(
      "Bring a learner", "A file that labelwalk wrote, here or on another machine.", importForm(),
    ),
  ] : [
    make(
      "p", {}, "This token may only read. Whoever has the one for everything can make a learner.",
    ),
  ])));
  on("map", waiting);
}

/** Say on an empty map how examples get there. */
function waiting() {
  const empty = now.map.vertices.id.length === 0;
  byId("map-empty").hidden = !empty;
  if (!empty) return;
  const path = `${location.origin}/api/learners/${encodeURIComponent(now.learner)}/observe`;
  fill(byId("map-empty"),
    make("p", {}, make("strong", {}, "Waiting for examples.")),
    make("p.quiet", {}, "Send rows of numbers, and the map draws itself:"),
    make("pre", { tabindex: "0" }, [
      'curl -H "Authorization: Bearer $TOKEN"',
      '-H "Content-Type: application/json"',
      path,
      `-d '{"rows": [[0.1, 0.2], [3.0, 3.1]]}'`,
    ].join(" \\\n  ")));
}
