/** Elements, made of text alone: nothing that comes from a learner is ever read as HTML. */

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/**
 * Make an element.
 * @param {string} tag  perhaps with classes, as in "p.aside"
 * @param {object} facts  attributes; on… are listeners; true and false switch an attribute
 * @param {...(Node|string|number|null)} children  strings become text
 */
export function make(tag, facts = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return furnished(document.createElement(name), classes, facts, children);
}

/** Make an element of a drawing. */
export function draw(tag, facts = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  return furnished(document.createElementNS(SVG, name), classes, facts, children);
}

function furnished(element, classes, facts, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(facts)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && isThere(value)) element.setAttribute(name, value);
  }
  element.append(...children.filter(isThere).map(asNode));
  return element;
}

const isThere = (value) => value !== null && value !== undefined;

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** Put children in place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter(isThere).map(asNode));
}

/** Set the text of an element where it is another: screen readers hear of changes alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Whether a key goes into a field, not to the page. */
export function isTyping(target) {
  return target instanceof Element && target.matches(
    "input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea, select",
  );
}
