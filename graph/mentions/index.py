"""The index of mentions: a projection of the ledger's chunks, in memory, searched by walking from name to name.

What a document says is read once and kept as numbers; which names there are depends on all documents, so the graph is
put together anew at the first question after a change: 0.5 s for 10,000 chunks.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.ledger import Ledger
from core.ports import Walked
from core.types import Chunk
from graph.mentions.lexicon import Lexicon, Tokenised, Vocabulary, numbered
from graph.mentions.names import acronyms, capitalised, headings, short_forms, usable
from graph.mentions.tokens import key
from graph.mentions.walk import Bipartite

WEIGHTS = {"title": 1.0, "heading": 0.3, "acronym": 0.3, "entity": 0.3, "capitalised": 0.1}
_ABOUT = 2.0  # a title to all of its document, in units of one mention
_TWICE = 2  # chunks that mention a capitalised name, or it leads nowhere
_READ = 500  # chunks at once


@dataclass(frozen=True)
class _Document:
    """What one document gives: its chunks as tokens, and its names."""

    title: str
    ids: tuple[str, ...]
    text: Tokenised
    titles: tuple[str, ...]
    headed: Mapping[str, tuple[int, ...]]  # the chunks below each heading, by their place in `ids`
    capitals: Mapping[str, frozenset[int]]  # the chunks that mention each
    short: tuple[tuple[str, str], ...]  # acronyms with what they stand for


@dataclass
class _Names:
    """Names by their key, with the best of their kinds."""

    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        self.numbers: dict[tuple[int, ...], int] = {}
        self.capital: list[bool] = []
        self.weight: list[float] = []

    def add(self, name: str, weight: float, same_as: int | None = None) -> int | None:
        parts = numbered(key(name), self.vocabulary)
        if not parts:
            return None
        number = self.numbers.get(parts)
        if number is None:
            number = len(self.weight) if same_as is None else same_as
            self.numbers[parts] = number
            if number == len(self.weight):
                self.weight.append(weight)
                self.capital.append(name[:1].isupper())
        self.weight[number] = max(self.weight[number], weight)
        return number


@dataclass(frozen=True)
class _Graph:
    ids: tuple[str, ...]
    places: Mapping[str, int]  # of each id
    owners: NDArray[np.int32]
    documents: Mapping[str, int]
    lexicon: Lexicon
    weight: Sequence[float]  # of each name
    vocabulary: Vocabulary  # may know more by now
    mostly_capital: NDArray[np.bool_]  # of each token that it knew
    links: Bipartite

    def asked(self, query: str) -> dict[int, float]:
        """The names in a question, by their weights."""
        text = self.vocabulary.known(query, len(self.mostly_capital))
        return {name: self.weight[name] for _, name in self.lexicon.find(text, loosely=self.mostly_capital)}


class MentionIndex:
    of_embedder = False

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._vocabulary = Vocabulary()
        self._documents: dict[str, _Document] = {}
        self._graph: _Graph | None = None
        self._entities = ""  # the state of the ledger's entities with which the graph was put together
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(len(document.ids) for document in self._documents.values())

    @property
    def ids(self) -> frozenset[str]:
        with self._lock:
            return frozenset(item for document in self._documents.values() for item in document.ids)

    def sync(self, document_id: str = "") -> None:
        """Raises LibraryError. Reading a chunk costs 0.5 ms."""
        wanted: dict[str, list[str]] = defaultdict(list)
        for chunk, (owner, _) in self._ledger.indexed_children(document_id).items():
            wanted[owner].append(chunk)
        titles = {item: document.title for item, document in self._ledger.documents_by_id(wanted).items()}
        with self._lock:
            had = {document_id} & set(self._documents) if document_id else set(self._documents)
            for gone in had - set(titles):
                del self._documents[gone]
                self._graph = None
            for owner, title in sorted(titles.items()):
                ids, known = tuple(sorted(wanted[owner])), self._documents.get(owner)
                if known is None or known.title != title or known.ids != ids:
                    self._documents[owner] = self._read(title, ids)
                    self._graph = None

    def rebuild(self) -> None:
        with self._lock:
            self._vocabulary, self._documents, self._graph = Vocabulary(), {}, None
        self.sync()

    def _read(self, title: str, ids: Sequence[str]) -> _Document:
        chunks = {c.id: c for at in range(0, len(ids), _READ) for c in self._ledger.chunks(list(ids[at : at + _READ]))}
        present = [chunks[item] for item in ids if item in chunks]
        return _document(title, present, self._vocabulary.read(chunk.text for chunk in present), self._vocabulary)

    def search(self, query: str, found: Sequence[tuple[str, float]], k: int, documents: Sequence[str] = ()) -> Walked:
        """It starts from the names in the query, and where there are none from `found`; 7 ms in 6,000 chunks."""
        graph = self._current()
        names = graph.asked(query)
        chunks = {graph.places[item]: score for item, score in found if not names and item in graph.places}
        closed = None
        if documents:
            allowed = [graph.documents[item] for item in documents if item in graph.documents]
            closed = ~np.isin(graph.owners, allowed)
        mass = graph.links.walk(names, chunks, closed)
        if not mass.any():
            return Walked([])
        mass /= mass.sum()
        reached = mass[mass > 0]
        best = np.argsort(-mass, kind="stable")[: min(k, len(reached))]
        ranking = [(graph.ids[at], float(mass[at])) for at in best]
        return Walked(ranking, float(np.exp(-(reached * np.log(reached)).sum())), len(graph.ids))

    def _current(self) -> _Graph:
        with self._lock:
            touched = self._ledger.graph.touched()
            if self._graph is None or touched != self._entities:
                entities = self._ledger.graph.names()
                self._graph = _put_together(self._documents, list(entities.values()), self._vocabulary)
                self._entities = touched
            return self._graph


def _document(title: str, chunks: Sequence[Chunk], text: Tokenised, vocabulary: Vocabulary) -> _Document:
    titles = tuple(short_forms(title))
    vocabulary.read([title])  # a title may stand in no text of its own document, but in another's question
    headed: dict[str, list[int]] = defaultdict(list)
    capitals: dict[str, set[int]] = defaultdict(set)
    short: list[tuple[str, str]] = []
    for at, chunk in enumerate(chunks):
        for heading in headings(chunk.section):
            headed[heading].append(at)
        for name in capitalised(chunk.text):
            capitals[name].add(at)
        short += acronyms(chunk.text)
    vocabulary.read(headed)
    return _Document(
        title=title,
        ids=tuple(chunk.id for chunk in chunks),
        text=text,
        titles=titles,
        headed={heading: tuple(places) for heading, places in headed.items()},
        capitals={name: frozenset(places) for name, places in capitals.items()},
        short=tuple(dict.fromkeys(short)),
    )


def _put_together(
    documents: Mapping[str, _Document], entities: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> _Graph:
    ordered = sorted(documents.items())
    names = _all_names([document for _, document in ordered], entities, vocabulary)
    lexicon = Lexicon(names.numbers, np.array(names.capital, dtype=np.bool_), len(vocabulary))
    ids = [item for _, document in ordered for item in document.ids]
    owners = np.repeat(np.arange(len(ordered), dtype=np.int32), [len(document.ids) for _, document in ordered])
    text = _joined([document.text for _, document in ordered])
    edges = _mentions(text, lexicon)
    holding = Counter(name for _, name in edges)
    to_name = {edge: names.weight[edge[1]] * math.log(1 + len(ids) / holding[edge[1]]) for edge in edges}
    to_chunk = dict.fromkeys(edges, 1.0)
    first = 0
    for _, document in ordered:
        for name, places in _about(document, names):
            for at in places:
                edge = (first + at, name)
                # As often as it is chosen from a chunk that speaks of it, however long the document is.
                to_name[edge] = _ABOUT * names.weight[name] * math.log(1 + len(ids) / max(holding[name], 1))
                to_chunk[edge] = to_chunk.get(edge, 0.0) + _ABOUT / len(places)
        first += len(document.ids)
    every, size = list(to_name), (len(ids), len(names.weight))
    return _Graph(
        ids=tuple(ids),
        places={item: at for at, item in enumerate(ids)},
        owners=owners,
        documents={item: at for at, (item, _) in enumerate(ordered)},
        lexicon=lexicon,
        weight=names.weight,
        vocabulary=vocabulary,
        mostly_capital=_mostly_capital(text, len(vocabulary)),
        links=Bipartite(every, [to_name[edge] for edge in every], [to_chunk[edge] for edge in every], size),
    )


def _all_names(documents: Sequence[_Document], entities: Sequence[Sequence[str]], vocabulary: Vocabulary) -> _Names:
    """`entities` are the names of one each."""
    names = _Names(vocabulary)
    for document in documents:
        for title in document.titles:
            names.add(title, WEIGHTS["title"])
        for heading in document.headed:
            names.add(heading, WEIGHTS["heading"])
    for short, long in _agreed(documents):
        same = names.add(long, WEIGHTS["acronym"])
        names.add(short, WEIGHTS["acronym"], same)
    for several in entities:
        same = None
        for name in several:
            if usable(name):
                same = names.add(name, WEIGHTS["entity"], same)
    mentioned: Counter[str] = Counter()
    for document in documents:
        mentioned.update({name: len(places) for name, places in document.capitals.items()})
    for name, chunks in mentioned.items():
        if chunks >= _TWICE:
            names.add(name, WEIGHTS["capitalised"])
    return names


def _agreed(documents: Iterable[_Document]) -> list[tuple[str, str]]:
    """Acronyms that stand for one thing in the whole library."""
    meant: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
    for document in documents:
        for short, long in document.short:
            meant[short].setdefault(key(long), long)
    return [(short, next(iter(longs.values()))) for short, longs in sorted(meant.items()) if len(longs) == 1]


def _about(document: _Document, names: _Names) -> list[tuple[int, Sequence[int]]]:
    """Its titles with all of its chunks, its headings with those below them."""
    whole = range(len(document.ids))
    found = [(names.numbers.get(numbered(key(title), names.vocabulary)), whole) for title in document.titles]
    headed = [(names.numbers.get(numbered(key(h), names.vocabulary)), at) for h, at in document.headed.items()]
    return [(name, places) for name, places in (*found, *headed) if name is not None]


def _joined(texts: Sequence[Tokenised]) -> Tokenised:
    if not texts:
        return Tokenised(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_))
    return Tokenised(np.concatenate([t.numbers for t in texts]), np.concatenate([t.small for t in texts]))


def _mentions(text: Tokenised, lexicon: Lexicon) -> list[tuple[int, int]]:
    """(chunk, name), each once."""
    chunk_of = np.cumsum(text.numbers == 0)
    found = lexicon.find(text)
    return list(dict.fromkeys((int(chunk_of[place]), name) for place, name in found))


def _mostly_capital(text: Tokenised, size: int) -> NDArray[np.bool_]:
    """Of each token whether it nearly always has a capital: then it is a name in a careless question too."""
    small = np.bincount(text.numbers[text.small], minlength=size)
    return small * 10 < np.bincount(text.numbers, minlength=size)
