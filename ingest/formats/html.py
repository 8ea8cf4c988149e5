"""HTML: what a reader of the page sees, as pieces. The tree is walked without recursion, whatever its depth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from core.types import Gap
from ingest.formats.decode import decoded, read_bytes
from ingest.formats.grid import rows_of
from ingest.formats.pages import Kind, Piece, check_length, one_line, paged, table_text
from ingest.pdf import ParsedDocument

_DROPPED = frozenset(
    "script style noscript template head nav iframe object embed applet svg canvas audio video map form button select "
    "option textarea input datalist dialog menu rt rp annotation annotation-xml".split()
)
_HIDDEN_ROLES = frozenset("navigation banner search menu menubar toolbar contentinfo doc-noteref".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer "
    "header hgroup hr html legend li main ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_LAYOUT = frozenset("h1 h2 h3 h4 h5 h6 table ul ol pre article section blockquote figure".split())  # no data cell's
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PERMALINK = re.compile(r"\b(headerlink|anchorjs-link|mw-editsection|anchor-link|permalink|sr-only|visually-hidden)\b")
_NOTE_MARK = re.compile(r"^\W*\w{1,3}\W*$")
_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding=[\"']([\w.-]+)", re.I
)
_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SCRIPT = re.compile(r"[0-9+\-−=()n]{1,8}")
_TOO_DEEP = "Excessive depth"


def read_html(path: Path, max_pages: int) -> ParsedDocument:
    """Raises CorruptDocument, NoText, InvalidInput. Its anchors are the ids of headings and blocks."""
    data = read_bytes(path)
    text = decoded(data, path.name, _declared(data))
    root, too_deep = _parsed(text)
    gaps = (Gap(page=0, reason="its elements are nested too deep: the innermost were not read"),) if too_deep else ()
    pieces = [] if root is None else list(_Walker(root).pieces())
    check_length(path.name, "".join(piece.text for piece in pieces), max_pages)
    first = next((piece.text for piece in pieces if piece.level == 1), "")
    return paged(path.name, _title(root) or first, pieces, max_pages, gaps)


def pieces_of_html(text: str) -> list[Piece]:
    """The pieces of HTML that stands in another text."""
    root, _ = _parsed(text)
    return [] if root is None else list(_Walker(root).pieces())


def _declared(data: bytes) -> str:
    match = _CHARSET.search(data[:4096])
    name = (match[1] or match[2]).decode("ascii").lower() if match else ""
    return {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "iso-8859-1": "cp1252"}.get(name, name)


def _parsed(text: str) -> tuple[Any, bool]:
    """(the root element or None, whether a part was too deep to be kept)."""
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True, recover=True
    )
    text = _DECLARATION.sub("", text.replace("\x00", ""))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # nothing but comments and blanks
        return None, False
    return root, any(_TOO_DEEP in entry.message for entry in parser.error_log)


def _title(root: Any) -> str:
    return "" if root is None else one_line("".join(root.xpath("string((//head/title | /html/title)[1])")))


def _is_hidden(element: Any) -> bool:
    get = element.get
    if get("hidden") is not None or get("aria-hidden") == "true" or get("role") in _HIDDEN_ROLES:
        return True
    return bool(_INVISIBLE.search(get("style", "")) or _PERMALINK.search(get("class", "")))


def _is_dropped(element: Any) -> bool:
    tag = element.tag
    if not isinstance(tag, str) or tag in _DROPPED or _is_hidden(element):
        return bool(tag != "form")  # many pages are one form
    if tag == "footer":
        return next(element.iterancestors("article", "main", "section", "blockquote"), None) is None
    if tag == "sup":
        is_mark = bool(_NOTE_MARK.match(_short_text(element)))
        return is_mark and any(a.get("href", "").startswith("#") for a in element.findall(".//a"))
    return False


def _text(element: Any) -> str:
    return "".join(element.itertext())


def _short_text(element: Any) -> str:
    """The text of an element that has little; '' for one that has more."""
    text = ""
    for part in element.itertext():
        text += part
        if len(text) > 40:
            return ""
    return text.strip()


class _Walker:
    """The elements in the order of the document; their text gathers until a block ends."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._layout = _layout_tables(root)
        self._parts: list[str] = []
        self._inside = False  # whether the block has text already
        self._anchor = ""
        self._lists: list[int] = []
        self._marker = ""
        self._level = 0
        self._notes = 0  # captions and footnotes that are open
        self._pre = 0

    def pieces(self) -> Iterator[Piece]:
        walk = etree.iterwalk(self._root, events=("start", "end"))
        skipped: Any = None
        for event, element in walk:
            if event == "start":
                if _is_dropped(element):
                    skipped = element
                    walk.skip_subtree()
                elif (whole := self._whole(element)) is not None:
                    yield from whole
                    skipped = element
                    walk.skip_subtree()
                else:
                    yield from self._start(element)
                continue
            if element is not skipped:
                yield from self._end(element)
            skipped = None
            self._add(element.tail)
        yield from self._flush()

    def _whole(self, element: Any) -> Iterator[Piece] | None:
        """What is not walked into: tables of data, formulas, pictures, raised and lowered figures."""
        tag = element.tag
        if tag == "table" and element not in self._layout:
            return self._table(element)
        if tag == "math":
            tex = element.get("alttext") or "".join(element.xpath("string(.//annotation[contains(@encoding, 'tex')])"))
            self._add(f"${one_line(tex)}$" if tex else _text(element))
        elif tag == "img":
            if not any(parent.tag == "a" for parent in element.iterancestors("a", "p", "td", "li")):
                self._add(element.get("alt", ""))
        elif tag in ("sup", "sub") and _SCRIPT.fullmatch(text := _short_text(element)):
            self._add(text.translate(_RAISED if tag == "sup" else _LOWERED))
        elif tag == "br":
            self._parts.append("\n")
        else:
            return None
        return iter(())

    def _start(self, element: Any) -> Iterator[Piece]:
        tag = element.tag
        if tag in _BLOCKS or tag in _HEADINGS:
            yield from self._flush()
        self._note_anchor(element)
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag == "ul":
            self._lists.append(0)
        elif tag == "ol":
            self._lists.append(int(start) if (start := element.get("start", "1")).isdecimal() and len(start) < 9 else 1)
        elif tag == "li":
            number = self._lists[-1] if self._lists else 0
            self._marker = f"{number}. " if number else "- "
            if number:
                self._lists[-1] += 1
        self._pre += tag == "pre"
        self._notes += tag in ("figcaption", "caption")
        self._add(element.text)

    def _end(self, element: Any) -> Iterator[Piece]:
        tag = element.tag
        if tag in _BLOCKS or tag in _HEADINGS:
            yield from self._flush()
        if tag in _HEADINGS:
            self._level = 0
        elif tag in ("ul", "ol"):
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        self._pre -= tag == "pre"
        self._notes -= tag in ("figcaption", "caption")

    def _note_anchor(self, element: Any) -> None:
        """Ids of blocks, and those inside headings or before a block's text; others mark words, such as citations."""
        name = element.get("id") or (element.get("name") if element.tag == "a" else None)
        if name and len(name) <= 200 and (self._level or not self._inside) and not (self._level and self._anchor):
            self._anchor = name

    def _add(self, text: str | None) -> None:
        if text:
            self._parts.append(text if self._pre else _SPACE.sub(" ", text))
            self._inside = self._inside or not text.isspace()

    def _flush(self) -> Iterator[Piece]:
        text, self._parts, self._inside = "".join(self._parts), [], False
        if not self._pre:
            text = "\n".join(one_line(line) for line in text.split("\n")).strip()
        if not text.strip():
            return
        anchor, self._anchor = self._anchor, ""
        if self._level:
            text = text.rstrip("¶§# \n")
            yield Piece("heading", text, self._level, anchor)
            return
        kind: Kind = "caption" if self._notes else "list" if self._lists or self._marker else "text"
        marker, self._marker = self._marker, ""
        for number, part in enumerate([text] if self._pre else re.split(r"\n{2,}", text)):
            yield Piece(kind, marker + part if not number else part, anchor=anchor if not number else "")

    def _table(self, table: Any) -> Iterator[Piece]:
        yield from self._flush()
        self._note_anchor(table)
        anchor, self._anchor = self._anchor, ""
        if (caption := table.find("caption")) is not None:
            yield Piece("caption", one_line(_seen(caption)), anchor=anchor)
            anchor = ""
        yield Piece("table", table_text(rows_of(table, _seen)), anchor=anchor)


def _layout_tables(root: Any) -> set[Any]:
    """Tables that only place blocks on the page: with tables, headings or lists in them, or one cell a row."""
    found: set[Any] = set()
    open_tables: list[Any] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start" and element.tag in _LAYOUT and open_tables:
            found.add(open_tables[-1])
        if element.tag == "table":
            if event == "start":
                open_tables.append(element)
                if element.get("role") in ("presentation", "none"):
                    found.add(element)
            else:
                open_tables.pop()
    return found


def _seen(element: Any) -> str:
    """The text of a cell or caption, without what is dropped."""
    if _is_hidden(element) or _is_hidden(element.getparent()):
        return ""
    parts = [element.text or ""]
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, inner in walk:
        if inner is element:
            continue
        if event == "end":
            parts.append(" " if inner.tag in _BLOCKS else "")
            parts.append(inner.tail or "")
        elif _is_dropped(inner):
            walk.skip_subtree()
        elif inner.tag == "math" and inner.get("alttext"):
            parts.append(f"${one_line(inner.get('alttext'))}$")
            walk.skip_subtree()
        elif inner.tag in ("sup", "sub") and _SCRIPT.fullmatch(text := _short_text(inner)):
            parts.append(text.translate(_RAISED if inner.tag == "sup" else _LOWERED))
            walk.skip_subtree()
        else:
            parts.append(" " if inner.tag == "br" or inner.tag in _BLOCKS else "")
            parts.append(inner.get("alt", "") if inner.tag == "img" else inner.text or "")
    return "".join(parts)
