"""kill -9 in each stage of adding, removing and reindexing, then the same again: the end is as if there was none.

The program kills itself just before or just after a step, each time at the next one, so that no stage is left to luck.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.killing import run
from tests.support.library_contract import contents, settings_for

pytestmark = pytest.mark.integration
NOTE = "\n\n".join(
    f"# Part {n}\n\nStation {n} of the harbour was read at noon for {n + 7} days. Gauge-{n} uses WaveEncoder."
    for n in range(6)
)
ADDING = [
    ("ingest.pipeline.Ingestor", "take"),
    ("ingest.pipeline", "parse_in_child"),
    ("ingest.pipeline.Ingestor", "_keep"),
    ("core.ledger.Ledger", "store_parse"),
    ("tests.support.embedder.HashEmbedder", "passages"),
    ("core.ledger.Ledger", "store_embeddings"),
    ("core.ledger.triples.Triples", "store"),
    ("core.ledger.Ledger", "store_summaries"),
    ("core.ledger.Ledger", "publish"),
    ("retrieval.dense_chroma.ChromaIndex", "_add"),
    ("retrieval.bm25.Bm25Index", "sync"),
]
REMOVING = [
    ("core.ledger.Ledger", "delete_document"),
    ("retrieval.dense_chroma.ChromaIndex", "_delete"),
    ("pathlib.Path", "unlink"),
]
REINDEXING = [
    ("core.ledger.Ledger", "store_embeddings"),
    ("retrieval.dense_chroma.ChromaIndex", "_add"),
    ("retrieval.dense_chroma.ChromaIndex", "rebuild"),
    ("core.ledger.Ledger", "set_meta"),
]


def write(folder: Path) -> Path:
    for n, name in enumerate(("one.md", "two.md")):
        (folder / name).write_text(f"# Number {n}\n\nThis is the file that counts as number {n} of two.\n\n{NOTE}\n")
    return folder


def killed_everywhere(folder: Path, task: str, steps: list[tuple[str, str]]) -> None:
    codes = [run(folder, task, *step, moment) for step in steps for moment in ("before", "after")]
    # What an earlier run has done is not done again, and so not every moment comes.
    assert codes.count(-signal.SIGKILL) >= len(steps) and set(codes) <= {0, -signal.SIGKILL}
    assert run(folder, task) == 0


async def same(folder: Path, names: tuple[str, ...], embedder: HashEmbedder) -> None:
    """What is there is what a library holds that never was interrupted."""
    killed, whole = settings_for(folder / "library"), settings_for(folder / f"whole-{os.urandom(4).hex()}")
    survivor, uninterrupted = build(killed, embedder), build(whole, embedder)
    for name in names:
        await uninterrupted.add_document(str(folder / name))
    assert (await survivor.check()).findings == ()
    assert contents(survivor, killed) == contents(uninterrupted, whole)
    await survivor.aclose()
    await uninterrupted.aclose()


@pytest.mark.timeout(600)
async def test_a_kill_in_each_stage_leaves_no_trace(tmp_path: Path) -> None:
    folder = write(tmp_path)
    killed_everywhere(folder, "add", ADDING)
    await same(folder, ("one.md", "two.md"), HashEmbedder())
    for step in REMOVING:
        for moment in ("before", "after"):
            assert run(folder, "remove", *step, moment) == -signal.SIGKILL
            assert run(folder, "remove") == 0
            await same(folder, ("one.md",), HashEmbedder())
            assert run(folder, "add") == 0
    for step in REINDEXING:
        for moment in ("before", "after"):
            run(folder, "reindex", *step, moment)
    assert run(folder, "reindex") == 0
    app = build(settings_for(folder / "library"), HashEmbedder("other", size=96))
    assert (await app.check()).findings == ()
    await app.aclose()
