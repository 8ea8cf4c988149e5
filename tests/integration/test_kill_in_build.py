"""kill -9 while a graph is built: the next build goes on, and no reply is paid for twice that had arrived."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from core.ledger import Ledger
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
KILLS = 8

PROGRAM = """
import asyncio, sys
from pathlib import Path
from core.settings import load_settings
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES

async def main():
    llm = {"base_url": sys.argv[2], "model": "m", "max_concurrency": 2}
    app = build(load_settings(library=Path(sys.argv[1]), llm=llm), HashEmbedder())
    if sys.argv[3] == "add":
        for sample in SAMPLES:
            await app.add_document(str(sample))
    else:
        print("open", flush=True)
        report = await app.build_graph(by="llm")
        print(report.model_dump_json(), flush=True)
    await app.aclose()

asyncio.run(main())
"""


@pytest.mark.timeout(300)
async def test_kills_pay_for_no_reply_twice_and_lose_nothing(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def script(request: Request) -> Scripted:
        passage = request.body["messages"][0]["content"].rpartition("<passage>\n")[2].rpartition("\n</passage>")[0]
        asked[passage] += 1
        time.sleep(0.2)
        quote = max((line for line in passage.split("\n") if line), key=len)
        words = [word.strip(".,()") for word in quote.split() if word[:1].isupper() and len(word) > 3]
        stated = {"subject": words[0], "relation": "USES", "object": words[-1], "quote": quote} if words else {}
        return answer(json.dumps({"triples": [stated]}))

    dice, kills = random.Random(11), 0
    library = tmp_path / "library"
    with LLMServer(script) as server:

        def start(task: str) -> subprocess.Popen[str]:
            arguments = [sys.executable, "-c", PROGRAM, str(library), server.url, task]
            return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)

        assert await asyncio.to_thread(start("add").wait) == 0
        assert asked == Counter()
        for _ in range(KILLS):
            process = start("build")
            assert process.stdout is not None
            await asyncio.to_thread(process.stdout.readline)
            await asyncio.sleep(dice.uniform(0.3, 0.9))
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
            _is_whole(library)
        last = start("build")
        output, _ = await asyncio.to_thread(last.communicate)
        assert last.returncode == 0
        report = json.loads(output.splitlines()[-1])

    assert kills >= 5
    # A kill loses what was under way, two requests at most; everything else is asked once.
    assert sum(asked.values()) - len(asked) <= 2 * kills
    assert report["stopped"] == "" and report["failed"] == 0
    ledger = Ledger.open(f"sqlite:///{library / 'ledger.db'}")
    readable = ledger.triples.readable()
    assert set(ledger.triples.read()) == {chunk.id for chunk in readable}
    assert set(ledger.triples.extractors()) == {report["extractor"]}
    assert {triple.extracted_by for triple in ledger.triples.all()} == {"llm"}
    ledger.close()


def _is_whole(library: Path) -> None:
    """After a kill every passage has the triples of one extractor, the one that says it read it."""
    ledger = Ledger.open(f"sqlite:///{library / 'ledger.db'}")
    read = ledger.triples.read()
    assert ledger.audit().orphans() == {}
    for triple in ledger.triples.all():
        assert read[triple.chunk_id][0].startswith("rules@") == (triple.extracted_by == "rules")
    ledger.close()
