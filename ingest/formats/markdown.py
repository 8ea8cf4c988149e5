"""Markdown (CommonMark with tables, footnotes and formulas), its HTML read as HTML, its front matter as the title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from ingest.formats.decode import read_text
from ingest.formats.html import pieces_of_html
from ingest.formats.pages import Kind, Piece, Slugs, check_length, one_line, paged, table_text
from ingest.pdf import ParsedDocument

_DEEPEST = 100  # quotes and lists in each other; what is deeper is left out
_LONGEST_INLINE = 12_000  # of one paragraph; a longer one is taken as it is, since some marks cost quadratic time
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_HEADING_ID = re.compile(r"\s*\{[^{}\n]*#(?P<id>[\w:.-]+)[^{}\n]*\}\s*$")
_CLOSING_HASHES = re.compile(r"\s*\{[.][\w-]+\}\s*$")


def read_markdown(path: Path, max_pages: int) -> ParsedDocument:
    """Raises CorruptDocument, NoText, InvalidInput. Its anchors are the headings' slugs."""
    text = read_text(path)
    check_length(path.name, text, max_pages)
    matter, body = _front_matter(text)
    pieces = list(_Walker().pieces(_parser().parse(body)))
    first = next((piece.text for piece in pieces if piece.level == 1), "")
    return paged(path.name, matter or first, pieces, max_pages)


def _front_matter(text: str) -> tuple[str, str]:
    """(the title it gives or '', the text without it)."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return "", text
    title = _TITLE.search(match[2])
    value = title[1] if title else ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return ("" if value in ("|", ">", "|-", ">-") else value), text[match.end() :]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    parser.use(footnote_plugin).use(dollarmath_plugin, allow_digits=False, allow_space=False, double_inline=True)
    parser.core.ruler.before("inline", "long_paragraphs", _take_as_it_is)
    return parser


def _take_as_it_is(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and len(token.content) > _LONGEST_INLINE:
            token.type, token.children = "long_text", None


class _Walker:
    """Tokens to pieces. What it keeps: the lists it is in, and the footnotes that the current block refers to."""

    def __init__(self) -> None:
        self._slugs = Slugs()
        self._lists: list[int] = []  # the next item's number; 0 for a list of bullets
        self._marker = ""
        self._referred: list[str] = []
        self._notes: dict[str, list[Piece]] = {}

    def pieces(self, tokens: Sequence[Token]) -> Iterator[Piece]:
        """In the order of the text; a footnote after the block that refers to it."""
        body = self._without_notes(tokens)
        at = 0
        while at < len(body):
            end = _end_of(body, at)
            yield from self._block(body[at:end])
            at = end
            while self._referred and not self._lists:
                yield from self._notes.pop(self._referred.pop(0), ())
        for notes in self._notes.values():
            yield from notes

    def _without_notes(self, tokens: Sequence[Token]) -> list[Token]:
        body: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "footnote_open":
                end = next(n for n in range(at, len(tokens)) if tokens[n].type == "footnote_close")
                label = str(token.meta.get("label") or token.meta.get("id", 0) + 1)
                text = "\n".join(p.text for p in _Walker().pieces(tokens[at + 1 : end]))
                self._notes[str(token.meta.get("id", label))] = [Piece("footnote", f"[{label}] {text}")]
                at = end
            elif not token.type.startswith("footnote_"):
                body.append(token)
            at += 1
        return body

    def _block(self, tokens: Sequence[Token]) -> Iterator[Piece]:
        token = tokens[0]
        match token.type:
            case "bullet_list_open":
                self._lists.append(0)
            case "ordered_list_open":
                self._lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._marker = f"{self._lists[-1]}. " if self._lists[-1] else "- "
                self._lists[-1] += bool(self._lists[-1])
            case "heading_open":
                yield self._heading(int(token.tag[1:]), self._inline(tokens[1]))
            case "table_open":
                yield Piece("table", table_text(self._rows(tokens)))
            case "inline" | "long_text":
                yield self._text(self._inline(token))
            case "fence" | "code_block":
                yield Piece("text", token.content.rstrip("\n"))
            case "math_block" | "math_block_label":
                yield Piece("text", token.content.strip())
            case "html_block":
                yield from pieces_of_html(token.content)

    def _heading(self, level: int, text: str) -> Piece:
        given = _HEADING_ID.search(text)
        text = text[: given.start()] if given else _CLOSING_HASHES.sub("", text)
        return Piece("heading", text, level, given["id"] if given else self._slugs.of(text))

    def _text(self, text: str) -> Piece:
        kind: Kind = "list" if self._lists else "text"
        marker, self._marker = self._marker, ""
        return Piece(kind, marker + text)

    def _rows(self, tokens: Sequence[Token]) -> list[list[str]]:
        rows: list[list[str]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("inline", "long_text"):
                rows[-1].append(one_line(self._inline(token)))
        return rows

    def _inline(self, token: Token) -> str:
        if token.children is None:
            return token.content
        parts: list[str] = []
        links = 0
        for child in token.children:
            match child.type:
                case "text" | "code_inline":
                    parts.append(child.content)
                case "softbreak":
                    parts.append(" ")
                case "hardbreak":
                    parts.append("\n")
                case "math_inline" | "math_inline_double":
                    parts.append(f"${child.content}$")
                case "link_open":
                    links += 1
                case "link_close":
                    links -= 1
                case "image" if not links:  # a picture that is a link is a badge or a button
                    parts.append(child.content)
                case "html_inline" if child.content.lower().startswith("<br"):
                    parts.append("\n")
                case "footnote_ref":
                    self._referred.append(str(child.meta.get("id")))
        return "".join(parts).strip()


def _end_of(tokens: Sequence[Token], at: int) -> int:
    """After the heading or table that begins there; after the one token where another begins."""
    closing = {"heading_open": "heading_close", "table_open": "table_close"}.get(tokens[at].type)
    if closing is None:
        return at + 1
    return next(n for n in range(at, len(tokens)) if tokens[n].type == closing) + 1
