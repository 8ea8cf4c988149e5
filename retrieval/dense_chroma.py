"""The dense index in Chroma: a projection of the ledger's chunks and embeddings, one collection an embedder."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import chromadb
import numpy as np
from chromadb.api.collection_configuration import CreateHNSWConfiguration
from chromadb.api.types import Where
from chromadb.config import Settings as ChromaSettings
from chromadb.errors import ChromaError

from core.errors import LibraryError
from core.ledger import Ledger
from core.ports import Embedder, Vectors
from retrieval.exact import ExactVectors

T = TypeVar("T")
P = ParamSpec("P")
# Up to here every vector is compared, in memory: 0.5 ms at 10,000 chunks, 6 ms at 100,000. That is exact on any data;
# of random vectors the graph would have to look at 3,000 neighbours, in 50 ms (eval/results/recall.json).
IN_MEMORY = 150_000
# In a larger library the vectors of the documents that are searched are read and compared up to here (2 ms a
# thousand): its graph finds few of a small part.
EXACT_CHUNKS = 4000
IN_LIST = 5000  # ids in one `$in`: SQLite takes 32,766 parameters, and time grows with them
_HINT = "check the library's disk and folder, then run `quaere check --repair`"
# Recall at 10 of 10,000 random vectors is 0.99 so, and 0.54 at Chroma's default of ef 100 and 16 neighbours.
_HNSW: CreateHNSWConfiguration = {
    "space": "cosine",
    "ef_construction": 200,
    "ef_search": 400,
    "max_neighbors": 32,
}


def _said(work: Callable[P, T]) -> Callable[P, T]:
    """Chroma's errors as a LibraryError: a full or read-only disk, or files of its own that it can't read."""

    @functools.wraps(work)
    def saying(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return work(*args, **kwargs)
        except ChromaError as error:
            reason = (str(error).splitlines() or [""])[0][:200]
            full = "full" in reason or "space" in reason
            hint = "free some space on the library's disk, then try again" if full else _HINT
            raise LibraryError(f"the vectors can't be used: {reason}", hint=hint) from error

    return saying


class ChromaIndex:
    """Needs to be the only process that has `folder` open: two writers lose vectors without a word."""

    of_embedder = True

    def __init__(self, folder: Path, ledger: Ledger, embedder: Embedder) -> None:
        self._ledger = ledger
        self._embedder = embedder
        self._start(folder)

    @_said
    def _start(self, folder: Path) -> None:
        self._client = chromadb.PersistentClient(str(folder), settings=ChromaSettings(anonymized_telemetry=False))
        self._batch = self._client.get_max_batch_size()
        self._open()

    def _open(self) -> None:
        name = "chunks-" + hashlib.sha256(self._embedder.fingerprint.encode()).hexdigest()[:16]
        self._collection = self._client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": _HNSW}
        )
        self._count = int(self._collection.count())
        self._exact: ExactVectors | None = None  # read at the first search
        self._reading = threading.Lock()

    @property
    @_said
    def ids(self) -> set[str]:
        return self._ids("")

    def __len__(self) -> int:
        """As it was after the last `sync`: Chroma counts its rows one by one, 10,000 in 1 ms."""
        return self._count

    def _ids(self, document_id: str) -> set[str]:
        where: Where | None = {"document": document_id} if document_id else None
        return set(self._collection.get(where=where, include=[])["ids"])

    @_said
    def others(self) -> int:
        """How many collections there are beside the configured embedder's."""
        return sum(collection.name != self._collection.name for collection in self._client.list_collections())

    @_said
    def stored(self, ids: Sequence[str]) -> dict[str, tuple[str, Vectors]]:
        """(document id, vector) by chunk id; ids that are not there are left out."""
        if not ids:  # which Chroma refuses
            return {}
        found = self._collection.get(ids=[*ids], include=["embeddings", "metadatas"])
        vectors = np.asarray(found["embeddings"], dtype=np.float32)
        owners = [str(entry["document"]) for entry in found["metadatas"] or []]
        return {item: row for item, *row in zip(found["ids"], owners, vectors, strict=True)}  # type: ignore[misc]

    @_said
    def sync(self, document_id: str = "") -> None:
        wanted = {item: row for item, row in self._ledger.indexed_children(document_id).items() if row[1]}
        have = self._ids(document_id)
        try:
            for batch in _batches(sorted(have - set(wanted)), self._batch):
                self._delete(batch)
            for batch in _batches(sorted(set(wanted) - have), self._batch):
                self._add(batch, wanted)
        finally:
            self._count = int(self._collection.count())
            with self._reading:
                if self._count > IN_MEMORY:
                    self._exact = None
                elif self._exact is not None:
                    self._hold(self._exact, wanted, document_id)

    def _hold(self, exact: ExactVectors, wanted: dict[str, tuple[str, str]], document_id: str = "") -> None:
        """Bring the vectors in memory up to date with the ledger's."""
        have = exact.held(document_id)
        exact.remove(have - set(wanted))
        for batch in _batches(sorted(set(wanted) - have), self._batch):
            vectors = self._ledger.load_embeddings(self._embedder.fingerprint, [wanted[item][1] for item in batch])
            known = {item: wanted[item] for item in batch if wanted[item][1] in vectors}
            exact.add({item: (document, vectors[key]) for item, (document, key) in known.items()})

    def _in_memory(self) -> ExactVectors:
        with self._reading:
            if self._exact is None:
                exact = ExactVectors()
                self._hold(exact, {item: row for item, row in self._ledger.indexed_children().items() if row[1]})
                self._exact = exact
            return self._exact

    def _delete(self, ids: list[str]) -> None:
        self._collection.delete(ids=ids)

    def _add(self, ids: list[str], rows: dict[str, tuple[str, str]]) -> None:
        vectors = self._ledger.load_embeddings(self._embedder.fingerprint, [rows[item][1] for item in ids])
        missing = [item for item in ids if rows[item][1] not in vectors]
        if missing:
            raise LibraryError(
                f"{len(missing)} chunks have no embedding by {self._embedder.fingerprint}",
                hint="run `quaere reindex`",
            )
        self._collection.add(
            ids=ids,
            embeddings=np.stack([vectors[rows[item][1]] for item in ids]),
            metadatas=[{"document": rows[item][0]} for item in ids],
        )

    @_said
    def rebuild(self) -> None:
        """Drop every collection, of whichever embedder, and project the ledger anew."""
        for collection in self._client.list_collections():
            self._client.delete_collection(collection.name)
        self._open()
        self.sync()

    @_said
    def search(self, vector: Vectors, k: int, documents: Sequence[str] = ()) -> list[tuple[str, float]]:
        """(chunk id, cosine similarity -1 to 1), best first; of those documents only, where there are any."""
        if self._count <= IN_MEMORY:
            return self._in_memory().search(vector, k, documents)
        if not documents:
            return self.by_graph(vector, k)
        counts = self._ledger.chunk_counts()
        allowed = [item for item in dict.fromkeys(documents) if item in counts]
        if sum(counts[item] for item in allowed) <= EXACT_CHUNKS:
            return self._read_and_compared(vector, k, allowed)
        found = [hit for where in _conditions(allowed, set(counts)) for hit in self.by_graph(vector, k, where)]
        return sorted(found, key=lambda hit: -hit[1])[:k]

    def _read_and_compared(self, vector: Vectors, k: int, documents: Sequence[str]) -> list[tuple[str, float]]:
        hashes = self._ledger.embedded_children(documents)
        vectors = self._ledger.load_embeddings(self._embedder.fingerprint, list(dict.fromkeys(hashes.values())))
        ids = [item for item, key in hashes.items() if key in vectors]
        if not ids:
            return []
        rows = np.stack([vectors[hashes[item]] for item in ids])
        scores = np.vecdot(rows, vector) / np.maximum(np.linalg.norm(rows, axis=1) * np.linalg.norm(vector), 1e-12)
        return [(ids[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]

    @_said
    def by_graph(self, vector: Vectors, k: int, where: Where | None = None) -> list[tuple[str, float]]:
        """As `search`, by Chroma's graph of neighbours whatever the size: not exact."""
        count = len(self)
        if count == 0:
            return []
        found = self._collection.query(
            query_embeddings=vector[None, :], n_results=min(k, count), where=where, include=["distances"]
        )
        distances = (found["distances"] or [[]])[0]
        return [(item, 1.0 - float(d)) for item, d in zip(found["ids"][0], distances, strict=True)]


def _conditions(allowed: Sequence[str], everything: set[str]) -> list[Where | None]:
    """Together they let just those documents through: by what is left out where that is shorter."""
    rest = sorted(everything - set(allowed))
    if not rest:
        return [None]
    if len(rest) < len(allowed) and len(rest) <= IN_LIST:
        return [cast("Where", {"document": {"$nin": rest}})]
    return [cast("Where", {"document": {"$in": batch}}) for batch in _batches(allowed, IN_LIST)]


def _batches(items: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
