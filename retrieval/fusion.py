"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float], k: int = 60
) -> dict[str, float]:
    """Fused score by id, best first; sum over channels of weight / (k + rank), rank from 1. Higher is better."""
    scores: dict[str, float] = {}
    for channel, ids in rankings.items():
        for rank, item in enumerate(ids, 1):
            scores[item] = scores.get(item, 0.0) + weights.get(channel, 1.0) / (k + rank)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
