/** A vertex in words, as something to teach, and all of them as a table. */

import { get } from "./api.js";
import { swatch } from "./colours.js";
import { byId, fill, make } from "./dom.js";
import { now, on } from "./now.js";
import { count, named, percent, several } from "./words.js";

const MOST = 200; // rows

/** What teaching a vertex means: its newest example, or else the row it stands at. */
export function targetOf(id) {
  const i = now.map.vertices.id.indexOf(id);
  return {
    example: i < 0 ? null : now.map.vertices.example[i],
    row: async () => (await get(`/vertices/${id}`)).row,
    words: nameOf(id),
  };
}

/** What a vertex is called; one whose first example is not known has no number to speak of. */
export const nameOf = (id) => (id < 0 ? "This vertex" : `Vertex ${id}`);

/** A vertex in a line. */
export function wordsOf(id) {
  const { vertices } = now.map;
  const i = vertices.id.indexOf(id);
  if (i < 0) return "";
  const sure = vertices.taught[i] ? "taught" : vertices.label[i] === null ? "" : percent(
    vertices.confidence[i],
  );
  return [
    named(vertices.label[i]), sure, several(vertices.count[i], "example"),
  ].filter(Boolean).join(" · ");
}

/** Keep the table and the legend as the map is. */
export function startTable(opened) {
  const part = byId("table-part");
  const refresh = () => {
    if (!now.map) return;
    legend();
    if (part.open && !byId("table").contains(document.activeElement)) table(opened);
  };
  part.addEventListener("toggle", refresh);
  on("map", refresh);
  on("theme", refresh);
}

function table(opened) {
  const { vertices } = now.map;
  const order = vertices.id.map((_, i) => i).sort((a, b) => vertices.count[b] - vertices.count[a]);
  const heads = ["Vertex", "Class", "Confidence", "Examples", "Label"];
  fill(byId("table"), make("table", {},
    make("caption", {}, order.length > MOST ? `The ${MOST} largest` : "All, the largest first"),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...order.slice(0, MOST).map((i) => row(vertices, i, opened)))));
}

function row(vertices, i, opened) {
  const id = vertices.id[i];
  return make("tr", {},
    make(
      "td", {}, make("button.link", { type: "button", onclick: () => opened(id) }, nameOf(id)),
    ),
    make("td", {}, swatch(vertices.label[i]), " ", named(vertices.label[i])),
    make("td", {}, vertices.label[i] === null ? "–" : percent(vertices.confidence[i])),
    make("td", {}, count(vertices.count[i])),
    make("td", {}, vertices.taught[i] ? "taught" : "spread"));
}

function legend() {
  const { classes, vertices } = now.map;
  const entry = (label) => {
    const n = vertices.label.filter((one) => one === label).length;
    return n || label !== null ? make(
      "li", {}, swatch(label), make("span.name", {}, named(label)),
      make("span.quiet", {}, count(n)),
    ) : null;
  };
  fill(byId("legend"), ...classes.map(entry), entry(null));
}
