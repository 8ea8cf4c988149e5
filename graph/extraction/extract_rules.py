"""Triples without a language model: a phrase that names something, words that the vocabulary knows, another phrase.

Made for precision: a sentence that is not plainly of a known form gives nothing. So the graph is thinner than what a
model finds, and for languages other than English it has little: of Chinese only relations between names in Latin
letters.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from core.graph import Triple
from core.ledger import Ledger
from core.ledger.triples import Extraction
from core.text import sentences, spans_within
from core.types import Chunk
from graph.extraction.clauses import statements
from graph.extraction.groups import Statement
from graph.extraction.kinds import ends_at, type_of, types_of
from graph.extraction.naming import clean_name, name_key, problem
from graph.extraction.phrases import LONGEST, Vocabulary, blanked, vocabulary_of
from graph.extraction.triple_ids import triple_id
from graph.relations import IS_A, is_citation, normalise

RULES = "rules@"  # and the version: another one reads every passage anew that older rules have read
NAME = f"{RULES}2"
_CJK_NAME = r"[A-Z][\w.+-]*(?: [A-Z0-9][\w.+-]*){0,3}"
_CHINESE = re.compile(
    rf"(?P<a>{_CJK_NAME})\s?(?P<w>是?基于|使用了?|采用了?|优于|超过了?|超越了?|包含|属于|扩展了?|源自)\s?(?P<b>{_CJK_NAME})",
    re.ASCII,
)


class RuleReader:
    """One document's words are looked at as a whole, once, when its first passage is read."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._known: tuple[str, Vocabulary] = ("", Vocabulary())
        self.name = NAME

    async def read(self, chunk: Chunk) -> Extraction:
        """About 2 ms a passage, and 6 ms a page of its document the first time."""
        return await asyncio.to_thread(self._read, chunk)

    def _read(self, chunk: Chunk) -> Extraction:
        if self._known[0] != chunk.document_id:
            texts = [c.text for c in self._ledger.triples.readable([chunk.document_id])]
            self._known = chunk.document_id, words_of(texts)
        return extract(chunk, self._known[1])


def words_of(texts: Sequence[str]) -> Vocabulary:
    """What all passages of one document show of its words and names."""
    vocabulary = vocabulary_of(texts)
    return replace(vocabulary, types=types_of(texts, vocabulary))


def worth_reading(chunk: Chunk) -> bool:
    """Whether it has a sentence at all: a table or the numbers of a figure have none."""
    return any(True for _ in _prose(chunk.text))


def extract(chunk: Chunk, vocabulary: Vocabulary) -> Extraction:
    kept: dict[str, Triple] = {}
    dropped: Counter[str] = Counter()
    for start, end in _prose(chunk.text):
        for stated in (*statements(chunk.text[start:end], vocabulary), *_chinese(chunk.text[start:end])):
            triple = _triple(chunk, start, end, stated, vocabulary.types)
            if isinstance(triple, str):
                dropped[triple] += 1
            else:
                kept.setdefault(triple.id, triple)
    return Extraction(NAME, "ok", tuple(kept.values()), dict(dropped))


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each sentence that is one: of some words, most of them letters, with an end."""
    for start, end in sentences(text):
        sentence = text[start:end]
        letters = sum(char.isalpha() or char == " " for char in blanked(sentence))
        closed = re.search(r"[.!?:。！？][\"'”’)\]]*$", sentence)
        worded = len(sentence.split()) >= 4 or re.search(r"[\u3400-\u9fff]{4}", sentence)
        if end - start <= LONGEST and closed and worded and letters >= 0.75 * len(sentence):
            yield start, end


def _chinese(sentence: str) -> list[Statement]:
    return [
        Statement(found.span("a"), found["w"], *normalise(found["w"]), found.span("b"), 0.8)
        for found in _CHINESE.finditer(sentence)
    ]


def _triple(chunk: Chunk, start: int, end: int, stated: Statement, types: Mapping[str, str]) -> Triple | str:
    """The triple, or why it is dropped."""
    sentence = chunk.text[start:end]
    subject, target = (clean_name(sentence[a:b]) for a, b in (stated.subject, stated.object))
    if stated.inverted:
        subject, target = target, subject
    if why := problem(subject) or problem(target):
        return why
    if name_key(subject) == name_key(target):
        return "same name"
    of_subject, of_target = type_of(subject, types), type_of(target, types)
    kind_end = (stated.subject if stated.inverted else stated.object)[1]
    if stated.relation == IS_A and ends_at(sentence, kind_end):  # 'multilingual corpora such as mC4'
        of_subject = of_subject or of_target
    return Triple(
        id=triple_id(chunk.id, subject, stated.wording, target),
        document_id=chunk.document_id,
        chunk_id=chunk.id,
        subject=subject,
        subject_type=of_subject,
        relation=stated.relation,
        wording=stated.wording,
        object=target,
        object_type=of_target,
        quote=sentence,
        spans=spans_within(chunk.spans, start, end),
        confidence=stated.confidence,
        is_citation=is_citation(stated.relation),
    )


def read_all(chunks: Sequence[Chunk]) -> list[Triple]:
    """Of one document's passages."""
    vocabulary = words_of([chunk.text for chunk in chunks])
    return [triple for chunk in chunks for triple in extract(chunk, vocabulary).triples]
