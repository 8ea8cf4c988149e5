"""When a question's evidence counts as found among passages.

At page level a place is found when a passage covers its page, at quote level when one passage of its document holds
its quote. `multihop` needs every evidence page, `crossdoc` one place in each document, every other type any one place.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.types import Passage
from eval.questions import Evidence, Question

MAX_CHARS = 10_000  # of the passages that a reader is handed for one question
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2032: "'"}
_SOFT = re.compile(r"[\ufffe\uffff\u00ad\u0002]\s*")  # hyphens at line ends, as PDF readers give them


def normalised(text: str) -> str:
    """What two extractions of the same words agree in: NFKC, one dash and quote, single blanks, lower case, and no
    hyphen inside a word, since one at a line's end can't be told from one of the word's own."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_QUOTES)
    text = _SOFT.sub("", text)
    text = re.sub(r"(?<=\w)-[ \t]*\n[ \t]*", "", text)
    text = re.sub(r"(?<=\w)-(?=\w)", "", text)
    return re.sub(r"\s+", " ", text).strip().lower()


@dataclass(frozen=True)
class Found:
    """One place's ranks among the passages: the first passage (from 1) that has its page, and its quote; None for
    neither. `quote_rank` is None too where the evidence has no quote."""

    evidence: Evidence
    page_rank: int | None
    quote_rank: int | None


@dataclass(frozen=True)
class Judged:
    """`page_rank` is how many passages a reader has to go through until the question's rule is met; None: never."""

    found: tuple[Found, ...]
    page_rank: int | None
    quote_rank: int | None
    has_quotes: bool  # without them there is no quote level


def judged(question: Question, passages: Sequence[Passage]) -> Judged:
    texts = [normalised(passage.text) for passage in passages]
    found = tuple(
        Found(evidence, _page_rank(evidence, passages), _quote_rank(evidence, passages, texts))
        for evidence in question.evidence
    )
    groups = _groups(question.type, found)
    return Judged(
        found,
        _last_of_firsts(groups, lambda place: place.page_rank),
        _last_of_firsts(groups, lambda place: place.quote_rank),
        all(any(place.evidence.quote for place in group) for group in groups),
    )


def within(passages: Sequence[Passage], limit: int = MAX_CHARS) -> tuple[Passage, ...]:
    """The first passages, as many as have at most `limit` characters in all."""
    total = 0
    for count, passage in enumerate(passages):
        total += len(passage.text)
        if total > limit:
            return tuple(passages[:count])
    return tuple(passages)


def _groups(kind: str, found: Sequence[Found]) -> list[list[Found]]:
    """Of each group one place has to be found."""
    groups: dict[object, list[Found]] = defaultdict(list)
    for place in found:
        groups[_group(kind, place.evidence)].append(place)
    return list(groups.values())


def _group(kind: str, evidence: Evidence) -> object:
    if kind == "multihop":
        return evidence.doc, evidence.page
    return evidence.doc if kind == "crossdoc" else None


def _last_of_firsts(groups: Sequence[Sequence[Found]], rank: Callable[[Found], int | None]) -> int | None:
    firsts = [min((r for place in group if (r := rank(place)) is not None), default=None) for group in groups]
    reached = [first for first in firsts if first is not None]
    return max(reached) if len(reached) == len(firsts) else None


def _page_rank(evidence: Evidence, passages: Sequence[Passage]) -> int | None:
    return next((n for n, passage in enumerate(passages, 1) if _covers(passage, evidence)), None)


def _covers(passage: Passage, evidence: Evidence) -> bool:
    on_page = evidence.page is None or any(span.page == evidence.page for span in passage.spans)
    return passage.document == evidence.doc and on_page


def _quote_rank(evidence: Evidence, passages: Sequence[Passage], texts: Sequence[str]) -> int | None:
    quote = normalised(evidence.quote)
    pairs = enumerate(zip(passages, texts, strict=True), 1)
    return next((n for n, (p, text) in pairs if quote and p.document == evidence.doc and quote in text), None)
