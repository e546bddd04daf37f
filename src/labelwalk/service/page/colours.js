/**
 * A colour and a shape for every class, which stay with it.
 *
 * Six colours that people who see fewer colours can tell apart, then the same six in another shape.
 */

import { draw } from "./dom.js";
import { now, on } from "./now.js";
import { isDark } from "./theme.js";
import { keyOf } from "./words.js";

const LIGHT = ["#0077bb", "#ee7733", "#009988", "#ee3377", "#33bbee", "#aa3311"];
const DARK = ["#4a9fe6", "#f59a5f", "#35c2ae", "#f5699f", "#86dcfa", "#e06b4c"];
const SHAPES = ["circle", "square", "diamond", "triangle-up", "hexagon", "star"];
const OUTLINES = {
  "circle": "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12z",
  "square": "M3 3h10v10H3z",
  "diamond": "M8 1l7 7l-7 7l-7-7z",
  "triangle-up": "M8 2l7 12H1z",
  "hexagon": "M8 1l6 3.5v7L8 15l-6-3.5v-7z",
  "star": "M8 1l2 5h5l-4 3.300l1.500 5L8 11.300L3.500 14.300L5 9.300L1 6h5z",
};
export const NONE = { light: "#a9a59d", dark: "#6d7078" };

let places = {}; // of the classes of the learner that is shown, by their keys

const kept = (learner) => `labelwalk.places.${learner}`;

on("learner", () => {
  try {
    places = JSON.parse(localStorage.getItem(kept(now.learner))) ?? {};
  } catch {
    places = {};
  }
});
on("map", () => keepColours(now.map.classes)); // first of all, in the order of the classes

/** Where a class stands among the colours; kept, so that no other takes over its colour. */
function place(label) {
  const key = keyOf(label);
  if (!Object.hasOwn(places, key)) {
    const taken = new Set(Object.values(places));
    let free = 0;
    while (taken.has(free)) free++;
    places[key] = free;
    keep();
  }
  return places[key];
}

function keep() {
  localStorage.setItem(kept(now.learner), JSON.stringify(places));
}

/** The colour of a class; null is no label. */
export function colourOf(label) {
  if (label === null || label === undefined) return isDark() ? NONE.dark : NONE.light;
  const colours = isDark() ? DARK : LIGHT;
  return colours[place(label) % colours.length];
}

/** The shape of a class, by the name that plotly gives it. */
export function shapeOf(label) {
  if (label === null || label === undefined) return "circle";
  return SHAPES[Math.floor(place(label) / LIGHT.length) % SHAPES.length];
}

/** Have a colour for each of these classes, and no trace of others: some names must be forgotten. */
export function keepColours(labels) {
  const wanted = new Set(labels.map(keyOf));
  const gone = Object.keys(places).filter((key) => !wanted.has(key));
  for (const key of gone) delete places[key];
  if (gone.length) keep();
  labels.forEach(place);
}

/** Forget the colours of a learner that is gone. */
export function forgetColours(learner) {
  localStorage.removeItem(kept(learner));
}

/** A small mark in colour and shape of a class. */
export function swatch(label) {
  return draw("svg.swatch", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    draw("path", { d: OUTLINES[shapeOf(label)], fill: colourOf(label) }));
}
