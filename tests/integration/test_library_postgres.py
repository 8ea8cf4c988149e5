"""Removal on PostgreSQL is as exact as on SQLite."""

from pathlib import Path

import pytest

from tests.support.library_contract import removal_is_exact
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.integration


async def test_removal_is_exact(tmp_path: Path, postgres: PostgresServer) -> None:
    with postgres.fresh_database() as one, postgres.fresh_database() as other:
        await removal_is_exact(tmp_path, (one, other))
