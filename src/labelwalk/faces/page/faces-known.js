/** The people that the service knows, requested again every few seconds while frames arrive. */

import { byId, fill, make, setText } from "./dom.js";
import { isIdle } from "./faces-live.js";
import * as service from "./faces-service.js";
import { labelKey } from "./format.js";
import { emit, on } from "./store.js";
import { keepColors } from "./theme.js";

const REFRESH_MS = 4000;

export const known = {
  /** response of GET /api/faces */
  facts: null,
};

let asked = 0;
let shown = 0;

/** All names. */
export const people = () => known.facts?.people.map((one) => one.name) ?? [];

/** Fetch the people. An answer is dropped if the answer to a later request was faster. */
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

/** Offer these names in input fields; an open list is not replaced unless the names differ. */
function offer(names) {
  const list = byId("known-names");
  const there = [...list.options].map((one) => one.value);
  if (labelKey(there) === labelKey(names)) return;
  fill(list, ...names.map((name) => make("option", { value: name })));
}

/** Fetch the people after every change, and every few seconds. */
export function startKnowing() {
  const refresh = () => load().catch(() => null); // the next refresh may work
  on("taught", refresh);
  on("live", () => { if (isIdle()) void refresh(); }); // also deletes the colors of erased names
  setInterval(() => { if (!isIdle() && !document.hidden) void refresh(); }, REFRESH_MS);
}

/** State on the page what is stored for each face. */
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
