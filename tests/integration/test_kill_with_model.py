"""kill -9 while a language model writes summaries: no request is made twice whose reply had arrived."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from core.ledger import Ledger
from tests.support.library_contract import SAMPLES
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
KILLS = 10
ARRIVED_S = 0.1  # a reply that was sent so long before the kill had time to arrive and be kept

PROGRAM = """
import asyncio, sys
from pathlib import Path
from core.settings import load_settings
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES

async def main():
    llm = {"base_url": sys.argv[2], "model": "m"}
    app = build(load_settings(library=Path(sys.argv[1]), llm=llm, ingest={"summaries": "llm"}), HashEmbedder())
    print("open", flush=True)
    for sample in SAMPLES:
        await app.add_document(str(sample))
    await app.aclose()

asyncio.run(main())
"""


@pytest.mark.timeout(300)
async def test_ten_kills_pay_for_no_reply_twice(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()
    sent: dict[str, list[float]] = defaultdict(list)

    def script(request: Request) -> Scripted:
        section = request.body["messages"][0]["content"].rpartition("<section>")[2]
        asked[section] += 1
        time.sleep(0.25)
        sent[section].append(time.monotonic())
        first = section.partition("[1] ")[2].partition("\n")[0]
        return answer(json.dumps({"sentences": [{"text": first, "rests_on": [1]}]}))

    dice, kills = random.Random(7), []
    with LLMServer(script) as server:

        def start() -> subprocess.Popen[str]:
            arguments = [sys.executable, "-c", PROGRAM, str(tmp_path / "library"), server.url]
            return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)

        for _ in range(KILLS):
            process = start()
            assert process.stdout is not None
            await asyncio.to_thread(process.stdout.readline)
            await asyncio.sleep(dice.uniform(0.3, 1.0))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                kills.append(time.monotonic())
            process.wait()
        assert await asyncio.to_thread(start().wait) == 0

    assert len(kills) >= 8
    for section, times in sent.items():
        for earlier in times[:-1]:  # it was asked for again: then a kill fell into the moment of its arrival
            assert any(earlier - 0.3 < kill < earlier + ARRIVED_S for kill in kills), section[:80]
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'library' / 'ledger.db'}")
    written = [s for d in ledger.documents() for s in ledger.summaries_of(d.id) if s.section]
    assert len(ledger.documents()) == len(SAMPLES)
    assert {summary.written_by for summary in written} == {"llm"}
    assert len(asked) == len(written)
    ledger.close()
