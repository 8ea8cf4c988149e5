"""The ledger on a real PostgreSQL server: the same tests as on SQLite, and the server's own failures."""

from __future__ import annotations

import pytest

from core.errors import LibraryError
from core.ledger import Ledger
from tests.support.ledger_contract import LedgerContract
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration


class TestOnPostgres(LedgerContract):
    @pytest.fixture
    def ledger_url(self, postgres_url: str) -> str:
        return postgres_url

    def test_dialect(self, ledger: Ledger) -> None:
        assert ledger.dialect == "postgresql"


def test_an_unreachable_server_is_named_without_the_password() -> None:
    with pytest.raises(LibraryError, match="refused") as caught:
        Ledger.open("postgresql://me:s3cret@127.0.0.1:1/db")
    assert caught.value.hint
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_a_database_that_is_not_there(postgres: PostgresServer) -> None:
    with pytest.raises(LibraryError, match="does not exist") as caught:
        Ledger.open(postgres.url("missing").replace("quaere@", "quaere:s3cret@"))
    assert "s3cret" not in caught.value.message + caught.value.hint
