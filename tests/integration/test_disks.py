"""Libraries on disks that are full or can't be written to: the error says so, and nothing that was there is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from core.errors import LibraryError
from core.settings import Settings
from quaere.app import App
from quaere.build import build
from tests.integration.test_cli import quaere
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, settings_for

pytestmark = pytest.mark.integration
MB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB, in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a small disk can't be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Everything but so many bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
        file.truncate(max(file.tell() - leave, 0))
    return ballast


async def added(settings: Settings) -> App:
    app = build(settings, HashEmbedder())
    await app.add_document(str(SAMPLES[0]))
    return app


@pytest.mark.parametrize("leave", [0, 128 << 10, 256 << 10])
async def test_adding_to_a_full_disk(disk: Path, tmp_path: Path, leave: int) -> None:
    """Wherever it ends: at the file, in the ledger, or in the vectors."""
    settings, whole = settings_for(disk / "library"), settings_for(tmp_path / "whole")
    app, fresh = await added(settings), await added(whole)
    assert contents(app, settings) == contents(fresh, whole)
    ballast = fill(disk, leave)
    with pytest.raises(LibraryError) as failed:
        for sample in SAMPLES[1:]:
            await app.add_document(str(sample))
    assert failed.value.exit_code == 6 and "space" in failed.value.hint, failed.value
    answer = await app.ask("How does HeronNet compare with Egret-2 three hours ahead?")
    assert answer.citations
    ballast.unlink()
    for sample in SAMPLES[1:]:
        await app.add_document(str(sample))
        await fresh.add_document(str(sample))
    assert (await app.check()).findings == ()
    held, wanted = contents(app, settings), contents(fresh, whole)
    del held["incoming"], wanted["incoming"]  # a job that failed keeps its file, to be tried again
    assert held == wanted
    await app.aclose()
    await fresh.aclose()


def test_the_command_line_on_a_full_disk(disk: Path) -> None:
    library = disk / "library"
    assert quaere(library, "add", str(SAMPLES[0])).returncode == 0
    ballast = fill(disk)
    for command in (("add", str(SAMPLES[1])), ("ask", "What is HeronNet?")):
        said = quaere(library, *command)
        assert said.returncode == 6 or (command[0] == "ask" and said.returncode == 0), said.stderr
        assert "Traceback" not in said.stderr
    ballast.unlink()
    assert quaere(library, "add", str(SAMPLES[1])).returncode == 0
    assert quaere(library, "check").returncode == 0


def test_a_library_that_can_not_be_written_to(disk: Path) -> None:
    library = disk / "library"
    assert quaere(library, "add", str(SAMPLES[0])).returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for command in (("add", str(SAMPLES[1])), ("ask", "What is HeronNet?"), ("list",)):
        said = quaere(library, *command)
        assert said.returncode == 6, said
        assert "Read-only file system" in said.stderr and "Traceback" not in said.stderr
        assert str(library) in said.stderr and "--library" in said.stderr
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert quaere(library, "ask", "What is HeronNet?").returncode == 0


async def test_a_locked_ledger(tmp_path: Path) -> None:
    app = await added(settings_for(tmp_path / "library"))
    engine = app._ledger._engine
    with engine.connect() as other:
        other.execute(text("BEGIN IMMEDIATE"))
        with engine.connect() as connection, pytest.raises(LibraryError, match="locked") as failed:
            connection.execute(text("PRAGMA busy_timeout = 1"))
            connection.execute(text("DELETE FROM traces"))
    assert "close it" in failed.value.hint and failed.value.retryable
    await app.aclose()
