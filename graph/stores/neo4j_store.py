"""The graph in a Neo4j database, 4.4 or later, of any edition; several libraries may share one.

    (:Entity {key, id, library, name, names, kind, type, aliases, documents, mentions, digest})
    -[:RELATION {id, library, relation, wordings, wording_keys, triples, documents, confidence, is_citation, digest}]->

One label and one relationship type, so that no text from outside is ever part of a query.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar
from uuid import uuid4

from core.graph import Entity, GraphData, Relation
from core.settings import GraphSettings
from graph.cypher.compiler import compiled, read_record
from graph.patterns.conditions import Condition
from graph.patterns.found import Found, Matched, matched
from graph.patterns.pattern import Pattern
from graph.stores.neo4j_link import Neo4jLink, Run
from graph.stores.neo4j_load import VERSION, Load, Loaded, Stored, key_of
from graph.stores.networkx_store import NetworkXStore
from graph.stores.searching import query_key
from graph.stores.store import Documents, StoreError, StoreOutdated
from graph.stores.traversal import Subgraph, Walk, Wanted, around, between

T = TypeVar("T")

_FETCH = """UNWIND $keys AS key MATCH (a:Entity {{key: key}})-[r:RELATION]-(b:Entity)
WHERE NOT b.id IN $without{filtered}
WITH DISTINCT r, {stating} AS stating
WITH r, stating ORDER BY stating DESC, r.id LIMIT $most
RETURN collect(r.id) AS ids"""
_OF_ALL = _FETCH.format(filtered="", stating="size(r.documents)")
_OF_SOME = _FETCH.format(
    filtered=" AND any(item IN r.documents WHERE item IN $documents)",
    stating="size([item IN r.documents WHERE item IN $documents])",
)
_LIKE = """MATCH (e:Entity) WHERE e.library = $library
WITH e, CASE WHEN $wanted IN e.names THEN 0
  WHEN any(name IN e.names WHERE name STARTS WITH $wanted) THEN 1
  WHEN any(name IN e.names WHERE name CONTAINS $wanted) THEN 2
  WHEN any(name IN e.names WHERE all(word IN $words WHERE name CONTAINS word)) THEN 3 END AS like
WHERE like IS NOT NULL
WITH e, like ORDER BY like, e.mentions DESC, e.id LIMIT $most
RETURN collect(e.id) AS ids"""
_ALL = 2**31


class Neo4jStore:
    """Of one library in one database. Nothing is connected to before it is used."""

    def __init__(self, settings: GraphSettings, library: str) -> None:
        self._link = Neo4jLink(settings)
        self._library = library
        self._owner = uuid4().hex
        self._loading = threading.Lock()
        self._last: tuple[str, Stored] | None = None  # version and content that this process saw loaded

    @property
    def address(self) -> str:
        """Without user and password."""
        return self._link.address

    @property
    def server(self) -> str:
        """'neo4j 5.26.30', or 'neo4j' before it answered."""
        return self._link.server

    def ask_version(self) -> str:
        """`server`, asked now. Raises StoreUnavailable."""
        return self._link.ask_version()

    def sync(self, data: GraphData) -> Loaded | None:
        """Bring the database to that version; None where it has it. 10,000 entities and 40,000 relations take 7 s
        the first time, a few changes as long as a query where this process loaded what is there.

        Raises StoreUnavailable, StoreError; StoreOutdated while another process loads this library.
        """
        with self._loading:
            self._link.ask_version()  # what follows has longer to answer, and so would a server that is silent
            load = Load(self._link, self._library, self._owner)
            load.prepare()
            if self._link.read(self._version) == data.version:
                return None
            before = load.claim()
            known = self._last[1] if self._last and self._last[0] == before else None
            self._last = None
            loaded = load.put(data, known or load.there())
            self._last = data.version, loaded.stored
            return loaded

    def drop(self) -> None:
        """Take this library out of the database, and leave others as they are. Raises like `sync`."""
        with self._loading:
            self._link.ask_version()
            load = Load(self._link, self._library, self._owner)
            load.claim()
            self._last = None
            load.drop()

    def at(self, local: NetworkXStore) -> Neo4jGraph:
        """The version of the graph that `local` has."""
        return Neo4jGraph(self._link, self._library, local)

    def close(self) -> None:
        self._link.close()

    async def _version(self, run: Run) -> str:
        rows = await run(VERSION, library=self._library)
        return str(rows[0]["version"]) if rows else ""


class Neo4jGraph:
    """One version of the graph (a graph.store.GraphStore). Each query is one read transaction that looks at the version
    before and after: where it is another one, or being changed, StoreOutdated is raised.

    Only ids cross the wire; `local`, which has the same version, has the rest. That is a third of the time.
    """

    def __init__(self, link: Neo4jLink, library: str, local: NetworkXStore) -> None:
        self._link = link
        self._library = library
        self._local = local

    def check(self) -> None:
        async def nothing(_: Run) -> None: ...

        self.read(nothing)

    def match(self, pattern: Pattern, limit: int, documents: Documents = None) -> Matched:
        statements = compiled(pattern, library=self._library, limit=limit, documents=documents, keys=self._keys)

        async def work(run: Run) -> list[Found]:
            return [read_record((await run(each.text, **each.parameters))[0]) for each in statements]

        return matched(pattern, self.read(work), limit)

    def _keys(self, test: Condition) -> Iterator[str]:
        return (key_of(self._library, item) for item in self._local.named(test))

    def neighbourhood(self, entity_ids: Sequence[str], hops: int, limit: int, documents: Documents = None) -> Subgraph:
        return self._walked(lambda: around(entity_ids, hops, limit), documents)

    def paths(self, first: str, second: str, hops: int, limit: int, documents: Documents = None) -> Subgraph:
        return self._walked(lambda: between(first, second, hops, limit, documents), documents)

    def entities(self, text: str, limit: int) -> list[Entity]:
        wanted = query_key(text)

        async def work(run: Run) -> list[str]:
            rows = await run(_LIKE, library=self._library, wanted=wanted, words=wanted.split(), most=limit)
            return list(rows[0]["ids"])

        ids = self.read(work)
        found = self._local.entities_by_id(ids)
        if len(found) != len(ids):
            raise _strange()
        return list(found.values())

    def entities_by_id(self, ids: Sequence[str]) -> dict[str, Entity]:
        return self._local.entities_by_id(ids)

    def read(self, work: Callable[[Run], Awaitable[T]]) -> T:
        """What `work` finds in this version. Raises StoreOutdated, StoreUnavailable, StoreError."""

        async def checked(run: Run) -> T:
            await self._check(run)
            found = await work(run)
            await self._check(run)
            return found

        return self._link.read(checked)

    async def _check(self, run: Run) -> None:
        rows = await run(VERSION, library=self._library)
        if not rows or rows[0]["version"] != self._local.version:
            raise StoreOutdated("it does not hold this version of the graph yet")

    def _walked(self, start: Callable[[], Walk[Subgraph]], documents: Documents) -> Subgraph:
        async def work(run: Run) -> Subgraph:
            walk = start()  # anew each time: a transaction may be tried again
            try:
                wanted = next(walk)
                while True:
                    wanted = walk.send(await self._fetch(run, wanted, documents))
            except StopIteration as end:
                found: Subgraph = end.value
            return found.with_entities(self._local.entities_by_id(found.ends))

        return self.read(work)

    async def _fetch(self, run: Run, wanted: Wanted, documents: Documents) -> list[Relation]:
        rows = await run(
            _OF_ALL if documents is None else _OF_SOME,
            keys=[key_of(self._library, item) for item in wanted.ends],
            without=list(wanted.without),
            documents=None if documents is None else list(documents),
            most=wanted.limit or _ALL,
        )
        found = [self._local.relation_by_id(item) for item in rows[0]["ids"]]
        if None in found:
            await self._check(run)  # which it is while another version is being loaded
            raise _strange()
        return [relation for relation in found if relation is not None]


def _strange() -> StoreError:
    return StoreError("it holds what is not in the graph: something else writes there")
