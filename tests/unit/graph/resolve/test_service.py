"""Resolution in a ledger on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.entities_contract import EntitiesContract


class TestOnSqlite(EntitiesContract):
    @pytest.fixture
    def ledger_url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'ledger.db'}"
