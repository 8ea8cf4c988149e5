"""Fragments of lines to pages of text: running heads dropped, columns in order, lines joined to blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.types import Block, Box, Page, Span
from ingest.columns import Fragment, in_reading_order

_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){0,3}|[IVX]{1,5}\.)\.?\s+[A-Z][^.!?]{2,90}$")
_KNOWN = re.compile(
    r"^(?:\d{1,2}\.?\s+)?(abstract|introduction|background|related work|methods?|methodology|experiments?|results|"
    r"evaluation|discussion|limitations?|conclusions?|acknowledge?ments?|references|bibliography|works cited|"
    r"appendix(?: [A-Z])?|supplementary material)\.?:?$",
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"^(?:\d{1,2}\.?\s+)?(references|bibliography|works cited)\W*$", re.IGNORECASE)
_AFTER_REFERENCES = re.compile(r"^(appendix|appendices|supplementary|[A-Z](\.\d+)*\.?\s+[A-Z])", re.IGNORECASE)
_CAPTION = re.compile(r"^(figure|fig\.|table|algorithm|listing|图|表)\s*[A-Z]?\d+[.:：|]?", re.IGNORECASE)
_BAD_TITLE = re.compile(r"^(untitled|microsoft|slide|\W*$)|\.(docx?|tex|pdf|dvi|indd|qxd|rtf)$|^[\w-]*\d{4,}[\w-]*$", re.I)
_EDGE = 0.085  # share of the page's height at its top and bottom where running heads stand
_CLOSED = re.compile(r"[.!?:;。！？：]['\"”’)\]]*$")


@dataclass(frozen=True)
class RawPage:
    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]
    gap: str


def build_pages(raw_pages: Sequence[RawPage]) -> tuple[tuple[Page, ...], tuple[Block, ...]]:
    """Pages with their text, and blocks whose spans cover it, in reading order."""
    heads = _running_heads(raw_pages)
    body = _body_size(raw_pages)
    pages, blocks = [], []
    in_references = False
    for raw in raw_pages:
        kept = [f for f in raw.fragments if (_edge(f, raw), _masked(f.text)) not in heads]
        drafts = _drafts(in_reading_order(kept), body)
        page, own, in_references = _assemble(raw, drafts, body, in_references)
        pages.append(page)
        blocks += own
    return tuple(pages), tuple(blocks)


def pick_title(metadata: str, raw_pages: Sequence[RawPage], pages: Sequence[Page]) -> str:
    """The metadata's title where it looks like one, else the largest text in the first page's upper half, else ''."""
    if len(metadata) > 4 and not _BAD_TITLE.search(metadata):
        return metadata[:300]
    if not raw_pages:
        return ""
    first = raw_pages[0]
    upper = [f for f in first.fragments if f.upright and f.top < first.height / 2 and len(f.text) > 3]
    if not upper:
        return ""
    largest = max(f.size for f in upper)
    lines = [f for f in upper if f.size > largest * 0.93]
    return " ".join(f.text for f in lines[:4])[:300].strip()


def _edge(fragment: Fragment, page: RawPage) -> str:
    if fragment.bottom < page.height * _EDGE:
        return "top"
    return "bottom" if fragment.top > page.height * (1 - _EDGE) else ""


def _masked(text: str) -> str:
    return re.sub(r"\d+|\b[ivx]+\b", "#", text)


def _running_heads(pages: Sequence[RawPage]) -> set[tuple[str, str]]:
    """(edge, text with its numbers masked) that stands on at least half of the pages, and on two or more."""
    counts: Counter[tuple[str, str]] = Counter()
    for page in pages:
        counts.update({(_edge(f, page), _masked(f.text)) for f in page.fragments if _edge(f, page)})
    # Left and right pages may carry different heads: a third of a long document is enough.
    least = max(2, len(pages) * (0.5 if len(pages) < 6 else 0.3))
    return {key for key, count in counts.items() if count >= least}


def _body_size(pages: Sequence[RawPage]) -> float:
    sizes: Counter[float] = Counter()
    for page in pages:
        for fragment in page.fragments:
            sizes[round(fragment.size * 2) / 2] += len(fragment.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def _drafts(fragments: Sequence[Fragment], body: float) -> list[list[Fragment]]:
    """Fragments grouped to blocks."""
    groups: list[list[Fragment]] = []
    for fragment in fragments:
        if groups and not _breaks(groups[-1], fragment, body):
            groups[-1].append(fragment)
        else:
            groups.append([fragment])
    return groups


def _same_line(one: Fragment, other: Fragment) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > 0.4 * min(one.bottom - one.top, other.bottom - other.top)


def _breaks(group: Sequence[Fragment], new: Fragment, body: float) -> bool:
    """Whether a new block begins with `new`."""
    last = group[-1]
    if last.upright != new.upright:
        return True
    if _same_line(last, new):
        return abs(last.size - new.size) > 0.35 * body and new.left < last.right
    if last.hyphen:
        return False
    if abs(last.size - new.size) > 0.1 * body and len(new.text) > 3 and len(last.text) > 3:
        return True
    if _heading_level(" ".join(f.text for f in group), group[0], body) or _heading_level(new.text, new, body):
        return not _continues_heading(group, new, body)
    if new.top < last.top - last.size:  # a new column
        return bool(_CLOSED.search(last.text)) or not new.text[:1].islower()
    gap = new.top - last.bottom
    if gap > 0.55 * body or _CAPTION.match(new.text):
        return True
    # An indented first line, after a line that ended a sentence.
    return new.left > min(f.left for f in group) + 0.6 * body and bool(_CLOSED.search(last.text)) and len(group) > 1


def _continues_heading(group: Sequence[Fragment], new: Fragment, body: float) -> bool:
    first = group[0]
    alike = abs(first.size - new.size) < 0.06 * body and first.bold == new.bold
    near = 0 <= new.top - group[-1].top < 1.7 * new.size
    large = new.size > 1.12 * body
    return alike and near and large and len(group) < 4 and not _NUMBERED.match(new.text)


def _heading_level(text: str, first: Fragment, body: float) -> int:
    """1 to 4 for a heading, 0 for anything else."""
    if not first.upright or len(text) > 160 or _CAPTION.match(text) or not re.search(r"[^\W\d]{3}", text):
        return 0
    large = first.size > 1.12 * body
    numbered = _NUMBERED.match(text)
    if numbered and (large or first.bold):
        return min(numbered.group(1).rstrip(".").count(".") + 1, 4)
    if _KNOWN.match(text) and (large or first.bold or text.isupper() or text[:1].isupper()):
        return 1
    if large and len(text) < 120 and not text.endswith((".", ",")):
        return 1 if first.size > 1.3 * body else 2
    return 0


def _assemble(
    raw: RawPage, drafts: Sequence[Sequence[Fragment]], body: float, in_references: bool
) -> tuple[Page, list[Block], bool]:
    chars: list[str] = []
    boxes: list[Box] = []
    blocks: list[Block] = []
    for group in drafts:
        if chars:
            _append(chars, boxes, "\n")
        start = len(chars)
        _join(group, chars, boxes)
        text = "".join(chars[start:])
        level = _heading_level(text, group[0], body)
        if level:
            in_references = bool(_REFERENCES.match(text)) or (in_references and not _AFTER_REFERENCES.match(text))
        kind = "heading" if level else "reference" if in_references else "caption" if _CAPTION.match(text) else "text"
        span = Span(page=raw.number, start=start, end=len(chars))
        blocks.append(Block(kind=kind, span=span, level=level))  # type: ignore[arg-type]
    page = Page.model_construct(
        number=raw.number, width=raw.width, height=raw.height, text="".join(chars), boxes=tuple(boxes)
    )
    return page, blocks, in_references


def _join(group: Sequence[Fragment], chars: list[str], boxes: list[Box]) -> None:
    for index, fragment in enumerate(group):
        joined = index > 0 and group[index - 1].hyphen
        if index and not joined and not _cjk_border(chars[-1], fragment.text[0]):
            _append(chars, boxes, " ")
        chars += fragment.text
        boxes += fragment.boxes


def _cjk_border(left: str, right: str) -> bool:
    """Whether two lines join without a blank: both sides are CJK."""
    return all("\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef" for char in (left, right))


def _append(chars: list[str], boxes: list[Box], char: str) -> None:
    at = boxes[-1]
    chars.append(char)
    boxes.append((at[2], at[3], at[2], at[3]))
