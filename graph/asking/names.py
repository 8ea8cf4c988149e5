"""The names that a graph holds, and which of them a question says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.graph import Entity, GraphData
from core.text import is_cjk
from graph.folding import fold, folded_names, type_key

# A number keeps its point: 'GPT-3' is not in 'GPT-3.5'.
_WORD = re.compile(r"[^\W_]+(?:\.\d+)*")
_JOINED = re.compile(r"[-\u2010-\u2013.]([^\W_]+)")
_COMMON = frozenset(
    "a an and are as at be by can did do does for from has have how in is it its of on or our that the their them "
    "they this to was we were what when where which who whom whose why will with you not no both all any model models "
    "method methods paper papers data results approach work performance system first one two".split()
)


@dataclass(frozen=True)
class Linked:
    """A name of the graph in a text, and where it stands there."""

    start: int
    end: int
    name: str  # folded
    entities: tuple[str, ...]  # ids of those that have it, more than one where it is ambiguous


class NameIndex:
    """Names and aliases of all entities. Takes 50 ms for 10,000; a question is linked in under a millisecond."""

    def __init__(self, entities: Iterable[Entity], relations: Iterable[str] = ()) -> None:
        """`relations`: what the graph holds of the vocabulary, with repeats."""
        self._entities: dict[str, list[Entity]] = {}
        self._by_words: dict[str, set[str]] = {}
        types: Counter[str] = Counter()
        for entity in entities:
            types[entity.type] += 1
            for name in folded_names(entity.name, entity.aliases):
                self._entities.setdefault(name, []).append(entity)
                self._by_words.setdefault(_as_words(name), set()).add(name)
        self.types = tuple(name for name, _ in types.most_common() if name)
        self.all_typed = "" not in types
        self.relations = tuple(name for name, _ in Counter(relations).most_common())
        self._type_keys = {key for name in self.types if (key := type_key(name))}
        # Where a name's first word is the key, the numbers of words of such names, most first.
        lengths: dict[str, set[int]] = {}
        for words in self._by_words:
            if words:
                lengths.setdefault(words.split(" ", 1)[0], set()).add(words.count(" ") + 1)
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        self._cjk = sorted((name for name in self._entities if name and _is_cjk(name)), key=len, reverse=True)

    def __contains__(self, name: str) -> bool:
        return fold(name) in self._entities

    def names(self) -> Iterable[str]:
        """All, folded."""
        return self._entities.keys()

    def entities(self, name: str) -> tuple[Entity, ...]:
        """Those of that name, whatever its case, width and punctuation ('minimax m1' for 'MiniMax-M1'), most named
        first; the exact name goes before others."""
        exact = self._entities.get(fold(name))
        near = [
            each for other in sorted(self._by_words.get(_as_words(fold(name)), ())) for each in self._entities[other]
        ]
        found = {entity.id: entity for entity in exact or near}
        return tuple(sorted(found.values(), key=lambda entity: (-entity.mentions, entity.id)))

    def type_of(self, noun: str) -> str | None:
        """The type that a noun names, in singular or plural: 'datasets' for Dataset."""
        key = type_key(noun) or ""
        singular = (key, key.removesuffix("s"), key.removesuffix("es"), re.sub("ies$", "y", key))
        return next((each for each in singular if each in self._type_keys), None)

    def linked(self, text: str) -> tuple[Linked, ...]:
        """Names in the text, the longest at each place, in the order of the text; none overlap.

        A name that goes on with a hyphen or a point and a capital or a digit is another name: GPT in GPT-4.
        """
        found = [*self._in_words(text), *self._in_cjk(text)]
        kept: list[Linked] = []
        for link in sorted(found, key=lambda link: (link.start - link.end, link.start)):
            if all(link.end <= other.start or link.start >= other.end for other in kept):
                kept.append(link)
        return tuple(sorted(kept, key=lambda link: link.start))

    def _in_words(self, text: str) -> Iterator[Linked]:
        words = list(_WORD.finditer(text))
        folded = [fold(word[0]) for word in words]
        for at, first in enumerate(folded):
            for length in self._lengths.get(first, ()):
                key = " ".join(folded[at : at + length])
                if at + length > len(words) or key not in self._by_words or key in _COMMON or len(key) < 2:
                    continue
                start, end = words[at].start(), words[at + length - 1].end()
                if not _goes_on(text, start, end):
                    yield self._link(start, end, self._best(text[start:end], self._by_words[key]))
                    break

    def _in_cjk(self, text: str) -> Iterator[Linked]:
        """Where words have no blanks between them."""
        folded = fold(text)
        if len(folded) != len(text):
            return
        for name in self._cjk:
            for match in re.finditer(re.escape(name), folded):
                yield self._link(match.start(), match.end(), name)

    def _best(self, said: str, names: set[str]) -> str:
        return fold(said) if fold(said) in names else min(names)

    def _link(self, start: int, end: int, name: str) -> Linked:
        return Linked(start, end, name, tuple(sorted(entity.id for entity in self._entities[name])))


def index_of(data: GraphData) -> NameIndex:
    return NameIndex(data.entities, (relation.relation for relation in data.relations))


def shown_names(index: NameIndex, linked: Sequence[Linked], most: int = 12) -> list[str]:
    """Names to show a model: what the question says first, then others that share a word with it."""
    found = list(dict.fromkeys(link.name for link in linked))
    words = {word for name in found for word in _as_words(name).split()}
    near = (name for name in index.names() if len(name) < 80 and not words.isdisjoint(_as_words(name).split()))
    return list(dict.fromkeys([*found, *sorted(near, key=lambda name: (len(name), name))]))[:most]


def _as_words(name: str) -> str:
    return " ".join(_WORD.findall(name)) or name


def _is_cjk(text: str) -> bool:
    return len(text) > 1 and all(map(is_cjk, text))


def _goes_on(text: str, start: int, end: int) -> bool:
    after = _JOINED.match(text, end)
    if after and (after[1][0].isdigit() or not after[1].islower()):
        return True
    before = text[max(start - 20, 0) : start]
    joined = re.search(r"([^\W_]+)[-\u2010-\u2013]$", before)
    return bool(joined and (joined[1][0].isdigit() or not joined[1].islower()))
