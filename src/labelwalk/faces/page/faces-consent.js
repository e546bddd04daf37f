/** What is kept of the people in the picture, said to those who point a camera at them. */

import { byId, setText } from "./dom.js";
import { known } from "./faces-known.js";
import { on } from "./store.js";

/** Keep the words true. */
export function startConsent() {
  on("known", () => {
    const { representation, keeps_crops: keepsCrops } = known.facts;
    const vector = representation?.startsWith("pixels")
      ? "a vector of its pixels, as good as a small grey picture" : "a vector of numbers";
    setText(byId("kept"), keepsCrops
      ? `Frames are not kept. What is kept of a face is a small picture, and ${vector}.`
      : `Pictures are not kept. What is kept of a face is ${vector}.`);
  });
}
