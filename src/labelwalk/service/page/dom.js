/** Elements made of text only: nothing that comes from a learner is ever parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/**
 * Make an element.
 * @param {string} tag  optionally with classes, as in "p.aside"
 * @param {object} attributes  on… are listeners; true and false switch an attribute
 * @param {...(Node|string|number|null)} children  strings become text
 */
export function make(tag, attributes = {}, ...children) {
  const [name, ...classNames] = tag.split(".");
  return furnish(document.createElement(name), classNames, attributes, children);
}

/** Make an SVG element. */
export function makeSvg(tag, attributes = {}, ...children) {
  const [name, ...classNames] = tag.split(".");
  return furnish(document.createElementNS(SVG, name), classNames, attributes, children);
}

function furnish(element, classNames, attributes, children) {
  if (classNames.length) element.classList.add(...classNames);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && isDefined(value)) element.setAttribute(name, value);
  }
  element.append(...children.filter(isDefined).map(toNode));
  return element;
}

const isDefined = (value) => value !== null && value !== undefined;

function toNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter(isDefined).map(toNode));
}

/** Set the text of an element if it differs: screen readers announce every change. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Whether a key press belongs to an input field. */
export function isTyping(target) {
  return target instanceof Element && target.matches(
    "input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea, select",
  );
}
