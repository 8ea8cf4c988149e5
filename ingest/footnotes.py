"""Which of a page's fragments are footnotes: small type at the foot, below all that is as large as the body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ingest.columns import Fragment
from ingest.headings import is_caption

_SMALL = 0.93  # times the body's size
_LOWER = 0.45  # of the page's height: a footnote begins below
_MARK = re.compile(r"^(?:\d{1,3}\.?\s?(?=[A-Z“\"'(]|https?:|www\.|$)|[*∗†‡§¶⋆]{1,3}|[①-⑳⁰¹²³⁴-⁹])")
_WORD = re.compile(r"[^\W\d_]{2}|[\u3040-\u9fff]")


def footnotes_last(fragments: Sequence[Fragment], body: float, height: float) -> tuple[list[Fragment], list[Fragment]]:
    """(the text, the footnotes): apart, so that a sentence runs on to the next column or page."""
    feet = _feet(fragments, body, height)
    return [f for f in fragments if id(f) not in feet], [f for f in fragments if id(f) in feet]


def opens_note(fragment: Fragment) -> bool:
    return bool(_MARK.match(fragment.text))


def _feet(fragments: Sequence[Fragment], body: float, height: float) -> set[int]:
    small = [f for f in fragments if f.upright and f.size < _SMALL * body and f.top > _LOWER * height]
    if not any(_MARK.match(f.text) for f in small):
        return set()
    large = [
        f
        for f in fragments
        if f.upright and f.size >= _SMALL * body and f.top > _LOWER * height and _WORD.search(f.text)
    ]
    found: set[int] = set()
    last: Fragment | None = None
    before: dict[int, Fragment] = {id(new): old for old, new in pairwise(fragments)}
    for fragment in small:
        continues = last is not None and _follows(last, fragment)
        begins = (
            opens_note(fragment) and not is_caption(fragment.text) and not _goes_on(before.get(id(fragment)), fragment)
        )
        if (begins or continues) and not any(_is_below(other, fragment) for other in large):
            found.add(id(fragment))
            last = fragment
        else:
            last = None
    return found if _has_words(small, found) else set()


def _follows(last: Fragment, fragment: Fragment) -> bool:
    """The next line of the same note, or of the same line."""
    pitch = fragment.top - last.top
    return -0.6 * last.height < pitch < 2.2 * max(last.height, fragment.height) and not is_caption(fragment.text)


def _goes_on(before: Fragment | None, fragment: Fragment) -> bool:
    """Whether this is but the next line of a paragraph in small type."""
    return (
        before is not None
        and abs(before.size - fragment.size) < 0.3
        and not opens_note(before)
        and (0.5 * fragment.height < fragment.top - before.top < 1.35 * fragment.height)
    )


def _is_below(other: Fragment, fragment: Fragment) -> bool:
    beside = other.left < fragment.right and other.right > fragment.left
    return beside and other.top > fragment.top + 0.5 * fragment.height


def _has_words(small: Sequence[Fragment], found: set[int]) -> bool:
    """Numbers alone are the labels of a figure."""
    return sum(bool(_WORD.search(f.text)) for f in small if id(f) in found) * 2 > len(found)
