"""What a library of many short documents costs: time to add, list, search, ask and remove, and size on disk.

    python -m eval.many --documents 2000 [--embedder auto|hash] [--parse-here]

One JSON object on stdout. The documents are made up, each a Markdown file of one page. `hash` puts hashed words in
the embedder's place: then the times are the library's own. `--parse-here` leaves out the child process that each
document is otherwise parsed in, which costs the same for the first and the last.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from core.ports import Embedder, Vectors
from core.settings import IngestSettings, load_settings
from core.terms import tokenise
from core.types import DocumentFormat
from ingest.formats.reader import READERS
from ingest.pdf import ParsedDocument
from quaere.app import App
from quaere.build import build

_DIMENSION = 384
_SUBJECTS = "The survey|A second trial|The committee|Every station|This model|The northern team|A later audit"
_VERBS = "measured|reported|rejected|compared|described|repeated|estimated"
_OBJECTS = "the tides|the yield|a bridge|two harbours|the error rate|its cost|the training time|a vaccine"


class HashedWords:
    """Words hashed to a vector: fast, and the same everywhere."""

    fingerprint = f"hashed words/{_DIMENSION}"
    sparse = None

    def passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        vector = np.full(_DIMENSION, 1e-3, dtype=np.float32)
        for term in tokenise(text):
            vector[int.from_bytes(hashlib.sha256(term.encode()).digest()[:4]) % _DIMENSION] += 1
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def write_documents(folder: Path, count: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(folder / f"note-{n:05}.md", n) for n in range(count)]


def _written(path: Path, n: int) -> Path:
    dice = random.Random(n)

    def sentence() -> str:
        who, did, what = (dice.choice(words.split("|")) for words in (_SUBJECTS, _VERBS, _OBJECTS))
        return f"{who} {did} {what} in {1900 + dice.randrange(120)} and found {dice.randrange(10_000)} of kind k{n}."

    parts = [" ".join(sentence() for _ in range(5)) for _ in range(3)]
    path.write_text(f"# Note {n}\n\n{parts[0]}\n\n## Method\n\n{parts[1]}\n\n## Results\n\n{parts[2]}\n")
    return path


async def measured(count: int, embedder: Embedder | None, folder: Path) -> dict[str, Any]:
    """Adds, lists, searches, asks, checks, removes half; times in ms, medians."""
    files = write_documents(folder / "notes", count)
    settings = load_settings(library=folder / "library")
    app = build(settings, embedder)
    found: dict[str, Any] = {"documents": count, "embedder": (await app.health()).embedder}
    found["add_ms"] = _by_place([await _ms(partial(app.add_document, str(file))) for file in files])
    found |= await _asked(app, count)
    found["library_mb"] = _megabytes(settings.library)
    await app.aclose()
    start = time.perf_counter()
    app = build(settings, embedder)
    found["open_again_ms"] = _rounded(time.perf_counter() - start)
    held = await app.list_documents()
    removed = [await _ms(partial(app.remove_document, document.id)) for document in held[::2]]
    found["remove_ms"] = _by_place(removed)
    found["check_after_half_removed"] = await _checked(app)
    found["library_mb_after"] = _megabytes(settings.library)
    found["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    await app.aclose()
    return found


async def _asked(app: App, count: int) -> dict[str, Any]:
    some = [f"note-{n:05}.md" for n in range(0, count, max(count // 20, 1))]
    question = f"What did the survey measure of kind k{count // 2}?"

    async def median(call: Callable[[], Awaitable[object]]) -> float:
        return statistics.median([await _ms(call) for _ in range(5)])

    hits = (await app.search_passages(f"kind k{count // 2}")).passages
    return {
        "list_ms": await median(app.list_documents),
        "health_ms": await median(app.health),
        "search_ms": await median(lambda: app.search_passages(question)),
        "search_in_20_ms": await median(lambda: app.search_passages(question, documents=some)),
        "ask_ms": await median(lambda: app.ask(question)),
        "the_right_note_is_found": hits[0].document == f"note-{count // 2:05}.md",
        "check": await _checked(app),
    }


async def _checked(app: App) -> dict[str, Any]:
    start = time.perf_counter()
    report = await app.check()
    return {"ms": _rounded(time.perf_counter() - start), "findings": [f.model_dump() for f in report.findings]}


async def _ms(call: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await call()
    return _rounded(time.perf_counter() - start)


def _by_place(times: Sequence[float]) -> dict[str, float]:
    """Medians of the first and last twentieth, but of 10 at least, and of tenths between; and the whole in seconds."""
    width = max(len(times) // 20, 10)
    places = {f"{at}": times[max(at - width, 0) : at] for at in range(width, len(times) + 1, max(len(times) // 10, 1))}
    medians = {place: round(statistics.median(some), 1) for place, some in places.items()}
    return medians | {"last": round(statistics.median(times[-width:]), 1), "all_s": round(sum(times) / 1000, 1)}


def _rounded(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _megabytes(folder: Path) -> dict[str, float]:
    sizes = {"ledger": 0, "chroma": 0, "files": 0}
    for file in folder.rglob("*"):
        part = file.relative_to(folder).parts[0].split(".")[0]
        if file.is_file() and part in sizes:
            sizes[part] += file.stat().st_size
    return {part: round(size / 1e6, 2) for part, size in sizes.items()}


def _parsed(path: Path, kind: DocumentFormat, limits: IngestSettings, **_: object) -> ParsedDocument:
    return READERS[kind](path, limits.max_pages)


def parsing_here() -> AbstractContextManager[object]:
    return patch("ingest.pipeline.parse_in_child", _parsed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--embedder", choices=("auto", "hash"), default="auto")
    parser.add_argument("--parse-here", action="store_true")
    given = parser.parse_args()
    where = parsing_here() if given.parse_here else nullcontext()
    with tempfile.TemporaryDirectory() as folder, where:
        embedder = HashedWords() if given.embedder == "hash" else None
        found = asyncio.run(measured(given.documents, embedder, Path(folder)))
    json.dump(found | {"parsed_in": "this process" if given.parse_here else "a child each"}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
