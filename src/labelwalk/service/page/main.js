/** The start of the page: session, learner, and all parts. */

import { askForToken, openSession } from "./api.js";
import { byId } from "./dom.js";
import { startExampleLists } from "./example_lists.js";
import { startFacesLink } from "./faces-service.js";
import { startHealth } from "./health.js";
import { startKeyboard } from "./keyboard_nav.js";
import { selectLearner, startLearners } from "./learners.js";
import { startMap } from "./map.js";
import { startSettings } from "./settings.js";
import { emit, on, state } from "./store.js";
import { startTheme } from "./theme.js";
import { attempt } from "./toast.js";
import { addVerdicts, listen, loadAll, loadMapSoon, stopListening } from "./updates.js";
import { describeVertex, openPanel, startVertices } from "./vertices.js";

const LEARNER_KEY = "labelwalk.learner";

let wasConnected = false;
let isAsking = false;

/** Show a learner, or with null the page without a learner. */
async function showLearner(name) {
  stopListening();
  Object.assign(state, {
    learner: name, target: null, facts: null, map: null, verdicts: [], taught: [],
  });
  emit("learner");
  wasConnected = false;
  const hasNone = name === null;
  byId("welcome").hidden = !hasNone;
  for (const id of ["board", "which", "live"]) byId(id).hidden = hasNone;
  document.title = hasNone ? "labelwalk" : `${name} · labelwalk`;
  if (hasNone) return;
  localStorage.setItem(LEARNER_KEY, name);
  byId("switcher").value = name;
  await loadAll();
  listen();
}

async function begin() {
  await showLearner(await selectLearner(localStorage.getItem(LEARNER_KEY)));
}

startTheme();
startMap(openPanel, describeVertex);
startVertices();
startKeyboard(openPanel);
startExampleLists();
startSettings();
startHealth();
startFacesLink();
startLearners((name) => attempt(() => showLearner(name)));

on("connected", () => {
  if (wasConnected) void attempt(loadAll); // there may have been changes while disconnected
  wasConnected = true;
});
on("live-map", loadMapSoon);
on("live-verdicts", ({ verdicts }) => addVerdicts(verdicts));
on("unauthorized", async () => {
  if (isAsking || state.may === null) return; // openSession asks for the first token
  isAsking = true;
  stopListening();
  await askForToken();
  isAsking = false;
  await attempt(begin);
});

await openSession();
await attempt(begin);
