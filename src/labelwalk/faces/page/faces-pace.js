/** How many frames come, and how long each takes. */

import { byId, setText } from "./dom.js";
import { live } from "./faces-live.js";
import { formatNumber } from "./format.js";
import { on } from "./store.js";

const SPAN = 2000; // milliseconds over which is counted
const PACE = 500; // milliseconds between two looks

let frames = []; // {time, roundTrip, milliseconds}
let last = 0;

/** Keep the words on pace as they are. */
export function startPace() {
  on("frame", ({ roundTrip, milliseconds }) => {
    const time = performance.now();
    frames.push({ time, roundTrip, milliseconds });
    frames = frames.filter((one) => time - one.time <= SPAN);
    if (time - last < PACE) return;
    last = time;
    setText(byId("pace"), words());
  });
  on("live", () => {
    if (live.state === "on") return;
    frames = [];
    setText(byId("pace"), "");
  });
}

function words() {
  const usual = (key) => Math.round(
    frames.map((one) => one[key]).sort((a, b) => a - b)[frames.length >> 1],
  );
  return `${formatNumber(rate())} frames/s · ${usual("roundTrip")} ms there and back, `
    + `${usual("milliseconds")} ms in the service`;
}

/** Frames a second, by the gaps between those that are counted. */
function rate() {
  const took = frames.at(-1).time - frames[0].time;
  return took ? Math.round((10000 * (frames.length - 1)) / took) / 10 : NaN;
}
