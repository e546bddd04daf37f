/** The page begins here: who is here, which learner, and every part in its place. */

import { startAsking } from "./asking.js";
import { startDials } from "./dials.js";
import { byId } from "./dom.js";
import { startFacesLink } from "./faces-link.js";
import { startFigures } from "./figures.js";
import { startHealth } from "./health.js";
import { startKeys } from "./keys.js";
import { startLearners, which } from "./learners.js";
import { listen, stopListening } from "./live.js";
import { addVerdicts, loadAll, loadMapSoon } from "./loading.js";
import { startMap } from "./map.js";
import { now, on, tell } from "./now.js";
import { setHovered, startOverlay } from "./overlay.js";
import { open, startPanel } from "./panel.js";
import { askForToken, enter } from "./session.js";
import { startStream } from "./stream.js";
import { startTheme } from "./theme.js";
import { trying } from "./toast.js";
import { startTable, wordsOf } from "./vertices.js";
import { startWalking } from "./walking.js";
import { startWelcome } from "./welcome.js";

const KEPT = "labelwalk.learner";

/** Show a learner, or where there is none how to begin. */
async function choose(name) {
  stopListening();
  now.learner = name;
  now.target = null;
  Object.assign(now, { facts: null, map: null, verdicts: [], taught: [] });
  tell("learner");
  const none = name === null;
  byId("welcome").hidden = !none;
  byId("board").hidden = none;
  byId("which").hidden = none;
  byId("live").hidden = none;
  document.title = none ? "labelwalk" : `${name} · labelwalk`;
  if (none) return;
  localStorage.setItem(KEPT, name);
  byId("switcher").value = name;
  await loadAll();
  listen();
}

async function begin() {
  await choose(await which(localStorage.getItem(KEPT)));
}

startTheme();
startKeys();
startOverlay();
startPanel();
startMap(open, (id) => setHovered(id, id === null ? "" : wordsOf(id)));
startWalking(open);
startTable(open);
startStream();
startAsking();
startDials();
startFigures();
startHealth();
startFacesLink();
startLearners((name) => trying(() => choose(name)));
startWelcome((name) => trying(() => choose(name)));

let wasLive = false;
on("learner", () => { wasLive = false; });
on("connected", () => {
  if (wasLive) void trying(loadAll); // the service may have gone on without us
  wasLive = true;
});
on("live-map", loadMapSoon);
on("live-verdicts", ({ verdicts }) => addVerdicts(verdicts));
let asking = false;
on("unknown", async () => {
  if (asking || now.may === null) return; // the first question of all is asked by enter
  asking = true;
  stopListening();
  await askForToken();
  asking = false;
  await trying(begin);
});

await enter();
await trying(begin);
