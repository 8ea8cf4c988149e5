"""kill -9 at random moments of an ingestion, each followed by the same command: the end is as if there was none."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, settings_for

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
KILLS = 10
BATCH = 4

PROGRAM = """
import asyncio, sys, time
from pathlib import Path
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, settings_for

class Slow(HashEmbedder):
    def passages(self, texts):
        time.sleep(0.2)
        return super().passages(texts)

async def main():
    app = build(settings_for(Path(sys.argv[1])), Slow(log=Path(sys.argv[2])))
    print("open", flush=True)
    for sample in SAMPLES:
        await app.add_document(str(sample))
    await app.aclose()

asyncio.run(main())
"""


def start(folder: Path, log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(log)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.timeout(300)
async def test_ten_kills_leave_no_trace(tmp_path: Path) -> None:
    log = tmp_path / "embedded"
    killed = settings_for(tmp_path / "killed")
    dice = random.Random(11)
    kills = 0
    for _ in range(KILLS):
        process = start(killed.library, log)
        assert process.stdout is not None
        process.stdout.readline()  # opened: from here on it works on documents
        await asyncio.sleep(dice.uniform(0.0, 0.5))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.wait()
    assert start(killed.library, log).wait() == 0

    whole = settings_for(tmp_path / "whole")
    uninterrupted = build(whole, HashEmbedder())
    for sample in SAMPLES:
        await uninterrupted.add_document(str(sample))
    survivor = build(killed, HashEmbedder())
    assert contents(survivor, killed) == contents(uninterrupted, whole)
    await survivor.aclose()
    await uninterrupted.aclose()

    # Stored embeddings are never computed again; a kill loses at most the batch in flight.
    repeats = sum(count - 1 for count in Counter(log.read_text().split()).values())
    assert kills >= 3 and repeats <= kills * BATCH
