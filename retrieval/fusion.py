"""From the channels' rankings to one order of passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.ledger.store import Kin
from core.ports import Vectors

_OF_REFERENCES = 0.5  # they answer by their titles' words alone: findable, but behind content of equal rank


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float], k: int = 60
) -> dict[str, float]:
    """Fused score by id, best first; sum over channels of weight / (k + rank), rank from 1. Higher is better.

    Cormack, Clarke and Büttcher, SIGIR 2009. The smaller `k`, the more the first ranks count.
    """
    scores: dict[str, float] = {}
    for channel, ids in rankings.items():
        for rank, item in enumerate(ids, 1):
            scores[item] = scores.get(item, 0.0) + weights.get(channel, 1.0) / (k + rank)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def by_parent(children: Mapping[str, Kin], fused: Mapping[str, float], decay: float) -> dict[str, float]:
    """Score by parent id, best first: its best child's, and of its n-th best child decay^(n-1) times the score.

    `fused` are the children's; one that is not among `children` is gone. With `decay` 0 the best child alone counts.
    """
    found: dict[str, list[float]] = {}
    for item, score in fused.items():
        if item in children:
            parent, is_reference = children[item]
            found.setdefault(parent, []).append(score * (_OF_REFERENCES if is_reference else 1.0))
    scores = {
        parent: sum(score * decay**nth for nth, score in enumerate(sorted(own, reverse=True)))
        for parent, own in found.items()
    }
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def maximal_marginal_relevance(scores: Sequence[float], vectors: Vectors, balance: float) -> list[int]:
    """All places, each next one the best by balance * relevance - (1 - balance) * likeness to the nearest chosen.

    Carbonell and Goldstein, SIGIR 1998. Relevance is the score over the highest one, likeness the cosine; `vectors`
    are (n, dim) of length 1. With `balance` 1 the order is that of the scores. Costs n² dot products.
    """
    relevance = np.asarray(scores) / max(max(scores, default=1.0), 1e-12)
    nearest = np.zeros(len(scores))
    order: list[int] = []
    left = list(range(len(scores)))
    while left:
        worth = [balance * relevance[at] - (1 - balance) * nearest[at] for at in left]
        best = left.pop(int(np.argmax(worth)))
        order.append(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return order
