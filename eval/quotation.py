"""How often an answer by quotation cites the right page and holds the answer's key terms.

    python -m eval.quotation --questions papers4_open.jsonl --library DIR

One JSON object on stdout. A line of the question file has `question`, `type`, `lang`, `answer_keys` (each a string or a
list of accepted ones) and `evidence` (each with `doc`, `page`); type `unanswerable` has neither keys nor evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
import unicodedata
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from core.settings import load_settings
from core.types import Answer
from mcp_tools.client import ToolClient
from mcp_tools.library import Library
from mcp_tools.server import make_server
from quaere.build import build


def key_in(key: str | list[str], text: str) -> bool:
    """Whether a key term, or one of its accepted forms, stands in the text and is not cut out of a longer number."""
    folded = _folded(text)
    for form in [key] if isinstance(key, str) else key:
        pattern = re.escape(_folded(form))
        before = r"(?<![\da-z.,])" if form[0].isdigit() else r"(?<![a-z])" if form[0].isascii() else ""
        after = r"(?![\d]|[.,]\d)" if form[-1].isdigit() else ""
        if re.search(before + pattern + after, folded):
            return True
    return False


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).replace("–", "-").replace("’", "'").strip().lower()


def judged(row: dict[str, Any], answer: Answer, ms: float) -> dict[str, Any]:
    """One question's outcome: right page among the cited, share of key terms in the text."""
    gold = {(e["doc"], e["page"]) for e in row["evidence"]}
    cited = {(citation.document, page.page) for citation in answer.citations for page in citation.highlights}
    keys = [key_in(key, answer.text) for key in row["answer_keys"]]
    return {
        "question": row["question"],
        "type": row["type"],
        "lang": row["lang"],
        "none": answer.written_by == "none",
        "page_cited": bool(gold & cited),
        "keys": sum(keys) / len(keys) if keys else None,
        "ms": round(ms, 1),
    }


def report(rows: list[dict[str, Any]]) -> dict[str, Any]:
    answerable = [row for row in rows if row["type"] != "unanswerable"]
    return {
        "n": len(answerable),
        "page_cited": _mean(answerable, "page_cited"),
        "key_terms": _mean(answerable, "keys"),
        "answerable_refused": _mean(answerable, "none"),
        "unanswerable_refused": _mean([row for row in rows if row["type"] == "unanswerable"], "none"),
        "ms_median": median(row["ms"] for row in rows),
        "page_cited_by_language": _by(answerable, "lang"),
        "page_cited_by_type": _by(answerable, "type"),
        "per_question": rows,
    }


def _mean(rows: list[dict[str, Any]], field: str) -> float | None:
    return round(sum(row[field] for row in rows) / len(rows), 3) if rows else None


def _by(rows: list[dict[str, Any]], field: str) -> dict[str, float | None]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[field]].append(row)
    return {name: _mean(group, "page_cited") for name, group in sorted(groups.items())}


async def run(questions: Path, folder: Path) -> dict[str, Any]:
    settings = load_settings(library=folder)
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]  # noqa: ASYNC240
    found = []
    async with (
        Library(folder, lambda: asyncio.to_thread(build, settings)) as library,
        ToolClient(make_server(library)) as tools,
    ):
        for row in rows:
            start = time.perf_counter()
            answer = await tools.ask(row["question"], policy="quote")
            found.append(judged(row, answer, (time.perf_counter() - start) * 1000))
    return report(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(run(options.questions, options.library)), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
