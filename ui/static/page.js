// A document's page with a quote marked: the picture of a PDF's page, the text of any other.
import { ask, make, query, show } from "./common.js";

const asked = Object.fromEntries(new URLSearchParams(location.search));
const path = `/v1/documents/${encodeURIComponent(asked.document ?? "")}/pages/${encodeURIComponent(asked.page ?? "")}`;

/** The page; without a mark where the quote does not stand on it as it is (it goes on over the page's end). */
const read = async (quote) => {
  try {
    return [await ask(`${path}?${query({ highlight: quote })}`), quote];
  } catch (error) {
    if (error.status !== 422 || !quote) throw error;
    return [await ask(path), ""];
  }
};

const marked = (text, quote) => {
  const at = quote ? text.indexOf(quote) : -1;
  return at < 0 ? [text] : [text.slice(0, at), make("mark", {}, quote), text.slice(at + quote.length)];
};

const open = async () => {
  const [view, quote] = await read(asked.quote ?? "");
  document.title = `${view.title}, page ${view.page} · Quaere`;
  const step = (page, text) =>
    page >= 1 && page <= view.pages && make("a", { href: `?${query({ document: view.document_id, page })}` }, text);
  const picture = view.format === "pdf" && view.width > 0;
  const alt = `Page ${view.page} of ${view.document}${quote ? " with the quote marked" : ""}`;
  show(
    "#page",
    make("h2", {}, view.title),
    make("p", { class: "soft" }, `${view.document}, page ${view.page} of ${view.pages}`),
    ...(asked.quote ? [make("blockquote", {}, asked.quote)] : []),
    make("nav", { "aria-label": "Page" }, step(view.page - 1, "← page before"), step(view.page + 1, "next page →")),
    picture
      ? make("figure", {}, make("img", { src: `${path}/image?${query({ highlight: quote })}`, alt }))
      : make("pre", {}, marked(view.text || `(no text: ${view.gap || "a blank page"})`, quote)),
  );
  document.querySelector("mark")?.scrollIntoView({ block: "center" });
};

open().catch((error) => show("#page", make("p", { class: "bad" }, error.message)));
