/**
 * Light and dark theme, and a color and a shape for each class.
 *
 * Six colors that color-blind people can distinguish, then the same six with another shape. A class
 * keeps its color.
 */

import { byId, makeSvg } from "./dom.js";
import { labelKey } from "./format.js";
import { emit, on, state } from "./store.js";

const THEME_KEY = "labelwalk.theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

const LIGHT_COLORS = ["#0077bb", "#ee7733", "#009988", "#ee3377", "#33bbee", "#aa3311"];
const DARK_COLORS = ["#4a9fe6", "#f59a5f", "#35c2ae", "#f5699f", "#86dcfa", "#e06b4c"];
const NO_LABEL = { light: "#a9a59d", dark: "#6d7078" };
const SHAPES = ["circle", "square", "diamond", "triangle-up", "hexagon", "star"];
const OUTLINES = {
  "circle": "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12z",
  "square": "M3 3h10v10H3z",
  "diamond": "M8 1l7 7l-7 7l-7-7z",
  "triangle-up": "M8 2l7 12H1z",
  "hexagon": "M8 1l6 3.5v7L8 15l-6-3.5v-7z",
  "star": "M8 1l2 5h5l-4 3.300l1.500 5L8 11.300L3.500 14.300L5 9.300L1 6h5z",
};

export const isDark = () => (
  document.documentElement.dataset.theme ?? (systemIsDark.matches ? "dark" : "light")
) === "dark";

export const isMotionReduced = () => reducedMotion.matches;

/** Apply the stored theme, and let the button switch it. */
export function startTheme() {
  const stored = localStorage.getItem(THEME_KEY);
  if (stored) document.documentElement.dataset.theme = stored;
  byId("theme").addEventListener("click", switchTheme);
  systemIsDark.addEventListener("change", () => emit("theme"));
}

/** Switch between light and dark. */
export function switchTheme() {
  const theme = isDark() ? "light" : "dark";
  if (theme === (systemIsDark.matches ? "dark" : "light")) {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(THEME_KEY);
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(THEME_KEY, theme);
  }
  emit("theme");
}

let indices = {}; // color index by class key, for the learner that is shown

const storageKey = (learner) => `labelwalk.places.${learner}`;

on("learner", () => {
  try {
    indices = JSON.parse(localStorage.getItem(storageKey(state.learner))) ?? {};
  } catch {
    indices = {};
  }
});
on("map", () => keepColors(state.map.classes)); // before other listeners, in the order of classes

/** The index of a class, stored so that no other class takes over its color. */
function colorIndex(label) {
  const key = labelKey(label);
  if (!Object.hasOwn(indices, key)) {
    const taken = new Set(Object.values(indices));
    let free = 0;
    while (taken.has(free)) free++;
    indices[key] = free;
    store();
  }
  return indices[key];
}

function store() {
  localStorage.setItem(storageKey(state.learner), JSON.stringify(indices));
}

/** The color of a class, or of no label. */
export function colorOf(label) {
  if (label === null || label === undefined) return isDark() ? NO_LABEL.dark : NO_LABEL.light;
  const colors = isDark() ? DARK_COLORS : LIGHT_COLORS;
  return colors[colorIndex(label) % colors.length];
}

/** The shape of a class, by its name in plotly. */
export function shapeOf(label) {
  if (label === null || label === undefined) return "circle";
  return SHAPES[Math.floor(colorIndex(label) / LIGHT_COLORS.length) % SHAPES.length];
}

/** Keep the colors of these classes, and delete others from the browser: names may be private. */
export function keepColors(labels) {
  const keys = new Set(labels.map(labelKey));
  const outdated = Object.keys(indices).filter((key) => !keys.has(key));
  for (const key of outdated) delete indices[key];
  if (outdated.length) store();
  labels.forEach(colorIndex);
}

/** Delete the colors of a deleted learner. */
export function deleteColors(learner) {
  localStorage.removeItem(storageKey(learner));
}

/** A small mark in the color and shape of a class. */
export function swatch(label) {
  return makeSvg("svg.swatch", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    makeSvg("path", { d: OUTLINES[shapeOf(label)], fill: colorOf(label) }));
}
