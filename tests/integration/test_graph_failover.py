"""A hundred questions while a real Neo4j is killed, started, paused and resumed: each is answered, and rightly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from core.graph import GraphData
from core.settings import GraphSettings
from graph.cypher.parser import read_cypher
from graph.stores.failover import Graph
from graph.stores.neo4j_store import Neo4jStore
from graph.stores.networkx_store import NetworkXStore
from graph.stores.store import GraphStore
from tests.support.graphs import random_graph
from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(700)]

ONE, TWO = random_graph(200, 800, seed=1), random_graph(200, 820, seed=1)
QUESTIONS = 100


class Asked(NamedTuple):
    right: bool
    backend: str
    degraded: str
    seconds: float


class Scene:
    def __init__(self, server: Neo4jServer, timeout_s: float = 4) -> None:
        self.server = server
        self.data: GraphData = ONE
        settings = GraphSettings(neo4j_url=server.url, timeout_s=timeout_s)
        self.graph = Graph(lambda: self.data, Neo4jStore(settings, "failover"))
        self.asked: list[Asked] = []

    def ask(self) -> Asked:
        query = _questions(len(self.asked))
        start = time.monotonic()
        found = self.graph.ask(query)
        seconds = time.monotonic() - start
        expected = query(NetworkXStore(self.data))
        self.asked.append(Asked(found.value == expected, found.backend, found.degraded, seconds))
        return self.asked[-1]

    def ask_until(self, backend: str, within_s: float) -> None:
        end = time.monotonic() + within_s
        while self.ask().backend != backend:
            assert time.monotonic() < end, self.asked[-1]
            time.sleep(0.2)


class _Question(NamedTuple):
    number: int

    def __call__(self, store: GraphStore) -> object:
        ids = [entity.id for entity in ONE.entities]
        one, other = ids[self.number % len(ids)], ids[-1 - self.number % len(ids)]
        match self.number % 4:
            case 0:
                return store.neighbourhood([one], 2, 40)
            case 1:
                return store.paths(one, other, 3, 10)
            case 2:
                return store.entities(f"entity {self.number}", 5)
            case _:
                return store.match(read_cypher(f'MATCH (a {{name: "Entity {self.number + 10}"}})-[r]-(b) RETURN b'), 50)


def _questions(number: int) -> _Question:
    return _Question(number)


@pytest.fixture
def server(neo4j_5: Neo4jServer) -> Iterator[Neo4jServer]:
    neo4j_5.start()
    yield neo4j_5
    neo4j_5.resume()
    neo4j_5.start()


@pytest.fixture
def scene(server: Neo4jServer) -> Iterator[Scene]:
    scene = Scene(server)
    yield scene
    scene.graph.close()


def test_killed_paused_and_started_again(scene: Scene) -> None:
    scene.graph.update()
    for _ in range(15):
        assert scene.ask().backend == "neo4j"

    scene.server.kill()
    for _ in range(15):
        assert scene.ask().backend == "networkx"
    assert all("refused" in each.degraded and "since" in each.degraded for each in scene.asked[-14:])
    scene.data = TWO  # it comes back with an old graph
    scene.server.start()
    scene.ask_until("neo4j", 60)
    for _ in range(10):
        assert scene.ask().backend == "neo4j"

    scene.server.pause()
    paused = [scene.ask() for _ in range(15)]
    assert {each.backend for each in paused} == {"networkx"}
    assert paused[0].seconds > 1 and sum(each.seconds for each in paused[1:]) < 2, "the breaker is open"
    assert "answer" in paused[-1].degraded
    assert scene.graph.health().startswith("networkx (neo4j at bolt://127.0.0.1")
    scene.server.resume()
    scene.ask_until("neo4j", 60)

    scene.server.stop()
    scene.data = ONE
    assert scene.ask().backend == "networkx"
    scene.server.start()
    scene.ask_until("neo4j", 60)
    while len(scene.asked) < QUESTIONS:
        assert scene.ask().backend == "neo4j"

    assert [each for each in scene.asked if not each.right] == []
    assert all(bool(each.degraded) == (each.backend == "networkx") for each in scene.asked)
    assert scene.graph.health() == f"neo4j {scene.server.release.version} at {scene.server.url}"


def test_a_server_that_is_down_at_the_start_is_used_once_it_is_up(scene: Scene) -> None:
    scene.server.stop()
    for _ in range(3):
        assert scene.ask().backend == "networkx"
    scene.server.start()
    scene.ask_until("neo4j", 60)
    assert all(each.right for each in scene.asked)


def test_connections_that_died_while_they_were_idle(server: Neo4jServer) -> None:
    """A server that was started again between two questions costs nobody the answer, and no switch."""
    scene = Scene(server, timeout_s=30)  # a server that has just started is slow
    scene.graph.update()
    assert scene.ask().backend == "neo4j"
    scene.server.kill()
    scene.server.start()
    first = scene.ask()
    assert first.backend == "neo4j" and first.right, first
    scene.graph.close()
