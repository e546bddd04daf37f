/** What the service knows, fetched into `now`; each part tells when it is new. */

import { get } from "./api.js";
import { now, tell } from "./now.js";

const RING = 200; // verdicts that are kept here
const PACE = 1000; // milliseconds between two maps at least

let lastMap = 0;
let dueMap = 0;

/** Fetch all there is to show of a learner. */
export async function loadAll() {
  await Promise.all([loadFacts(), loadMap(), loadVerdicts(), loadTaught()]);
}

export async function loadFacts() {
  now.facts = await get("");
  tell("facts");
}

export async function loadMap() {
  lastMap = Date.now();
  now.map = await get("/map");
  tell("map");
}

/** Fetch the map soon: at most once a second, however often it changes. */
export function loadMapSoon() {
  if (dueMap) return;
  dueMap = setTimeout(() => {
    dueMap = 0;
    loadMap().catch(() => null); // the next change asks again
  }, Math.max(0, lastMap + PACE - Date.now()));
}

export async function loadVerdicts() {
  now.verdicts = (await get(`/recent?n=${RING}`)).verdicts;
  tell("verdicts");
}

/** Put newer verdicts before those that are there. */
export function addVerdicts(newer) {
  const newest = now.verdicts[0]?.example ?? -1;
  const fresh = newer.filter((one) => one.example > newest).sort((a, b) => b.example - a.example);
  now.verdicts = [...fresh, ...now.verdicts].slice(0, RING);
  tell("verdicts", fresh);
}

export async function loadTaught() {
  now.taught = await get("/taught");
  tell("taught");
}
