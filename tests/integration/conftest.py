"""Fixtures of the tests that need a real part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.support.ledger_contract")

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
