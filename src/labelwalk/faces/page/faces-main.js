/** The page of faces begins here: who is here, and every part in its place. */

import { askForToken, openSession } from "./api.js";
import { byId } from "./dom.js";
import { startConsent } from "./faces-consent.js";
import { startGallery } from "./faces-gallery.js";
import { known, load, startKnowing } from "./faces-known.js";
import { stop } from "./faces-live.js";
import { startPace } from "./faces-pace.js";
import { startPicture } from "./faces-picture.js";
import { pointAt, startPointing } from "./faces-pointing.js";
import { startPresent } from "./faces-present.js";
import { loadSink, startSink } from "./faces-sink.js";
import { startStage } from "./faces-stage.js";
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
