// Merged names with their reasons, and what a person decides about them.
import { ask, make, plural, query, show, table } from "./common.js";

const MOST = 500;
const WORDS = {
  same: "spelt or defined so",
  containment: "one within the other",
  similarity: "alike",
  llm: "a language model",
  forced: "your rule",
};
const field = (id) => document.getElementById(id);

const say = (text, kind = "") => {
  field("said").className = kind;
  field("said").textContent = text;
};

/** Change something, say so, and show everything as it is then. */
const change = async (work, done) => {
  say("Working …");
  try {
    await work();
    await load();
    say(done);
  } catch (error) {
    say(error.message, "bad");
  }
};

const decide = (first, second, kind) =>
  change(
    () => ask("/v1/graph/rules", { first, second, kind }),
    kind === "force" ? `“${first}” and “${second}” are the same from now on.` : `“${first}” and “${second}” are kept apart from now on.`,
  );

const forget = (rule) =>
  change(
    () => ask(`/v1/graph/rules?${query({ first: rule.first, second: rule.second })}`, undefined, "DELETE"),
    `The rule about “${rule.first}” and “${rule.second}” is forgotten.`,
  );

const button = (text, label, onclick) => make("button", { type: "button", "aria-label": label, onclick }, text);

const mergeRow = (merge, rules) => {
  const { name, into } = merge;
  const rule = rules.find((one) => [one.first, one.second].includes(name) && [one.first, one.second].includes(into));
  const undo =
    rule?.kind === "force"
      ? button("Forget the rule", `Forget the rule about ${name} and ${into}`, () => forget(rule))
      : name !== into && !rule && button("Keep apart", `Keep ${name} and ${into} apart`, () => decide(name, into, "forbid"));
  const link = make("a", { href: `/graph?${query({ entity: merge.entity_id })}` }, merge.entity);
  const tier = WORDS[merge.tier] ?? merge.tier;
  return [
    [name],
    [make("span", { class: "soft" }, "is "), link],
    [`${tier}, ${merge.score.toFixed(2)}`],
    [make("span", { class: "soft" }, merge.reason)],
    [undo],
  ];
};

const ruleRow = (rule) => [
  [rule.first],
  [make("span", { class: "soft" }, rule.kind === "force" ? "is the same as" : "is not the same as")],
  [rule.second],
  [button("Forget", `Forget the rule about ${rule.first} and ${rule.second}`, () => forget(rule))],
];

const load = async () => {
  const asked = field("q").value.trim();
  const [merges, rules] = await Promise.all([
    ask(`/v1/graph/merges?${query({ q: asked, limit: MOST })}`),
    ask("/v1/graph/rules"),
  ]);
  show(
    "#rules",
    make("h2", {}, "Your rules"),
    rules.length
      ? table(["Name", "", "Name", ""], rules.map(ruleRow))
      : make("p", { class: "soft" }, "None yet: names are merged by what the documents show."),
  );
  const most = merges.length === MOST ? `the first ${MOST} of ` : "";
  field("count").textContent = `Merged names: ${most}${plural(merges.length, "name")}`;
  const nothing = asked ? `No merged name has “${asked}” in it.` : "No name was merged with another: there is no graph yet, or each thing has one name.";
  show(
    "#merges",
    merges.length
      ? table(["Name", "Entity", "Found by", "Reason", ""], merges.map((merge) => mergeRow(merge, rules)))
      : make("p", { class: "soft" }, nothing),
  );
};

const suggest = async (text) => {
  if (!text.trim()) return;
  try {
    const found = await ask(`/v1/graph/entities?${query({ q: text.trim(), limit: 12 })}`);
    const names = new Set(found.flatMap((entity) => [entity.name, ...entity.aliases]));
    show("#names", ...[...names].map((value) => make("option", { value })));
  } catch {
    show("#names"); // without suggestions; deciding says what is wrong
  }
};

field("decide").addEventListener("submit", (event) => {
  event.preventDefault();
  decide(field("first").value.trim(), field("second").value.trim(), event.submitter?.value ?? "force");
});
field("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  load().catch((error) => say(error.message, "bad"));
});
let waiting;
for (const id of ["first", "second"])
  field(id).addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => suggest(field(id).value), 150);
  });
load().catch((error) => say(error.message, "bad"));
