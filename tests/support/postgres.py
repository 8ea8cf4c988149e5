"""A throw-away PostgreSQL server for tests, from the server programs that this machine has."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest

USER = "quaere"
_numbers = count(1)


@dataclass(frozen=True)
class PostgresServer:
    port: int

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def fresh_database(self) -> Iterator[str]:
        """The URL of an empty database, which is dropped at the end."""
        name = f"test_{next(_numbers)}"
        self._administer(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield self.url(name)
        finally:
            self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    def _administer(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # a fixed name and a number, nothing from outside


def server_programs() -> Path | None:
    """The folder that holds initdb and pg_ctl: the newest of Debian's, else the one on PATH; None without any."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(debian, key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0)
    if newest:
        return newest[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """Skips where no server is installed; fails instead when QUAERE_REQUIRE_ALL=1."""
    programs = server_programs()
    if programs is None:
        missing("PostgreSQL's server programs (initdb, pg_ctl) are not installed")
    # Straight under /tmp: others may enter it, and a socket's path must stay under 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="quaere-pg-", dir="/tmp"))
    try:
        with _started(programs, folder) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def missing(reason: str) -> NoReturn:
    if os.environ.get("QUAERE_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def _started(programs: Path, folder: Path) -> Iterator[PostgresServer]:
    account = _account()
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data, port = folder / "data", free_port()
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    _run(account, folder, programs / "initdb", "-D", data, "-U", USER, "-E", "UTF8", "--locale=C", "-A", "trust", "-N")
    control = (programs / "pg_ctl", "-D", data, "-w")
    _run(account, folder, *control, "-l", folder / "log", "-o", options, "start")
    try:
        yield PostgresServer(port)
    finally:
        _run(account, folder, *control, "-m", "immediate", "stop")


def _account() -> pwd.struct_passwd | None:
    """Whom to run as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    account = names.get("postgres") or names.get("nobody")
    if account is None:
        missing("PostgreSQL refuses to run as root, and there is no account 'postgres' or 'nobody'")
    return account


def _run(account: pwd.struct_passwd | None, folder: Path, *command: str | Path) -> None:
    """In `folder`, because the account may not enter ours. Output goes to a file: a pipe would outlive pg_ctl."""
    become = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(folder)}
    with (folder / "output").open("w+") as output:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=60,
            **become,  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            output.seek(0)
            log = folder / "log"
            raise RuntimeError(f"{command[0]} failed: {output.read()}{log.read_text() if log.exists() else ''}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
