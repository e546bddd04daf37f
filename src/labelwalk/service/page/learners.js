/** Which learners there are: switch, make, import, export, delete. */

import { asked, pathOf } from "./api.js";
import { forgetColours } from "./colours.js";
import { byId, fill, make } from "./dom.js";
import { mayWrite, now, on } from "./now.js";
import { leave } from "./session.js";
import { toast, trying } from "./toast.js";
import { several } from "./words.js";

let all = [];
let choose;

/** Let people switch; `chosen` is called with a name, or with null where there is none. */
export function startLearners(chosen) {
  choose = chosen;
  byId("switcher").addEventListener("change", (event) => choose(event.target.value));
  byId("manage").addEventListener("click", () => void trying(open));
  on("gone", () => void trying(async () => choose(await which(null))));
}

/** Fetch the names, and return the one to show: the one wanted, or the first, or null. */
export async function which(wanted) {
  all = await asked("GET", "/api/learners");
  const names = all.map((one) => one.name);
  const name = names.includes(wanted) ? wanted : names[0] ?? null;
  fill(
    byId("switcher"),
    ...names.map((one) => make("option", { value: one, selected: one === name }, one)),
  );
  return name;
}

/** Make a learner, and show it. */
export async function create(name, settings = {}) {
  await asked("POST", "/api/learners", { name, settings });
  await choose(await which(name));
}

/** Take in the file of a learner, and show it. */
export async function takeIn(name, file) {
  await asked("PUT", pathOf(name), file, { "Content-Type": "application/octet-stream" });
  await choose(await which(name));
}

/** A form for a new learner. */
export function makingForm(done = () => null) {
  const name = field(
    "new-learner", "Name", { required: true, maxlength: 100, placeholder: "such as doorbell" },
  );
  const size = field(
    "new-size", "Vertices at most", { type: "number", min: 2, max: 5000, value: 500 },
  );
  return form([name, size], "Make it", async () => {
    await create(name.input.value.trim(), { n_centroids: Number(size.input.value) });
    done();
  });
}

/** A form for a file of a learner. */
export function importForm(done = () => null) {
  const file = field("file", "File of a learner", { type: "file", required: true });
  const name = field("file-name", "Name it", { required: true, maxlength: 100 });
  file.input.addEventListener("change", () => {
    name.input.value ||= (file.input.files[0]?.name ?? "").replace(/\.[^.]*$/, "");
  });
  return form([file, name], "Import", async () => {
    await takeIn(name.input.value.trim(), file.input.files[0]);
    done();
  });
}

let fields = 0;

function field(id, words, facts) {
  const input = make("input", { id: `${id}-${++fields}`, autocomplete: "off", ...facts });
  return { input, whole: make("div.field", {}, make("label", { for: input.id }, words), input) };
}

function form(parts, words, act) {
  return make("form.stack", { onsubmit: (event) => {
    event.preventDefault();
    void trying(act);
  } }, ...parts.map((part) => part.whole), make("button", {}, words));
}

async function open() {
  await which(now.learner);
  const dialog = byId("learners");
  const close = () => dialog.close();
  fill(dialog,
    make(
      "div.head", {}, make("h2", { id: "learners-title" }, "Learners"),
      make("button.icon", { type: "button", "aria-label": "Close", onclick: close }, "×"),
    ),
    make("ul.all", {}, ...all.map((one) => row(one, close))),
    mayWrite() ? make("div.two", {},
      make("section", {}, make("h3", {}, "Make one"), makingForm(close)),
      make("section", {}, make("h3", {}, "Import one"), importForm(close))) : null,
    make("p.leaving", {},
      make("button", { type: "button", onclick: () => void trying(leave) }, "Leave"),
      make("span.quiet", {}, "This browser forgets the token.")));
  if (!dialog.open) dialog.showModal();
}

function row(one, close) {
  const { name } = one;
  const kinds = several(one.classes.length, "class", "classes");
  const show = () => { close(); choose(name); };
  const file = `${name.replace(/[^\w.-]+/g, "-")}.lw`;
  const remove = make("button.danger", { type: "button" }, "Delete…");
  const place = make("li", {}, make("div.one", {},
    make("strong.name", {}, name),
    make("span.quiet", {}, `${several(one.examples, "example")} · ${kinds}`),
    make("button", { type: "button", onclick: show }, "Show"),
    make("a.button", { href: `${pathOf(name)}/export`, download: file }, "Export"),
    mayWrite() ? remove : null));
  remove.addEventListener("click", () => confirming(place, name));
  return place;
}

/** Nothing is deleted by a slip: its name has to be typed. */
function confirming(place, name) {
  if (place.querySelector("form")) return;
  const typed = field("delete", `Type ${name} to delete it for ever`, { spellcheck: "false" });
  const go = make("button.danger", { disabled: true }, "Delete");
  typed.input.addEventListener("input", () => { go.disabled = typed.input.value !== name; });
  place.append(make("form.stack", { onsubmit: (event) => {
    event.preventDefault();
    if (typed.input.value === name) void trying(() => erase(name));
  } }, typed.whole, go));
  typed.input.focus();
}

async function erase(name) {
  byId("learners").close();
  const others = all.map((one) => one.name).filter((one) => one !== name);
  if (name === now.learner) await choose(others[0] ?? null); // nothing more is asked of it
  await asked("DELETE", pathOf(name));
  forgetColours(name);
  toast(`${name} is deleted.`);
  await which(now.learner);
}
