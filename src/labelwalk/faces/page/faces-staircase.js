/** How much would be named, sink by sink: a staircase, and the cliff in it. */

import { makeSvg } from "./dom.js";

const WIDTH = 100;
const HEIGHT = 40;

/**
 * Draw it.
 * @param {{sinks: number[], claimed: number[], cliff: ?number, sink: number}} facts
 * @param {function} place  sink → from 0, the highest, to 1, the lowest
 */
export function staircase({ sinks, claimed, cliff, sink }, place) {
  const x = (one) => (WIDTH * place(one)).toFixed(2);
  const y = (share) => (HEIGHT - 1 - share * (HEIGHT - 3)).toFixed(2);
  const steps = sinks.flatMap((one, i) => [
    i ? `${x(one)},${y(claimed[i - 1])}` : null, `${x(one)},${y(claimed[i])}`,
  ]).filter(Boolean);
  const upright = (kind, one) => makeSvg(
    `line.${kind}`, { x1: x(one), x2: x(one), y1: 0, y2: HEIGHT },
  );
  return makeSvg("svg.staircase", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true",
  },
    cliff === null ? null : makeSvg("rect.beyond", {
      x: x(cliff), y: 0, width: (WIDTH - x(cliff)).toFixed(2), height: HEIGHT,
    }),
    makeSvg("polyline", { points: steps.join(" ") }),
    cliff === null ? null : upright("edge", cliff),
    upright("here", sink));
}

/** The share that is named under a sink, as far as the staircase shows it. */
export function claimedAt({ sinks, claimed }, sink) {
  let share = claimed[0];
  sinks.forEach((one, i) => { if (one >= sink * (1 - 1e-9)) share = claimed[i]; });
  return share;
}
