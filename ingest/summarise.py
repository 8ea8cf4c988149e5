"""Summaries of a document and of its sections, made of sentences that stand in it.

Without a language model the most central sentences are taken: those that share most with their section's words,
weighed by how few other sections have them (the centroid method of Radev et al., 2004). With one, the model writes
from numbered sentences and says which it used; what it writes is kept where these bear it out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from core.errors import LLMBudget, LLMError, LLMRejected, LLMUnavailable
from core.ledger import Ledger
from core.llm import LLM, Message
from core.prompts import Part, prompt
from core.spending import current
from core.terms import numbers, tokenise
from core.text import sentences, spans_within
from core.types import Chunk, Document, Span, Summary
from ingest.chunk import SEPARATOR

SENTENCES = 2  # of a section; the document's own summary takes two sections' worth and one more
MOST_SECTIONS = 40
_SHORTEST, _LONGEST = 40, 400
_LED_BY = ("abstract", "summary", "conclusion", "introduction", "摘要", "结论", "초록", "결론")
_LASTING = (LLMUnavailable, LLMRejected, LLMBudget)  # the next section would meet it too
_SHARED = 0.6  # of a written sentence's terms that must stand in those it rests on


class Written(BaseModel):
    text: str = Field(min_length=10, max_length=600)
    rests_on: list[int] = Field(min_length=1, max_length=8)


class SectionSummary(BaseModel):
    """The reply for one section."""

    sentences: list[Written] = Field(min_length=1, max_length=4)


@dataclass(frozen=True)
class _Sentence:
    text: str
    spans: tuple[Span, ...]
    terms: frozenset[str]


@dataclass(frozen=True)
class _Section:
    name: str
    sentences: tuple[_Sentence, ...]


class Summariser:
    """`llm` None: extractive only."""

    def __init__(self, ledger: Ledger, llm: LLM | None) -> None:
        self._ledger = ledger
        self._llm = llm

    async def summarise(self, document: Document) -> None:
        """Store the summaries of a document that is in the ledger. With a model, one call a section, kept as replies.

        Where the model fails or its budget is spent the section is summarised without it.
        """
        parents = [c for c in self._ledger.chunks_of(document.id) if not c.parent_id and not c.is_reference]
        found = _sections(parents)
        idf = _idf(found)
        summaries = [_document(found, idf)]
        llm, failed = self._llm, list[LLMError]()
        for section in found:
            written = None
            if llm is not None:
                try:
                    written = await self._written(llm, section)
                except LLMError as error:
                    failed.append(error)
                    if isinstance(error, _LASTING):
                        llm = None
            elif failed:
                failed.append(failed[-1])
            summaries.append(written or _extracted(section, idf, SENTENCES))
        if failed:
            what = f"{len(failed)} of {len(found)} sections were summarised without the language model"
            current().note(f"{what}: {failed[0].message}")
        self._ledger.store_summaries(document.id, [summary for summary in summaries if summary is not None])

    async def _written(self, llm: LLM, section: _Section) -> Summary | None:
        lines = [Part(f"[{n}] {s.text}\n", n, "sentence") for n, s in enumerate(section.sentences, 1)]
        asked = Message("user", prompt("summarise", section=lines))
        reply, _ = await llm.structured([asked], SectionSummary, max_tokens=300)
        kept: list[tuple[str, list[_Sentence]]] = []
        for one in reply.sentences:
            sources = [section.sentences[n - 1] for n in dict.fromkeys(one.rests_on) if 1 <= n <= len(lines)]
            if _borne_out(one.text, sources):
                kept.append((" ".join(one.text.split()), sources))
        if not kept:
            return None
        spans = dict.fromkeys(span for _, sources in kept for source in sources for span in source.spans)
        return Summary(
            section=section.name, text=" ".join(text for text, _ in kept), written_by="llm", spans=tuple(spans)
        )


def can_be_summarised(chunks: Sequence[Chunk]) -> bool:
    """Whether a document of these chunks has a sentence that a summary could be made of."""
    return bool(_sections([chunk for chunk in chunks if not chunk.parent_id and not chunk.is_reference]))


def _borne_out(text: str, sources: Sequence[_Sentence]) -> bool:
    """Whether the numbers of a written sentence, and most of its words, stand in the sentences it rests on."""
    given = " ".join(source.text for source in sources)
    terms = set(tokenise(text))
    known = terms & set(tokenise(given))
    return bool(terms) and set(numbers(text)) <= set(numbers(given)) and len(known) >= _SHARED * len(terms)


def _sections(parents: Sequence[Chunk]) -> list[_Section]:
    """Top-level sections with their sentences, in order; those without one are left out."""
    found: dict[str, list[_Sentence]] = {}
    for parent in parents:
        name = parent.section.split(SEPARATOR)[0]
        found.setdefault(name, []).extend(_sentences(parent))
    return [_Section(name, tuple(inside)) for name, inside in found.items() if inside][:MOST_SECTIONS]


def _sentences(parent: Chunk) -> list[_Sentence]:
    kept = []
    for start, end in sentences(parent.text):
        text = " ".join(parent.text[start:end].split())
        # A heading, a table's row or a formula is no sentence that could stand for its section.
        if _SHORTEST <= len(text) <= _LONGEST and re.search(r"[.!?。！？]\W*$", text) and _is_prose(text):
            kept.append(_Sentence(text, spans_within(parent.spans, start, end), frozenset(tokenise(text))))
    return kept


def _is_prose(text: str) -> bool:
    return sum(char.isalpha() or char == " " for char in text) >= 0.8 * len(text)


def _idf(found: Sequence[_Section]) -> dict[str, float]:
    counts = Counter(term for section in found for term in set().union(*(s.terms for s in section.sentences)))
    return {term: math.log(1 + len(found) / n) for term, n in counts.items()}


def _central(inside: Sequence[_Sentence], idf: Mapping[str, float], n: int) -> list[_Sentence]:
    """The n most central, in the order of the text."""
    counts = Counter(term for sentence in inside for term in sentence.terms)

    def score(at: int) -> float:
        sentence = inside[at]
        shared = sum((counts[term] - 1) * idf[term] for term in sentence.terms)
        return shared / math.sqrt(len(sentence.terms) + 4) * (1.2 if at < 2 else 1.0)

    best = sorted(range(len(inside)), key=lambda at: (-score(at), at))[:n]
    return [inside[at] for at in sorted(best)]


def _extracted(section: _Section, idf: Mapping[str, float], n: int) -> Summary | None:
    return _summary(section.name, _central(section.sentences, idf, n))


def _document(found: Sequence[_Section], idf: Mapping[str, float]) -> Summary | None:
    """Three sentences of the abstract or what comes first, two of the conclusion or what comes next in weight."""
    leading = sorted(found, key=lambda section: _lead(section.name))[:2]
    chosen = [s for section, n in zip(leading, (3, 2), strict=False) for s in _central(section.sentences, idf, n)]
    return _summary("", chosen)


def _lead(name: str) -> int:
    return next((rank for rank, word in enumerate(_LED_BY) if word in name.lower()), len(_LED_BY))


def _summary(name: str, chosen: Sequence[_Sentence]) -> Summary | None:
    if not chosen:
        return None
    spans = tuple(span for sentence in chosen for span in sentence.spans)
    return Summary(section=name, text=" ".join(s.text for s in chosen), written_by="extraction", spans=spans)
