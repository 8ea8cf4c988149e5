"""PDF files to pages: text in reading order with a box for each character, by pdfium."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.errors import CorruptDocument, InvalidInput, NoText, PasswordNeeded
from core.text import clean, clean_char
from core.types import Block, Box, Gap, Page
from ingest.columns import Fragment
from ingest.layout import RawPage, build_pages, pick_title

# pdfium is not thread-safe: every use of it in the process holds this lock.
PDFIUM_LOCK = threading.RLock()
GARBAGE_SHARE = 0.3
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
OnPage = Callable[[int, int], None]


@dataclass(frozen=True)
class ParsedDocument:
    """`pages` holds every page, with empty text where `gaps` says why; `blocks` are in reading order."""

    title: str
    pages: tuple[Page, ...]
    blocks: tuple[Block, ...]
    gaps: tuple[Gap, ...]


def parse_pdf(
    path: Path, max_pages: int, password: str | None = None, on_page: OnPage | None = None
) -> ParsedDocument:
    """Read a text PDF, about 15 ms a page. Nothing is rendered and no image is decoded.

    Raises CorruptDocument, PasswordNeeded, NoText (no page has text), InvalidInput (more than `max_pages`).
    """
    with PDFIUM_LOCK:
        document = open_pdf(path, password)
        try:
            count = len(document)
            if count > max_pages:
                raise InvalidInput(
                    f"{path.name} has {count:,} pages, more than the {max_pages:,} allowed",
                    hint="raise QUAERE_INGEST__MAX_PAGES",
                )
            title = clean(document.get_metadata_value("Title")).strip()
            raw_pages = []
            for number in range(1, count + 1):
                raw_pages.append(_read_page(document, number))
                if on_page is not None:
                    on_page(number, count)
        finally:
            document.close()
    pages, blocks = build_pages(raw_pages)
    gaps = tuple(Gap(page=p.number, reason=p.gap) for p in raw_pages if p.gap)
    if not any(page.text for page in pages):
        raise _no_text(path, gaps)
    return ParsedDocument(title=pick_title(title, raw_pages, pages), pages=pages, blocks=blocks, gaps=gaps)


def open_pdf(path: Path, password: str | None = None) -> pdfium.PdfDocument:
    """An open document, to be closed by the caller, who holds PDFIUM_LOCK. Raises CorruptDocument, PasswordNeeded."""
    if path.stat().st_size == 0:
        raise CorruptDocument(f"{path.name} is empty (0 bytes)", hint="copy or download it again")
    try:
        return pdfium.PdfDocument(path, password=password)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR or "password" in str(error).lower():
            raise PasswordNeeded(
                f"{path.name} is encrypted: a password is needed", hint="save a copy without a password and add that"
            ) from None
        raise CorruptDocument(
            f"{path.name} is not a PDF, or is damaged beyond repair", hint="open it in a viewer; download it again"
        ) from None


def _no_text(path: Path, gaps: tuple[Gap, ...]) -> NoText:
    reason = gaps[0].reason if gaps else "it has no pages with text"
    return NoText(f"{path.name} has no text that can be read: {reason}", hint="run it through OCR first, then add it")


def _read_page(document: pdfium.PdfDocument, number: int) -> RawPage:
    try:
        page = document[number - 1]
    except pdfium.PdfiumError:
        return RawPage(number, 612.0, 792.0, (), "the page is damaged")
    try:
        width, height = page.get_size()
        textpage = page.get_textpage()
        try:
            fragments, garbage, total = _fragments(textpage, _to_top_left(page))
        finally:
            textpage.close()
        gap = ""
        if total and garbage / total > GARBAGE_SHARE:
            fragments, gap = (), f"unreadable text: {garbage} of {total} characters have no Unicode meaning"
        elif not fragments and _has_images(page):
            gap = "no text layer (a scan?)"
        return RawPage(number, width, height, fragments, gap)
    except pdfium.PdfiumError:
        return RawPage(number, 612.0, 792.0, (), "the page is damaged")
    finally:
        page.close()


def _has_images(page: pdfium.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _to_top_left(page: pdfium.PdfPage) -> Callable[[float, float, float, float], Box]:
    """From pdfium's user space (left, bottom, right, top; unrotated) to the page as it is shown."""
    left, bottom, right, top = page.get_bbox()
    turns: dict[int, Callable[[float, float, float, float], Box]] = {
        0: lambda a, b, c, d: (a - left, top - d, c - left, top - b),
        90: lambda a, b, c, d: (b - bottom, a - left, d - bottom, c - left),
        180: lambda a, b, c, d: (right - c, b - bottom, right - a, d - bottom),
        270: lambda a, b, c, d: (top - d, right - c, top - b, right - a),
    }
    return turns[page.get_rotation()]


def _fragments(
    textpage: pdfium.PdfTextPage, place: Callable[[float, float, float, float], Box]
) -> tuple[tuple[Fragment, ...], int, int]:
    """Runs of characters of one line without a wide gap, in content order; garbage and all characters counted."""
    handle, count = textpage.raw, textpage.count_chars()
    rect = raw.FS_RECTF()
    reference = ctypes.byref(rect)
    found: list[Fragment] = []
    run = _Run()
    garbage = total = 0
    for index in range(count):
        code = raw.FPDFText_GetUnicode(handle, index)
        if code in (10, 13):
            run.flush(found, hyphen=False)
            continue
        if code in (2, 0xFFFE):  # a hyphen at a line's end, which only the line break made
            run.flush(found, hyphen=True)
            continue
        garbage += _is_garbage(code)
        total += code > 32
        char = clean_char(code)
        if not char:
            continue
        raw.FPDFText_GetLooseCharBox(handle, index, reference)
        box = place(rect.left, rect.bottom, rect.right, rect.top)
        if run.is_far(box, char):
            run.flush(found, hyphen=False)
        if not run.chars:
            run.start(
                _size(raw.FPDFText_GetFontSize(handle, index), box),
                raw.FPDFText_GetFontWeight(handle, index),
                raw.FPDFText_GetCharAngle(handle, index),
            )
        run.add(char, box)
    run.flush(found, hyphen=False)
    return tuple(found), garbage, total


def _size(nominal: float, box: Box) -> float:
    """Font size in points; where a text matrix scales a nominal size of about 1, the box's height is nearer."""
    return nominal if nominal >= 4 else box[3] - box[1]


def _is_garbage(code: int) -> bool:
    return code < 32 and code not in (2, 9, 10, 13) or 0xE000 <= code <= 0xF8FF or code == 0xFFFD


class _Run:
    """The fragment that is being read."""

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.boxes: list[Box] = []
        self.size = self.weight = self.angle = 0.0

    def start(self, size: float, weight: float, angle: float) -> None:
        self.size, self.weight, self.angle = size, weight, angle

    def is_far(self, box: Box, char: str) -> bool:
        """Whether the next character stands across a wide gap, or before this run, on the same line."""
        if not self.chars or char == " " or abs(self.angle) > 0.1:
            return False
        last = next((b for b in reversed(self.boxes) if b[2] > b[0]), box)
        height = max(last[3] - last[1], box[3] - box[1], 4.0)
        return box[0] - last[2] > 1.3 * height or last[0] - box[0] > 3 * height

    def add(self, char: str, box: Box) -> None:
        for part in char:  # a ligature's letters share its box
            self.chars.append(part)
            self.boxes.append(box)

    def flush(self, found: list[Fragment], hyphen: bool) -> None:
        text = "".join(self.chars)
        lead = len(text) - len(text.lstrip())
        text = text.strip()
        if text:
            boxes = self.boxes[lead : lead + len(text)]
            keep = [i for i, c in enumerate(text) if c != " " or text[i - 1] != " "]
            angle = min(self.angle, abs(self.angle - 6.283185))
            found.append(
                Fragment(
                    text="".join(text[i] for i in keep),
                    boxes=tuple(boxes[i] for i in keep),
                    size=self.size,
                    bold=self.weight >= 600,
                    upright=angle < 0.1,
                    hyphen=hyphen,
                )
            )
        elif hyphen and found:
            found[-1] = found[-1].with_hyphen()
        self.chars, self.boxes = [], []
