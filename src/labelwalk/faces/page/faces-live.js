/**
 * Frames of the camera of this browser, or of the service, from start to stop.
 *
 * The picture is frozen while a face is named. While the page is hidden, the camera is off.
 */

import { make } from "./dom.js";
import { look, view } from "./faces-service.js";
import { emit } from "./store.js";

const RETRY_PAUSE_MS = 1000;
const RETRIED_STATUSES = new Set([0, 408, 503]); // 0: the service did not respond

const SOURCES = { browser: browserCamera, service: watched };

export const live = {
  /** key in `SOURCES` */
  kind: "browser",
  /** "off", "opening", "on", "waiting", "paused" or "failed" */
  state: "off",
  /** the reason of "waiting" or "failed" */
  error: null,
  /** the frame that is shown */
  frame: null,
};

let source = null; // the one that is open
let letGo = null; // ends `standing`
let standing = null; // a promise while the picture is frozen

/** Start a source, or start it again. */
export function start(kind = live.kind) {
  live.kind = kind;
  halt();
  if (document.hidden) enter("paused");
  else void run();
}

/** Stop the source, and remove its last frame. */
export function stop() {
  halt();
  wipe();
  enter("off");
}

/** Freeze the picture. */
export function hold() {
  standing ??= new Promise((go) => { letGo = go; });
}

/** Show new frames again. */
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
  const frames = SOURCES[live.kind]();
  source = frames;
  enter("opening");
  try {
    await frames.open();
    if (source === frames) enter("on");
    while (source === frames) await step(frames);
  } catch (error) {
    if (source === frames) fail(error);
  } finally {
    frames.close();
  }
}

async function step(frames) {
  await standing;
  if (source !== frames) return;
  try {
    const frame = await frames.next();
    if (source === frames) enter("on");
    if (frame && source === frames && !standing) show(frame);
    else frame?.image.close();
  } catch (error) {
    if (source !== frames) return;
    if (!RETRIED_STATUSES.has(error.status)) throw error;
    enter("waiting", error);
    await new Promise((wake) => setTimeout(wake, RETRY_PAUSE_MS));
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

const WIDEST = 640; // pixels
const QUALITY = 0.85; // of a JPEG
const FRAME_INTERVAL_MS = 40; // in browsers that do not announce new frames

/** The id of the camera. Each tab has its own: the service follows faces per camera. */
const camera = Array.from(
  crypto.getRandomValues(new Uint8Array(8)), (part) => part.toString(16).padStart(2, "0"),
).join("");

/** Make a source of frames from the camera of this browser. */
export function browserCamera() {
  const video = make("video", { playsinline: true });
  const canvas = make("canvas");
  let stream = null;
  let coming = null;
  let isOver = false;
  let end;
  const over = new Promise((_, reject) => { end = reject; });
  over.catch(() => null); // `open` and `next` report the error

  async function open() {
    if (!navigator.mediaDevices) throw new NoCamera(isSecureContext ? "Missing" : "Insecure");
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: WIDEST } } });
    if (isOver) {
      close();
      return;
    }
    for (const track of stream.getTracks()) {
      track.addEventListener("ended", () => end(new NoCamera("Unplugged")));
    }
    video.muted = true;
    video.srcObject = stream;
    await Promise.race([over, video.play()]);
  }

  /** Return the next frame with its faces; null if the service is busy. */
  async function next() {
    await Promise.race([over, coming ?? newFrame(video)]);
    const scale = Math.min(1, WIDEST / video.videoWidth);
    canvas.width = Math.round(scale * video.videoWidth);
    canvas.height = Math.round(scale * video.videoHeight);
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    coming = newFrame(video); // it may come before the service has answered
    const picture = await new Promise((made) => canvas.toBlob(made, "image/jpeg", QUALITY));
    const began = performance.now();
    const answer = await look(camera, picture);
    const roundTrip = performance.now() - began;
    return answer && { ...answer, roundTrip, image: await createImageBitmap(canvas) };
  }

  function close() {
    isOver = true;
    for (const track of stream?.getTracks() ?? []) track.stop();
    video.srcObject = null;
    end(new NoCamera("Closed"));
  }

  return { open, next, close };
}

function newFrame(video) {
  return new Promise((seen) => {
    if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(seen);
    else setTimeout(seen, FRAME_INTERVAL_MS);
  });
}

const UNCHANGED_PAUSE_MS = 50; // before the next request if there was no new frame

/** Make a source of frames from the camera of the service. */
export function watched() {
  let last = null;

  /** Return the newest frame with its faces; null if it is the previous one. */
  async function next() {
    const began = performance.now();
    const { picture, told } = await view();
    const roundTrip = performance.now() - began;
    if (told === last) {
      await new Promise((wake) => setTimeout(wake, UNCHANGED_PAUSE_MS));
      return null;
    }
    last = told;
    return { ...JSON.parse(told), roundTrip, image: await createImageBitmap(picture) };
  }

  return { open: async () => null, next, close: () => null };
}

/** No camera can be used, for a reason without an error of the browser. */
export class NoCamera extends Error {
  constructor(name) {
    super(name);
    this.name = name;
  }
}

const WORDS = {
  Insecure: () => (
    "Browsers allow cameras only on local pages or over TLS. Open this page as "
    + `http://localhost:${location.port || 80} on the service's machine, or start `
    + "labelwalk serve with --certificate and --private-key."
  ),
  Missing: () => "This browser does not support cameras. Use another browser.",
  NotAllowedError: () => (
    "This page does not have permission to use the camera. Allow it in the address bar or in the system "
    + "settings, and try again."
  ),
  NotFoundError: () => "No camera was found. Connect one, and try again.",
  NotReadableError: () => (
    "The camera does not respond; another program may be using it. Close that program, and try again."
  ),
  Unplugged: () => "The camera was disconnected. Connect it, and try again.",
};

/** The text of an error for the user. */
export const troubleOf = (error) => WORDS[error.name]?.() ?? error.message;
