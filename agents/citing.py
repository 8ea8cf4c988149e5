"""From a stretch of a passage to a citation: page, verbatim quote, boxes to highlight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.ledger import Ledger
from core.text import line_boxes, sentences, spans_within
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
    passage = sentence.passage
    spans = spans_within(passage.spans, sentence.start, sentence.end)
    pages = {span.page: ledger.page(passage.document_id, span.page) for span in spans}
    return Citation(
        number=number,
        document_id=passage.document_id,
        document=passage.document,
        title=passage.title,
        page=spans[0].page,
        anchor=pages[spans[0].page].anchor_at(spans[0].start),
        section=passage.section,
        quote="\n".join(pages[span.page].text[span.start : span.end] for span in spans),
        spans=spans,
        highlights=tuple(
            PageBoxes(page=span.page, boxes=line_boxes(pages[span.page], span.start, span.end)) for span in spans
        ),
        ocr=any(page.ocr for page in pages.values()),
    )
