/** What the service itself looks at: its newest frame, asked for again and again. */

import { view } from "./faces-service.js";

const BEAT = 50; // milliseconds before it is asked again, where there was nothing new

/** Make a source of frames, as a camera of the browser is one. */
export function watched() {
  let last = null;

  /** Return the newest frame with its faces; null where it is the one of before. */
  async function next() {
    const began = performance.now();
    const { picture, told } = await view();
    const roundTrip = performance.now() - began;
    if (told === last) {
      await new Promise((wake) => setTimeout(wake, BEAT));
      return null;
    }
    last = told;
    return { ...JSON.parse(told), roundTrip, image: await createImageBitmap(picture) };
  }

  return { open: async () => null, next, close: () => null };
}
