"""Opening a ledger's database: dialect, pragmas, migrations, and errors that name no password."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Engine, create_engine, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    NotSupportedError,
    ProgrammingError,
)

from core.errors import InvalidInput, LibraryError

MIGRATIONS = Path(__file__).parent / "migrations"
_ALEMBIC = threading.Lock()  # its context is global to the process
_HINTS = (  # of SQLite's words and PostgreSQL's
    ("disk is full", "free some space on the library's disk, then try again: what is stored is kept"),
    ("no space left", "free some space on the database's disk, then try again: what is stored is kept"),
    ("readonly", "the library can't be written to: make its folder and disk writable, then try again"),
    ("read-only", "the library can't be written to: make its folder and disk writable, then try again"),
    ("locked", "another program holds the library's ledger.db: close it, then try again"),
    ("malformed", "run `quaere check`"),
    ("not a database", "run `quaere check`"),
)
_HINT = ("check that the database server runs, then try again", "check the library's disk and folder, then try again")
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
    event.listen(engine, "handle_error", _as_library_error)
    return engine


def _as_library_error(context: ExceptionContext) -> None:
    """What a person can do something about, as a LibraryError, from wherever in the ledger it came."""
    error = context.sqlalchemy_exception
    if not isinstance(error, DBAPIError) or context.is_pre_ping:
        return
    if isinstance(error, IntegrityError | ProgrammingError | DataError | NotSupportedError):
        return  # a fault of ours, which the log has to show whole
    reason = _reason(error)
    dialect = context.dialect.name
    hint = next((hint for words, hint in _HINTS if words in reason.lower()), _HINT[dialect == "sqlite"])
    failure = LibraryError(f"the ledger ({dialect}) failed: {reason}", hint=hint)
    failure.retryable = dialect != "sqlite" or "locked" in reason
    raise failure from None


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
