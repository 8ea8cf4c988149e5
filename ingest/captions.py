"""Captions of tables and figures, in the text of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from core.text import line_boxes
from core.types import Block, Box, Page
from ingest.words import around

_NUMBER = r"[A-Z]?[.-]?\d{1,3}(?:[.\-–]\d{1,3})*[a-z]?|[IVXLC]{1,6}\b|[A-Z]\d*\b"
_CJK_NUMBER = r"\d{1,3}(?:[.\-–—]\d{1,3})*"
_BEFORE = r"^[<\[【〈(]?\s*(?:(?i:supplementary|supplemental|extended data|appendix|online)\s+)?"
_AFTER = r"\s*(?:[>\]】〉)])?\s*(?:[:.|：．。、—–-]|\((?i:cont)|$|(?=[^\W\d_a-z]|[“\"'‘]))"
_TABLE = re.compile(
    _BEFORE
    + rf"(?:(?i:table|tab\.|tableau|tabelle|tabla|tabela|tabella)\s*(?P<n>{_NUMBER})"
    + rf"|(?:续\s*)?[表표]\s*(?P<c>{_CJK_NUMBER}))"
    + _AFTER
)
_FIGURE = re.compile(
    _BEFORE
    + rf"(?:(?i:figure|fig\.?|abbildung|abb\.|figura|gráfico|chart|scheme|plate|exhibit)\s*(?P<n>{_NUMBER})"
    + rf"|(?:[图圖図]|그림|도표)\s*(?P<c>{_CJK_NUMBER}))"
    + _AFTER
)
_INNER = re.compile(r"(?<=\S)\s+((?i:fig(?:ure|\.)|table)\s*[A-Z]?\.?\d|[图圖表]\s*\d)")
_CONTINUED = re.compile(r"\bcont(?:inued|'d|\.|d\b)|续表|（续）|\(续\)|続き|계속", re.IGNORECASE)
_LONGEST = 1_500  # characters: more is a paragraph that was taken for one


@dataclass(frozen=True)
class Caption:
    """Characters start to end of the page's text. `first` is the box of its first line."""

    kind: Literal["table", "figure"]
    label: str
    start: int
    end: int
    box: Box
    first: Box
    continued: bool


def captions_of(page: Page, blocks: Sequence[Block]) -> list[Caption]:
    """Those that begin one of the page's blocks, in the order of the text."""
    found = []
    for block in blocks:
        if block.span.page == page.number and block.kind not in ("reference", "footnote"):
            starts = _starts(page, block.span.start, block.span.end)
            for start, end in pairwise([*starts, block.span.end]):
                caption = _caption(page, start, end)
                if caption is not None:
                    found.append(caption)
    return found


def _starts(page: Page, start: int, end: int) -> list[int]:
    """Where captions may begin in a block: at its start, and across a wide gap, where two stand side by side."""
    found = [start]
    for match in _INNER.finditer(page.text, start + 1, end):
        box, last = page.boxes[match.start(1)], page.boxes[match.start() - 1]
        if box[0] - last[2] > box[3] - box[1]:
            found.append(match.start(1))
    return found


def _caption(page: Page, start: int, end: int) -> Caption | None:
    text = page.text[start : min(end, start + _LONGEST)]
    for kind, pattern in _KINDS:
        match = pattern.match(text)
        boxes = line_boxes(page, start, start + len(text)) if match else ()
        if match and boxes:
            return Caption(
                kind=kind,
                label=match["n"] or match["c"],
                start=start,
                end=start + len(text),
                box=around(boxes),
                first=boxes[0],
                continued=bool(_CONTINUED.search(text[:200])),
            )
    return None


_KINDS: tuple[tuple[Literal["table", "figure"], re.Pattern[str]], ...] = (("table", _TABLE), ("figure", _FIGURE))
