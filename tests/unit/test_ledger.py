"""The ledger on SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import InvalidInput, LibraryError
from core.ledger import Ledger
from tests.support.ledger_contract import LedgerContract


class TestOnSqlite(LedgerContract):
    @pytest.fixture
    def ledger_url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path / 'ledger.db'}"

    def test_dialect_and_pragmas(self, ledger: Ledger) -> None:
        assert ledger.dialect == "sqlite"
        with ledger._engine.connect() as connection:
            read = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "foreign_keys", "busy_timeout")
            }
        assert read["journal_mode"] == "wal" and read["foreign_keys"] == 1 and read["busy_timeout"] >= 1000


@pytest.mark.parametrize("keep", [0, 4096])
def test_a_corrupt_file_is_refused(tmp_path: Path, keep: int) -> None:
    """keep: bytes of a good file in front of the bad ones."""
    file = tmp_path / "ledger.db"
    Ledger.open(f"sqlite:///{file}").close()
    file.write_bytes(file.read_bytes()[:keep] + b"\xff" * 50_000)
    with pytest.raises(LibraryError) as caught:
        Ledger.open(f"sqlite:///{file}")
    assert caught.value.hint


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LibraryError):
        Ledger.open(f"sqlite:///{tmp_path / 'missing' / 'ledger.db'}")


@pytest.mark.parametrize(
    "url",
    [
        "s3cret",
        "postgresql://me:s3cret@127.0.0.1:s3cret/db",
        "postgresql://me:half@s3cret@127.0.0.1:1/db",
        "postgresql://me:s3/s3cret@127.0.0.1:1/db",
        "oracle+s3cret://me:s3cret@127.0.0.1/db",
    ],
)
def test_an_unusable_url_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises((InvalidInput, LibraryError)) as caught:
        Ledger.open(url)
    assert "s3cret" not in caught.value.message + caught.value.hint
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
