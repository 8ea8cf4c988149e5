"""Resolution in a ledger on a real PostgreSQL server."""

from __future__ import annotations

import pytest

from tests.support.entities_contract import EntitiesContract

pytestmark = pytest.mark.integration


class TestOnPostgres(EntitiesContract):
    @pytest.fixture
    def ledger_url(self, postgres_url: str) -> str:
        return postgres_url
