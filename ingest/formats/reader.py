"""Which reader a file gets: by what is in it first, by its name's ending second."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

from core.errors import CorruptDocument
from core.formats import KINDS, SUFFIXES
from core.types import DocumentFormat
from ingest.formats.decode import decoded
from ingest.formats.docx import read_docx
from ingest.formats.html import read_html
from ingest.formats.markdown import read_markdown
from ingest.formats.plain import read_plain
from ingest.pdf import ParsedDocument, parse_pdf

Reader = Callable[[Path, int], ParsedDocument]
READERS: dict[DocumentFormat, Reader] = {
    "pdf": parse_pdf,
    "markdown": read_markdown,
    "text": read_plain,
    "html": read_html,
    "docx": read_docx,
}
_ENDINGS: dict[DocumentFormat, str] = {
    "pdf": ".pdf",
    "markdown": ".md",
    "text": ".txt",
    "html": ".html",
    "docx": ".docx",
}
_SAMPLE = 4096
_ZIP, _OLE, _RTF = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf"
_HTML = re.compile(
    rb"\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)


def reader_of(path: Path, name: str = "") -> tuple[DocumentFormat, Reader]:
    """The format of a file and what reads it: `read(path, max_pages)`. `name` is the one that its owner gave it.

    A file that is named .pdf or .docx and is neither goes to that reader, which says what is wrong with it: what was
    saved under such a name by mistake, such as the page of an error, is no document. Raises CorruptDocument.
    """
    kind = format_of(path, name)
    return kind, READERS[kind]


def ending_of(kind: DocumentFormat) -> str:
    """What the name of a stored file of that format ends in."""
    return _ENDINGS[kind]


def format_of(path: Path, name: str = "") -> DocumentFormat:
    name = name or path.name
    named = cast("DocumentFormat | None", SUFFIXES.get(Path(name).suffix.lower()))
    head = _head(path)
    text = head.removeprefix(b"\xef\xbb\xbf")
    if b"%PDF-" in head[:1024] and (named == "pdf" or text.lstrip().startswith(b"%PDF-")):
        return "pdf"
    if head.startswith((_ZIP, _OLE)):
        return "docx"
    if head.startswith(_RTF):
        raise CorruptDocument(f"{name} is in Rich Text Format", hint="save it as .docx or PDF and add that")
    if named in ("pdf", "docx"):
        return named
    if _HTML.match(text):
        return "html"
    if named is None:
        _check_text(head, name)
    return named or "text"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SAMPLE)
    except OSError:
        return b""  # the reader says it


def _check_text(head: bytes, name: str) -> None:
    try:
        decoded(head, name)
    except CorruptDocument:
        raise CorruptDocument(f"{name} is of no kind that can be read", hint=f"add a {KINDS} file") from None
