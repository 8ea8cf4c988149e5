"""What Chroma's graph of neighbours finds of what an exact search finds, by its settings; this decides retrieval's own.

    python -m eval.recall --sizes 1000,10000 --neighbours 16,32 --construction 100,200 --ef 50,100,200,400

One JSON object on stdout: a row a data set, size and setting, with recall@10, a query's median and 95th percentile
(40 neighbours, as a search takes), and the time to build; and for each data set and size an exact search's times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import chromadb
import numpy as np
from chromadb.api import ClientAPI
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from numpy.typing import NDArray

from core.ports import Vectors
from eval.synthetic import clustered, uniform

KINDS = {"clustered": clustered, "uniform": uniform}
_QUERIES, _CANDIDATES, _COUNTED, _BATCH = 200, 40, 10, 5000


def exact(passages: Vectors, query: Vectors, k: int = _COUNTED) -> NDArray[np.intp]:
    """The k nearest of unit vectors, in no order."""
    return np.argpartition(np.vecdot(passages, query), len(passages) - k)[len(passages) - k :]


def recall(found: Sequence[AbstractSet[object]], truth: Sequence[AbstractSet[object]]) -> float:
    """The part of what is true that was found, over all queries."""
    return sum(len(a & b) for a, b in zip(found, truth, strict=True)) / sum(len(b) for b in truth)


def timed(call: Callable[[Any], Any], given: Any) -> tuple[list[Any], dict[str, float]]:
    """The results of calls one after another, and their median and 95th percentile in ms."""
    results, times = [], []
    for one in given:
        start = time.perf_counter()
        results.append(call(one))
        times.append((time.perf_counter() - start) * 1000)
    median, late = np.percentile(times, [50, 95])
    return results, {"median_ms": round(float(median), 2), "p95_ms": round(float(late), 2)}


def measured(kind: str, size: int, neighbours: int, construction: int, efs: list[int]) -> Iterator[dict[str, Any]]:
    passages, asked = KINDS[kind](size, _QUERIES)
    nearest, times = timed(partial(exact, passages), asked)
    truth = [{int(row) for row in rows} for rows in nearest]
    yield {"data": kind, "size": size, "exact": times}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        collection = _open(folder).create_collection(
            "made-up",
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", "ef_construction": construction, "max_neighbors": neighbours}},
        )
        for first in range(0, size, _BATCH):
            some = passages[first : first + _BATCH]
            collection.add(ids=[str(first + n) for n in range(len(some))], embeddings=some)
        built = round(time.perf_counter() - start, 1)
        for ef in efs:
            _open(folder).get_collection("made-up", embedding_function=None).modify(
                configuration={"hnsw": {"ef_search": ef}}
            )
            # An open index keeps the ef that it was opened with.
            opened = _open(folder).get_collection("made-up", embedding_function=None)

            def found(vector: Vectors, opened: chromadb.Collection = opened) -> set[int]:
                hits = opened.query(query_embeddings=vector[None, :], n_results=_CANDIDATES, include=["distances"])
                return {int(item) for item in hits["ids"][0][:_COUNTED]}

            found(asked[0])  # which loads it
            hits, times = timed(found, asked)
            setting = {"max_neighbors": neighbours, "ef_construction": construction, "ef_search": ef, "build_s": built}
            yield {"data": kind, "size": size, **setting, "recall_at_10": round(recall(hits, truth), 4), **times}


def _open(folder: str) -> ClientAPI:
    """Anew, from the files alone."""
    SharedSystemClient.clear_system_cache()
    return chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="clustered,uniform")
    parser.add_argument("--sizes", type=numbers, default=[1000, 10_000])
    parser.add_argument("--neighbours", type=numbers, default=[16, 32])
    parser.add_argument("--construction", type=numbers, default=[100, 200])
    parser.add_argument("--ef", type=numbers, default=[50, 100, 200, 400])
    given = parser.parse_args()
    rows = []
    for kind, size, near, wide in itertools.product(
        given.data.split(","), given.sizes, given.neighbours, given.construction
    ):
        for row in measured(kind, size, near, wide, given.ef):
            rows.append(row)
            print(json.dumps(row), file=sys.stderr)
    json.dump({"queries": _QUERIES, "candidates": _CANDIDATES, "runs": rows}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
