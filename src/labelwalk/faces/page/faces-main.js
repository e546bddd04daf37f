/** The start of the page of faces. */

import { askForToken, openSession } from "./api.js";
import { byId } from "./dom.js";
import { pointAt, startPointing } from "./faces-forms.js";
import { known, load, startConsent, startKnowing } from "./faces-known.js";
import { stop } from "./faces-live.js";
import { startGallery, startPresent } from "./faces-people.js";
import { loadSink, startSink } from "./faces-sink.js";
import { startPace, startPicture, startStage } from "./faces-stage.js";
import { emit, on, state } from "./store.js";
import { startTheme } from "./theme.js";
import { attempt } from "./toast.js";

const LEARNER = "faces"; // colours are those that it has on the map

async function begin() {
  state.learner = LEARNER;
  emit("learner");
  await load();
  byId("off").hidden = known.facts.on;
  byId("board").hidden = !known.facts.on;
  if (known.facts.on) await loadSink();
}

startTheme();
startPicture(pointAt);
startPresent(pointAt);
startPointing();
startStage();
startPace();
startKnowing();
startGallery();
startSink();
startConsent();

let asking = false;
on("unauthorized", async () => {
  if (asking || state.may === null) return; // the first question of all is asked by openSession
  asking = true;
  stop();
  await askForToken();
  asking = false;
  await attempt(begin);
});

await openSession();
await attempt(begin);
