"""What reading, chunking and fusing give over the plainest search of the same files, with the same embedder.

    python -m eval.windows --questions FILE --library DIR PDF …

The plain search cuts each page's text, as pdfium gives it, into windows of 800 characters, and fuses dense and BM25 by
rank (k = 60); the library is asked through the tools. Both hand over five passages. One JSON object on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.ports import Embedder
from core.settings import load_settings
from core.terms import tokenise
from core.types import Passage, Span
from eval.gold import judged
from eval.questions import Question, read_questions
from eval.rates import interval, rate
from eval.retrieval import HITS_AT, measure
from mcp_tools.library import Library
from quaere.build import build
from quaere.providers import embedder_of
from retrieval.fusion import reciprocal_rank_fusion
from retrieval.postings import Postings

WINDOW = 800
CANDIDATES = 40


def windows(files: Sequence[Path]) -> list[Passage]:
    """Of every page, in order; the last one of a page is shorter."""
    import pypdfium2

    found: list[Passage] = []
    for file in files:
        pdf = pypdfium2.PdfDocument(file)
        for number in range(len(pdf)):
            text = pdf[number].get_textpage().get_text_bounded()
            for start in range(0, len(text), WINDOW):
                piece = text[start : start + WINDOW]
                found.append(
                    Passage(
                        chunk_id=str(len(found)),
                        document_id=file.name,
                        document=file.name,
                        title="",
                        page=number + 1,
                        text=piece,
                        spans=(Span(page=number + 1, start=start, end=start + len(piece)),),
                        best_child=piece,
                        score=0,
                    )
                )
        pdf.close()
    return found


class PlainSearch:
    def __init__(self, found: Sequence[Passage], embedder: Embedder) -> None:
        self._windows = found
        self._embedder = embedder
        self._vectors = np.concatenate(
            [embedder.passages([w.text for w in found[at : at + 8]]) for at in range(0, len(found), 8)]
        )
        self._postings = Postings()
        for window in found:
            self._postings.add(window.chunk_id, window.document, tokenise(window.text))

    def search(self, question: str) -> list[Passage]:
        similar = self._vectors @ self._embedder.query(question)
        dense = [str(at) for at in np.argsort(-similar, kind="stable")[:CANDIDATES]]
        lexical = [item for item, _ in self._postings.search(tokenise(question), CANDIDATES, ())]
        fused = reciprocal_rank_fusion({"dense": dense, "bm25": lexical}, {}, 60)
        return [self._windows[int(item)] for item in list(fused)[:HITS_AT]]


def plain_rates(questions: Sequence[Question], search: PlainSearch) -> dict[str, Any]:
    outcomes = [judged(question, search.search(question.question)) for question in questions]
    hits = {
        "page_hit_at_5": [outcome.page_rank is not None for outcome in outcomes],
        "quote_hit_at_5": [outcome.quote_rank is not None for outcome in outcomes if outcome.has_quotes],
    }
    return {name: rate(values) for name, values in hits.items()} | {
        "intervals": {name: interval(values) for name, values in hits.items()}
    }


async def run(questions: Path, folder: Path, files: Sequence[Path]) -> dict[str, Any]:
    asked = read_questions(questions)
    settings = load_settings(library=folder)
    found = windows(files)
    plain = plain_rates(asked.answerable, PlainSearch(found, embedder_of(settings.embedder)))
    async with Library(folder, lambda: asyncio.to_thread(build, settings)) as library:
        product = await measure(library, asked)
    levels = {"page": "page_hit_at_5", "quote": "quote_hit_at_5"}
    misses = {
        level: round((1 - plain[name]) / (1 - getattr(product, name)), 2) if getattr(product, name) < 1 else None
        for level, name in levels.items()
    }
    return {
        "n": product.n,
        "windows": {"count": len(found), **plain},
        "library": {name: getattr(product, name) for name in levels.values()},
        "times_fewer_misses": misses,
        "setup": product.setup.model_dump(mode="json"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("files", type=Path, nargs="+", help="the library's PDF files")
    options = parser.parse_args()
    print(json.dumps(asyncio.run(run(options.questions, options.library, options.files)), indent=1))


if __name__ == "__main__":
    main()
