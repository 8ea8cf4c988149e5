"""Tiers 2 and 3: names that are written alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np
from rapidfuzz import fuzz, process

from graph.resolve.compare import compared, forbidden
from graph.resolve.contained import is_proper
from graph.resolve.form import GENERIC, Form

SURE, LEAST = 0.88, 0.75
_ROWS = 512  # of one block: 5,000 names take 2.5 MB at once, not 25
_SHORTEST = 5  # characters of a name that is compared by likeness
_DIRECTED = frozenset("from to of in on into over under for with versus vs against by 2".split())


def alike(forms: Sequence[Form]) -> Iterator[tuple[float, Form, Form]]:
    """(likeness, first, second) of the pairs that are alike by LEAST or more and that nothing forbids; names of one
    key are one, so `forms` holds each key once. Likeness is the normalised indel similarity of the names in plain
    Latin letters with their words sorted. O(n²) in C, 1 s of 5,000; memory by blocks of rows."""
    kept = [form for form in forms if len(form.sorted_latin) >= _SHORTEST and not form.is_acronym and not form.is_cjk]
    texts = [form.sorted_latin for form in kept]
    for start in range(0, len(kept), _ROWS):
        scores = process.cdist(
            texts[start : start + _ROWS],
            texts[start:],
            scorer=fuzz.ratio,
            score_cutoff=LEAST * 100,
            dtype=np.float32,
            workers=2,
        )
        for row, column in zip(*np.nonzero(np.triu(scores, 1)), strict=True):
            first, second = kept[start + row], kept[start + column]
            if sorted(first.numbers) == sorted(second.numbers) and not forbidden(first.name, second.name):
                yield float(scores[row, column]) / 100, first, second


def why_same(first: Form, second: Form, lower: Set[str]) -> str:
    """Why two names that are alike by SURE or more are one; '' where that is not enough: each word has to have its
    partner, and a letter may only be wrong in a long name or in a proper one."""
    pair = compared(first.name, second.name)
    if any(pair.content()):
        return ""
    if first.key in second.singular_keys or second.key in first.singular_keys:
        return ""  # what is a plural is decided elsewhere
    if first.numbers and first.sorted_latin != second.sorted_latin:
        return ""  # an identifier is no word: each letter counts
    if pair.initials or not _same_order(first, second):
        return ""
    if not pair.typos:
        return _how(first, second)
    proper = all(is_proper(form, lower) and form.is_capitalised for form in (first, second))
    long = min(len(word) for form in (first, second) for word in form.content) >= 9
    if pair.typos == 1 and (pair.shared >= 3 or (proper and long and len(first.content) == 1)):
        return "they differ by a letter, as a slip of the pen does"
    return ""


def _how(first: Form, second: Form) -> str:
    if sorted(first.words) == sorted(second.words):
        return "they are the same words in another order"
    return "they differ in marks on letters, or in the way a word is spelt"


def _same_order(first: Form, second: Form) -> bool:
    """Whether the words come in one order but for heads and a last name put first: 'text to image' is not 'image to
    text'."""
    left = [word for word in first.words if word not in GENERIC]
    right = [word for word in second.words if word not in GENERIC]
    if left == right or len(left) != len(right):
        return True
    if sorted(left) != sorted(right):
        return True  # spelt differently; what is paired is another question
    if not _DIRECTED.isdisjoint((*first.tokens, *second.tokens)):
        return False
    return any("," in form.name for form in (first, second))
