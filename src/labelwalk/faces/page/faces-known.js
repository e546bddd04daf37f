/** The people that the service knows, requested again every few seconds while frames arrive. */

import { byId, fill, make, setText } from "./dom.js";
import { isIdle } from "./faces-live.js";
import * as service from "./faces-service.js";
import { labelKey } from "./format.js";
import { emit, on } from "./store.js";
import { keepColors } from "./theme.js";

const PACE = 4000; // milliseconds

export const known = {
  /** what GET /api/faces said */
  facts: null,
};

let asked = 0;
let shown = 0;

/** All names. */
export const people = () => known.facts?.people.map((one) => one.name) ?? [];

/** Ask now; what comes after the answer to a later question came too late. */
export async function load() {
  const question = ++asked;
  const facts = await service.facts();
  if (question < shown) return;
  shown = question;
  known.facts = facts;
  if (facts.on) keepColors(people());
  offer(people());
  emit("known");
}

/** Have fields complete these names; a list that somebody has opened stays where it can. */
function offer(names) {
  const list = byId("known-names");
  const there = [...list.options].map((one) => one.value);
  if (labelKey(there) === labelKey(names)) return;
  fill(list, ...names.map((name) => make("option", { value: name })));
}

/** Ask after every change, and now and then. */
export function startKnowing() {
  const refresh = () => load().catch(() => null); // asked again soon
  on("taught", refresh);
  on("live", () => { if (isIdle()) void refresh(); }); // and names that went keep no colour
  setInterval(() => { if (!isIdle() && !document.hidden) void refresh(); }, PACE);
}

/** Keep the words true. */
export function startConsent() {
  on("known", () => {
    const { representation, keeps_crops: keepsCrops } = known.facts;
    const vector = representation?.startsWith("pixels")
      ? "a vector of its pixels, from which a small grey picture can be made" : "a vector of numbers";
    setText(byId("kept"), keepsCrops
      ? `Frames are not stored. For each face, a small picture and ${vector} are stored.`
      : `Pictures are not stored. For each face, only ${vector} is stored.`);
  });
}
