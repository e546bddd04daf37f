/** The start of the face page: session and all parts. */

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

const LEARNER = "faces"; // its colors on the map are used here too

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
  if (asking || state.may === null) return; // openSession asks for the first token
  asking = true;
  stop();
  await askForToken();
  asking = false;
  await attempt(begin);
});

await openSession();
await attempt(begin);
