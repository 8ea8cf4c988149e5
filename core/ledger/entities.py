"""Reads and writes of entity resolution: what triples name, whose names they are, and what people decided."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, Table, and_, delete, insert, or_, select

from core.graph import Entity, Merge, MergeRule
from core.ledger import schema as t
from core.ledger.graph import touch

READY = ("ready", "ready_with_gaps")
_KEY = "entities"  # in meta: what the stored entities were resolved from
_MANY = 1000  # rows of one read


class Said(NamedTuple):
    """A triple's names, with the sentence that they stand in."""

    document_id: str
    subject: str
    subject_type: str
    object: str
    object_type: str
    quote: str


class Owner(NamedTuple):
    """Whose a name of one document is, and why."""

    name: str
    document_id: str
    entity_id: str
    into: str
    tier: str
    score: float
    reason: str


class Seen(NamedTuple):
    """How a name is shown to a model: its type, and a sentence that it stands in."""

    type: str
    quote: str


class Verdict(NamedTuple):
    """What a language model said of two names."""

    first: str
    second: str
    same: bool
    reason: str
    model: str


class EntityLedger:
    """Over the ledger's engine. Synchronous and thread-safe; each method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    # what there is to resolve

    def said(self) -> list[Said]:
        """Of every triple of every document that is ready."""
        columns = [t.triples.c[name] for name in Said._fields]
        return [Said(*row) for row in self._all(_of_ready(select(*columns)).order_by(t.triples.c.id))]

    def seen(self, names: Collection[str]) -> dict[str, Seen]:
        """By name: the first type in order that is not empty, and the shortest sentence."""
        types: dict[str, str] = {}
        quotes: dict[str, str] = {}
        for row in self.said():
            for name, type_ in ((row.subject, row.subject_type), (row.object, row.object_type)):
                if name in names:
                    types[name] = min(filter(None, (types.get(name, ""), type_)), default="")
                    quotes[name] = min(quotes.get(name, row.quote), row.quote, key=lambda text: (len(text), text))
        return {name: Seen(types[name], quotes[name]) for name in quotes}

    def texts(self) -> Iterator[tuple[str, str]]:
        """(document id, text) of the parents with a bracket in them, in documents that have triples."""
        named = _of_ready(select(t.triples.c.document_id)).distinct()
        c = t.chunks.c
        bracket = or_(c.text.contains("("), c.text.contains("（"))
        query = select(c.document_id, c.text).where(c.parent_id == "", bracket, c.document_id.in_(named))
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(c.document_id, c.position)).yield_per(_MANY)
            for row in rows:
                yield row[0], row[1]

    def state(self) -> str:
        """A hash of all that resolution depends on here. It reads ids and types only: 0.1 s of 40,000 triples."""
        c = t.triples.c
        digest = hashlib.sha256()
        queries = (
            _of_ready(select(c.id, c.document_id, c.subject_type, c.object_type)).order_by(c.id),
            select(t.merge_rules.c.first, t.merge_rules.c.second, t.merge_rules.c.kind).order_by("first", "second"),
            select(*t.merge_verdicts.c).order_by("first", "second"),
        )
        with self._engine.connect() as connection:
            for query in queries:
                for row in connection.execute(query):
                    digest.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
                digest.update(b"\n")
        return digest.hexdigest()

    # what was resolved

    def resolved_from(self) -> str:
        """The `state` that `replace` was last given; '' where nothing was resolved yet."""
        rows = self._all(select(t.meta.c.value).where(t.meta.c.key == _KEY))
        return str(rows[0][0]) if rows else ""

    def replace(self, entities: Sequence[Entity], owners: Sequence[Owner], state: str) -> None:
        """In place of all that was resolved. Of verdicts those go that speak of a name that no document has."""
        with self._engine.begin() as connection:
            touch(connection)
            for table in (t.entities, t.entity_names):
                connection.execute(delete(table))
            if entities:
                rows = [{"id": item.id, "name": item.name, "type": item.type} for item in entities]
                connection.execute(insert(t.entities), rows)
            if owners:
                connection.execute(insert(t.entity_names), [owner._asdict() for owner in owners])
            names = select(t.entity_names.c.name)
            c = t.merge_verdicts.c
            gone = or_(c.first.not_in(names), c.second.not_in(names))
            connection.execute(delete(t.merge_verdicts).where(gone))
            connection.execute(delete(t.meta).where(t.meta.c.key == _KEY))
            connection.execute(insert(t.meta).values(key=_KEY, value=state))

    def merges(self) -> list[Merge]:
        """Every name, those that are their entity's own too; one for all documents where it came the same way."""
        c = t.entity_names.c
        query = select(t.entity_names, t.entities.c.name.label("entity")).join_from(
            t.entity_names, t.entities, t.entities.c.id == c.entity_id
        )
        found: dict[tuple[Any, ...], list[str]] = {}
        for row in self._all(query):
            key = (row.entity, row.name, row.entity_id, row.into, row.tier, row.score, row.reason)
            found.setdefault(key, []).append(row.document_id)
        return [
            Merge(
                entity=key[0],
                name=key[1],
                entity_id=key[2],
                into=key[3],
                tier=key[4],
                score=key[5],
                reason=key[6],
                documents=tuple(sorted(documents)),
            )
            for key, documents in sorted(found.items())
        ]

    # what people and models said

    def rules(self) -> list[MergeRule]:
        """By names."""
        c = t.merge_rules.c
        rows = self._all(select(c.first, c.second, c.kind))
        return [MergeRule(first=row[0], second=row[1], kind=row[2]) for row in sorted(tuple(row) for row in rows)]

    def put_rule(self, rule: MergeRule) -> None:
        """In place of what was said of these two."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._engine.begin() as connection:
            connection.execute(delete(t.merge_rules).where(_of(t.merge_rules, rule.first, rule.second)))
            connection.execute(insert(t.merge_rules).values(**rule.model_dump(), made_at=now))
            touch(connection)

    def drop_rule(self, first: str, second: str) -> MergeRule | None:
        """What the rule was; None where there was none."""
        c = t.merge_rules.c
        mine = _of(t.merge_rules, first, second)
        with self._engine.begin() as connection:
            row = connection.execute(select(c.first, c.second, c.kind).where(mine)).first()
            connection.execute(delete(t.merge_rules).where(mine))
            touch(connection)
        return MergeRule(first=row[0], second=row[1], kind=row[2]) if row else None

    def verdicts(self) -> list[Verdict]:
        columns = [t.merge_verdicts.c[name] for name in Verdict._fields]
        return [Verdict(*row) for row in self._all(select(*columns))]

    def put_verdict(self, verdict: Verdict) -> None:
        """In place of what was said of these two."""
        with self._engine.begin() as connection:
            mine = _of(t.merge_verdicts, verdict.first, verdict.second)
            connection.execute(delete(t.merge_verdicts).where(mine))
            connection.execute(insert(t.merge_verdicts).values(verdict._asdict()))
            touch(connection)

    def _all(self, query: Any) -> Sequence[Any]:
        with self._engine.connect() as connection:
            return connection.execute(query).all()


def _of_ready(query: Any) -> Any:
    return query.join(t.documents, t.documents.c.id == t.triples.c.document_id).where(t.documents.c.status.in_(READY))


def _of(table: Table, first: str, second: str) -> Any:
    """Rows of a pair, whichever of the two stands first."""
    one, two = table.c.first, table.c.second
    return or_(and_(one == first, two == second), and_(one == second, two == first))
