"""From a stretch of a passage to a citation: page, verbatim quote, boxes to highlight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.pictured import boxes_of, figure_of
from core.ledger import Ledger
from core.text import sentences, spans_within
from core.types import Citation, PageBoxes, Passage


@dataclass(frozen=True)
class Sentence:
    """Characters start to end of a passage's text, which is what can be cited."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]


def sentences_of(passages: Sequence[Passage], shortest: int = 12) -> list[Sentence]:
    """All sentences in the order of the passages, page numbers and other crumbs left out, no text twice."""
    seen: set[str] = set()
    found = []
    for passage in passages:
        for start, end in sentences(passage.text):
            text = passage.text[start:end]
            if len(text.strip()) >= shortest and text not in seen:
                seen.add(text)
                found.append(Sentence(passage, start, end))
    return found


def cite(sentence: Sentence, number: int, ledger: Ledger) -> Citation:
    """The citation of a sentence. Its quote is read from the stored page, so it is verbatim by construction."""
    passage, owner = sentence.passage, sentence.passage.document_id
    spans = spans_within(passage.spans, sentence.start, sentence.end)
    pages = {span.page: ledger.page(owner, span.page) for span in spans}
    quote = "\n".join(pages[span.page].text[span.start : span.end] for span in spans)
    highlights = tuple(
        PageBoxes(page=span.page, boxes=boxes_of(pages[span.page], span, ledger.tables_of(owner, span.page)))
        for span in spans
    )
    boxes = [(part.page, box) for part in highlights for box in part.boxes]
    return Citation(
        number=number,
        document_id=owner,
        document=passage.document,
        title=passage.title,
        page=spans[0].page,
        anchor=pages[spans[0].page].anchor_at(spans[0].start),
        section=passage.section,
        quote=quote,
        spans=spans,
        highlights=highlights,
        ocr=any(page.ocr for page in pages.values()),
        figure=figure_of(quote, spans, boxes, passage.spans, ledger.figures_of(owner, pictures=False)),
    )
