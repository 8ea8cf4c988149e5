"""What triples a reader finds in one document: how many are kept, how many dropped and why, and at what cost.

    python -m eval.triples PAPER.pdf --chunks 12 --save eval/results/graph_minimax.json
    python -m eval.triples PAPER.pdf --rules

The model is the extract role's of the settings (QUAERE_LLM__BASE_URL, QUAERE_LLM__MODEL). One JSON object on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from core.errors import LLMNotConfigured
from core.graph import Triple
from core.ledger.triples import Extraction
from core.llm import LLMs
from core.settings import ChunkSettings, Settings, load_settings
from core.spending import account
from core.text import sentences
from core.types import Chunk, Usage
from graph.extraction.extract_llm import LLMReader
from graph.extraction.extract_rules import extract, words_of, worth_reading
from ingest.chunk import chunk_document
from ingest.pdf import parse_pdf

Read = Callable[[Chunk], Awaitable[Extraction]]
_ID = "00000000-0000-0000-0000-000000000000"


def passages(file: Path) -> list[Chunk]:
    """The parents of a PDF that have something to read, without its list of references."""
    sizes = ChunkSettings()
    parents, _ = chunk_document(_ID, "0", parse_pdf(file, 1000), sizes.child_chars, sizes.parent_chars)
    return [chunk for chunk in parents if not chunk.is_reference and worth_reading(chunk)]


async def measured(
    read_one: Read, chunks: Sequence[Chunk], within_s: float = float("inf")
) -> tuple[list[Extraction], list[float], Usage]:
    """What each passage gave, the seconds it took, and what all of them cost; none is begun after `within_s`."""
    read: list[Extraction] = []
    seconds: list[float] = []
    with account() as spent:
        for number, chunk in enumerate(chunks, 1):
            if sum(seconds) > within_s:
                break
            start = time.perf_counter()
            read.append(await read_one(chunk))
            seconds.append(time.perf_counter() - start)
            print(f"{number}/{len(chunks)}: {len(read[-1].triples)} kept, {seconds[-1]:.1f} s", file=sys.stderr)
    return read, seconds, spent.usage


def report(read: Sequence[Extraction], seconds: Sequence[float], usage: Usage) -> dict[str, Any]:
    triples = [triple for extraction in read for triple in extraction.triples]
    ends = {end for t in triples for end in ((t.subject, t.subject_type), (t.object, t.object_type))}
    dropped: Counter[str] = Counter()
    for extraction in read:
        dropped.update(extraction.dropped)
    return {
        "extractor": read[0].extractor if read else "",
        "passages": len(read),
        "truncated": sum(extraction.outcome == "truncated" for extraction in read),
        "kept": len(triples),
        "dropped": dict(dropped.most_common()),
        "kept_of_stated": round(len(triples) / max(1, len(triples) + dropped.total()), 3),
        "quotes_of_several_sentences": sum(len(sentences(triple.quote)) > 1 for triple in triples),
        "names": len({name for name, _ in ends}),
        "typed": dict(sorted((name, kind) for name, kind in ends if kind)),
        "relations": dict(Counter(triple.relation for triple in triples).most_common()),
        "seconds": {"all": round(sum(seconds), 2), "longest": round(max(seconds, default=0), 2)},
        "usage": usage.model_dump(),
        "triples": [_line(triple) for triple in triples],
    }


def _line(triple: Triple) -> str:
    sure = "" if triple.confidence == 1 else f" ({triple.confidence:g})"
    return f"{triple.subject} | {triple.relation} | {triple.object}{sure}"


async def by_model(chunks: Sequence[Chunk], passes: int, within_s: float, settings: Settings) -> dict[str, Any]:
    llms = LLMs(settings.llm, None)
    llm = llms.of("extract")
    if llm is None:
        raise LLMNotConfigured("no language model is set", hint="set QUAERE_LLM__BASE_URL and _MODEL, or --rules")
    reader = LLMReader(llm, passes)
    read, seconds, usage = await measured(reader.read, chunks, within_s)
    found = report(read, seconds, usage)
    await llms.aclose()
    prompts, replies = reader.tokens(chunks[: len(read)])
    return {**found, "estimated": {"prompt_tokens": prompts, "completion_tokens": replies}}


async def by_rules(chunks: Sequence[Chunk]) -> dict[str, Any]:
    vocabulary = words_of([chunk.text for chunk in chunks])

    async def read_one(chunk: Chunk) -> Extraction:
        return extract(chunk, vocabulary)

    return report(*await measured(read_one, chunks))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--chunks", type=int, default=0, help="passages from the beginning; 0: all")
    parser.add_argument("--passes", type=int, choices=(1, 2), default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no passage after that")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--save", type=Path)
    asked = parser.parse_args()
    chunks = passages(asked.file)[: asked.chunks or None]
    work = by_rules(chunks) if asked.rules else by_model(chunks, asked.passes, asked.seconds, load_settings())
    text = json.dumps({"document": asked.file.name, **asyncio.run(work)}, ensure_ascii=False, indent=1)
    if asked.save:
        asked.save.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
