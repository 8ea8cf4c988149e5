"""The servers that the graph's tests need are the releases that they say they are."""

from __future__ import annotations

import neo4j
import pytest

from tests.support.neo4j_server import Neo4jServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(700)]  # Maven fetches 150 MB the first time


def _agent(server: Neo4jServer) -> str:
    with neo4j.GraphDatabase.driver(server.url) as driver:
        return driver.get_server_info().agent


def test_the_oldest_release(neo4j_4: Neo4jServer) -> None:
    assert _agent(neo4j_4) == "Neo4j/4.4.48"


def test_5(neo4j_5: Neo4jServer) -> None:
    assert _agent(neo4j_5) == "Neo4j/5.26.30"


def test_the_current_release(neo4j_current: Neo4jServer) -> None:
    assert _agent(neo4j_current) == "Neo4j/2026.09.0"
