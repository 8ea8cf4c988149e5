"""Reads and writes of triples, and of which chunks were read for them. Synchronous, thread-safe, a transaction each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Engine, delete, func, insert, select

from core.graph import Triple
from core.ledger import schema as t
from core.ledger.graph import touch
from core.ledger.rows import chunk_of, packed, unpacked
from core.types import Chunk

Outcome = Literal["ok", "truncated", "failed"]
_READY = ("ready", "ready_with_gaps")
_MANY = 500  # parameters in one IN list


@dataclass(frozen=True)
class Extraction:
    """What reading one chunk gave. `truncated`: the reply was cut, and what was whole of it is kept."""

    extractor: str
    outcome: Outcome = "ok"
    triples: tuple[Triple, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)


class Triples:
    """Of one ledger: `Ledger.triples`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def store(self, chunk: Chunk, extraction: Extraction) -> bool:
        """In place of whatever was read from that chunk before; False, and nothing is stored, where it is gone."""
        with self._engine.begin() as connection:
            connection.execute(delete(t.triples).where(t.triples.c.chunk_id == chunk.id))  # takes SQLite's write lock
            connection.execute(delete(t.extractions).where(t.extractions.c.chunk_id == chunk.id))
            owner = select(t.documents.c.id).where(t.documents.c.id == chunk.document_id)
            there = select(t.chunks.c.id).where(t.chunks.c.id == chunk.id)
            kept = connection.execute(owner.with_for_update(read=True, key_share=True)).first()
            if kept is None or connection.execute(there).first() is None:
                return False
            touch(connection)
            connection.execute(insert(t.extractions), [_extraction_row(chunk, extraction)])
            if extraction.triples:
                connection.execute(insert(t.triples), [_triple_row(triple) for triple in extraction.triples])
        return True

    def all(self, document_ids: Sequence[str] | None = None) -> list[Triple]:
        """Of the documents that are ready (None: of all of these), sorted by document, chunk and id."""
        query = (
            select(t.triples)
            .join(t.documents, t.documents.c.id == t.triples.c.document_id)
            .where(t.documents.c.status.in_(_READY))
            .order_by(t.triples.c.document_id, t.triples.c.chunk_id, t.triples.c.id)
        )
        if document_ids is None:
            return [_triple_of(row) for row in self._rows(query)]
        parts = _parts(sorted(set(document_ids)))
        return [_triple_of(row) for part in parts for row in self._rows(query.where(t.documents.c.id.in_(part)))]

    def by_id(self, ids: Sequence[str]) -> list[Triple]:
        """In the order of `ids`; ids that are not there are left out."""
        found: dict[str, Triple] = {}
        for part in _parts(ids):
            rows = self._rows(select(t.triples).where(t.triples.c.id.in_(part)))
            found |= {row["id"]: _triple_of(row) for row in rows}
        return [found[item] for item in ids if item in found]

    def of_chunks(self, chunk_ids: Sequence[str]) -> list[Triple]:
        """Sorted by id."""
        query = select(t.triples)
        parts = _parts(sorted(set(chunk_ids)))
        found = [row for part in parts for row in self._rows(query.where(t.triples.c.chunk_id.in_(part)))]
        return sorted(map(_triple_of, found), key=lambda triple: triple.id)

    def readable(self, document_ids: Sequence[str] | None = None) -> list[Chunk]:
        """The parents that triples are read from, without lists of references, in the order of documents and text.

        None: of all documents that are ready; named ones need not be.
        """
        query = (
            select(t.chunks)
            .join(t.documents, t.documents.c.id == t.chunks.c.document_id)
            .where(t.chunks.c.parent_id == "", t.chunks.c.is_reference.is_(False))
            .order_by(t.documents.c.added_at, t.documents.c.id, t.chunks.c.position)
        )
        if document_ids is None:
            return [chunk_of(row) for row in self._rows(query.where(t.documents.c.status.in_(_READY)))]
        wanted = [query.where(t.documents.c.id.in_(part)) for part in _parts(sorted(set(document_ids)))]
        return [chunk_of(row) for part in wanted for row in self._rows(part)]

    def read(self, document_ids: Sequence[str] | None = None) -> dict[str, tuple[str, str]]:
        """(extractor, outcome) by id of each chunk that was read."""
        c = t.extractions.c
        query = select(c.chunk_id, c.extractor, c.outcome)
        if document_ids is None:
            return {row["chunk_id"]: (row["extractor"], row["outcome"]) for row in self._rows(query)}
        wanted = [query.where(c.document_id.in_(part)) for part in _parts(sorted(set(document_ids)))]
        return {row["chunk_id"]: (row["extractor"], row["outcome"]) for part in wanted for row in self._rows(part)}

    def dropped(self, document_ids: Sequence[str] | None = None) -> dict[str, int]:
        """How many statements of extractors were dropped, by reason, in all readings that are kept."""
        counted: Counter[str] = Counter()
        query = select(t.extractions.c.document_id, t.extractions.c.dropped)
        for row in self._rows(query):
            if document_ids is None or row["document_id"] in document_ids:
                counted.update(json.loads(row["dropped"]))
        return dict(sorted(counted.items()))

    def extractors(self) -> dict[str, int]:
        """How many chunks each has read."""
        c = t.extractions.c
        query = select(c.extractor, func.count().label("n")).group_by(c.extractor).order_by(c.extractor)
        return {row["extractor"]: row["n"] for row in self._rows(query)}

    def count(self) -> int:
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(t.triples)).scalar_one())

    def _rows(self, query: Any) -> list[dict[str, Any]]:
        with self._engine.connect() as connection:
            result = connection.execute(query)
            names = tuple(result.keys())
            return [dict(zip(names, row, strict=True)) for row in result]


def _triple_row(triple: Triple) -> dict[str, Any]:
    return triple.model_dump(exclude={"spans"}) | {"spans": packed(triple.spans)}


def _triple_of(row: dict[str, Any]) -> Triple:
    return Triple(**{**row, "spans": unpacked(row["spans"])})


def _extraction_row(chunk: Chunk, extraction: Extraction) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "extractor": extraction.extractor,
        "outcome": extraction.outcome,
        "dropped": json.dumps(dict(sorted(extraction.dropped.items()))),
    }


def _parts(items: Sequence[str]) -> list[Sequence[str]]:
    return [items[start : start + _MANY] for start in range(0, len(items), _MANY)]
