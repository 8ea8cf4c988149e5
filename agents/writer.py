"""The reasoner with a language model: it first picks the sentences that bear on the question, then writes from them.

The model points at numbered sentences instead of copying them, so a quote can't be misquoted: a number that was
not offered is dropped and counted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from agents.citing import Sentence, cite, sentences_of
from agents.draft import Draft
from agents.graph_retriever import NONE, Related
from agents.quoter import Quoter
from core.graph import GraphRow
from core.graph_text import statement
from core.ledger import Ledger
from core.llm import LLM, Delta, Message, Reply
from core.prompts import Part, prompt
from core.terms import tokenise
from core.text import sentences
from core.types import Claim, Passage, Route

OnText = Callable[[str], Awaitable[None]]
MAX_PASSAGE_CHARS = 10_000
MAX_QUOTES = 8
PLAIN_QUOTES = 3
MAX_RELATIONS = 8
_LABEL = re.compile(r"^\s*ANSWER:", re.MULTILINE)  # the prompt's, which some models write again
_ROW = re.compile(r"—\[.*\]→")  # a relation as the prompt writes it is no sentence
_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")


class Picked(BaseModel):
    """The extraction reply: numbers of sentences, most useful first."""

    sentences: list[int] = Field(max_length=40)


@dataclass(frozen=True)
class _Evidence:
    sentences: list[Sentence]
    dropped: int
    relations: list[tuple[GraphRow, int]]
    """what the graph says, with the number of the sentence that states it"""


class Writer:
    """`extractor` picks evidence, `llm` writes: two models, or the same."""

    def __init__(self, llm: LLM, extractor: LLM, ledger: Ledger, quoter: Quoter) -> None:
        self._llm = llm
        self._extractor = extractor
        self._ledger = ledger
        self._quoter = quoter

    async def write(self, route: Route, passages: Sequence[Passage], on_text: OnText, related: Related = NONE) -> Draft:
        """Claims, each with at least one citation. A sentence is dropped and counted that cites nothing, or that
        shares no term with the question or with what it cites: a small model may copy the prompt's example.

        Rows of the graph are shown to the model with the sentences that state them. Costs two calls.
        Raises LLMError.
        """
        evidence = await self._extract(route, passages, related)
        if not evidence.sentences:
            return Draft((), (), "none", dropped=evidence.dropped)
        reply = await self._stream(route.question, evidence, on_text)
        return self._draft(reply, evidence, route.question)

    async def _extract(self, route: Route, passages: Sequence[Passage], related: Related) -> _Evidence:
        """What states the graph's first rows, what the model picks, and behind it what the quoter would quote: small
        models overlook the plainest."""
        offered = _within(sentences_of(passages), MAX_PASSAGE_CHARS)
        passage_of = _passage_ranks(offered)
        message = Message("user", prompt("extract", passages=_by_passage(offered), question=route.question))
        picked, reply = await self._extractor.structured([message], Picked, max_tokens=200, keep_cut=True)
        unseen = {part.rank for part in reply.left_out}
        numbers = list(dict.fromkeys(picked.sentences))
        valid = [n for n in numbers if 1 <= n <= len(offered) and passage_of[n - 1] not in unseen]
        plain = await asyncio.to_thread(self._quoter.best, route, passages, PLAIN_QUOTES, related)
        stated = related.stated(sentences_of(passages))[:MAX_RELATIONS]
        of_rows = [sentence for _, sentence in stated]
        chosen = list(dict.fromkeys([*of_rows, *(offered[n - 1] for n in valid[:MAX_QUOTES]), *plain]))
        relations = [(row, chosen.index(sentence) + 1) for row, sentence in stated]
        return _Evidence(chosen, len(numbers) - len(valid), relations)

    async def _stream(self, question: str, evidence: _Evidence, on_text: OnText) -> Reply:
        quotes = [Part(_line(n, item), n, "quote") for n, item in enumerate(evidence.sentences, 1)]
        if evidence.relations:
            relations = [Part(f"{statement(row)} [{n}]\n", n, "relation") for row, n in evidence.relations]
            content = prompt("write_relations", relations=relations, quotes=quotes, question=question)
        else:
            content = prompt("write", quotes=quotes, question=question)
        final: Reply | None = None
        async for piece in self._llm.stream([Message("user", content)]):
            if isinstance(piece, Delta):
                await on_text(piece.text)
            else:
                final = piece
        assert final is not None  # stream() ends with a Reply or raises
        return final

    def _draft(self, reply: Reply, evidence: _Evidence, question: str) -> Draft:
        unseen = {part.rank for part in reply.left_out}
        shown = {n for n in range(1, len(evidence.sentences) + 1) if n not in unseen}
        cited, uncited = _claims(reply.text, shown)
        written = [claim for claim in cited if _is_of(claim, evidence.sentences, question)]
        dropped = evidence.dropped + uncited + len(cited) - len(written)
        if not written:
            return Draft((), (), "none", self._llm.model, dropped, unfounded=bool(cited or uncited))
        used = list(dict.fromkeys(n for _, numbers in written for n in numbers))
        renumber = {old: new for new, old in enumerate(used, 1)}
        citations = tuple(cite(evidence.sentences[old - 1], new, self._ledger) for old, new in renumber.items())
        claims = tuple(Claim(text=text, citations=tuple(renumber[n] for n in numbers)) for text, numbers in written)
        return Draft(claims, citations, "llm", self._llm.model, dropped)


def _claims(text: str, quotes: Collection[int]) -> tuple[list[tuple[str, list[int]]], int]:
    """(sentence without marks, quote numbers) for what cites; and how many sentences cite nothing that was offered, or
    are a relation as it was given."""
    # Marks may stand behind the full stop; they belong to the sentence before it.
    text = re.sub(r"([.!?。！？])((?:\s*\[[\d,\s]+\])+)", r"\2\1", _LABEL.sub("", text).strip())
    if text.upper().startswith("NOT FOUND"):
        return [], 0
    found, uncited = [], 0
    for start, end in sentences(text):
        sentence = text[start:end]
        numbers = [int(n) for marks in _MARK.findall(sentence) for n in marks.split(",")]
        valid = [n for n in dict.fromkeys(numbers) if n in quotes]
        bare = " ".join(_MARK.sub("", sentence).split())
        if not any(map(str.isalnum, bare)):
            continue  # a full stop between the marks of quotes
        if valid and not _ROW.search(bare):
            found.append((bare, valid))
        else:
            uncited += 1
    return found, uncited


def _is_of(claim: tuple[str, list[int]], quotes: Sequence[Sentence], question: str) -> bool:
    """Whether it shares a term with its quotes, or with the question where that is in another language than these; one
    word, as in "Yes", may answer anything."""
    text, numbers = claim
    terms = set(tokenise(text))
    known = tokenise(" ".join([question, *(quotes[n - 1].text for n in numbers)]))
    return len(terms) < 2 or not terms.isdisjoint(known)


def _passage_ranks(items: Sequence[Sentence]) -> list[int]:
    """For each sentence the rank of its passage, from 1."""
    order = {key: rank for rank, key in enumerate(dict.fromkeys(id(item.passage) for item in items), 1)}
    return [order[id(item.passage)] for item in items]


def _by_passage(items: Sequence[Sentence]) -> list[Part]:
    """The passages, each a part of numbered sentences: a prompt that is too long loses the last passages."""
    lines: dict[int, str] = {}
    for n, (item, rank) in enumerate(zip(items, _passage_ranks(items), strict=True), 1):
        lines[rank] = lines.get(rank, "") + _line(n, item)
    return [Part(text, rank, "passage") for rank, text in lines.items()]


def _line(number: int, item: Sentence) -> str:
    return f"[{number}] {' '.join(item.text.split())}\n"


def _within(items: Sequence[Sentence], limit: int) -> list[Sentence]:
    chosen, used = [], 0
    for item in items:
        used += len(item.text)
        if used > limit:
            break
        chosen.append(item)
    return chosen
