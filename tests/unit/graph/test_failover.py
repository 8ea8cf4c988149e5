"""Which store answers, and what is said of it, over a scripted database; real ones are in tests/integration."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from core.graph import GraphData
from core.settings import GraphSettings
from graph.stores.failover import Breaker, Graph
from graph.stores.neo4j_load import Loaded
from graph.stores.neo4j_store import Neo4jStore
from graph.stores.networkx_store import NetworkXStore
from graph.stores.store import GraphStore, StoreError, StoreOutdated, StoreUnavailable
from tests.support.graphs import graph_of, said

ONE = graph_of(said("a", "R", "b"))
TWO = graph_of(said("a", "R", "b"), said("a", "R", "c"))
DOWN = StoreUnavailable("Connection refused", hint="start it")


class Scripted(Neo4jStore):
    """A database that holds what was loaded and answers like NetworkX, until `failure` is set."""

    def __init__(self) -> None:
        super().__init__(GraphSettings(neo4j_url="bolt://user:s3cret@127.0.0.1:1"), "library")
        self.failure: StoreError | None = None
        self.held: GraphData | None = None
        self.asked = 0
        self.loads = 0
        self.loaded = threading.Event()

    @property
    def server(self) -> str:
        return "neo4j 5.26.30"

    def sync(self, data: GraphData) -> Loaded | None:
        self.loads += 1
        try:
            if self.failure:
                raise self.failure
            self.held = data
            return None
        finally:
            self.loaded.set()

    def at(self, local: NetworkXStore) -> GraphStore:  # type: ignore[override]
        self.asked += 1
        if self.failure:
            raise self.failure
        if self.held is None or self.held.version != local.version:
            raise StoreOutdated("it does not hold this version of the graph yet")
        return NetworkXStore(self.held)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Scene:
    def __init__(self) -> None:
        self.data = ONE
        self.clock = Clock()
        self.database = Scripted()
        self.graph = Graph(lambda: self.data, self.database, Breaker(self.clock))

    def ask(self) -> tuple[int, str, str]:
        found = self.graph.ask(
            lambda store: len(store.neighbourhood([ONE.entities[0].id, ONE.entities[1].id], 1, 9).relations)
        )
        return found.value, found.backend, found.degraded

    def after_a_load(self, seconds: float = 0) -> None:
        """Wait for the load that a question is to start."""
        self.clock.now += seconds
        self.database.loaded.clear()
        self.ask()
        assert self.database.loaded.wait(5)
        self.graph._catching_up.join(5)  # type: ignore[union-attr]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_without_a_database_networkx_answers_and_nothing_is_degraded() -> None:
    graph = Graph(lambda: ONE)
    found = graph.ask(lambda store: len(store.entities("a", 5)))
    assert (found.value, found.backend, found.degraded) == (1, "networkx", "")
    assert graph.health() == graph.update() == "networkx"


def test_a_new_database_is_loaded_behind_the_first_question(scene: Scene) -> None:
    scene.after_a_load()
    assert scene.ask() == (1, "neo4j", "")
    assert scene.graph.health() == "neo4j 5.26.30 at bolt://127.0.0.1:1"


def test_one_that_is_out_of_date_does_not_answer(scene: Scene) -> None:
    scene.graph.update()
    scene.data = TWO
    value, backend, degraded = scene.ask()
    assert (value, backend) == (2, "networkx") and "does not hold this version" in degraded
    scene.after_a_load() if scene.database.held is not TWO else None
    assert scene.ask() == (2, "neo4j", "")


def test_one_that_is_down_is_not_asked_again_before_its_time(scene: Scene) -> None:
    scene.graph.update()
    scene.database.failure = DOWN
    value, backend, degraded = scene.ask()
    assert (value, backend) == (1, "networkx")
    assert "Connection refused" in degraded and "since" in degraded and "s3cret" not in degraded
    asked, loads = scene.database.asked, scene.database.loads
    for _ in range(20):
        assert scene.ask()[:2] == (1, "networkx")
    assert (scene.database.asked, scene.database.loads) == (asked, loads)


def test_it_is_tried_less_and_less_and_used_again_once_it_is_back(scene: Scene) -> None:
    scene.graph.update()
    scene.database.failure = DOWN
    scene.ask()
    for wait in (0.6, 1.1, 2.1):
        scene.clock.now += wait / 2
        loads = scene.database.loads
        scene.ask()
        assert scene.database.loads == loads
        scene.after_a_load(wait / 2)
    health = scene.graph.health()
    assert health.startswith("networkx (neo4j at bolt://127.0.0.1:1 can't be used since ") and "refused" in health
    scene.database.failure = None
    scene.after_a_load(40)
    assert scene.ask() == (1, "neo4j", "")


def test_one_query_that_fails_is_answered_here_and_the_next_one_there(scene: Scene) -> None:
    scene.graph.update()
    scene.database.failure = StoreError("the query took longer than 5 s")
    value, backend, degraded = scene.ask()
    assert (value, backend) == (1, "networkx") and "longer than 5 s" in degraded
    scene.database.failure = None
    assert scene.ask() == (1, "neo4j", "")


def test_an_error_of_the_query_itself_is_raised(scene: Scene) -> None:
    def broken(_: GraphStore) -> None:
        raise ValueError("mine")

    for ready in (False, True):
        if ready:
            scene.graph.update()
        with pytest.raises(ValueError, match="mine"):
            scene.graph.ask(broken)


def test_an_answer_comes_with_its_version_in_networkx(scene: Scene) -> None:
    calls: list[Callable[[], None]] = []
    found = scene.graph.ask(lambda store: calls.append(lambda: None))
    assert found.local.version == ONE.version


def test_update_brings_it_up_to_date_at_once(scene: Scene) -> None:
    assert scene.graph.update() == "neo4j 5.26.30 at bolt://127.0.0.1:1"
    scene.database.failure = DOWN
    assert "Connection refused" in scene.graph.update()
