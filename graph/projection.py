"""From the ledger's triples and entities to the graph that stores hold: a function of what is there, in no order.

So what was added and removed again leaves nothing behind: the graph of A + B without B is the graph of A.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from uuid import UUID, uuid5

from core.collector import collector_paused
from core.errors import LibraryError
from core.graph import Entity, GraphData, Relation
from core.ledger.graph import GraphLedger, GraphRows, Named, Said
from graph.folding import fold
from graph.relations import SAME_AS

_log = logging.getLogger(__name__)
_UNRESOLVED = UUID("6b5bd6f4-9a3c-5b0e-8f1d-0d4a6f1c7e52")


class Projection:
    """The graph of one ledger, made anew when that has changed. Thread-safe.

    `resolve` brings the ledger's entities up to date; it is called before the graph is made.
    """

    def __init__(self, ledger: GraphLedger, resolve: Callable[[], object]) -> None:
        self._ledger = ledger
        self._resolve = resolve
        self._lock = threading.Lock()
        self._kept: tuple[str, GraphData] | None = None

    def current(self) -> GraphData:
        """The same object while nothing has changed, which takes 1 ms to see."""
        with self._lock:
            if self._kept is None or self._kept[0] != self._ledger.stamp():
                try:
                    self._resolve()
                except LibraryError as error:  # a full disk: names are what they were, and unknown ones their own
                    _log.warning("names of the graph could not be brought up to date: %s", error)
                rows = self._ledger.read()
                self._kept = rows.stamp, project(rows)
            return self._kept[1]


@dataclass
class _Gathered:
    """Of one entity: how often each name and type is said, by which documents, in how many triples."""

    names: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    documents: set[str] = field(default_factory=set)
    mentions: int = 0

    def add(self, name: str, type_: str, document: str) -> None:
        self.names[name] += 1
        self.documents.add(document)
        if type_:
            self.types[type_] += 1


@collector_paused()
def project(rows: GraphRows) -> GraphData:
    """The graph, sorted, its version a hash of all that it holds. 40,000 triples take about a second.

    A name that resolution has not seen is an entity of its own, together with those that differ in case or width.
    """
    owners, unresolved = rows.owners, cache(_unresolved)
    gathered: defaultdict[str, _Gathered] = defaultdict(_Gathered)
    stated: defaultdict[tuple[str, str, str], list[Said]] = defaultdict(list)
    for said in rows.said:
        subject = owners.get((said.subject, said.document_id)) or unresolved(said.subject)
        target = owners.get((said.object, said.document_id)) or unresolved(said.object)
        gathered[subject].add(said.subject, said.subject_type, said.document_id)
        gathered[target].add(said.object, said.object_type, said.document_id)
        for end in {subject, target}:
            gathered[end].mentions += 1
        if subject != target or said.relation != SAME_AS:  # names that were found to be one say nothing of it
            stated[subject, said.relation, target].append(said)
    entities = tuple(_entity(item, gathered[item], rows.entities.get(item)) for item in sorted(gathered))
    relations = tuple(_relation(key, stated[key]) for key in sorted(stated))
    return GraphData(version=version_of(entities, relations), entities=entities, relations=relations)


def version_of(entities: Iterable[Entity], relations: Iterable[Relation]) -> str:
    """Of what is given in that order: 64 hex digits."""
    digest = hashlib.sha256()
    for entity in entities:
        digest.update(digest_of(entity).encode())
    for relation in relations:
        digest.update(digest_of(relation).encode())
    return digest.hexdigest()


def digest_of(item: Entity | Relation) -> str:
    """Another one for whatever differs in it: 20 hex digits."""
    return _hash(list(item.__dict__.values()))  # in the order of the fields: a third of the time of asking each


def relation_id(relation: Relation) -> str:
    """Of its ends and its name: 20 hex digits."""
    return _hash([relation.subject, relation.relation, relation.object])


def _hash(values: list[object]) -> str:
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _unresolved(name: str) -> str:
    return str(uuid5(_UNRESOLVED, fold(name)))


def _entity(item: str, gathered: _Gathered, resolved: Named | None) -> Entity:
    """Under the name that resolution gave it, where that is still said; else the one that is said most."""
    name = resolved.name if resolved and resolved.name in gathered.names else _commonest(gathered.names)
    return Entity.model_construct(
        id=item,
        name=name,
        type=(resolved.type if resolved else "") or _commonest(gathered.types),
        aliases=tuple(sorted(set(gathered.names) - {name})),
        documents=tuple(sorted(gathered.documents)),
        mentions=gathered.mentions,
    )


def _commonest(counted: Counter[str]) -> str:
    """Of equally common ones the first in order; '' for none."""
    return min(counted, key=lambda value: (-counted[value], value), default="")


def _relation(key: tuple[str, str, str], said: list[Said]) -> Relation:
    subject, relation, target = key
    return Relation.model_construct(
        subject=subject,
        relation=relation,
        object=target,
        wordings=tuple(sorted({each.wording for each in said if each.wording})),
        triples=tuple(sorted({each.id for each in said})),
        documents=tuple(sorted({each.document_id for each in said})),
        confidence=max(each.confidence for each in said),
        is_citation=all(each.is_citation for each in said),
    )
