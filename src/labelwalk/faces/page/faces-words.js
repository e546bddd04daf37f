/** What is said of a face. */

import { formatPercent } from "./format.js";

/** Who it is: a name, or a number where it has been seen before. */
export function whoIs({ name, stranger }) {
  if (name !== null) return name;
  return stranger === null ? "unknown" : `unknown #${stranger}`;
}

/** How sure that is; of strangers there is nothing to be sure of. */
export const sureOf = ({ name, confidence }) => (name === null ? "" : formatPercent(confidence));
