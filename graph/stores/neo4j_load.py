"""Bringing a Neo4j database to one version of a library's graph, by as little writing as that takes.

One node says which version is there. While that is changed it says none, so that whoever reads it before and after a
query knows whether what came between was whole: a graph that is being loaded is never taken for one that is loaded.
Whoever loads holds a token on that node; each batch checks it under the node's lock, and counts, so that two
processes never load one library together, and a batch that is sent again after a lost connection counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from core.graph import GraphData
from graph.projection import digest_of
from graph.stores.neo4j_link import Neo4jLink, Run, Work
from graph.stores.properties import EDGE, NODE, Properties, edge_values, node_values
from graph.stores.store import StoreError, StoreOutdated

_NODES, _EDGES = 2000, 4000  # of one batch
_BATCH_S = 60.0
_PATIENCE_MS = 60_000  # without a batch, after which whoever was loading is taken for dead

_SCHEMA = (
    "CREATE CONSTRAINT quaere_entity_key IF NOT EXISTS FOR (e:Entity) REQUIRE e.key IS UNIQUE",
    "CREATE CONSTRAINT quaere_graph_library IF NOT EXISTS FOR (g:QuaereGraph) REQUIRE g.library IS UNIQUE",
    "CREATE INDEX quaere_entity_library IF NOT EXISTS FOR (e:Entity) ON (e.library)",
)
VERSION = "MATCH (g:QuaereGraph {library: $library}) RETURN g.version AS version"
_CLAIM = """MERGE (g:QuaereGraph {library: $library})
ON CREATE SET g.version = '', g.token = '', g.owner = '', g.touched = 0, g.batch = 0
SET g.locked = $token
WITH g WHERE g.token = '' OR g.owner = $owner OR g.touched < timestamp() - $patience
WITH g, g.version AS version
SET g.token = $token, g.owner = $owner, g.version = '', g.touched = timestamp(), g.batch = 0
RETURN version"""
_GUARD = """MATCH (g:QuaereGraph {library: $library}) SET g.locked = $token
WITH g WHERE g.token = $token SET g.touched = timestamp() RETURN g.batch AS batch"""
_COUNT_BATCH = "MATCH (g:QuaereGraph {library: $library}) SET g.batch = $batch"
_DONE = "MATCH (g:QuaereGraph {library: $library}) SET g.version = $version, g.token = ''"
_NODES_THERE = "MATCH (e:Entity) WHERE e.library = $library RETURN e.id AS id, e.digest AS digest"
_EDGES_THERE = """MATCH (a:Entity)-[r:RELATION]->(b:Entity) WHERE a.library = $library
RETURN r.id AS id, r.digest AS digest, a.key AS source, b.key AS target"""
# A row is a list, not a map: a fifth less time for the names that are not sent with each.
_NODE_VALUES = ", ".join(f"e.{name} = row[{at}]" for at, name in enumerate(("key", "digest", *NODE)))
_EDGE_VALUES = ", ".join(f"{name}: row[{at}]" for at, name in enumerate(("digest", *EDGE), 2))
_PUT_NODES = f"UNWIND $rows AS row MERGE (e:Entity {{key: row[0]}}) SET e.library = $library, {_NODE_VALUES}"
_PUT_EDGES = f"""UNWIND $rows AS row MATCH (a:Entity {{key: row[0]}}) MATCH (b:Entity {{key: row[1]}})
CREATE (a)-[:RELATION {{library: $library, {_EDGE_VALUES}}}]->(b)"""
_COUNTS = """MATCH (e:Entity) WHERE e.library = $library WITH count(e) AS nodes
OPTIONAL MATCH (a:Entity)-[r:RELATION]->() WHERE a.library = $library RETURN nodes, count(r) AS edges"""
_DROP_EDGES = """UNWIND $rows AS row MATCH (a:Entity {key: row.source})-[r:RELATION]->(b:Entity {key: row.target})
WHERE r.id = row.id DELETE r"""
_DROP_NODES = "UNWIND $rows AS row MATCH (e:Entity {key: row.key}) DETACH DELETE e"
_DROP_ALL = "MATCH (e:Entity) WHERE e.library = $library WITH e LIMIT $most DETACH DELETE e RETURN count(*) AS dropped"
_DROP_MARK = "MATCH (g:QuaereGraph {library: $library}) DELETE g"


class Edge(NamedTuple):
    digest: str
    source: str
    target: str


@dataclass(frozen=True)
class Stored:
    """What a database holds, by id: digests, and for relations the keys of their ends."""

    nodes: Mapping[str, str]
    edges: Mapping[str, Edge]


@dataclass(frozen=True)
class Loaded:
    """What a load wrote; `stored` is what is there now."""

    entities: int
    relations: int
    dropped: int
    stored: Stored


class Load:
    """One load of one library's graph by `owner`, of whom there is one a process and store."""

    def __init__(self, link: Neo4jLink, library: str, owner: str) -> None:
        self._link = link
        self._library = library
        self._owner = owner
        self._token = uuid4().hex
        self._batch = 0

    def prepare(self) -> None:
        """Constraints and indexes, where they are not there. Each in a transaction of its own, as Neo4j wants it."""
        for statement in _SCHEMA:
            self._write(statement)

    def claim(self) -> str:
        """From now on nobody else loads it, and it has no version; the one that it had. Raises StoreOutdated while
        another process loads it."""
        rows = self._write(_CLAIM, token=self._token, owner=self._owner, patience=_PATIENCE_MS)
        if not rows:
            raise StoreOutdated("another process is bringing it up to date")
        return str(rows[0]["version"])

    def there(self) -> Stored:
        """What the database holds; 40,000 relations take a second or two. What is there twice has no digest."""
        edges: dict[str, Edge] = {}
        for row in self._write(_EDGES_THERE):
            digest = "" if row["id"] in edges else row["digest"]
            edges[row["id"]] = Edge(digest, row["source"], row["target"])
        return Stored({row["id"]: row["digest"] for row in self._write(_NODES_THERE)}, edges)

    def put(self, data: GraphData, there: Stored) -> Loaded:
        """Drop what should not be there, write what is not as it should be, and say which version it is."""
        nodes, edges = self._node_rows(data), self._edge_rows(data)
        wanted = Stored(
            {item: row[1] for item, row in nodes.items()},
            {item: Edge(row[2], row[0], row[1]) for item, row in edges.items()},
        )
        lost = [item for item in there.nodes if item not in wanted.nodes]
        gone = {item: edge for item, edge in there.edges.items() if wanted.edges.get(item) != edge}
        new_nodes = [row for item, row in nodes.items() if there.nodes.get(item) != row[1]]
        new_edges = [row for item, row in edges.items() if item in gone or item not in there.edges]
        self._each(_DROP_EDGES, [{"id": item, **edge._asdict()} for item, edge in gone.items()], _EDGES)
        self._each(_DROP_NODES, [{"key": key_of(self._library, item)} for item in lost], _NODES)
        self._each(_PUT_NODES, new_nodes, _NODES)
        self._each(_PUT_EDGES, new_edges, _EDGES)
        self._finish(data)
        return Loaded(len(new_nodes), len(new_edges), len(gone) + len(lost), wanted)

    def drop(self) -> None:
        """All of this library, and nothing of another."""
        while self._guarded(_asking(_DROP_ALL, library=self._library, most=_NODES))[0]["dropped"]:
            pass
        self._guarded(_asking(_DROP_MARK, library=self._library))

    def _finish(self, data: GraphData) -> None:
        """Raises StoreError where there is not what was written: somebody else writes there."""

        async def work(run: Run) -> list[Properties]:
            (counted,) = await run(_COUNTS, library=self._library)
            if (counted["nodes"], counted["edges"]) != (len(data.entities), len(data.relations)):
                raise StoreError("its entities and relations are not those that were written: something else writes it")
            return await run(_DONE, library=self._library, version=data.version)

        self._guarded(work)

    def _each(self, cypher: str, rows: Sequence[object], size: int) -> None:
        for start in range(0, len(rows), size):
            self._guarded(_asking(cypher, library=self._library, rows=rows[start : start + size]))

    def _guarded(self, work: Work[list[Properties]]) -> list[Properties]:
        """One batch, done once however often it is sent. Raises StoreOutdated where another process took over."""
        self._batch += 1

        async def guarded(run: Run) -> list[Properties]:
            rows = await run(_GUARD, library=self._library, token=self._token)
            if not rows or rows[0]["batch"] not in (self._batch - 1, self._batch):
                raise StoreOutdated("another process is bringing it up to date")
            if rows[0]["batch"] == self._batch:
                return []
            await run(_COUNT_BATCH, library=self._library, batch=self._batch)
            return await work(run)

        return self._link.write(guarded, _BATCH_S)

    def _write(self, cypher: str, **parameters: object) -> list[Properties]:
        return self._link.write(_asking(cypher, library=self._library, **parameters), _BATCH_S)

    def _node_rows(self, data: GraphData) -> dict[str, list[Any]]:
        """By id: key, digest, and the values of NODE."""
        return {
            item.id: [key_of(self._library, item.id), digest_of(item), *node_values(item)] for item in data.entities
        }

    def _edge_rows(self, data: GraphData) -> dict[str, list[Any]]:
        """By id: the keys of its ends, digest, and the values of EDGE."""
        rows: dict[str, list[Any]] = {}
        for item in data.relations:
            values = edge_values(item)
            ends = key_of(self._library, item.subject), key_of(self._library, item.object)
            rows[values[0]] = [*ends, digest_of(item), *values]
        return rows


def key_of(library: str, entity_id: str) -> str:
    return f"{library}:{entity_id}"


def _asking(cypher: str, **parameters: object) -> Work[list[Properties]]:
    return lambda run: run(cypher, **parameters)
