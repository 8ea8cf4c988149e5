"""Fixtures of the tests that need a real part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.support.ledger_contract")

from tests.support.neo4j_server import CURRENT, NEO4J_4, NEO4J_5, Neo4jServer, running_neo4j  # noqa: E402
from tests.support.postgres import PostgresServer, running_server  # noqa: E402 - after the rewrite is asked for


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A fresh, empty database."""
    with postgres.fresh_database() as url:
        yield url


@pytest.fixture(scope="session")
def neo4j_4() -> Iterator[Neo4jServer]:
    """Of the oldest releases that the store works with. Runs for the whole session."""
    with running_neo4j(NEO4J_4) as server:
        yield server


@pytest.fixture(scope="session")
def neo4j_5() -> Iterator[Neo4jServer]:
    """Runs for the whole session: a test that stops it starts it again."""
    with running_neo4j(NEO4J_5) as server:
        yield server


@pytest.fixture(scope="session")
def neo4j_current() -> Iterator[Neo4jServer]:
    """Runs for the whole session: a test that stops it starts it again."""
    with running_neo4j(CURRENT) as server:
        yield server
