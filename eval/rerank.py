"""How long 20 candidates take to rerank, by provider, batch size and order of length; whether the scores stay the same.

python -m tests.support.tiny_bge /tmp/small 6 384     # or a real model's folder
python -m eval.rerank --model /tmp/small > result.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.ports import Reranker
from core.settings import RerankSettings
from quaere.providers import reranking_of
from retrieval.batching import by_length, size_of
from retrieval.rerank import Reranking

WORDS = (
    "the tide gauge was read every ten minutes and its clock set by radio once a day herons nest in tall trees".split()
)
QUESTION = "how often was the tide gauge read ?"
PROVIDERS: tuple[Literal["bge", "transformers"], ...] = ("transformers", "bge")
BATCH_SIZES = (1, 4, 8, 20)
ORDERS = ("sorted", "unsorted")


def candidates(count: int, seed: int = 0) -> list[str]:
    """Passages of 20 to 300 words, most of them short, as chunks, captions and table rows are."""
    chance = random.Random(seed)
    sizes = [round(20 + 280 * chance.random() ** 2) for _ in range(count)]
    return [" ".join(chance.choices(WORDS, k=size)) for size in sizes]


def batches(texts: Sequence[str], batch_size: int, order: str) -> list[list[int]]:
    if order == "sorted":
        return by_length([size_of(text) for text in texts], batch_size)
    return [list(range(start, min(start + batch_size, len(texts)))) for start in range(0, len(texts), batch_size)]


def scored(reranker: Reranker, texts: Sequence[str], plan: Sequence[Sequence[int]]) -> np.ndarray[Any, Any]:
    scores = np.empty(len(texts), dtype=np.float32)
    for batch in plan:
        scores[list(batch)] = reranker.scores(QUESTION, [texts[place] for place in batch]).scores
    return scores


def padding(texts: Sequence[str], plan: Sequence[Sequence[int]]) -> float:
    """Share of what goes through the model that is padding, in words."""
    sizes = [len(text.split()) for text in texts]
    whole = sum(len(batch) * max(sizes[place] for place in batch) for batch in plan)
    return 1 - sum(sizes) / whole


def timed(rerankers: dict[str, Reranker], texts: Sequence[str], repeats: int) -> Iterator[dict[str, Any]]:
    reference = scored(rerankers["transformers"], texts, [[place] for place in range(len(texts))])
    cases = list(product(PROVIDERS, BATCH_SIZES, ORDERS))
    seconds: dict[tuple[str, int, str], list[float]] = {case: [] for case in cases}
    differs: dict[tuple[str, int, str], float] = {}
    for _ in range(repeats):  # round after round, so that other work on the machine meets all of them
        for case in cases:
            provider, batch_size, order = case
            start = time.perf_counter()
            scores = scored(rerankers[provider], texts, batches(texts, batch_size, order))
            seconds[case].append(time.perf_counter() - start)
            differs[case] = float(np.abs(scores - reference).max())
    for case in cases:
        provider, batch_size, order = case
        yield {
            "provider": provider,
            "batch_size": batch_size,
            "order": order,
            "median_ms": round(statistics.median(seconds[case]) * 1000, 1),
            "least_ms": round(min(seconds[case]) * 1000, 1),
            "padding": round(padding(texts, batches(texts, batch_size, order)), 3),
            "largest_difference_of_a_score": float(f"{differs[case]:.1e}"),
        }


def budgets(reranker: Reranker, texts: Sequence[str], whole_ms: float) -> Iterator[dict[str, Any]]:
    """What a budget of a part of the whole time leaves, by a model whose pace is known, and how far it is kept."""
    for share in (0.1, 0.25, 0.5, 0.75, 1.5):
        reranking = Reranking(reranker, max(1, round(whole_ms * share)))
        reranking.rank(QUESTION, texts)
        found = [reranking.rank(QUESTION, texts) for _ in range(5)]
        yield {
            "budget_ms": max(1, round(whole_ms * share)),
            "reranked": statistics.median(len(each.scores) for each in found),
            "left_out": statistics.median(each.late for each in found),
            "median_ms": round(statistics.median(each.ms for each in found), 1),
            "most_ms": round(max(each.ms for each in found), 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a cross-encoder's folder or name")
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    texts = candidates(asked.candidates)
    rerankers: dict[str, Reranker] = {}
    for provider in PROVIDERS:
        reranking = reranking_of(RerankSettings(provider=provider, model=asked.model), None)
        assert reranking is not None
        rerankers[provider] = reranking.reranker
    plain = rerankers["transformers"]
    rows = list(timed(rerankers, texts, asked.repeats))
    whole = next(row["median_ms"] for row in rows if row["batch_size"] == plain.batch_size and row["order"] == "sorted")
    result = {
        "candidates": len(texts),
        "words": sorted(len(text.split()) for text in texts),
        "cut": sum(plain.scores(QUESTION, [text]).cut for text in texts),
        "model": Path(asked.model).name,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in ("torch", "transformers", "FlagEmbedding")},
        "runs": rows,
        "budgets": list(budgets(plain, texts, whole)),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
