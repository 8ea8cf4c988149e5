"""Scanned pages: drawn, turned upright, read line by line, and put among the pages that have text of their own.

The engine is reached by a protocol, so that a page can be read by any, and tests can script one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.text import clean, is_cjk
from core.types import Box, Boxes, Gap, Page
from ingest.columns import Fragment
from ingest.layout import RawPage, build_pages, pick_title
from ingest.ocr_order import Line, in_reading_order
from ingest.pdf import OnPage, ParsedDocument, no_text
from ingest.render import draw_page

DPI = 200  # as engines are trained on; more costs time and reads no better
_READABLE = ("no text layer", "unreadable text")  # gaps of pages whose picture may be read
_SURE = 0.85  # mean score of lines that stand the right way up: upside down they get 0.7
_LEAST = 0.5  # what is below is noise, or a picture
_TALL = 1.5  # a line that is so many times as high as it is wide runs up or down the page
_ALIKE = 0.25  # heights of lines of one size differ by so much, as they have letters that rise or fall or not
_FONT = 0.75  # of a line's height is its font's size

Pixels = NDArray[np.uint8]  # (height, width, 3), RGB


class Engine(Protocol):
    def read(self, image: Pixels) -> Sequence[Line]:
        """The lines of the picture in any order. Lines that run up or down are read too, as if turned to the left."""


def installed_engine() -> Callable[[], Engine] | None:
    """What makes an engine, or None where the extra `ocr` is not installed. Making one takes 2 s."""
    if importlib.util.find_spec("rapidocr") is None:
        return None

    def make() -> Engine:
        from ingest.ocr_rapid import RapidEngine

        return RapidEngine()

    return make


class ScanReader:
    """Reads the pages of a PDF that have no text. The engine is made for the first of them."""

    def __init__(self, make: Callable[[], Engine], max_pages: int) -> None:
        self._make = make
        self._max_pages = max_pages
        self._engine: Engine | None = None

    def read(self, path: Path, parsed: ParsedDocument, on_page: OnPage | None = None) -> ParsedDocument:
        """`parsed` with its scanned pages read, about 3 s a page on two cores. What can't be read stays a gap.

        Raises NoText where no page has text in the end.
        """
        numbers = [gap.page for gap in parsed.gaps if gap.page and gap.reason.startswith(_READABLE)]
        pages = {page.number: page for page in parsed.pages}
        raw_pages: list[RawPage] = []
        reasons: dict[int, str] = {}
        for done, number in enumerate(numbers, 1):
            if done > self._max_pages:
                reasons[number] = f"a scan beyond the {self._max_pages:,} that are read: QUAERE_INGEST__MAX_OCR_PAGES"
                continue
            raw = self._raw_page(path, pages[number])
            if raw.fragments:
                raw_pages.append(raw)
            else:
                reasons[number] = "a scan in which no text could be read"
            if on_page is not None:
                on_page(done, min(len(numbers), self._max_pages))
        return _merged(path.name, parsed, raw_pages, reasons)

    def _raw_page(self, path: Path, page: Page) -> RawPage:
        image, scale = draw_page(path, page.number, DPI / 72)
        if self._engine is None:
            self._engine = self._make()
        turns, lines = read_upright(image, self._engine)
        height, width = image.shape[0] / scale, image.shape[1] / scale
        fragments = _fragments(lines, turns, scale, width, height)
        turned = (height, width) if turns % 2 else (width, height)
        return RawPage(page.number, page.width, page.height, fragments, "", turned)


def without_engine(parsed: ParsedDocument) -> ParsedDocument:
    """`parsed`, whose gaps say how a scan can be read."""

    def hinted(gap: Gap) -> Gap:
        is_scan = gap.reason.startswith(_READABLE[0])
        return gap.model_copy(update={"reason": f"{gap.reason}; the extra quaere[ocr] reads it"}) if is_scan else gap

    return replace(parsed, gaps=tuple(map(hinted, parsed.gaps)))


def read_upright(image: Pixels, engine: Engine) -> tuple[int, list[Line]]:
    """(quarter turns to the left that put the picture upright, its lines then).

    An upright page is read once. One on its side shows by its lines' shape, one upside down by their scores.
    """
    best = 0, _kept(engine.read(image))
    for turns in _other_turns(best[1]):
        if _score(best[1]) >= _SURE and best[0]:
            break
        lines = _kept(engine.read(np.ascontiguousarray(np.rot90(image, turns))))
        if (not best[0] and turns % 2) or _score(lines) > _score(best[1]):
            best = turns, lines
    return best if _score(best[1]) >= _LEAST else (0, [])


def _other_turns(lines: Sequence[Line]) -> tuple[int, ...]:
    if not lines:
        return ()
    chars = sum(len(line.text) for line in lines)
    tall = sum(len(line.text) for line in lines if line.box[3] - line.box[1] > _TALL * (line.box[2] - line.box[0]))
    if 2 * tall > chars:  # each was read as if turned to the left: a good score says that this was right
        return (1, 3) if _score(lines) >= _SURE else (3, 1)
    return () if _score(lines) >= _SURE else (2,)


def _kept(lines: Sequence[Line]) -> list[Line]:
    return [
        line for line in lines if clean(line.text).strip() and line.box[0] < line.box[2] and line.box[1] < line.box[3]
    ]


def _score(lines: Sequence[Line]) -> float:
    """The mean over characters; 0 where there are none."""
    chars = sum(len(line.text) for line in lines)
    return sum(line.score * len(line.text) for line in lines) / chars if chars else 0.0


def _fragments(lines: Sequence[Line], turns: int, scale: float, width: float, height: float) -> tuple[Fragment, ...]:
    """Row by row from the top left of the upright picture, as the layout takes them; boxes are on the page as shown."""
    lines = in_reading_order([line for line in lines if line.score >= _LEAST])
    usual = float(np.median([line.height for line in lines])) if lines else 0.0
    lead = _lead(lines, usual) / scale
    found = []
    for line in lines:
        text = " ".join(clean(line.text).split())
        left, top, right, bottom = (float(value) / scale for value in line.box)
        size = (bottom - top) * scale
        size = usual if abs(size - usual) <= _ALIKE * usual else size
        found.append(
            Fragment(
                text=text,
                boxes=_turned_back(_spread(text, (left, top, right, bottom)), turns, width, height),
                size=size / scale * _FONT,
                bold=False,
                frame=0,
                upright=True,
                left=left,
                top=top - lead,
                right=right,
                bottom=bottom + lead,
            )
        )
    return tuple(found)


def _lead(lines: Sequence[Line], usual: float) -> float:
    """What is added above and below each line for the layout, to which a wide gap ends a paragraph: the boxes are
    close about the letters, and a typescript's lines stand far apart."""
    pitches = [
        after.middle - line.middle
        for line, after in pairwise(lines)
        if after.box[0] < line.box[2] and line.box[0] < after.box[2] and 0 < after.middle - line.middle < 3 * usual
    ]
    return max(0.0, 0.4 * (float(np.median(pitches)) - usual)) if pitches else 0.0


def _spread(text: str, box: Box) -> Boxes:
    """A box for each character: the line's width shared out, twice as much to a Chinese character as to a letter."""
    left, top, right, bottom = box
    weights = np.array([2.0 if is_cjk(char) else 1.0 for char in text])
    edges = left + (right - left) * np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    rows = np.full(len(text), top), np.full(len(text), bottom)
    return np.stack([edges[:-1], rows[0], edges[1:], rows[1]], axis=1).astype(np.float32)


def _turned_back(boxes: Boxes, turns: int, width: float, height: float) -> Boxes:
    """From the picture that was turned so many quarters to the left to the page as shown, of that size."""
    left, top, right, bottom = boxes.T
    turned = {
        0: (left, top, right, bottom),
        1: (width - bottom, left, width - top, right),
        2: (width - right, height - bottom, width - left, height - top),
        3: (top, height - right, bottom, height - left),
    }[turns % 4]
    return np.stack(turned, axis=1).astype(np.float32)


def _merged(name: str, parsed: ParsedDocument, raw_pages: Sequence[RawPage], reasons: dict[int, str]) -> ParsedDocument:
    read, blocks = build_pages(raw_pages)
    by_number = {page.number: page.model_copy(update={"ocr": True}) for page in read}
    gaps = tuple(
        gap.model_copy(update={"reason": reasons.get(gap.page, gap.reason)})
        for gap in parsed.gaps
        if gap.page not in by_number
    )
    pages = tuple(by_number.get(page.number, page) for page in parsed.pages)
    if not any(page.text for page in pages):
        raise no_text(name, gaps)
    return replace(
        parsed,
        title=parsed.title or pick_title("", [raw for raw in raw_pages if raw.number == 1]),
        pages=pages,
        blocks=tuple(sorted([*parsed.blocks, *blocks], key=lambda block: block.span.page)),
        gaps=gaps,
    )
