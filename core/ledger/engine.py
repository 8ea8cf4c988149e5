"""Opening a ledger's database: dialect, pragmas, migrations, and errors that name no password."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from core.errors import InvalidInput, LibraryError

MIGRATIONS = Path(__file__).parent / "migrations"
_ALEMBIC = threading.Lock()  # its context is global to the process
_MIGRATING = 7_190_223_001  # PostgreSQL's advisory lock: one process migrates, the others wait


def open_engine(url: str) -> Engine:
    """An engine on the migrated database. Raises InvalidInput (not a usable URL) and LibraryError."""
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.host and "@" in parsed.host:
            raise ValueError("the rest of a password, which an error about the host would show")
        engine = create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError):
        raise InvalidInput(
            "the ledger's URL can't be used",
            hint="e.g. postgresql://user:password@host/database, with @ : / in the password as %40 %3A %2F; "
            "empty is SQLite",
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _sqlite_pragmas)
    try:
        _migrate(engine)
    except DBAPIError as error:
        engine.dispose()
        raise LibraryError(
            f"the ledger ({engine.dialect.name}) can't be opened: {_reason(error)}",
            hint="check that the server runs and the address and password are right"
            if engine.dialect.name != "sqlite"
            else "check the library folder's permissions and free space, or choose another with --library",
        ) from None
    except CommandError:
        engine.dispose()
        raise LibraryError(
            "the library was written by a newer version of Quaere", hint="update Quaere, or choose another library"
        ) from None
    return engine


def _migrate(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with _ALEMBIC, engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _sqlite_pragmas(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _reason(error: DBAPIError) -> str:
    """The driver's first line, which names no password."""
    return (str(error.orig).strip().splitlines() or ["unknown"])[0][:200]
