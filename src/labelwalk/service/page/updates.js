/** Data of the learner that is shown: fetched into the state, and kept current by live events. */

import { get, learnerPath, request } from "./api.js";
import { byId, setText } from "./dom.js";
import { emit, state } from "./store.js";

const MAX_VERDICTS = 200;
const MAP_INTERVAL_MS = 1000; // between two fetches, at least
const SILENCE_MS = 20000; // without an event, after which the connection counts as lost
const MAX_RETRY_MS = 8000;
const LIVE_EVENTS = ["map", "verdicts", "standing"];

let mapFetchedAt = 0;
let mapTimer = 0;
let nRequests = 0;
const newest = {}; // of each part, the request whose answer is shown

let source = null;
let watchdog = 0;
let retryTimer = 0;
let retryMs = 500;

/** Fetch everything that is shown of a learner. */
export async function loadAll() {
  await Promise.all([loadFacts(), loadMap(), loadVerdicts(), loadTaught()]);
}

/** Fetch a part. An answer is dropped if another learner is shown, or a later answer was faster. */
async function load(part, path, convert = (answer) => answer) {
  const { learner } = state;
  if (learner === null) return;
  nRequests += 1;
  const number = nRequests;
  const answer = await get(path);
  if (learner !== state.learner || number < (newest[part] ?? 0)) return;
  newest[part] = number;
  state[part] = convert(answer);
  emit(part);
}

export const loadFacts = () => load("facts", "");

export async function loadMap() {
  mapFetchedAt = Date.now();
  await load("map", "/map");
}

/** Fetch the map soon: at most once a second, however often it changes. */
export function loadMapSoon() {
  if (mapTimer) return;
  mapTimer = setTimeout(() => {
    mapTimer = 0;
    loadMap().catch(() => null); // the next change fetches it again
  }, Math.max(0, mapFetchedAt + MAP_INTERVAL_MS - Date.now()));
}

export const loadVerdicts = () => (
  load("verdicts", `/recent?n=${MAX_VERDICTS}`, (answer) => answer.verdicts)
);

/** Put newer verdicts before the others. */
export function addVerdicts(verdicts) {
  const last = state.verdicts[0]?.example ?? -1;
  const added = verdicts.filter(({ example }) => example > last);
  added.sort((a, b) => b.example - a.example);
  state.verdicts = [...added, ...state.verdicts].slice(0, MAX_VERDICTS);
  emit("verdicts", added);
}

export const loadTaught = () => load("taught", "/taught");

/** Receive live events of the learner that is shown. */
export function listen() {
  stopListening();
  const restartWatchdog = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(reconnect, SILENCE_MS);
  };
  source = new EventSource(`${learnerPath(state.learner)}/live`);
  source.onopen = () => {
    retryMs = 500;
    restartWatchdog();
    showConnection("live", "live");
    emit("connected");
  };
  source.onerror = reconnect;
  for (const kind of LIVE_EVENTS) {
    source.addEventListener(kind, (event) => {
      restartWatchdog();
      emit(`live-${kind}`, JSON.parse(event.data));
    });
  }
  // Verdicts are sent from the first map event on: fetch those between `loadAll` and that event.
  source.addEventListener("map", () => {
    loadVerdicts().catch(() => null); // the next connection fetches them again
  }, { once: true });
}

// A hidden page receives nothing, and catches up when it is visible again.
document.addEventListener("visibilitychange", () => {
  if (!state.learner) return;
  if (!document.hidden) listen();
  else {
    stopListening();
    showConnection("paused", "paused");
  }
});

/** Close the connection. */
export function stopListening() {
  clearTimeout(watchdog);
  clearTimeout(retryTimer);
  source?.close();
  source = null;
}

function reconnect() {
  stopListening();
  showConnection("lost", "reconnecting…");
  retryTimer = setTimeout(checkAndListen, retryMs);
  retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
}

/** An event source does not tell why it was rejected: ask whether the learner still exists. */
async function checkAndListen() {
  try {
    await request("GET", learnerPath(state.learner));
  } catch (error) {
    if (error.status === 404) emit("deleted");
    else if (error.status !== 401) reconnect();
    return;
  }
  listen();
}

function showConnection(kind, words) {
  const place = byId("live");
  place.hidden = false;
  place.dataset.state = kind;
  setText(byId("live-words"), words);
}
