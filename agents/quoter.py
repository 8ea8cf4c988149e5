"""The reasoner without a language model: it answers by quoting the sentences that bear on the question."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from agents.citing import Sentence, cite, sentences_of
from agents.draft import Draft
from agents.graph_retriever import NONE, Related
from core.ledger import Ledger
from core.ports import Embedder
from core.terms import tokenise
from core.types import Claim, Passage, Route

_NUMBER_ASKED = re.compile(
    r"\b(how (many|much|long|large|big|often|far|fast|old|high|deep|tall)|what (percentage|fraction|share|number|size|"
    r"rate|score|accuracy|year|date)|when|in which year)\b|多少|几|何时|哪一年|몇|얼마",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(
    r"\b(who|whom|whose|where|which|what (dataset|data set|model|method|author|city|place))\b|谁|哪", re.I
)
_DURATION_ASKED = re.compile(
    r"\b(how (long|often|frequent(ly)?)|what (time|duration|interval)|how much time)\b|多长时间|多久|얼마나 (걸|오래)",
    re.I,
)
_DURATION = re.compile(
    r"\d[\d.,]*\s*(milli|micro)?(seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|s|h)\b", re.I
)
_REASON_ASKED = re.compile(
    r"\b(why|what (caused?|led|made|explains?)|reasons?|for what purpose)\b|为什么|为何|原因|왜|이유", re.I
)
_REASON = re.compile(
    r"\b(because|since|due to|caus(e|es|ed)|lead(s|ing)? to|led to|results? (of|in|from)|therefore|thus|owing to|"
    r"so that|in order to|reasons?|explains?|attribut\w+)\b",
    re.I,
)
_ENDED = re.compile(r"[.!?。！？:;][\"'”’)\]]*$")
_REFERENCE_MARK = re.compile(r"\s*\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]")
_PRONOUN = re.compile(r"(it|its|they|their|this|these|those|he|she|his|her|both)\b", re.I)
Scores = NDArray[np.float64]
QUOTES = 5
# Below this share of the question's weight nothing that was found speaks of what is asked: 0.34 refused
# 2 of 6 unanswerable questions, but 22 of 94 answerable ones too (eval/results).
MIN_COVERAGE = 0.15
STATED = 0.3  # for a sentence that states the graph's first row
STATED_EXACTLY = 0.8  # where these are all that is asked: before all others, and instead of those that say less of it


class Quoter:
    def __init__(self, ledger: Ledger, embedder: Embedder, idf: Callable[[str], float]) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._idf = idf

    async def quote(self, route: Route, passages: Sequence[Passage], related: Related = NONE) -> Draft:
        """Up to five sentences, best first, each its own claim; none when the passages do not speak of it.

        Sentences that state a row of the graph are preferred, those of the first rows most.
        """
        return await asyncio.to_thread(self._quote, route, passages, related)

    def _quote(self, route: Route, passages: Sequence[Passage], related: Related) -> Draft:
        chosen = self.best(route, passages, QUOTES, related)
        citations = tuple(cite(sentence, n, self._ledger) for n, sentence in enumerate(chosen, 1))
        claims = tuple(Claim(text=_claim_text(c.quote), citations=(c.number,)) for c in citations)
        return Draft(claims=claims, citations=citations, written_by="quotation" if claims else "none")

    def best(self, route: Route, passages: Sequence[Passage], limit: int, related: Related = NONE) -> list[Sentence]:
        """The sentences that bear on the question, best first, at most `limit`."""
        sentences = sentences_of(passages)
        weights = {term: self._idf(term) for term in set(tokenise(route.question))}
        if route.kind == "summary":
            said = [s for s in sentences if not s.passage.channels and s.text in s.passage.best_child]
            return _in_turns(said or sentences, limit)
        lexical = np.array([_overlap(weights, s) for s in sentences])
        context = _context(sentences, lexical)
        if not sentences or not weights:
            return []
        in_rows = list(dict.fromkeys(sentence for _, sentence in related.stated(sentences)))
        if lexical.max() < 0.12:  # no word in common: another language, perhaps
            by_meaning = self._by_meaning(route.question, passages, limit)
            return list(dict.fromkeys([*in_rows, *by_meaning]))[:limit]
        scores = lexical + context + _priors(route.question, sentences, passages)
        for rank, sentence in enumerate(in_rows):
            scores[sentences.index(sentence)] += (STATED_EXACTLY if related.exact else STATED) / (1 + rank / 4)
        if _coverage(weights, passages) < MIN_COVERAGE:
            return []
        order = np.argsort(-scores, kind="stable")
        cut = scores[order[0]] * 0.55
        return [sentences[i] for i in order[:limit] if scores[i] >= cut]

    def _by_meaning(self, question: str, passages: Sequence[Passage], limit: int) -> list[Sentence]:
        """By cosine similarity, over the children that were found; about 20 ms a sentence."""
        near = [s for s in sentences_of(passages[:3]) if s.text in s.passage.best_child][:16]
        if not near:
            return []
        similar = self._embedder.passages([s.text for s in near]) @ self._embedder.query(question)
        return [near[i] for i in np.argsort(-similar, kind="stable")[:limit]]


def _in_turns(sentences: Sequence[Sentence], limit: int) -> list[Sentence]:
    """The first of each document, then the second of each, in the order of the text."""
    nth: Counter[str] = Counter()
    turns = []
    for at, sentence in enumerate(sentences):
        nth[sentence.passage.document_id] += 1
        turns.append((nth[sentence.passage.document_id], at))
    return [sentences[at] for at in sorted(at for _, at in sorted(turns)[:limit])]


def _overlap(weights: dict[str, float], sentence: Sentence) -> float:
    """Share of the question's idf weight that stands in the sentence, 0 to 1."""
    total = sum(weights.values()) or 1.0
    said = set(tokenise(_spoken(sentence)))
    return sum(weights[term] for term in said if term in weights) / total


def _spoken(sentence: Sentence) -> str:
    """What it says with what belongs to it: a caption what its figure shows, a table's row its columns' names."""
    text, passage = sentence.text, sentence.passage
    if not (passage.described or passage.rows) or text not in passage.best_child:
        return text
    if passage.described:
        return f"{text}\n{passage.described}"
    caption, *rows = passage.rows.split("\n")
    cells = set(tokenise(text))
    nearest = max(rows, key=lambda row: len(cells & set(tokenise(row))), default="")
    return f"{text}\n{caption}\n{nearest}"


def _is_row(sentence: Sentence) -> bool:
    return bool(sentence.passage.rows) and sentence.text in sentence.passage.best_child


def _context(sentences: Sequence[Sentence], lexical: Scores) -> Scores:
    """What the sentence before lends: a part of its words, more to a sentence that begins with a pronoun."""
    lent = np.zeros(len(sentences))
    for i in range(1, len(sentences)):
        if sentences[i].passage is sentences[i - 1].passage:
            lent[i] = lexical[i - 1] * (0.6 if _PRONOUN.match(sentences[i].text) else 0.2)
    return lent


def _coverage(weights: dict[str, float], passages: Sequence[Passage]) -> float:
    total = sum(weights.values()) or 1.0
    found = [set(tokenise(f"{p.title} {p.section} {p.text} {p.described} {p.rows}")) for p in passages]
    shares = [sum(weights[term] for term in terms if term in weights) / total for terms in found]
    return max(shares, default=0.0)


def _priors(question: str, sentences: Sequence[Sentence], passages: Sequence[Passage]) -> Scores:
    """What speaks for a sentence beside its words: its passage's rank, its child, the kind of thing asked for."""
    rank = {passage.chunk_id: i for i, passage in enumerate(passages)}
    number, name = bool(_NUMBER_ASKED.search(question)), bool(_NAME_ASKED.search(question))
    reason = bool(_REASON_ASKED.search(question))
    duration = bool(_DURATION_ASKED.search(question))
    values = []
    for s in sentences:
        value = 0.15 / (1 + rank[s.passage.chunk_id])
        value += 0.12 if s.text in s.passage.best_child else 0.0
        value += 0.12 if number and re.search(r"\d", s.text) else 0.0
        value += 0.15 if reason and _REASON.search(s.text) else 0.0
        value -= 0.0 if _ENDED.search(s.text) or _is_row(s) else 0.2  # a title, an address
        value += 0.15 if duration and _DURATION.search(s.text) else 0.0
        value += 0.06 if name and re.search(r"\b[A-Z]\w+", s.text[1:]) else 0.0
        values.append(value - (0.1 if len(s.text) > 500 or (len(s.text) < 30 and not _is_row(s)) else 0.0))
    return np.array(values)


def _claim_text(quote: str) -> str:
    """On one line, without the source's own reference marks: they would pass for ours."""
    return " ".join(_REFERENCE_MARK.sub("", quote).split())
