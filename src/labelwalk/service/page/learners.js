/** The learners: switch, create, import, export and delete, and the page without any learner. */

import { closeSession, learnerPath, request } from "./api.js";
import { byId, fill, make } from "./dom.js";
import { pluralize } from "./format.js";
import { mayWrite, on, state } from "./store.js";
import { deleteColors } from "./theme.js";
import { attempt, toast } from "./toast.js";

let learners = [];
let choose;
let nFields = 0;

/** Let the user switch. `chosen` is called with a name, or with null without a learner. */
export function startLearners(chosen) {
  choose = chosen;
  byId("switcher").addEventListener("change", (event) => choose(event.target.value));
  byId("manage").addEventListener("click", () => void attempt(openDialog));
  on("deleted", () => void attempt(() => switchTo(null)));
  on("session", showWelcome);
  on("map", explainEmptyMap);
}

/** Fetch the learners, and return the name to show: the preferred one, the first one, or null. */
export async function selectLearner(preferred) {
  learners = await request("GET", "/api/learners");
  const names = learners.map(({ name }) => name);
  const selected = names.includes(preferred) ? preferred : names[0] ?? null;
  const options = names.map(
    (name) => make("option", { value: name, selected: name === selected }, name),
  );
  fill(byId("switcher"), ...options);
  return selected;
}

async function switchTo(name) {
  await choose(await selectLearner(name));
}

function makeCreateForm(done = () => null) {
  const name = makeField(
    "new-learner", "Name", { required: true, maxlength: 100, placeholder: "e.g. doorbell" },
  );
  const size = makeField(
    "new-size", "Maximum number of vertices", { type: "number", min: 2, max: 5000, value: 500 },
  );
  return makeForm([name, size], "Create", async () => {
    const learner = name.input.value.trim();
    const settings = { n_centroids: Number(size.input.value) };
    await request("POST", "/api/learners", { name: learner, settings });
    await switchTo(learner);
    done();
  });
}

function makeImportForm(done = () => null) {
  const file = makeField("file", "Learner file", { type: "file", required: true });
  const name = makeField("file-name", "Import as", { required: true, maxlength: 100 });
  file.input.addEventListener("change", () => {
    name.input.value ||= (file.input.files[0]?.name ?? "").replace(/\.[^.]*$/, "");
  });
  return makeForm([file, name], "Import", async () => {
    const learner = name.input.value.trim();
    const headers = { "Content-Type": "application/octet-stream" };
    await request("PUT", learnerPath(learner), file.input.files[0], headers);
    await switchTo(learner);
    done();
  });
}

function makeField(id, words, attributes) {
  const input = make("input", { id: `${id}-${++nFields}`, autocomplete: "off", ...attributes });
  return { input, element: make("div.field", {}, make("label", { for: input.id }, words), input) };
}

function makeForm(fields, words, act) {
  return make("form.stack", { onsubmit: (event) => {
    event.preventDefault();
    void attempt(act);
  } }, ...fields.map(({ element }) => element), make("button", {}, words));
}

async function openDialog() {
  await selectLearner(state.learner);
  const dialog = byId("learners");
  const close = () => dialog.close();
  const logOut = () => void attempt(closeSession);
  const forms = () => make("div.two", {},
    make("section", {}, make("h3", {}, "Create a learner"), makeCreateForm(close)),
    make("section", {}, make("h3", {}, "Import a learner"), makeImportForm(close)));
  fill(dialog,
    make("div.head", {},
      make("h2", { id: "learners-title" }, "Learners"),
      make("button.icon", { type: "button", "aria-label": "Close", onclick: close }, "×")),
    make("ul.all", {}, ...learners.map((learner) => makeRow(learner, close))),
    mayWrite() ? forms() : null,
    make("p.leaving", {},
      make("button", { type: "button", onclick: logOut }, "Log out"),
      make("span.quiet", {}, "Deletes the token from this browser.")));
  if (!dialog.open) dialog.showModal();
}

function makeRow({ name, classes, examples }, close) {
  const nClasses = pluralize(classes.length, "class", "classes");
  const summary = `${pluralize(examples, "example")} · ${nClasses}`;
  const show = () => { close(); choose(name); };
  const file = `${name.replace(/[^\w.-]+/g, "-")}.lw`;
  const remove = make("button.danger", { type: "button" }, "Delete…");
  const row = make("li", {}, make("div.one", {},
    make("strong.name", {}, name),
    make("span.quiet", {}, summary),
    make("button", { type: "button", onclick: show }, "Show"),
    make("a.button", { href: `${learnerPath(name)}/export`, download: file }, "Export"),
    mayWrite() ? remove : null));
  remove.addEventListener("click", () => confirmDeletion(row, name));
  return row;
}

/** The name has to be typed, so that nothing is deleted by accident. */
function confirmDeletion(row, name) {
  if (row.querySelector("form")) return;
  const typed = makeField(
    "delete", `Type ${name} to delete it permanently`, { spellcheck: "false" },
  );
  const button = make("button.danger", { disabled: true }, "Delete");
  typed.input.addEventListener("input", () => { button.disabled = typed.input.value !== name; });
  row.append(make("form.stack", { onsubmit: (event) => {
    event.preventDefault();
    if (typed.input.value === name) void attempt(() => deleteLearner(name));
  } }, typed.element, button));
  typed.input.focus();
}

async function deleteLearner(name) {
  byId("learners").close();
  const other = learners.map((learner) => learner.name).find((one) => one !== name) ?? null;
  if (name === state.learner) await choose(other); // first, so that nothing more is requested of it
  await request("DELETE", learnerPath(name));
  deleteColors(name);
  toast(`${name} was deleted.`);
  await selectLearner(state.learner);
}

/** Fill the page that is shown without a learner. */
function showWelcome() {
  if (!mayWrite()) {
    const words = "This token is read-only. Use the other token to create a learner.";
    fill(byId("ways"), make("p", {}, words));
    return;
  }
  const startDemo = () => void attempt(async () => {
    await request("POST", "/api/demo");
    await switchTo("demo");
  });
  const makeWay = (title, words, action) => make("section.way", {},
    make("h3", {}, title), make("p", {}, words), action);
  fill(byId("ways"),
    makeWay("Try the demo", "A built-in stream. Name a few points on the map, and watch.",
      make("button.first", { type: "button", onclick: startDemo }, "Start the demo")),
    makeWay("Create a learner",
      "Then send rows of numbers over HTTP, from Python or the command line.", makeCreateForm()),
    makeWay("Import a learner", "A labelwalk model file.", makeImportForm()));
}

/** Explain on an empty map how to send examples. */
function explainEmptyMap() {
  const isEmpty = state.map.vertices.id.length === 0;
  byId("map-empty").hidden = !isEmpty;
  if (!isEmpty) return;
  const command = [
    'curl -H "Authorization: Bearer $TOKEN"',
    '-H "Content-Type: application/json"',
    `${location.origin}${learnerPath(state.learner)}/observe`,
    `-d '{"rows": [[0.1, 0.2], [3.0, 3.1]]}'`,
  ].join(" \\\n  ");
  fill(byId("map-empty"),
    make("p", {}, make("strong", {}, "Waiting for examples.")),
    make("p.quiet", {}, "Send rows of numbers:"),
    make("pre", { tabindex: "0" }, command));
}
