from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from core.errors import CorruptDocument, InvalidInput, PasswordNeeded, QuaereError
from core.settings import IngestSettings
from ingest import sandbox
from ingest.pdf import parse_pdf
from ingest.sandbox import parse_in_child
from tests.support.pdfs import lines, pdf, raw_pdf

PROSE = ["A heron stands in the shallow water.", "It may wait for an hour."]


def test_the_document_is_the_same_as_without_a_child(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", lines(PROSE), lambda _: None, lines(["Ein Ende"]))
    seen: list[tuple[int, int]] = []
    parsed = parse_in_child(path, "pdf", IngestSettings(), on_page=lambda done, total: seen.append((done, total)))
    assert parsed == parse_pdf(path, 10)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_our_errors_cross_the_border(tmp_path: Path) -> None:
    path = pdf(tmp_path / "secret.pdf", lines(PROSE), password="open sesame")
    with pytest.raises(PasswordNeeded, match=r"secret\.pdf is encrypted") as error:
        parse_in_child(path, "pdf", IngestSettings())
    assert error.value.hint
    assert parse_in_child(path, "pdf", IngestSettings(), password="open sesame").pages[0].text
    with pytest.raises(InvalidInput, match="3 pages, more than the 2 allowed"):
        parse_in_child(pdf(tmp_path / "b.pdf", *[lines(PROSE)] * 3), "pdf", IngestSettings(max_pages=2))


def test_a_document_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", lines(PROSE))
    with pytest.raises(InvalidInput, match=r"a\.pdf could not be read within 0\.01 s") as error:
        parse_in_child(path, "pdf", IngestSettings(max_seconds=0.01))
    assert "MAX_SECONDS" in error.value.hint


def test_a_document_that_takes_too_much_memory_is_refused(tmp_path: Path) -> None:
    content = zlib.compress(b"0 0 m 1 1 l 2 2 l S\n" * 20_000_000, 6)
    path = raw_pdf(tmp_path / "bomb.pdf", content, filters="/FlateDecode")
    start = time.monotonic()
    with pytest.raises(QuaereError, match=r"bomb\.pdf") as error:
        parse_in_child(path, "pdf", IngestSettings(max_memory_mb=256, max_seconds=20))
    assert error.value.hint
    assert time.monotonic() - start < 25


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_reader_that_dies_is_a_corrupt_document(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = f"import os; os.kill(os.getpid(), {int(number)})"
    monkeypatch.setattr(sandbox, "COMMAND", ("-c", program))
    with pytest.raises(CorruptDocument, match=rf"a\.pdf made its reader stop \({number.name}\)") as error:
        parse_in_child(pdf(tmp_path / "a.pdf", lines(PROSE)), "pdf", IngestSettings())
    assert error.value.hint


def test_a_callback_that_fails_ends_the_child(tmp_path: Path) -> None:
    def on_page(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parse_in_child(pdf(tmp_path / "a.pdf", *[lines(PROSE)] * 3), "pdf", IngestSettings(), on_page=on_page)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for the child in /proc")
def test_the_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The parent stops at the first page, while the child goes on; then it is killed and the child must be gone."""
    path = pdf(tmp_path / "a.pdf", *[lines(PROSE * 20)] * 3)
    program = (
        "import sys, time; from pathlib import Path; from core.settings import IngestSettings\n"
        "from ingest import sandbox\n"
        "start = sandbox._start\n"
        "def started():\n    child = start(); print(child.pid, flush=True); time.sleep(60)\n"
        "sandbox._start = started\n"
        f"sandbox.parse_in_child(Path({str(path)!r}), 'pdf', IngestSettings())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = Path("/proc") / parent.stdout.readline().decode().strip()
        assert child.is_dir()
        parent.kill()
    deadline = time.monotonic() + 10
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_the_child_starts_without_heavy_libraries() -> None:
    program = "import sys, ingest.sandbox; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    heavy = {"chromadb", "gradio", "fastmcp", "openai", "pydantic_settings", "pdfminer", "PIL", "sqlalchemy"}
    assert heavy & set(done.stdout.split()) == set()
