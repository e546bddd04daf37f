/** Small pictures of faces, as the service remembers them. */

import { make } from "./dom.js";
import { pictureOf } from "./faces-service.js";

/**
 * A row of a few pictures; each is fetched once.
 * @param {string} initial  what stands where there is no picture
 * @param {number} most
 */
export function cropRow(initial, most) {
  const element = make("div.crops", { "aria-hidden": "true" });
  const none = placeholder(initial);
  const crops = new Map(); // by example

  function update(examples) {
    const wanted = examples.slice(0, most);
    for (const example of [...crops.keys()]) if (!wanted.includes(example)) crops.delete(example);
    for (const example of wanted) {
      if (!crops.has(example)) crops.set(example, crop(example, initial));
    }
    const shown = wanted.length ? wanted.map((one) => crops.get(one)) : [none];
    const same = shown.length === element.children.length
      && shown.every((one, i) => one === element.children[i]);
    if (!same) element.replaceChildren(...shown);
  }

  return { element, update };
}

/** A frame around a picture, which becomes a placeholder where there is none. */
function crop(example, initial) {
  const place = make("span.crop");
  const image = make("img", { src: pictureOf(example), alt: "" });
  image.addEventListener("error", () => place.replaceChildren(...placeholder(initial).childNodes));
  place.append(image);
  return place;
}

const placeholder = (initial) => make("span.crop", {}, make("span.initial", {}, initial));
