"""Whether the ledger is whole: the database's own checks, rows that belong to nothing, and counts that must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Engine, Table, and_, delete, func, not_, select, text

from core.errors import LibraryError
from core.ledger import schema as t

_SHOWN = 5
_OF_CHUNKS = (t.triples, t.extractions)  # rows that were read from one chunk


class Audit:
    """Looks at all rows, so it costs as much as the library is large; writes only in the methods named drop_…"""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def damage(self) -> list[str]:
        """What the database finds wrong with its own file, in its words; only SQLite can be asked."""
        if self._engine.dialect.name != "sqlite":
            return []
        try:
            with self._engine.connect() as connection:
                said = connection.execute(text(f"PRAGMA integrity_check({_SHOWN})")).scalars().all()
        except LibraryError as error:
            said = [error.message]
        return [str(line) for line in said if line != "ok"]

    def orphans(self) -> dict[str, int]:
        """By table: rows of documents, or of chunks, that are not there."""
        counted = {table.name: self._count(table, _ownerless(table)) for table in _owned()}
        for table in _OF_CHUNKS:
            counted[table.name] += self._count(table, and_(not_(_ownerless(table)), _chunkless(table)))
        return {name: count for name, count in counted.items() if count}

    def unused_embeddings(self) -> int:
        """Those of texts that no chunk has, by whichever embedder."""
        return self._count(t.embeddings, _unused())

    def drop_orphans(self) -> None:
        with self._engine.begin() as connection:
            for table in _owned():
                connection.execute(delete(table).where(_ownerless(table)))
            for table in _OF_CHUNKS:
                connection.execute(delete(table).where(_chunkless(table)))
            connection.execute(delete(t.embeddings).where(_unused()))

    def drop_embeddings(self, hashes: Sequence[str]) -> None:
        with self._engine.begin() as connection:
            for item in hashes:
                connection.execute(delete(t.embeddings).where(t.embeddings.c.text_hash == item))

    def pages(self) -> dict[str, tuple[int, int, int]]:
        """By document: how many pages are there, the first's and the last's number."""
        number, owner = t.pages.c.number, t.pages.c.document_id
        query = select(owner, func.count(), func.min(number), func.max(number)).group_by(owner)
        return {row[0]: (row[1], row[2], row[3]) for row in self._all(query)}

    def children(self) -> dict[str, int]:
        """By document: the passages that were read in it, so without those that describe a figure."""
        read = and_(t.chunks.c.parent_id != "", t.chunks.c.kind != "description")
        query = select(t.chunks.c.document_id, func.count()).where(read).group_by(t.chunks.c.document_id)
        return {row[0]: row[1] for row in self._all(query)}

    def objects(self) -> dict[str, tuple[int, int]]:
        """By document: how many tables and figures are there; documents without either are left out."""
        counts = []
        for table in (t.tables, t.figures):
            query = select(table.c.document_id, func.count()).group_by(table.c.document_id)
            counts.append({row[0]: row[1] for row in self._all(query)})
        tables, figures = counts
        return {item: (tables.get(item, 0), figures.get(item, 0)) for item in tables | figures}

    def documents_without_a_parent(self) -> set[str]:
        """Ids of documents with a child whose parent is not there."""
        parents = select(t.chunks.c.id).where(t.chunks.c.parent_id == "")
        lost = and_(t.chunks.c.parent_id != "", t.chunks.c.parent_id.not_in(parents))
        return {row[0] for row in self._all(select(t.chunks.c.document_id).where(lost).distinct())}

    def summarised(self) -> set[str]:
        """Ids of documents that have a summary, of whatever part."""
        return {row[0] for row in self._all(select(t.summaries.c.document_id).distinct())}

    def _count(self, table: Table, wanted: ColumnElement[bool]) -> int:
        return int(self._all(select(func.count()).select_from(table).where(wanted))[0][0])

    def _all(self, query: Any) -> Sequence[Any]:
        with self._engine.connect() as connection:
            return connection.execute(query).all()


def _owned() -> list[Table]:
    """The tables whose rows belong to a document."""
    return [table for table in t.metadata.sorted_tables if _owner(table) is not None]


def _owner(table: Table) -> Any:
    return next((c for c in table.c for key in c.foreign_keys if key.column.table is t.documents), None)


def _ownerless(table: Table) -> ColumnElement[bool]:
    owner = _owner(table)
    return and_(owner.is_not(None), owner.not_in(select(t.documents.c.id)))


def _chunkless(table: Table) -> ColumnElement[bool]:
    return table.c.chunk_id.not_in(select(t.chunks.c.id))


def _unused() -> ColumnElement[bool]:
    return t.embeddings.c.text_hash.not_in(select(t.chunks.c.embed_hash).where(t.chunks.c.embed_hash != ""))
