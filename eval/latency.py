"""What a question costs before the reader, by the size of the library: time, memory, and Chroma's recall.

    python -m eval.latency --sizes 1000,10000,100000 [--queries 200] [--scripted]

One JSON object on stdout. The library is made up (see eval.synthetic): 100 chunks a document, three to a passage. Its
rows are written to a ledger of its own by the ledger's functions, without reading, chunking or embedding anything; the
indexes are the product's, filled by their own `sync`. Then another process opens it, as after a restart: `open_s` is
what each index takes to be there, and `memory_mb` what the process grew by. A question shares words, vector and latent
terms with one chunk. `dense` is the search as the product does it, which compares all vectors up to a size;
`chroma_graph` is Chroma's own. `hybrid` is the whole HybridSearch.search without a reranker, at the default settings,
with an embedder that costs nothing; in `hybrid_with_embedder` the installed one encodes each question for real, and
what it gives is thrown away (`--scripted` leaves that out).
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from core.ledger import Ledger
from core.ports import Embedder, SparseVector, Vectors
from core.settings import EmbedderSettings, RetrievalSettings
from core.types import Chunk, Document, Span
from core.vectors import packed
from eval.recall import exact, numbers, recall, timed
from eval.synthetic import DIMENSION, DOCUMENT, clustered, latent, texts
from quaere.providers import embedder_of
from retrieval.bm25 import Bm25Index
from retrieval.dense_chroma import ChromaIndex
from retrieval.search import HybridSearch
from retrieval.sparse import SparseIndex

_CHILDREN = 3  # of a parent
_COUNTED = 10
_WORDS = 8  # of a question
_TERMS = 150  # latent, of a question


@dataclass(frozen=True)
class Asked:
    text: str
    vector: Vectors
    latent: SparseVector


class Scripted:
    """Knows the vectors of the questions; with `real`, that one works too."""

    fingerprint = f"made-up/{DIMENSION}"

    def __init__(self, asked: Sequence[Asked] = (), real: Embedder | None = None) -> None:
        self.asked = {one.text: one for one in asked}
        self.real = real
        self.sparse = ScriptedTerms(self)

    def passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        if self.real:
            self.real.query(text)
        return self.asked[text].vector


class ScriptedTerms:
    fingerprint = "made-up/latent"

    def __init__(self, embedder: Scripted) -> None:
        self._embedder = embedder

    def passages(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.query(text) for text in texts]

    def query(self, text: str) -> SparseVector:
        real = self._embedder.real
        if real and real.sparse:
            real.sparse.query(text)
        return self._embedder.asked[text].latent

    def both(self, texts: Sequence[str]) -> tuple[Vectors, list[SparseVector]]:
        return self._embedder.passages(texts), self.passages(texts)


def fill(ledger: Ledger, size: int) -> None:
    """`size` children with their parents, their vectors and their latent terms, a hundred a document."""
    vectors, _ = clustered(size, 1)
    embedder, written, terms = Scripted(), texts(size), latent(size)
    for number, first in enumerate(range(0, size, DOCUMENT)):
        some = list(islice(written, min(DOCUMENT, size - first)))
        document = Document(
            id=f"d{number}",
            name=f"{number}.pdf",
            title=f"Paper {number}",
            sha256=f"{number:064}",
            pages=1 + len(some) // 6,
            chunks=len(some),
            status="ready",
            added_at=datetime.now(UTC),
        )
        chunks = [*_parents(document.id, some), *_children(document.id, first, some)]
        hashes = {chunk.id: _hash(chunk.id) for chunk in chunks if chunk.parent_id}
        ledger.store_parse(document, (), chunks, hashes)
        rows = dict(zip(hashes.values(), vectors[first:], strict=False))
        ledger.store_embeddings(embedder.fingerprint, rows)
        ledger.store_embeddings(
            embedder.sparse.fingerprint, {key: packed(vector) for key, vector in zip(rows, terms, strict=False)}
        )


def _parents(document: str, written: Sequence[str]) -> Iterator[Chunk]:
    for position, first in enumerate(range(0, len(written), _CHILDREN)):
        text = "\n".join(written[first : first + _CHILDREN])
        yield Chunk(
            id=f"{document}-p{position}",
            document_id=document,
            position=position,
            section="Results",
            text=text,
            spans=(Span(page=1 + position // 2, start=0, end=len(text)),),
        )


def _children(document: str, first: int, written: Sequence[str]) -> Iterator[Chunk]:
    for position, text in enumerate(written):
        parent = position // _CHILDREN
        yield Chunk(
            id=_name(first + position),
            document_id=document,
            parent_id=f"{document}-p{parent}",
            position=position,
            section="Results",
            text=text,
            spans=(Span(page=1 + parent // 2, start=0, end=len(text)),),
        )


def _name(row: int) -> str:
    return f"{row:036}"  # as long as a real id


def _hash(item: str) -> str:
    return hashlib.sha256(item.encode()).hexdigest()


def questions(size: int, count: int) -> list[Asked]:
    """Each about one chunk: words and latent terms of it, and a vector near to its own."""
    dice = np.random.default_rng([size, 9])
    about = sorted(dice.choice(size, size=count, replace=count > size).tolist())
    held = set(about)
    wanted = {row: text for row, text in enumerate(texts(size)) if row in held}
    known = {row: vector for row, vector in enumerate(latent(size)) if row in held}
    passages, _ = clustered(size, 1)
    noise = dice.standard_normal((count, DIMENSION), dtype=np.float32) * np.float32(0.3 / np.sqrt(DIMENSION))
    asked = []
    for number, row in enumerate(about):
        words = dice.choice(np.array(sorted(set(wanted[row].split()))), size=_WORDS, replace=False)
        terms, weights = known[row]
        kept = np.sort(dice.permutation(len(terms))[:_TERMS])
        vector = passages[row] + noise[number]
        asked.append(Asked(" ".join(words), vector / np.linalg.norm(vector), (terms[kept], weights[kept])))
    return asked


def built(folder: Path, size: int) -> dict[str, float]:
    """The library in that folder; seconds."""
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    filled = _seconds(lambda: fill(ledger, size))
    dense = ChromaIndex(folder / "chroma", ledger, Scripted())
    synced = _seconds(dense.sync)
    ledger.close()
    return {"ledger": filled, "chroma": synced}


@dataclass(frozen=True)
class Opened:
    embedder: Scripted
    search: HybridSearch
    seconds: dict[str, float]
    memory_mb: dict[str, int]


def opened(folder: Path, asked: Sequence[Asked]) -> Opened:
    """The library in that folder, each index ready; the vectors are read at the first search."""
    gc.collect()
    before = resident_mb()
    ledger, embedder = Ledger.open(f"sqlite:///{folder / 'ledger.db'}"), Scripted(asked)
    dense, bm25 = ChromaIndex(folder / "chroma", ledger, embedder), Bm25Index(ledger)
    sparse = SparseIndex(ledger, embedder.sparse)
    ready: dict[str, Callable[[], object]] = {
        "dense": lambda: dense.search(asked[0].vector, 1),
        "bm25": bm25.sync,
        "sparse": sparse.sync,
    }
    seconds, memory = {}, {}
    for name, start in ready.items():
        seconds[name] = _seconds(start)
        gc.collect()
        now = resident_mb()
        memory[name], before = round(now - before), now
    search = HybridSearch(ledger, embedder, dense, bm25, sparse, RetrievalSettings())
    return Opened(embedder, search, seconds, memory)


def measured(folder: Path, size: int, count: int, real: Embedder | None) -> dict[str, Any]:
    """Each channel and the whole search, one question after another."""
    asked = questions(size, count)
    library = opened(folder, asked)
    search, embedder = library.search, library.embedder
    whole = partial(search.search, top_k=search.settings.top_k)
    k, words = search.settings.candidates, [one.text for one in asked]
    found: dict[str, Any] = {
        "open_s": library.seconds,
        "memory_mb": library.memory_mb,
        "peak_memory_mb": peak_mb(),
    }
    vectors = [one.vector for one in asked]
    dense, found["dense"] = timed(lambda vector: search.dense.search(vector, k), vectors)
    _, found["bm25"] = timed(lambda text: search.bm25.search(text, k), words)
    if sparse := search.sparse:
        _, found["sparse"] = timed(lambda text: sparse.search(text, k), words)
    _, found["hybrid"] = timed(whole, words)
    if real:
        embedder.real = real
        _, found["embedder"] = timed(lambda text: (embedder.query(text), embedder.sparse.query(text)), words)
        _, found["hybrid_with_embedder"] = timed(whole, words)
    search.dense.by_graph(vectors[0], 1)  # which loads it
    graph, found["chroma_graph"] = timed(lambda vector: search.dense.by_graph(vector, k), vectors)
    passages, _ = clustered(size, 1)
    truth = [{_name(int(row)) for row in exact(passages, vector, min(_COUNTED, size))} for vector in vectors]
    for name, hits in {"dense": dense, "chroma_graph": graph}.items():
        found[name]["recall_at_10"] = round(recall([{item for item, _ in some[:_COUNTED]} for some in hits], truth), 4)
    search.ledger.close()
    return found


def one_size(size: int, count: int, scripted: bool) -> dict[str, Any]:
    """In two processes, so that nothing of one size or of building counts to another's memory."""
    with tempfile.TemporaryDirectory() as folder:
        build_s = _apart(built, Path(folder), size)
        megabytes = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
        found = _apart(_with_embedder, Path(folder), size, count, scripted)
    return {"chunks": size, "build_s": build_s, "disk_mb": round(megabytes), **found}


def _with_embedder(folder: Path, size: int, count: int, scripted: bool) -> dict[str, Any]:
    return measured(folder, size, count, None if scripted else embedder_of(EmbedderSettings()))


def _apart(work: Callable[..., Any], *given: object) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, given)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return round(time.perf_counter() - start, 2)


def resident_mb() -> float:
    """Now; where there is no /proc, at most until now."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6 if status.exists() else peak_mb()


def peak_mb() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default=[1000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--scripted", action="store_true", help="without the installed embedder")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    sizes = [one_size(size, given.queries, given.scripted) for size in given.sizes]
    machine = {"cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()}
    json.dump(
        {**machine, "load_before": round(load, 2), "queries": given.queries, "sizes": sizes}, sys.stdout, indent=2
    )
    print()


if __name__ == "__main__":
    main()
