/** Small drawings of numbers: a line over time, a row as bars, a share as one bar. */

import { draw, make } from "./dom.js";

const WIDTH = 120;
const HEIGHT = 28;
const ROW = 84; // pixels of a row as bars
const WIDEST = 12; // pixels of a bar
const BARS = 64; // of more numbers, every so many are averaged

/** A line through values over time, the last one marked. Read aloud as its words. */
export function line(values, words) {
  const known = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i) => 2 + (i * (WIDTH - 4)) / Math.max(1, values.length - 1);
  const y = (value) => HEIGHT - 4 - ((value - low) * (HEIGHT - 8)) / (high - low || 1) - (
    high === low ? (HEIGHT - 8) / 2 : 0
  );
  const points = values.map(
    (value, i) => (Number.isFinite(value) ? `${x(i).toFixed(1)},${y(value).toFixed(1)}` : null),
  ).filter(Boolean);
  const end = points.at(-1)?.split(",");
  return draw("svg.spark", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": words,
  },
    points.length > 1 ? draw("polyline", { points: points.join(" ") }) : null,
    end ? draw("circle", { cx: end[0], cy: end[1], r: 2.2 }) : null);
}

/** A row as bars from zero, as high as its largest number. */
export function bars(row) {
  const shown = averaged(row);
  const largest = Math.max(...shown.map(Math.abs), 1e-300);
  const step = Math.min(ROW / shown.length, WIDEST);
  const width = step * shown.length;
  const below = shown.some((value) => value < 0);
  const above = shown.some((value) => value > 0);
  const floor = !below ? HEIGHT - 1 : above ? HEIGHT / 2 : 1;
  const room = Math.max(floor, HEIGHT - floor) - 1;
  const facts = { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" };
  return draw("svg.spark.bars", facts, ...shown.map((value, i) => {
    const height = Math.max(1, (Math.abs(value) / largest) * room);
    return draw("rect", {
      x: (i * step + 0.5).toFixed(2), width: Math.max(0.8, step - 1).toFixed(2),
      y: (value < 0 ? floor : floor - height).toFixed(2), height: height.toFixed(2),
    });
  }));
}

function averaged(row) {
  const size = Math.ceil(row.length / BARS);
  const parts = [];
  for (let at = 0; at < row.length; at += size) {
    const part = row.slice(at, at + size);
    parts.push(part.reduce((sum, value) => sum + value, 0) / part.length);
  }
  return parts;
}

/** A bar as long as a share. */
export function bar(share) {
  const inside = make("span");
  inside.style.width = `${100 * share}%`;
  return make("span.bar", { "aria-hidden": "true" }, inside);
}
