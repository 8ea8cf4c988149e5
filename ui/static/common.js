// What the pages share. Nothing here, or in a page, makes markup from text: names and quotes come from documents.

/** An element. Texts become text nodes; `on…` functions are listeners; null, undefined and false leave something out. */
export const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
};

const present = (children) => children.flat().filter((child) => child !== null && child !== undefined && child !== false);

export const show = (place, ...children) => document.querySelector(place).replaceChildren(...present(children));

/** What REST answers, or an Error with its message and hint. */
export const ask = async (path, body, method = body === undefined ? "GET" : "POST") => {
  const options = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new Error("Quaere does not answer. Is `quaere serve` still running?");
  }
  const content = await reply.json().catch(() => ({}));
  if (reply.ok) return content;
  const { message, hint, code } = content.error ?? { message: `the server answered ${reply.status}` };
  throw Object.assign(new Error(hint ? `${message} (${hint})` : message), { status: reply.status, code });
};

export const query = (values) => {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== "" && value !== undefined) asked.set(name, value);
  return asked.toString();
};

/** Where a quote stands on its page. */
export const pageLink = (evidence) =>
  `/graph/page?${query({ document: evidence.document_id, page: evidence.page, quote: evidence.quote })}`;

export const plural = (count, word, words = `${word}s`) => `${count.toLocaleString()} ${count === 1 ? word : words}`;

/** A table; roles are named since a narrow screen lays its rows out as lines. `rows`: an array of cells each, of nodes. */
export const table = (heads, rows) => {
  const row = (cells) => make("tr", { role: "row" }, cells);
  const head = heads.map((name) => make("th", { scope: "col", role: "columnheader" }, name));
  const body = rows.map((cells) => row(cells.map((cell) => make("td", { role: "cell" }, cell))));
  return make(
    "table",
    { role: "table" },
    make("thead", { role: "rowgroup" }, row(head)),
    make("tbody", { role: "rowgroup" }, body),
  );
};
