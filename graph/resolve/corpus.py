"""The names of a library with what speaks for or against two of them being one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from core.ledger.entities import Said
from core.terms import tokenise
from graph.resolve.definitions import Definition, definitions
from graph.resolve.fold import surface
from graph.resolve.form import form

_LOWER = re.compile(r"(?<![\w-])[a-z]{3,}(?![\w-])")


@dataclass(frozen=True)
class Mention:
    """A name in one document."""

    name: str
    document_id: str
    type: str = ""
    count: int = 1
    neighbours: frozenset[str] = frozenset()
    """Keys of the names that it is related to there, those apart that are mere words."""
    words: frozenset[str] = frozenset()
    """Stems of the sentences that it stands in; of distinctive names none, which are one thing everywhere."""


@dataclass(frozen=True)
class Corpus:
    mentions: tuple[Mention, ...]
    definitions: frozenset[tuple[str, Definition]] = frozenset()
    """(document id, what its text defines)."""
    lower: frozenset[str] = field(default_factory=frozenset)
    """Words that stand somewhere in lower case: such a word in capitals is no proper name."""


def corpus_of(said: Iterable[Said], texts: Iterable[tuple[str, str]] = ()) -> Corpus:
    """`texts`: (document id, text), of which the definitions of acronyms are read. A triple with a name of blanks
    alone says nothing."""
    types: dict[tuple[str, str], Counter[str]] = {}
    near: dict[tuple[str, str], set[str]] = {}
    words: dict[tuple[str, str], set[str]] = {}
    lower: set[str] = set()
    rows = [row for row in said if surface(row.subject) and surface(row.object)]
    doubtful = _doubtful(rows)
    spoken_of = cache(lambda quote: frozenset(tokenise(quote)))
    for quote in {row.quote for row in rows}:
        lower.update(_LOWER.findall(quote))
    for row in rows:
        for name, type_, other in (
            (row.subject, row.subject_type, row.object),
            (row.object, row.object_type, row.subject),
        ):
            place = (name, row.document_id)
            types.setdefault(place, Counter())[type_] += 1
            if name in doubtful:
                words.setdefault(place, set()).update(spoken_of(row.quote))
            if _is_name(other):
                near.setdefault(place, set()).add(form(other).key)
    mentions = tuple(
        Mention(
            name,
            document,
            _commonest(counted),
            counted.total(),
            frozenset(near.get((name, document), set()) - {form(name).key}),
            frozenset(words.get((name, document), set()) - set(tokenise(name)) if name in doubtful else ()),
        )
        for (name, document), counted in sorted(types.items())
    )
    return Corpus(mentions, _defined(texts), frozenset(lower))


def _doubtful(rows: Iterable[Said]) -> set[str]:
    """Names whose sentences are to be read: of those that could be of two things in two documents. To read all would
    cost three times as much as everything else."""
    documents: dict[str, set[str]] = {}
    names = {(name, row.document_id) for row in rows for name in (row.subject, row.object)}
    for name, document in names:
        documents.setdefault(form(name).key, set()).add(document)
    return {name for name, _ in names if not form(name).is_distinctive and len(documents[form(name).key]) > 1}


def lower_words(texts: Iterable[str]) -> frozenset[str]:
    """Words of three letters or more that stand in small letters in one of the texts."""
    return frozenset(word for text in texts for word in _LOWER.findall(text))


def _defined(texts: Iterable[tuple[str, str]]) -> frozenset[tuple[str, Definition]]:
    return frozenset((document, found) for document, text in texts for found in definitions(text))


def _commonest(types: Counter[str]) -> str:
    """Of those that say something the commonest, of equals the first by name."""
    said = sorted(((-count, name) for name, count in types.items() if name))
    return said[0][1] if said else ""


def _is_name(name: str) -> bool:
    """Not one word in lower case: that 'method' stands beside both says nothing."""
    return not (surface(name).isalpha() and surface(name).islower())
