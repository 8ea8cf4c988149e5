"""The names of a library with what speaks for or against two of them being one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from core.ledger.entities import Said
from core.terms import tokenise
from graph.resolve.definitions import Definition, definitions
from graph.resolve.fold import key, surface, tokens

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
    """Stems of the sentences that it stands in."""


@dataclass(frozen=True)
class Corpus:
    mentions: tuple[Mention, ...]
    definitions: frozenset[tuple[str, Definition]] = frozenset()
    """(document id, what its text defines)."""
    lower: frozenset[str] = field(default_factory=frozenset)
    """Words that stand somewhere in lower case: such a word in capitals is no proper name."""


def corpus_of(said: Iterable[Said], texts: Iterable[tuple[str, str]] = ()) -> Corpus:
    """`texts`: (document id, text), of which the definitions of acronyms are read. Names of blanks alone go."""
    types: dict[tuple[str, str], Counter[str]] = {}
    near: dict[tuple[str, str], set[str]] = {}
    words: dict[tuple[str, str], set[str]] = {}
    lower: set[str] = set()
    for row in said:
        spoken = set(tokenise(row.quote))
        lower.update(_LOWER.findall(row.quote))
        for name, type_, other in (
            (row.subject, row.subject_type, row.object),
            (row.object, row.object_type, row.subject),
        ):
            if not surface(name):
                continue
            place = (name, row.document_id)
            types.setdefault(place, Counter())[type_] += 1
            words.setdefault(place, set()).update(spoken)
            if _is_name(other):
                near.setdefault(place, set()).add(key(tokens(other)))
    mentions = tuple(
        Mention(
            name,
            document,
            _commonest(counted),
            counted.total(),
            frozenset(near.get((name, document), set()) - {key(tokens(name))}),
            frozenset(words[name, document] - set(tokenise(name))),
        )
        for (name, document), counted in sorted(types.items())
    )
    return Corpus(mentions, _defined(texts), frozenset(lower))


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
