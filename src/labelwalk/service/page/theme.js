/** Light or dark: as the system has it, until somebody chooses. */

import { byId } from "./dom.js";
import { tell } from "./now.js";

const KEPT = "labelwalk.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");

export const isDark = () => (
  document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")
) === "dark";

export const isStill = () => still.matches;

/** Put the page into its theme, and let the button change it. */
export function startTheme() {
  const kept = localStorage.getItem(KEPT);
  if (kept) document.documentElement.dataset.theme = kept;
  byId("theme").addEventListener("click", switchTheme);
  system.addEventListener("change", () => tell("theme"));
}

/** Turn light to dark, and back. */
export function switchTheme() {
  const wanted = isDark() ? "light" : "dark";
  if (wanted === (system.matches ? "dark" : "light")) {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(KEPT);
  } else {
    document.documentElement.dataset.theme = wanted;
    localStorage.setItem(KEPT, wanted);
  }
  tell("theme");
}
