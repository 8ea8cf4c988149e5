"""The graph in real Neo4j servers: what is loaded, what is found, who may see it, and how servers fail."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import neo4j
import pytest

from core.graph import GraphData
from core.settings import GraphSettings
from graph.cypher.parser import read_cypher
from graph.stores.neo4j_link import Neo4jLink, Run
from graph.stores.neo4j_store import Neo4jStore
from graph.stores.networkx_store import NetworkXStore
from graph.stores.properties import edge_properties, node_properties
from graph.stores.store import StoreError, StoreOutdated, StoreUnavailable
from tests.support.graphs import HOSTILE, graph_of, random_graph, said
from tests.support.neo4j_server import NEO4J_5, Neo4jServer, running_neo4j

pytestmark = [pytest.mark.integration, pytest.mark.timeout(700)]  # Maven fetches 150 MB the first time


@pytest.fixture(params=["neo4j_4", "neo4j_5", "neo4j_current"])
def server(request: pytest.FixtureRequest) -> Neo4jServer:
    found: Neo4jServer = request.getfixturevalue(request.param)
    found.start()
    return found


@pytest.fixture
def old(neo4j_5: Neo4jServer) -> Neo4jServer:
    neo4j_5.start()
    return neo4j_5


def store_at(server: Neo4jServer, library: str = "one", **changes: Any) -> Neo4jStore:
    return Neo4jStore(GraphSettings(**{"neo4j_url": server.url, "timeout_s": 20, **changes}), library)


@pytest.fixture
def stores(request: pytest.FixtureRequest) -> Iterator[list[Neo4jStore]]:
    """Whatever is put in here is dropped and closed."""
    made: list[Neo4jStore] = []
    yield made
    for store in made:
        with suppress(StoreError):
            store.drop()
        store.close()


def rows(server: Neo4jServer, cypher: str, **parameters: object) -> list[dict[str, Any]]:
    with neo4j.GraphDatabase.driver(server.url) as driver:
        return [record.data() for record in driver.execute_query(cypher, parameters).records]


def counts(server: Neo4jServer, library: str) -> tuple[int, int]:
    nodes = rows(server, "MATCH (e:Entity {library: $it}) RETURN count(e) AS n", it=library)[0]["n"]
    edges = rows(server, "MATCH ()-[r:RELATION {library: $it}]->() RETURN count(r) AS n", it=library)[0]["n"]
    return nodes, edges


PATTERNS = [
    'MATCH (a)-[:RELATION_1]->(b)<-[:RELATION_2]-(c) RETURN a, b, c',
    'MATCH (a)-[r]->(a) RETURN a',
    'MATCH (a {name: "Entity 20"})-[*1..2]-(b) RETURN b',
    'MATCH (a)-[r]->(b) WHERE a.name CONTAINS "1" AND NOT b.name STARTS WITH "Entity" RETURN b',
    'MATCH (a {name: "床前明月光"})-[r]-(b) RETURN r',
]  # fmt: skip


def test_it_finds_what_networkx_finds(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = random_graph(40, 160, seed=1)
    stores.append(store := store_at(server))
    store.sync(data)
    here = NetworkXStore(data)
    there = store.at(here)
    assert store.server == f"neo4j {server.release.version}"
    ids = [entity.id for entity in data.entities]
    for documents in (None, ["d0", "d3"], []):
        for start, end in zip(ids[:3], ids[-3:], strict=True):
            for hops, limit in ((1, 5), (2, 30), (3, 1000)):
                assert there.neighbourhood([start], hops, limit, documents) == here.neighbourhood(
                    [start], hops, limit, documents
                )
            assert there.paths(start, end, 3, 20, documents) == here.paths(start, end, 3, 20, documents)
        for text in PATTERNS:
            for limit in (3, 1000):
                pattern = read_cypher(text)
                found = here.match(pattern, limit, documents)
                assert there.match(pattern, limit, documents) == found, text
    for text in (*HOSTILE, "entity", "1 entity", "ENTITY 2", "", "%"):
        assert there.entities(text, 7) == here.entities(text, 7)
    assert there.entities_by_id([*ids, "?"]) == here.entities_by_id(ids)


def test_what_it_holds(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = random_graph(20, 60, seed=2)
    stores.append(store := store_at(server))
    store.sync(data)
    own = ("key", "library", "digest")
    found = rows(server, "MATCH (e:Entity {library: 'one'}) RETURN properties(e) AS it ORDER BY it.id")
    assert [{k: v for k, v in row["it"].items() if k not in own} for row in found] == [
        _listed(node_properties(entity)) for entity in data.entities
    ]
    assert {(row["it"]["key"], row["it"]["library"]) for row in found} == {
        (f"one:{e.id}", "one") for e in data.entities
    }
    edges = "MATCH (a:Entity)-[r:RELATION {library: 'one'}]->(b) RETURN a.id AS one, properties(r) AS it, b.id AS other"
    held = {
        (row["one"], row["it"]["relation"], row["other"]): {k: v for k, v in row["it"].items() if k not in own}
        for row in rows(server, edges)
    }
    assert held == {(r.subject, r.relation, r.object): _listed(edge_properties(r)) for r in data.relations}


def _listed(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}


def test_what_somebody_else_wrote_there_is_no_answer(old: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = graph_of(said("a", "R", "b"))
    stores.append(store := store_at(old))
    store.sync(data)
    rows(old, "MATCH (a:Entity {library: 'one'})-[r]->(b) CREATE (b)-[:RELATION {id: 'x'}]->(a)")
    with pytest.raises(StoreError, match="something else"):
        store.at(NetworkXStore(data)).neighbourhood([data.entities[0].id], 1, 9)
    rows(old, "MATCH (:Entity {library: 'one'})-[r:RELATION {id: 'x'}]->() DELETE r")


def test_only_what_differs_is_written(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    one, two = random_graph(60, 200, seed=1), random_graph(60, 220, seed=1)
    stores += [store_at(server), store_at(server)]
    first = stores[0].sync(one)
    assert first and (first.entities, first.relations) == (len(one.entities), len(one.relations))
    assert stores[0].sync(one) is None and stores[1].sync(one) is None
    for store in stores:  # one knows what is there, the other has to look
        more = store.sync(two)
        assert more and more.relations - more.dropped == len(two.relations) - len(one.relations)
        assert more.relations < 40
        assert counts(server, "one") == (len(two.entities), len(two.relations))
        less = store.sync(one)
        assert less and counts(server, "one") == (len(one.entities), len(one.relations))
        assert store.at(NetworkXStore(one)).entities("entity", 99) == NetworkXStore(one).entities("entity", 99)


def test_another_version_is_not_asked(old: Neo4jServer, stores: list[Neo4jStore]) -> None:
    one, two = random_graph(10, 20), random_graph(10, 21)
    stores.append(store := store_at(old))
    with pytest.raises(StoreOutdated):
        store.at(NetworkXStore(one)).entities("e", 3)
    store.sync(one)
    with pytest.raises(StoreOutdated):
        store.at(NetworkXStore(two)).entities("e", 3)


def test_nobody_sees_half_of_a_change(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    """One process changes the graph back and forth, another asks all the while."""
    versions = [random_graph(200, 500, seed=1), random_graph(200, 800, seed=1)]
    stores += [store_at(server), store_at(server)]
    start = versions[0].entities[0].id
    here = [NetworkXStore(data) for data in versions]
    expected = [store.neighbourhood([start], 3, 5000) for store in here]
    assert expected[0] != expected[1]
    stop = threading.Event()
    seen = {0: 0, 1: 0, "outdated": 0}

    def read() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            which = turn % 2
            try:
                found = stores[1].at(here[which]).neighbourhood([start], 3, 5000)
            except StoreOutdated:
                seen["outdated"] += 1
                continue
            assert found == expected[which]
            seen[which] += 1

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for turn in range(8):
            stores[0].sync(versions[turn % 2])
            time.sleep(0.1)
        stop.set()
        reader.result(60)
    assert all(seen.values()), seen


def test_loads_at_the_same_time_make_nothing_twice(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = [random_graph(200, 800, seed=1), random_graph(200, 900, seed=2)]
    stores += [store_at(server) for _ in range(4)]

    def load(turn: int) -> None:
        for _ in range(4):
            try:
                stores[turn].sync(data[turn % 2])
            except StoreOutdated:
                time.sleep(0.1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(4)))
    for _ in range(2):
        stores[0].sync(data[0])
        assert counts(server, "one") == (len(data[0].entities), len(data[0].relations))
        stores[1].sync(data[1])
        assert counts(server, "one") == (len(data[1].entities), len(data[1].relations))
    twice = "MATCH (e:Entity {library: 'one'}) WITH e.key AS key, count(*) AS n WHERE n > 1 RETURN key"
    assert rows(server, twice) == []


def test_libraries_share_a_database(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    one, two = random_graph(30, 60, seed=1), random_graph(30, 70, seed=1)
    stores += [store_at(server, "one"), store_at(server, "two")]
    for store, data in zip(stores, (one, two), strict=True):
        store.sync(data)
    for store, here in zip(stores, (NetworkXStore(one), NetworkXStore(two)), strict=True):
        assert store.at(here).entities("entity", 50) == here.entities("entity", 50)
        pattern = read_cypher("MATCH (a)-[r]->(b) RETURN a")
        assert store.at(here).match(pattern, 1000) == here.match(pattern, 1000)
    stores[0].drop()
    assert counts(server, "one") == (0, 0) and counts(server, "two") == (len(two.entities), len(two.relations))
    with pytest.raises(StoreOutdated):
        stores[0].at(NetworkXStore(one)).entities("e", 1)


def test_a_load_that_broke_off_is_continued(old: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = random_graph(100, 400)
    stores.append(store := store_at(old))
    store.sync(data)
    rows(old, "MATCH (g:QuaereGraph {library: 'one'}) SET g.version = '', g.token = 'dead', g.touched = 0")
    rows(old, "MATCH (e:Entity {library: 'one'}) WITH e LIMIT 20 DETACH DELETE e")
    stores.append(other := store_at(old))
    loaded = other.sync(data)
    assert loaded and loaded.entities == 20
    assert counts(old, "one") == (len(data.entities), len(data.relations))


def test_whoever_loads_is_not_disturbed(old: Neo4jServer, stores: list[Neo4jStore]) -> None:
    data = random_graph(10, 20)
    stores.append(store := store_at(old))
    store.sync(data)
    rows(old, "MATCH (g:QuaereGraph {library: 'one'}) SET g.version = '', g.token = 'x', g.touched = timestamp()")
    stores.append(other := store_at(old))
    with pytest.raises(StoreOutdated, match="another process"):
        other.sync(data)


def test_a_read_can_not_write(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    stores.append(store := store_at(server))
    data = graph_of(said("a", "R", "b"))
    store.sync(data)
    with pytest.raises(StoreError, match=r"(?i)write"):
        store.at(NetworkXStore(data)).read(lambda run: run("MATCH (e:Entity) SET e.name = 'x' RETURN e"))


def test_a_query_that_takes_too_long_ends(old: Neo4jServer, stores: list[Neo4jStore]) -> None:
    stores += [store_at(old), store_at(old, timeout_s=2)]
    here = NetworkXStore(graph_of(said("a", "R", "b")))
    stores[0].sync(graph_of(said("a", "R", "b")))
    stores[1].ask_version()
    slow = "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH x, y WHERE x * y = -1 RETURN count(*) AS n"
    start = time.monotonic()
    with pytest.raises(StoreError, match="longer than 2 s") as caught:
        stores[1].at(here).read(lambda run: run(slow))
    assert time.monotonic() - start < 4
    assert not isinstance(caught.value, StoreUnavailable), "it answers other queries"
    assert stores[0].at(here).entities("a", 1)


def test_values_that_json_does_not_have(server: Neo4jServer) -> None:
    link = Neo4jLink(GraphSettings(neo4j_url=server.url, timeout_s=20))
    query = """RETURN datetime('2026-05-01T12:00:00.5+02:00') AS at, date('2026-05-01') AS day, time('12:00Z') AS hour,
    localdatetime('2026-05-01T12:00') AS here, duration('P1DT2H') AS long, point({x: 1, y: 2}) AS place,
    [date('2026-05-01'), {a: point({longitude: 1, latitude: 2})}] AS nested, 0.0 / 0.0 AS nan"""
    (found,) = link.read(lambda run: run(query))
    assert found == {
        "at": "2026-05-01T12:00:00.500000000+02:00",
        "day": "2026-05-01",
        "hour": "12:00:00.000000000+00:00",
        "here": "2026-05-01T12:00:00.000000000",
        "long": "P1DT2H",
        "place": {"srid": 7203, "coordinates": [1.0, 2.0]},
        "nested": ["2026-05-01", {"a": {"srid": 4326, "coordinates": [1.0, 2.0]}}],
        "nan": None,
    }

    async def graph_values(run: Run) -> list[dict[str, Any]]:
        return await run("CREATE p = (a:T {n: 1, at: date('2026-05-01')})-[r:R {w: 2}]->(b:T) RETURN a, r, p")

    (made,) = link.write(graph_values, 20)
    link.write(lambda run: run("MATCH (n:T) DETACH DELETE n"), 20)
    node, edge = {"labels": ["T"], "properties": {"n": 1, "at": "2026-05-01"}}, {"type": "R", "properties": {"w": 2}}
    assert made == {"a": node, "r": edge, "p": [node, edge, {"labels": ["T"], "properties": {}}]}
    link.close()


class TestFailures:
    DATA = graph_of(said("a", "R", "b"))

    def _says(self, url: str, **changes: Any) -> StoreUnavailable:
        store = Neo4jStore(GraphSettings(**{"neo4j_url": url, "timeout_s": 2, **changes}), "one")
        start = time.monotonic()
        with pytest.raises(StoreUnavailable) as caught:
            store.at(NetworkXStore(self.DATA)).entities("a", 1)
        assert time.monotonic() - start < 5
        with pytest.raises(StoreUnavailable):
            store.sync(self.DATA)
        store.close()
        assert caught.value.hint and "s3cret" not in caught.value.message + caught.value.hint + store.address
        return caught.value

    def test_no_server(self) -> None:
        assert "refused" in self._says("bolt://127.0.0.1:1").message

    def test_a_host_that_is_not_there(self) -> None:
        assert self._says("bolt://nowhere.invalid:7687").message

    @pytest.mark.parametrize("url", ["http://127.0.0.1:7474", "127.0.0.1:7687", "bolt://", "bolt://127.0.0.1:x", "¤"])
    def test_no_url(self, url: str) -> None:
        assert self._says(url)

    def test_a_password_in_the_url_is_not_shown(self) -> None:
        self._says("bolt://me:s3cret@127.0.0.1:1")

    def test_a_database_that_is_not_there(self, server: Neo4jServer) -> None:
        error = self._says(server.url, neo4j_database="missing", timeout_s=20)
        assert "missing" in error.message and "NEO4J_DATABASE" in error.hint

    def test_a_web_server_at_the_port(self) -> None:
        class Web(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

        with HTTPServer(("127.0.0.1", 0), Web) as web:
            threading.Thread(target=web.serve_forever, daemon=True).start()
            assert self._says(f"bolt://127.0.0.1:{web.server_port}").message
            web.shutdown()

    def test_a_server_that_says_nothing(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            assert "answer" in self._says(f"bolt://127.0.0.1:{silent.getsockname()[1]}").message

    def test_a_password(self) -> None:
        with running_neo4j(NEO4J_5, password="correct-s3cret") as server:
            error = self._says(server.url, neo4j_password="wrong-s3cret", timeout_s=20)
            assert "'neo4j'" in error.message and "PASSWORD" in error.hint
            assert "PASSWORD" in self._says(server.url, timeout_s=20).hint
            store = store_at(server, neo4j_password="correct-s3cret")
            store.sync(self.DATA)
            assert store.at(NetworkXStore(self.DATA)).entities("a", 1)
            store.close()


@pytest.mark.parametrize("server", ["neo4j_5", "neo4j_current"], indirect=True)
def test_many_entities_load_in_time(server: Neo4jServer, stores: list[Neo4jStore]) -> None:
    """Under 15 s where nothing else runs (eval/results/graph_stores.json); here other tests may."""
    data: GraphData = random_graph(10_000, 40_000)
    stores.append(store := store_at(server, "many"))
    start = time.monotonic()
    store.sync(data)
    assert time.monotonic() - start < 45
    assert counts(server, "many") == (len(data.entities), len(data.relations))
