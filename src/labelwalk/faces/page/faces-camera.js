/** The camera of this browser: its frames go to the service, one at a time. */

import { make } from "./dom.js";
import { look } from "./faces-service.js";
import { NoCamera } from "./faces-troubles.js";

const WIDEST = 640; // pixels
const QUALITY = 0.85; // of a JPEG
const BEAT = 40; // milliseconds between two frames, where a browser does not tell of new ones

/** Each tab is a camera of its own: tracks do not go from one to another. */
const camera = Array.from(
  crypto.getRandomValues(new Uint8Array(8)), (part) => part.toString(16).padStart(2, "0"),
).join("");

/** Make a source of frames: open it, ask for the next again and again, and close it. */
export function browserCamera() {
  const video = make("video", { playsinline: true });
  const canvas = make("canvas");
  let stream = null;
  let coming = null;
  let isOver = false;
  let end;
  const over = new Promise((_, reject) => { end = reject; });
  over.catch(() => null); // whoever waits for a frame hears of it

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

  /** Return the next frame with its faces; null where the service had no time for it. */
  async function next() {
    await Promise.race([over, coming ?? newFrame(video)]);
    const scale = Math.min(1, WIDEST / video.videoWidth);
    canvas.width = Math.round(scale * video.videoWidth);
    canvas.height = Math.round(scale * video.videoHeight);
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    coming = newFrame(video); // perhaps before the service has answered
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
    else setTimeout(seen, BEAT);
  });
}
