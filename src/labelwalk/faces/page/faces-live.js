/**
 * Frames, one after another, from when somebody starts until they stop.
 *
 * It stands still while a face is being named. While nobody looks at the page, the camera is off.
 */

import { browserCamera } from "./faces-camera.js";
import { watched } from "./faces-watched.js";
import { emit } from "./store.js";

const AGAIN = 1000; // milliseconds before a service that did not answer is asked again
const PASSING = new Set([0, 408, 503]); // what may be over soon, as statuses; 0 is no answer

const SOURCES = { browser: browserCamera, service: watched };

export const live = {
  /** which of the sources */
  kind: "browser",
  /** "off", "opening", "on", "waiting", "paused" or "failed" */
  state: "off",
  /** why it waits or failed */
  error: null,
  /** the frame that is shown */
  frame: null,
};

let source = null; // the one that is open
let letGo = null; // called when the frame need not stand still any more
let standing = null;

/** Begin, or begin again. */
export function start(kind = live.kind) {
  live.kind = kind;
  halt();
  if (document.hidden) enter("paused");
  else void run();
}

/** Stop: the camera is off, and its last picture gone. */
export function stop() {
  halt();
  wipe();
  enter("off");
}

/** Let the frame that is shown stand still. */
export function hold() {
  standing ??= new Promise((go) => { letGo = go; });
}

/** Let it run on. */
export function release() {
  standing = null;
  letGo?.();
}

export const isIdle = () => live.state === "off" || live.state === "failed";

document.addEventListener("visibilitychange", () => {
  if (isIdle()) return;
  halt();
  if (document.hidden) enter("paused");
  else void run();
});

function halt() {
  source?.close();
  source = null;
}

async function run() {
  const mine = SOURCES[live.kind]();
  source = mine;
  enter("opening");
  try {
    await mine.open();
    if (source === mine) enter("on");
    while (source === mine) await step(mine);
  } catch (error) {
    if (source === mine) fail(error);
  } finally {
    mine.close();
  }
}

async function step(mine) {
  await standing;
  if (source !== mine) return;
  try {
    const frame = await mine.next();
    if (source === mine) enter("on");
    if (frame && source === mine && !standing) show(frame);
    else frame?.image.close();
  } catch (error) {
    if (source !== mine) return;
    if (!PASSING.has(error.status)) throw error;
    enter("waiting", error);
    await new Promise((wake) => setTimeout(wake, AGAIN));
  }
}

function enter(state, error = null) {
  if (live.state === state && live.error?.message === error?.message) return;
  live.state = state;
  live.error = error;
  emit("live");
}

function fail(error) {
  source = null;
  wipe();
  enter("failed", error);
}

function show(frame) {
  wipe();
  live.frame = frame;
  emit("frame", frame);
}

function wipe() {
  live.frame?.image.close();
  live.frame = null;
}
