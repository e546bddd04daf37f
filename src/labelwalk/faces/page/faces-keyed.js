/**
 * A list whose elements stay while what they show changes: nothing goes from under a hand.
 *
 * One that holds a form stays until that is answered.
 */

/**
 * Make such a list.
 * @param {Element} place
 * @param {function} made  item → {element, update}
 * @param {Element} [home]  has the focus when an element that had it goes
 * @returns {function} to be called with [key, item] pairs, in order
 */
export function keyedList(place, made, home = null) {
  const parts = new Map();

  function leave(key, { element }) {
    const hadFocus = element.contains(document.activeElement);
    element.remove();
    parts.delete(key);
    if (hadFocus) home?.focus();
  }

  return (pairs) => {
    const wanted = new Map(pairs);
    for (const [key, part] of [...parts]) {
      if (!wanted.has(key) && !part.element.querySelector("form")) leave(key, part);
    }
    let before = null;
    for (const [key, item] of wanted) {
      if (!parts.has(key)) parts.set(key, made(item));
      const { element, update } = parts.get(key);
      update(item);
      const next = before ? before.nextSibling : place.firstChild;
      if (next !== element) place.insertBefore(element, next);
      before = element;
    }
  };
}
