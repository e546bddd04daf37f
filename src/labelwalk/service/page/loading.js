/** What the service knows, fetched into `now`; each part tells when it is new. */

import { get } from "./api.js";
import { now, tell } from "./now.js";

const RING = 200; // verdicts that are kept here
const PACE = 1000; // milliseconds between two maps at least

let lastMap = 0;
let dueMap = 0;
let asked = 0;
const newest = {}; // of each part, the question whose answer is shown

/** Fetch all there is to show of a learner. */
export async function loadAll() {
  await Promise.all([loadFacts(), loadMap(), loadVerdicts(), loadTaught()]);
}

/**
 * Fetch a part for the learner that is shown. What comes when another learner is shown, or after
 * the answer to a later question, came too late.
 */
async function load(part, path, of = (found) => found) {
  const { learner } = now;
  if (learner === null) return;
  asked += 1;
  const question = asked;
  const found = await get(path);
  if (learner !== now.learner || question < (newest[part] ?? 0)) return;
  newest[part] = question;
  now[part] = of(found);
  tell(part);
}

export const loadFacts = () => load("facts", "");

export async function loadMap() {
  lastMap = Date.now();
  await load("map", "/map");
}

/** Fetch the map soon: at most once a second, however often it changes. */
export function loadMapSoon() {
  if (dueMap) return;
  dueMap = setTimeout(() => {
    dueMap = 0;
    loadMap().catch(() => null); // the next change asks again
  }, Math.max(0, lastMap + PACE - Date.now()));
}

export const loadVerdicts = () => (
  load("verdicts", `/recent?n=${RING}`, (found) => found.verdicts)
);

/** Put newer verdicts before those that are there. */
export function addVerdicts(newer) {
  const newest = now.verdicts[0]?.example ?? -1;
  const fresh = newer.filter((one) => one.example > newest).sort((a, b) => b.example - a.example);
  now.verdicts = [...fresh, ...now.verdicts].slice(0, RING);
  tell("verdicts", fresh);
}

export const loadTaught = () => load("taught", "/taught");
