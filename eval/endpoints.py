"""How a language-model endpoint does on 50 structured extractions, and how near the token estimate is to its counts.

python -m eval.endpoints --url http://127.0.0.1:8089/v1 --model qwen-1.5b samples/*.pdf > result.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from core.errors import LLMError, LLMTruncated
from core.llm import LLM, Message
from core.llm.tokens import estimate
from core.settings import ChunkSettings, Endpoint
from core.spending import account
from ingest.chunk import chunk_document
from ingest.pdf import parse_pdf

ASKED = """List up to three facts that the text states, each as subject, relation and object in the text's words.

Example
<text>The trial ran in Oslo and enrolled 412 patients.</text>
{{"facts": [{{"subject": "the trial", "relation": "ran in", "object": "Oslo"}},
{{"subject": "the trial", "relation": "enrolled", "object": "412 patients"}}]}}

<text>{text}</text>"""


class Fact(BaseModel):
    subject: str = Field(min_length=1, max_length=200)
    relation: str = Field(min_length=1, max_length=200)
    object: str = Field(min_length=1, max_length=300)


class Facts(BaseModel):
    facts: list[Fact] = Field(min_length=1, max_length=3)


async def extractions(llm: LLM, texts: Sequence[str]) -> dict[str, Any]:
    """Structured replies that validate, and what went wrong with the others."""
    start, valid, facts, wrong = time.perf_counter(), 0, 0, defaultdict[str, int](int)
    with account() as spent:
        for text in texts:
            try:
                value, _ = await llm.structured([Message("user", ASKED.format(text=text))], Facts, max_tokens=300)
            except LLMError as error:
                wrong[error.code] += 1
                continue
            valid += 1
            facts += len(value.facts)
    return {
        "n": len(texts),
        "valid": valid,
        "wrong": dict(wrong),
        "facts": facts,
        "asked_by": llm.mode,
        "seconds": round(time.perf_counter() - start, 1),
        "usage": spent.usage.model_dump(),
    }


async def estimates(llm: LLM, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By kind of text: the estimate over the endpoint's own count of prompt tokens."""
    bare = await _counted(llm, "")
    counted, estimated, lowest = (
        defaultdict[str, int](int),
        defaultdict[str, int](int),
        defaultdict[str, float](lambda: 9),
    )
    for row in rows:
        real = await _counted(llm, row["text"]) - bare
        ours = estimate(row["text"])
        counted[row["kind"]] += real
        estimated[row["kind"]] += ours
        lowest[row["kind"]] = min(lowest[row["kind"]], round(ours / real, 3))
    return {
        kind: {"tokens": counted[kind], "ratio": round(estimated[kind] / counted[kind], 3), "lowest": lowest[kind]}
        for kind in counted
    }


async def _counted(llm: LLM, text: str) -> int:
    with account() as spent, suppress(LLMTruncated):  # one token is enough: the count is that of the prompt
        await llm.complete([Message("user", f"x {text}")], max_tokens=1)
    return spent.usage.prompt_tokens


def passages(files: Sequence[Path], n: int) -> list[str]:
    """The first n child chunks of 200 characters and more of the files' text."""
    found: list[str] = []
    sizes = ChunkSettings()
    for file in files:
        _, children = chunk_document("d", "d", parse_pdf(file, 1000), sizes.child_chars, sizes.parent_chars)
        found += [child.text for child in children if len(child.text) >= 200 and not child.is_reference]
    return found[:n]


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    texts = passages(options.files, options.n)
    llm = LLM(Endpoint(base_url=options.url, model=options.model, read_timeout_s=600, max_tokens=300))
    try:
        found = {"model": options.model, "server": options.server, "extractions": await extractions(llm, texts)}
        if options.texts:
            rows = [json.loads(line) for line in options.texts.read_text(encoding="utf-8").splitlines()]
            found["token_estimate"] = await estimates(llm, rows)
    finally:
        await llm.aclose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="PDF files whose text is extracted from")
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--server", default="", help="what serves it, for the record")
    parser.add_argument("-n", type=int, default=50, help="extractions")
    parser.add_argument("--texts", type=Path, help="JSON lines of kind and text, to compare token counts on")
    print(json.dumps(asyncio.run(measure(parser.parse_args())), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
