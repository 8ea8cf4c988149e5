"""PDF files to pages: text in reading order with a box for each character, by pdfium."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.errors import CorruptDocument, InvalidInput, NoText, PasswordNeeded
from core.text import clean
from core.types import Block, Figure, Gap, Page, Table
from ingest.damage import damaged_pages
from ingest.drawing import Drawing, read_drawing
from ingest.figures import Place, figure_of
from ingest.forms import is_dynamic_form, open_forms, with_fields
from ingest.glyphs import read_fragments
from ingest.grids import boxes_at_edges
from ingest.layout import RawPage, build_pages, pick_title
from ingest.objects import find_objects, rows_apart

# pdfium is not thread-safe, in one document or in several: every call into it in this process holds this lock.
# A parse takes it page by page, so that a page can be drawn while a long document is read.
PDFIUM_LOCK = threading.RLock()
GARBAGE_SHARE = 0.3
_SCAN = 0.5  # of a page's area
_LETTER = (612.0, 792.0)  # for a page whose own size can't be read
OnPage = Callable[[int, int], None]


@dataclass(frozen=True)
class ParsedDocument:
    """`pages` holds every page; where text is missing, `gaps` says why. `blocks` are in reading order."""

    title: str
    pages: tuple[Page, ...]
    blocks: tuple[Block, ...]
    gaps: tuple[Gap, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


def parse_pdf(
    path: Path,
    max_pages: int,
    password: str | None = None,
    on_page: OnPage | None = None,
    need_text: bool = True,
    *,
    objects: bool = True,
) -> ParsedDocument:
    """Read a text PDF, about 50 ms a page with its tables and figures. Only figures are rendered, in bounded size.

    Without `objects`, text and boxes alone: a table is then lines of text, and a figure's labels too.

    Raises CorruptDocument, PasswordNeeded, InvalidInput (more than `max_pages`); NoText where no page has text, unless
    that is not needed.
    """
    with PDFIUM_LOCK:
        document = open_pdf(path, password)
    try:
        title, raw_pages = _read(document, path.name, max_pages, on_page, objects)
        with PDFIUM_LOCK:
            encrypted = raw.FPDF_GetSecurityHandlerRevision(document) >= 0
            dynamic = is_dynamic_form(document)
        pages, blocks = build_pages(raw_pages)
        tables: tuple[Table, ...] = ()
        figures: tuple[Figure, ...] = ()
        if objects:
            drawings = [page.drawing for page in raw_pages]
            tables, figures, blocks = find_objects(document, pages, blocks, drawings, _draw)
            pages = rows_apart(pages, tables)
    finally:
        with PDFIUM_LOCK:
            document.close()
    blank = [page.number for page in raw_pages if page.is_blank]
    damaged = damaged_pages(path, blank, encrypted, password)
    gaps = tuple(Gap(page=p.number, reason=reason) for p in raw_pages if (reason := p.gap or damaged.get(p.number)))
    if dynamic:
        gaps = (Gap(page=0, reason="a dynamic XFA form: its content is made by Adobe Reader and can't be read"), *gaps)
    if need_text and not any(page.text for page in pages):
        raise no_text(path.name, gaps)
    title = pick_title(title, raw_pages)
    return ParsedDocument(title=title, pages=pages, blocks=blocks, gaps=gaps, tables=tables, figures=figures)


def _draw(document: pdfium.PdfDocument, page: Page, place: Place) -> Figure:
    with PDFIUM_LOCK:
        return figure_of(document, page, place)


def open_pdf(path: Path, password: str | None = None) -> pdfium.PdfDocument:
    """An open document, to be closed by the caller, who holds PDFIUM_LOCK. Raises CorruptDocument, PasswordNeeded."""
    try:
        if path.stat().st_size == 0:
            raise CorruptDocument(f"{path.name} is empty (0 bytes)", hint="copy or download it again")
        return pdfium.PdfDocument(path, password=password)
    except OSError as error:
        raise CorruptDocument(
            f"{path.name} can't be read: {error.strerror or error}", hint="check that the file is still there"
        ) from None
    except pdfium.PdfiumError as error:
        raise _not_opened(path, error, password) from None


def _not_opened(path: Path, error: pdfium.PdfiumError, password: str | None) -> CorruptDocument | PasswordNeeded:
    if error.err_code == raw.FPDF_ERR_PASSWORD:
        what = "the password is wrong" if password else "a password is needed"
        return PasswordNeeded(f"{path.name} is encrypted: {what}", hint="save a copy without a password and add that")
    if error.err_code == raw.FPDF_ERR_SECURITY:
        return PasswordNeeded(
            f"{path.name} is encrypted in a way that can't be opened",
            hint="save a copy without protection and add that",
        )
    with path.open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    if is_pdf:
        return CorruptDocument(f"{path.name} is damaged beyond repair or cut short", hint="download it again")
    return CorruptDocument(f"{path.name} is not a PDF", hint="save it as PDF and add that")


def _read(
    document: pdfium.PdfDocument, name: str, max_pages: int, on_page: OnPage | None, objects: bool
) -> tuple[str, list[RawPage]]:
    with PDFIUM_LOCK:
        count = len(document)
        open_forms(document)
        title = clean(document.get_metadata_value("Title"))
    if count > max_pages:
        raise InvalidInput(
            f"{name} has {count:,} pages, more than the {max_pages:,} allowed", hint="raise QUAERE_INGEST__MAX_PAGES"
        )
    pages = []
    for number in range(1, count + 1):
        with PDFIUM_LOCK:
            pages.append(_read_page(document, number, objects))
        if on_page is not None:
            on_page(number, count)
    return " ".join(title.split()), pages


def no_text(name: str, gaps: tuple[Gap, ...]) -> NoText:
    reason = gaps[0].reason if gaps else "its pages are blank"
    if reason.startswith("no text layer"):
        reason = "no text layer, looks like a scan"
    return NoText(
        f"{name} has no text that can be read: {reason}",
        hint="the extra quaere[ocr] reads scans; or run it through OCR first",
    )


def _read_page(document: pdfium.PdfDocument, number: int, objects: bool) -> RawPage:
    try:
        page = document[number - 1]
    except pdfium.PdfiumError:
        return RawPage(number, *_LETTER, (), "the page is damaged")
    try:
        return _read_open_page(page, number, objects)
    except pdfium.PdfiumError:
        return RawPage(number, *_LETTER, (), "the page is damaged")
    finally:
        page.close()  # pdfium keeps an open page's text and images in memory


def _read_open_page(page: pdfium.PdfPage, number: int, objects: bool) -> RawPage:
    width, height = page.get_size()
    textpage = page.get_textpage()
    try:
        read = read_fragments(page, textpage, lambda: _is_scan(page))
    finally:
        textpage.close()
    fragments, gap = read.fragments, ""
    if read.garbage > GARBAGE_SHARE * read.total:
        lost = min(read.garbage, read.total)
        fragments, gap = (), f"unreadable text: {lost} of {read.total} characters have no Unicode meaning"
    elif not fragments and _has_images(page):
        gap = "no text layer (a scan?)"
    fragments = with_fields(page, fragments, read.frame)
    gap = "" if fragments else gap
    blank = not fragments and not gap and raw.FPDFPage_CountObjects(page) == 0
    drawing = read_drawing(page) if fragments and objects else Drawing()
    size = read.width, read.height
    return RawPage(number, width, height, fragments, gap, size, blank, drawing, boxes_at_edges(drawing, height))


def _is_scan(page: pdfium.PdfPage) -> bool:
    """Whether one picture covers most of the page: then its text may be what was recognised in it."""
    width, height = page.get_size()
    for image in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = image.get_bounds()
        if (right - left) * (top - bottom) > _SCAN * width * height:
            return True
    return False


def _has_images(page: pdfium.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
