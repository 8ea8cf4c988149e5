"""What the knowledge graph is projected from: names that triples state of documents that are ready, and whose they are.

Synchronous and thread-safe. Whoever writes triples or entities calls `touch` in the same transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects import postgresql, sqlite

from core.ledger import schema as t

_READY = ("ready", "ready_with_gaps")
_STAMP, _LIBRARY = "graph", "library"  # keys in meta
_READINGS = 3


class Said(NamedTuple):
    """A triple without its quote."""

    id: str
    document_id: str
    subject: str
    subject_type: str
    relation: str
    wording: str
    object: str
    object_type: str
    confidence: float
    is_citation: bool


class Named(NamedTuple):
    """An entity as resolution named it."""

    name: str
    type: str


@dataclass(frozen=True)
class GraphRows:
    """`stamp` is the ledger's before these were read; `owners` is the entity's id by (name, document id)."""

    stamp: str
    said: Sequence[Said]
    owners: dict[tuple[str, str], str]
    entities: dict[str, Named]


class GraphLedger:
    """Of one ledger: `Ledger.graph`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def stamp(self) -> str:
        """Another one once anything changed that the graph is made of; 1 ms of 1,000 documents."""
        digest = hashlib.sha256((self._meta(_STAMP) or "").encode())
        ready = select(t.documents.c.id).where(t.documents.c.status.in_(_READY)).order_by(t.documents.c.id)
        for row in self._all(ready):
            digest.update(f"\n{row[0]}".encode())
        return digest.hexdigest()

    def touched(self) -> str:
        """Another one once triples or entities changed; '' before there were any. 0.1 ms."""
        return self._meta(_STAMP) or ""

    def names(self) -> dict[str, list[str]]:
        """Of each entity that has several, in documents that are ready; a name of several entities is left out."""
        c = t.entity_names.c
        ready = select(c.name, c.entity_id).join(t.documents, t.documents.c.id == c.document_id)
        owners: dict[str, set[str]] = {}
        for name, entity in self._all(ready.where(t.documents.c.status.in_(_READY))):
            owners.setdefault(name, set()).add(entity)
        found: dict[str, list[str]] = {}
        for name, entities in sorted(owners.items()):
            if len(entities) == 1:
                found.setdefault(next(iter(entities)), []).append(name)
        return {entity: names for entity, names in found.items() if len(names) > 1}

    def library(self) -> str:
        """An id of this library, made when it is first asked for: several may share one graph database."""
        if (found := self._meta(_LIBRARY)) is None:
            with self._engine.begin() as connection:
                _insert_meta(connection, _LIBRARY, uuid4().hex[:12], replace=False)
            found = self._meta(_LIBRARY)
        assert found
        return found

    def read(self) -> GraphRows:
        """All of it. What changes meanwhile is read again, three times at most; after that its stamp is an old one."""
        for _ in range(_READINGS):
            rows = self._read(self.stamp())
            if rows.stamp == self.stamp():
                break
        return rows

    def _read(self, stamp: str) -> GraphRows:
        triples, names, entities = t.triples.c, t.entity_names.c, t.entities.c
        said = (
            select(*[triples[name] for name in Said._fields])
            .join(t.documents, t.documents.c.id == triples.document_id)
            .where(t.documents.c.status.in_(_READY))
        )
        owners = self._all(select(names.name, names.document_id, names.entity_id))
        named = self._all(select(entities.id, entities.name, entities.type))
        return GraphRows(
            stamp=stamp,
            said=[Said(*row) for row in self._all(said)],
            owners={(row[0], row[1]): row[2] for row in owners},
            entities={row[0]: Named(row[1], row[2]) for row in named},
        )

    def _meta(self, key: str) -> str | None:
        rows = self._all(select(t.meta.c.value).where(t.meta.c.key == key))
        return str(rows[0][0]) if rows else None

    def _all(self, query: Any) -> Sequence[Any]:
        with self._engine.connect() as connection:
            return connection.execute(query).all()


def touch(connection: Connection) -> None:
    """Triples or entities change in this transaction: what was projected from them is out of date after it."""
    _insert_meta(connection, _STAMP, uuid4().hex, replace=True)


def _insert_meta(connection: Connection, key: str, value: str, *, replace: bool) -> None:
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(t.meta).values(key=key, value=value)
    put = (
        statement.on_conflict_do_update(index_elements=["key"], set_={"value": value})
        if replace
        else statement.on_conflict_do_nothing(index_elements=["key"])
    )
    connection.execute(put)
