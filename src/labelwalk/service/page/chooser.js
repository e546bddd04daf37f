/** A list in which one row is chosen, by click or arrow keys, and then taught. */

import { fill, make } from "./dom.js";
import { now } from "./now.js";
import { picker } from "./picker.js";

/**
 * Make a list with a picker below it.
 * @param {string} id
 * @param {string} words  what the list is called
 * @param {function} rowOf  item → children of its row
 * @param {function} targetOf  item → what teaching it means
 * @param {function} [changed]  called with the chosen item, or null
 */
export function chooser(id, words, rowOf, targetOf, changed = () => null) {
  const list = make(
    "ul.rows", { id, role: "listbox", tabindex: "0", "aria-label": words, "data-teaches": true },
  );
  const about = make("p.about");
  const teacher = make(
    "div.teacher", {}, about, picker(() => (chosen() ? targetOf(chosen()) : null)),
  );
  let items = [];
  let key = null;
  const chosen = () => items.find((item) => item.key === key) ?? null;

  function choose(item) {
    key = item?.key ?? null;
    now.target = item ? targetOf(item) : null;
    mark();
    changed(item);
  }

  function mark() {
    for (const row of list.children) row.setAttribute(
      "aria-selected", String(row.dataset.key === String(key)),
    );
    const row = [...list.children].find((one) => one.dataset.key === String(key));
    if (row) list.setAttribute("aria-activedescendant", row.id);
    else list.removeAttribute("aria-activedescendant");
    row?.scrollIntoView({ block: "nearest" });
    const item = chosen();
    about.textContent = item ? `${targetOf(item).words} is` : "Choose one to teach it.";
    teacher.dataset.idle = String(!item);
  }

  function show(newer) {
    items = newer;
    list.hidden = teacher.hidden = items.length === 0;
    fill(
      list,
      ...items.map(
        (item) => make(
          "li",
          {
            role: "option", id: `${id}-${item.key}`, "data-key": item.key, "aria-selected": "false",
          },
          ...rowOf(item),
        ),
      ),
    );
    if (key !== null && !chosen()) choose(null);
    else mark();
  }

  list.addEventListener("click", (event) => {
    const row = event.target.closest("li");
    if (row) choose(items.find((item) => String(item.key) === row.dataset.key));
  });
  list.addEventListener("focus", () => {
    if (chosen()) now.target = targetOf(chosen());
  });
  list.addEventListener("keydown", (event) => {
    const at = items.indexOf(chosen());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined && items.length) {
      event.preventDefault();
      choose(items[Math.min(Math.max(to, 0), items.length - 1)]);
    } else if (event.key === "Escape") choose(null);
  });
  mark();
  return { list, teacher, show, choose, chosen };
}
