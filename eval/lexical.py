"""BM25+ by the product's postings, by bm25s and by rank_bm25: time to build, memory, and a query's time.

    python -m eval.lexical --sizes 1000,10000,100000

One JSON object on stdout; the same chunks of 100 words and questions of 10, split at blanks. bm25s is built at once and
rank_bm25 as well, as neither takes chunks one by one; both come with the tests' dependencies. The time to build
includes making up the words.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import bm25s
import numpy as np
from rank_bm25 import BM25Plus

from eval.latency import peak_mb, resident_mb
from eval.recall import numbers, timed
from eval.synthetic import DOCUMENT, texts
from retrieval.postings import DELTA, K1, B, Postings

Terms = list[str]
Search = Callable[[Terms], object]
_QUERIES, _CANDIDATES, _WORDS = 50, 40, 10


def by_postings(chunks: Iterator[Terms]) -> Search:
    index = Postings()
    for row, terms in enumerate(chunks):
        index.add(f"{row:036}", f"d{row // DOCUMENT}", terms)
    index.settle_when_due()
    return lambda terms: index.search(terms, _CANDIDATES)


def by_bm25s(chunks: Iterator[Terms]) -> Search:
    index = bm25s.BM25(method="bm25+", k1=K1, b=B, delta=DELTA)
    index.index(list(chunks), show_progress=False)
    return lambda terms: index.retrieve([terms], k=_CANDIDATES, show_progress=False)


def by_rank_bm25(chunks: Iterator[Terms]) -> Search:
    index = BM25Plus(list(chunks))
    return lambda terms: np.argsort(-index.get_scores(terms), kind="stable")[:_CANDIDATES]


INDEXES = {"postings": by_postings, "bm25s": by_bm25s, "rank_bm25": by_rank_bm25}


def measured(name: str, size: int) -> dict[str, Any]:
    asked = [text.split() for text in islice(texts(_QUERIES, _WORDS, seed=1), _QUERIES)]
    gc.collect()
    before, start = resident_mb(), time.perf_counter()
    search = INDEXES[name](text.split() for text in texts(size))
    built = round(time.perf_counter() - start, 2)
    peak = round(peak_mb() - before)
    gc.collect()
    memory = round(resident_mb() - before)
    search(asked[0])
    return {
        "index": name,
        "chunks": size,
        "build_s": built,
        "memory_mb": memory,
        "peak_mb": peak,
        **timed(search, asked)[1],
    }


def compared(sizes: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
    """Each in a process of its own."""
    rows = []
    for size in sizes:
        for name in names:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows.append(pool.apply(measured, (name, size)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default=[1000, 10_000, 100_000])
    given = parser.parse_args()
    json.dump({"queries": _QUERIES, "runs": compared(given.sizes, [*INDEXES])}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
