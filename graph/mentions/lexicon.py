"""Which names stand where in many texts at once: a trie over token numbers, walked by all places side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graph.mentions.tokens import token, words

Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]


class Tokenised(NamedTuple):
    """Texts as numbers of tokens, a 0 after each text; `small` says which begin with a small letter; (n,) both."""

    numbers: Numbers
    small: Flags


class Vocabulary:
    """Numbers of tokens, from 1; a token keeps its number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers) + 1

    def of(self, folded: str) -> int:
        return self._numbers.get(folded, 0)

    def read(self, texts: Iterable[str]) -> Tokenised:
        numbers: list[int] = []
        small: list[bool] = []
        for text in texts:
            for word in words(text):
                found = token(word)
                numbers.append(self._numbers.setdefault(found.folded, len(self._numbers) + 1))
                small.append(found.small)
            numbers.append(0)
            small.append(False)
        return Tokenised(np.array(numbers, dtype=np.int32), np.array(small, dtype=np.bool_))

    def known(self, text: str, size: int) -> Tokenised:
        """As `read`, but what is not among the first `size` numbers gets 0: texts may be read meanwhile."""
        found = [token(word) for word in words(text)]
        numbers = np.array([*(self.of(each.folded) for each in found), 0], dtype=np.int32)
        numbers[numbers >= size] = 0
        return Tokenised(numbers, np.array([*(each.small for each in found), False], dtype=np.bool_))


class Lexicon:
    """Names by their tokens' numbers. 10,000 names in 1,000,000 tokens are found in 0.1 s."""

    def __init__(self, names: Mapping[tuple[int, ...], int], capital: Flags, vocabulary: int) -> None:
        """`capital[name]`: written with a capital, so that a word with a small letter is not it."""
        children: dict[tuple[int, int], int] = {}
        ends: dict[int, int] = {}
        for parts, name in names.items():
            node = 0
            for part in parts:
                node = children.setdefault((node, part), len(children) + 1)
            ends[node] = name
        self._vocabulary = vocabulary
        self._capital = capital
        self._first = np.zeros(vocabulary, dtype=np.int32)
        self._ends = np.full(len(children) + 1, -1, dtype=np.int32)
        self._ends[list(ends)] = list(ends.values())
        deeper = sorted((node * vocabulary + part, child) for (node, part), child in children.items() if node)
        self._keys = np.array([key for key, _ in deeper], dtype=np.int64)
        self._children = np.array([child for _, child in deeper], dtype=np.int32)
        for (node, part), child in children.items():
            if node == 0:
                self._first[part] = child

    def find(self, text: Tokenised, *, loosely: Flags | None = None) -> list[tuple[int, int]]:
        """(place of its first token, name), in order: the longest that begins there, none inside another.

        A name with a capital is not found in small letters, unless `loosely` (vocabulary,) is given, as of a question:
        then it may be written so where it has several tokens, or one of these.
        """
        at = np.flatnonzero(self._first[text.numbers]).astype(np.int64)
        node = self._first[text.numbers[at]]
        names = np.full(len(at), -1, dtype=np.int32)
        lengths = np.zeros(len(at), dtype=np.int32)
        alive = np.arange(len(at))
        length = 1
        while len(alive):
            ended = self._ends[node]
            found = (ended >= 0) & self._agrees(text, at[alive], ended, length, loosely)
            names[alive[found]], lengths[alive[found]] = ended[found], length
            following = text.numbers[np.minimum(at[alive] + length, len(text.numbers) - 1)]
            node, on = self._next(node, following)
            alive, node = alive[on], node[on]
            length += 1
        return _apart(at, names, lengths)

    def _agrees(
        self, text: Tokenised, at: NDArray[np.int64], names: Numbers, length: int, loosely: Flags | None
    ) -> Flags:
        capital = (names >= 0) & self._capital[np.maximum(names, 0)]
        if loosely is None:
            return ~(capital & text.small[at])
        if length > 1:
            return np.ones(len(at), dtype=np.bool_)
        return ~text.small[at] | loosely[text.numbers[at]]

    def _next(self, node: Numbers, following: Numbers) -> tuple[Numbers, Flags]:
        if not len(self._keys):
            return node, np.zeros(len(node), dtype=np.bool_)
        wanted = node.astype(np.int64) * self._vocabulary + following
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        on = (self._keys[place] == wanted) & (following > 0)
        return self._children[place], on


def _apart(at: NDArray[np.int64], names: Numbers, lengths: Numbers) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    free = 0
    hits = np.flatnonzero(names >= 0)
    for place, name, length in zip(at[hits].tolist(), names[hits].tolist(), lengths[hits].tolist(), strict=True):
        if place >= free:
            found.append((place, name))
            free = place + length
    return found


def numbered(parts: Sequence[str], vocabulary: Vocabulary) -> tuple[int, ...]:
    """() where a token is unknown: then no text holds the name."""
    numbers = tuple(vocabulary.of(part) for part in parts)
    return numbers if all(numbers) else ()
