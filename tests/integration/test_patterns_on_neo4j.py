"""Generated patterns on real Neo4j servers: they and the matcher find the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import neo4j
import pytest

from graph.cypher.parser import read_cypher
from graph.patterns.matcher import Matcher
from tests.support.graph_patterns import (
    CREATE_EDGES,
    CREATE_NODES,
    MultiGraph,
    QueryWriter,
    RawWriter,
    Run,
    answered,
    edge_rows,
    node_rows,
    random_graph,
    relations_of,
)
from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(700)]  # Maven fetches 150 MB the first time

_SEEDS, _GRAPHS, _QUERIES, _RAW = range(4), 5, 26, 10  # 720 patterns in all; planning takes most of the time


@contextmanager
def _session(server: Neo4jServer) -> Iterator[neo4j.Session]:
    with neo4j.GraphDatabase.driver(server.url) as driver, driver.session() as session:
        yield session


def _holding(session: neo4j.Session, graph: MultiGraph[str]) -> Run:
    session.run("MATCH (n) DETACH DELETE n").consume()
    session.run(CREATE_NODES, rows=node_rows(graph)).consume()
    session.run(CREATE_EDGES, rows=edge_rows(graph)).consume()

    def run(text: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        return session.execute_read(lambda transaction: transaction.run(text, dict(parameters)).data())

    return run


def _compare(server: Neo4jServer, seed: int, graphs: int = _GRAPHS) -> None:
    rng = random.Random(seed)
    with _session(server) as session:
        for _ in range(graphs):
            graph = random_graph(rng)
            matcher, run = Matcher(graph), _holding(session, graph)
            for _ in range(_QUERIES):
                writer = QueryWriter(rng)
                text = writer.query()
                pattern = read_cypher(text, writer.parameters)
                documents = rng.choice((None, None, {"d1"}, set()))
                limit = rng.choice((3, 1000))
                keys = rng.choice((None, matcher.of))
                mine = matcher.match(pattern, limit=limit, documents=documents)
                assert mine == answered(run, pattern, limit=limit, documents=documents, keys=keys), text[:2000]
            for _ in range(_RAW):
                raw = RawWriter(rng)
                text = raw.query()
                found = matcher.match(read_cypher(text), limit=1000)
                assert set(found.relations) == relations_of(run, raw.returned), text
        session.run("MATCH (n) DETACH DELETE n").consume()


def test_the_oldest_neo4j_and_the_matcher_find_the_same(neo4j_4: Neo4jServer) -> None:
    """The first 72 of the patterns that the others get; when it was added it agreed on all 720."""
    _compare(neo4j_4, seed=0, graphs=2)


@pytest.mark.parametrize("seed", _SEEDS)
def test_neo4j_5_and_the_matcher_find_the_same(neo4j_5: Neo4jServer, seed: int) -> None:
    _compare(neo4j_5, seed)


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_current_neo4j_and_the_matcher_find_the_same(neo4j_current: Neo4jServer, seed: int) -> None:
    _compare(neo4j_current, seed)
