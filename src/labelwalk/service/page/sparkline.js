/** Small charts: a sparkline over time, a row as bars, a share as one bar. */

import { make, makeSvg } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;
const ROW_WIDTH = 84; // pixels of a row as bars
const MAX_BAR_WIDTH = 12; // pixels
const MAX_BARS = 64; // more values are averaged in groups

/** A line through values over time, the last one marked. `words` describes it to screen readers. */
export function sparkline(values, words) {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const x = (i) => 2 + (i * (WIDTH - 4)) / Math.max(1, values.length - 1);
  const y = (value) => (high === low ? HEIGHT / 2
    : HEIGHT - 4 - ((value - low) * (HEIGHT - 8)) / (high - low));
  const points = values.map(
    (value, i) => (Number.isFinite(value) ? `${x(i).toFixed(1)},${y(value).toFixed(1)}` : null),
  ).filter(Boolean);
  const end = points.at(-1)?.split(",");
  const attributes = {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": words,
  };
  return makeSvg("svg.spark", attributes,
    points.length > 1 ? makeSvg("polyline", { points: points.join(" ") }) : null,
    end ? makeSvg("circle", { cx: end[0], cy: end[1], r: 2.2 }) : null);
}

/** A row as bars from zero, scaled to its largest value. */
export function rowBars(row) {
  const values = averageGroups(row);
  const largest = Math.max(...values.map(Math.abs), 1e-300);
  const step = Math.min(ROW_WIDTH / values.length, MAX_BAR_WIDTH);
  const width = step * values.length;
  const hasNegative = values.some((value) => value < 0);
  const hasPositive = values.some((value) => value > 0);
  const zero = !hasNegative ? HEIGHT - 1 : hasPositive ? HEIGHT / 2 : 1;
  const maxHeight = Math.max(zero, HEIGHT - zero) - 1;
  const size = { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" };
  return makeSvg("svg.spark.bars", size, ...values.map((value, i) => {
    const height = Math.max(1, (Math.abs(value) / largest) * maxHeight);
    return makeSvg("rect", {
      x: (i * step + 0.5).toFixed(2), width: Math.max(0.8, step - 1).toFixed(2),
      y: (value < 0 ? zero : zero - height).toFixed(2), height: height.toFixed(2),
    });
  }));
}

function averageGroups(row) {
  const size = Math.ceil(row.length / MAX_BARS);
  const means = [];
  for (let start = 0; start < row.length; start += size) {
    const group = row.slice(start, start + size);
    means.push(group.reduce((sum, value) => sum + value, 0) / group.length);
  }
  return means;
}

/** A bar as long as a share. */
export function shareBar(share) {
  const inside = make("span");
  inside.style.width = `${100 * share}%`;
  return make("span.bar", { "aria-hidden": "true" }, inside);
}
