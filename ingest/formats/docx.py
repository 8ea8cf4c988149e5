"""DOCX: the text that Word shows, with its headings, lists, tables, footnotes and page breaks.

Read from the XML itself: that takes both dialects of the format, hostile nesting, and files that no library opens
(with macros, without parts that Word does not miss). Deleted and hidden text, comments, fields' codes, tables of
contents, headers and footers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree

from core.errors import CorruptDocument
from core.types import Gap
from ingest.formats.docx_styles import Look, Numbering, Styles, child, children, is_on, local, value
from ingest.formats.package import Package
from ingest.formats.pages import Kind, Piece, check_length, paged, row_text
from ingest.pdf import ParsedDocument

_DOCUMENT = "word/document.xml"
_DROPPED = frozenset(
    "pPr rPr tblPr trPr tcPr sectPr del moveFrom instrText delText Fallback rt txbxContent pict object "
    "annotationRef commentReference".split()
)
_CONTAINERS = frozenset("sdt sdtContent customXml smartTag ins moveTo body footnote endnote".split())
_CONTENTS = re.compile(r"^toc \d$|^table of figures$|^toc heading$")
_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SCRIPT = re.compile(r"[0-9+\-−=()n]{1,8}")
_DEEPEST = 40  # containers and tables in each other
_COLUMNS = 200
_BREAK = "\f"


def read_docx(path: Path, max_pages: int) -> ParsedDocument:
    """Raises CorruptDocument, PasswordNeeded, NoText, InvalidInput."""
    with Package(path) as package:
        name = _main_part(package)
        root = package.xml(name)
        body = child(root, "body")
        if body is None:
            raise CorruptDocument(f"{path.name} is not a Word document", hint="save it as .docx or PDF and add that")
        folder = name.rpartition("/")[0]
        reader = _Reader(
            styles=Styles(package.xml(f"{folder}/styles.xml")),
            numbering=Numbering.of(package.xml(f"{folder}/numbering.xml")),
            notes={kind: _notes(package.xml(f"{folder}/{kind}notes.xml")) for kind in ("foot", "end")},
        )
        pieces = list(reader.blocks(body, 0))
        title = "".join(child_text(package.xml("docProps/core.xml"), "title"))
    check_length(path.name, "".join(piece.text for piece in pieces), max_pages)
    gaps = (Gap(page=0, reason="its parts are nested too deep: the innermost were not read"),) if reader.deep else ()
    first = next((piece.text for piece in pieces if piece.level == 1), "")
    return paged(path.name, title.strip() or reader.title or first, pieces, max_pages, gaps)


def _main_part(package: Package) -> str:
    for relation in package.xml("_rels/.rels") if package.has("_rels/.rels") else ():
        if value(relation, "Type").endswith("/officeDocument"):
            target = value(relation, "Target").lstrip("/")
            return target if package.has(target) else _DOCUMENT
    return _DOCUMENT


def child_text(root: Any, name: str) -> Iterator[str]:
    return (found.text or "" for found in children(root, name))


def _notes(root: Any) -> dict[str, Any]:
    return {} if root is None else {value(note, "id"): note for note in root if not value(note, "type")}


@dataclass
class _Reader:
    styles: Styles
    numbering: Numbering
    notes: dict[str, dict[str, Any]]
    title: str = ""  # of a paragraph in the style 'Title'
    deep: bool = False
    _referred: list[tuple[str, str]] = field(default_factory=list)  # notes that the current block refers to
    _noted: int = 0

    def blocks(self, container: Any, depth: int) -> Iterator[Piece]:
        if depth > _DEEPEST:
            self.deep = True
            return
        for element in container:
            match local(element):
                case "p":
                    yield from self._paragraph(element, depth)
                case "tbl":
                    yield from self._table(element, depth)
                case "sdt" if _is_contents(element):
                    continue
                case name if name in _CONTAINERS:
                    yield from self.blocks(element, depth + 1)
                case "AlternateContent":
                    yield from self.blocks(child(element, "Choice"), depth + 1)
            if not depth:
                yield from self._footnotes()

    def _footnotes(self) -> Iterator[Piece]:
        referred, self._referred = self._referred, []
        for kind, number in referred:
            note = self.notes[kind].pop(number, None)
            if note is not None:
                self._noted += 1
                text = " ".join(self._text(p).replace(_BREAK, " ").strip() for p in note.iter() if local(p) == "p")
                yield Piece("footnote", f"[{self._noted}] {text}")

    def _paragraph(self, paragraph: Any, depth: int) -> Iterator[Piece]:
        properties = child(paragraph, "pPr")
        look = self.styles.look(properties)
        if _CONTENTS.match(look.name):
            return
        breaks = is_on(child(properties, "pageBreakBefore"))
        text = self._text(paragraph)
        if text.strip(" \n\f"):
            text = _numbered(text, self.numbering.marker(look.number))
            if look.name == "title" and not self.title:
                self.title = text.replace(_BREAK, " ")
        for number, part in enumerate(text.split(_BREAK)):
            yield Piece(_kind(look), part, look.level, new_page=breaks or number > 0)
            breaks = False
        for box in _text_boxes(paragraph):
            yield from self.blocks(box, depth + 1)
        section = child(properties, "sectPr")
        if section is not None and value(child(section, "type")) not in ("continuous", "nextColumn"):
            yield Piece("text", "", new_page=True)

    def _text(self, paragraph: Any) -> str:
        """The paragraph's text on one line; '\\f' where a page ends in it."""
        parts: list[str] = []
        walk = etree.iterwalk(paragraph, events=("start",))
        for _, element in walk:
            name = local(element)
            if name in _DROPPED or (name == "p" and element is not paragraph):
                walk.skip_subtree()
            elif name == "r":
                properties = child(element, "rPr")
                if is_on(child(properties, "vanish")):
                    walk.skip_subtree()
                elif script := value(child(properties, "vertAlign")):
                    parts.append(_raised("".join(child_text(element, "t")), script))
                    self._refer(element)
                    walk.skip_subtree()
            elif name == "t":
                parts.append(element.text or "")
            elif name in ("footnoteReference", "endnoteReference"):
                self._refer(element)
            else:
                parts.append(_sign(name, element))
        return "".join(parts)

    def _refer(self, element: Any) -> None:
        for found in element.iter():
            kind = local(found).removesuffix("noteReference")
            if kind in ("foot", "end"):
                self._referred.append((kind, value(found, "id")))

    def _table(self, table: Any, depth: int) -> Iterator[Piece]:
        """A row a line, the first as header; a cell that is merged downwards stands in each of its rows."""
        if all(sum(1 for _ in _flat(row, "tc")) < 2 for row in _rows(table)):  # a frame around text
            for row in _rows(table):
                for cell in _flat(row, "tc"):
                    yield from self.blocks(cell, depth + 1)
            return
        rows: list[str] = []
        above: dict[int, str] = {}
        new_page = False
        for row in _rows(table):
            cells, breaks = self._cells(row, above)
            if breaks and rows:
                yield Piece("table", "\n".join(rows), new_page=new_page)
                rows, new_page = [rows[0]], True
            new_page = new_page or breaks
            if any(cell.strip() for cell in cells):
                rows.append(row_text(cells))
        yield Piece("table", "\n".join(rows), new_page=new_page)

    def _cells(self, row: Any, above: dict[int, str]) -> tuple[list[str], bool]:
        """(the row's cells, whether a page begins with it); `above` holds the cells that are merged downwards."""
        cells: list[str] = []
        breaks = False
        for cell in _flat(row, "tc"):
            properties = child(cell, "tcPr")
            text = "\n".join(self._text(p) for p in cell.iter() if local(p) == "p" and not _in_dropped(p, cell))
            breaks = breaks or _BREAK in text
            text = " ".join(text.split())
            merged = child(properties, "vMerge")
            if merged is not None and value(merged) != "restart":
                text = above.get(len(cells), "")
            elif merged is not None:
                above[len(cells)] = text
            span = value(child(properties, "gridSpan"))
            cells.append(text)
            cells += [""] * (min(int(span), _COLUMNS) - 1 if span.isdecimal() and len(span) < 6 else 0)
        return cells[:_COLUMNS], breaks


def _kind(look: Look) -> Kind:
    if look.level:
        return "heading"
    if look.name == "caption":
        return "caption"
    return "list" if look.number[0] not in ("", "0") or look.name.startswith("list ") else "text"


def _numbered(text: str, marker: str) -> str:
    """The marker before the first text; page breaks stay in front of it."""
    start = len(text) - len(text.lstrip(" \n\f"))
    return text[:start] + marker + text[start:]


def _raised(text: str, script: str) -> str:
    if not _SCRIPT.fullmatch(text.strip()) or script not in ("superscript", "subscript"):
        return text
    return text.translate(_RAISED if script == "superscript" else _LOWERED)


def _sign(name: str, element: Any) -> str:
    match name:
        case "den" | "sup" | "sub":  # of a formula
            return {"den": "/", "sup": "^", "sub": "_"}[name]
        case "br":
            return _BREAK if value(element, "type") == "page" else "\n"
        case "lastRenderedPageBreak":
            return _BREAK
        case "tab" | "ptab":
            return " "
        case "cr":
            return "\n"
        case "noBreakHyphen":
            return "-"
        case "sym":
            code = value(element, "char")
            return chr(int(code, 16)) if re.fullmatch(r"[0-9A-Fa-f]{4}", code) else ""
    return ""


def _is_contents(element: Any) -> bool:
    gallery = child(element, "sdtPr", "docPartObj", "docPartGallery")
    return "table of contents" in value(gallery).lower()


def _text_boxes(paragraph: Any) -> Iterator[Any]:
    """The outermost text boxes that hang on the paragraph, each once: Word writes them in two forms."""
    walk = etree.iterwalk(paragraph, events=("start",))
    for _, element in walk:
        name = local(element)
        if name in ("Fallback", "del", "moveFrom"):
            walk.skip_subtree()
        elif name == "txbxContent":
            walk.skip_subtree()
            yield element


def _rows(table: Any) -> Iterator[Any]:
    return (row for row in _flat(table, "tr") if child(row, "trPr", "del") is None)


def _flat(element: Any, name: str) -> Iterator[Any]:
    """Children of that name, also those that a content control or a tracked insertion wraps."""
    waiting = list(reversed(element))
    while waiting:
        found = waiting.pop()
        if local(found) == name:
            yield found
        elif local(found) in _CONTAINERS:
            waiting += reversed(found)


def _in_dropped(paragraph: Any, cell: Any) -> bool:
    for parent in paragraph.iterancestors():
        if parent is cell:
            return False
        if local(parent) in ("Fallback", "del", "moveFrom"):
            return True
    return False
