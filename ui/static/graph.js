// The graph page: a drawing by sigma with positions from the server, and the same relations as a table.
import { ask, make, pageLink, plural, query, show, table } from "./common.js";
import { draw, ready } from "./drawing.js";

const FIRST_ROWS = 200;
const field = (id) => document.getElementById(id);
const state = { view: null, chosen: "", drawing: null, asked: 0 };

const address = () => {
  const [entity, hops, document_] = ["entity", "hops", "document"].map((id) => field(id).value.trim());
  return { entity, hops, document: document_ };
};

const say = (text, kind = "") => {
  field("said").className = kind;
  field("said").textContent = text;
};

// The newest of several requests is the one that is shown.
const latest = async (work) => {
  const number = ++state.asked;
  const found = await work;
  return number === state.asked ? found : null;
};

const load = async () => {
  const asked = address();
  history.replaceState(null, "", `/graph?${query(asked)}`);
  say("Loading …");
  try {
    const view = await latest(ask(`/v1/graph/view?${query(asked)}`));
    if (view === null) return;
    const canDraw = await ready().then(() => true, () => false);
    state.view = view;
    if (view.entities === 0) await empty(asked);
    else present(asked, canDraw);
  } catch (error) {
    say(error.message, "bad");
    field("shown").hidden = true;
    show("#rows");
  }
};

const empty = async (asked) => {
  field("shown").hidden = true;
  show("#rows");
  if (asked.document) {
    say("No relation of the knowledge graph is from this document.");
    return;
  }
  const documents = await ask("/v1/documents");
  const build = [make("code", {}, "quaere graph build"), " reads the relations that your documents state."];
  const add = ["Add documents first: on the ", make("a", { href: "/" }, "chat page"), ", or with ", make("code", {}, "quaere add"), "."];
  say("");
  show("#said", make("b", {}, "The knowledge graph is empty. "), ...(documents.length ? build : add));
};

const present = (asked, canDraw) => {
  const { view } = state;
  field("shown").hidden = false;
  const inAll = `${plural(view.entities, "entity", "entities")} and ${plural(view.relations, "relation")}`;
  say(`The graph ${asked.document ? "of this document " : ""}has ${inAll}. Shown: ${view.shown}.`);
  state.drawing?.kill();
  state.drawing = null;
  field("drawing").classList.toggle("none", !canDraw);
  if (canDraw) {
    state.drawing = draw(field("stage"), view, choose);
    legend(state.drawing.types);
  } else {
    show("#stage", make("p", { class: "soft" }, "This browser can't draw it (no WebGL). The table below says the same."));
    show("#legend");
  }
  rows(FIRST_ROWS);
  const wanted = asked.entity.toLowerCase();
  const named = view.nodes.find((node) => node.id === asked.entity || node.name.toLowerCase() === wanted);
  if (asked.entity && view.nodes.length) choose((named ?? view.nodes[0]).id);
  else nothingChosen();
};

const legend = (types) =>
  show(
    "#legend",
    ...types.map(([type, colour, count]) => {
      const dot = make("span", { class: "dot" });
      dot.style.background = colour;
      return make("li", {}, dot, `${type} `, make("span", { class: "soft" }, String(count)));
    }),
  );

const nameButton = (id, names) =>
  make("button", { type: "button", class: "name", onclick: () => choose(id, true) }, names.get(id) ?? id);

const rows = (most) => {
  const { view } = state;
  const names = new Map(view.nodes.map((node) => [node.id, node.name]));
  const cells = (edge) => [
    [nameButton(edge.source, names)],
    [make("span", { class: "relation" }, edge.relation)],
    [nameButton(edge.target, names)],
    [make("span", { class: "soft" }, plural(edge.documents, "document"))],
  ];
  const left = view.edges.length - most;
  show(
    "#rows",
    make("h2", {}, plural(view.edges.length, "relation")),
    table(["Subject", "Relation", "Object", "Said in"], view.edges.slice(0, most).map(cells)),
    left > 0 && make("button", { type: "button", onclick: () => rows(Infinity) }, `Show ${left} more`),
  );
};

const nothingChosen = () => {
  state.chosen = "";
  const hint = "Choose an entity, in the drawing or in the table, to see what is said of it and where.";
  show("#details", make("p", { class: "soft" }, hint));
};

const choose = async (id, scroll = false) => {
  const node = state.view.nodes.find((one) => one.id === id);
  if (!node) return;
  state.chosen = id;
  state.drawing?.choose(id);
  const go = make("button", { type: "button", onclick: () => around(node.name) }, "Show what is around it");
  const title = make("h2", { tabindex: "-1" }, node.name);
  const about = [node.type, plural(node.degree, "relation")].filter(Boolean).join(", ");
  const body = make("div", {}, make("p", { class: "soft" }, "Loading …"));
  show("#details", title, make("p", { class: "soft" }, about), go, body);
  if (scroll) {
    title.focus({ preventScroll: true });
    field("details").scrollIntoView({ behavior: "smooth", block: "nearest" });
  }
  try {
    const chosen = field("document").value;
    const asked = { entity: id, hops: 1, limit: 200, documents: chosen ? [chosen] : [] };
    const found = await ask("/v1/graph/query", asked);
    body.replaceChildren(...said(found));
  } catch (error) {
    body.replaceChildren(make("p", { class: "bad" }, error.message));
  }
};

const said = (found) => {
  if (!found.rows.length) return [make("p", { class: "soft" }, found.note || "Nothing is said of it here.")];
  const more = found.truncated && make("p", { class: "soft" }, `The first ${found.rows.length} relations.`);
  return [make("ul", { class: "relations" }, found.rows.map(relation)), more].filter(Boolean);
};

const relation = (row) => {
  const line = [row.subject.name, " ", make("span", { class: "relation" }, row.relation), " ", row.object.name];
  const quotes = row.evidence.map((evidence) =>
    make(
      "li",
      {},
      make("q", {}, evidence.quote.split(/\s+/).join(" ")),
      " ",
      make("a", { href: pageLink(evidence) }, `${evidence.document}, page ${evidence.page}`),
      evidence.extracted_by === "llm" && make("span", { class: "soft" }, " · found by a language model"),
    ),
  );
  return make("li", {}, make("div", {}, line), make("ul", { class: "quotes" }, quotes));
};

const around = (name) => {
  field("entity").value = name;
  load();
};

const suggest = async () => {
  const text = field("entity").value.trim();
  if (!text) return;
  try {
    const found = await ask(`/v1/graph/entities?${query({ q: text, limit: 12 })}`);
    if (field("entity").value.trim() === text)
      show("#names", ...found.map((entity) => make("option", { value: entity.name }, entity.type)));
  } catch {
    show("#names"); // without suggestions; the search itself says what is wrong
  }
};

const documents = async () => {
  const found = await ask("/v1/documents");
  const options = found.map((one) => make("option", { value: one.id }, one.title || one.name));
  field("document").append(...options);
};

const begin = async () => {
  let waiting;
  field("search").addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  for (const id of ["hops", "document"]) field(id).addEventListener("change", load);
  field("entity").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(suggest, 150);
  });
  for (const move of ["nearer", "farther", "whole"])
    field(move).addEventListener("click", () => state.drawing?.[move]());
  try {
    await documents();
  } catch (error) {
    say(error.message, "bad");
  }
  const asked = new URLSearchParams(location.search);
  for (const id of ["entity", "hops", "document"]) if (asked.get(id)) field(id).value = asked.get(id);
  if (!field("hops").value) field("hops").value = "1";
  await load();
};

begin();
