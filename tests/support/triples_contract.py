"""What a ledger does with triples on any database; a part of tests.support.ledger_contract."""

from __future__ import annotations

from core.graph import Triple
from core.ledger import Ledger
from core.ledger.triples import Extraction
from core.types import Chunk, Document, Span


def a_triple(chunk: Chunk, subject: str = "Ünïcode 模型", **changes: object) -> Triple:
    values: dict[str, object] = {
        "id": f"{chunk.id}-{subject}",
        "document_id": chunk.document_id,
        "chunk_id": chunk.id,
        "subject": subject,
        "subject_type": "model",
        "relation": "USES",
        "wording": "uses \"'`{}",
        "object": "😀 x",
        "quote": "q\nr",
        "spans": (Span(page=1, start=0, end=2), Span(page=2, start=0, end=1)),
        "confidence": 0.5,
        "extracted_by": "llm",
        "is_citation": True,
    }
    return Triple.model_validate(values | changes)


def triples_come_back_and_are_replaced(ledger: Ledger, first: Chunk, second: Chunk) -> None:
    """Of two parents of two documents, both ready."""
    triples = ledger.triples
    one, two, other = a_triple(first), a_triple(first, "b"), a_triple(second)
    assert triples.store(first, Extraction("m v1", "truncated", (one, two), {"no quote": 2}))
    assert triples.store(second, Extraction("rules@1", triples=(other,)))
    assert triples.all() == sorted([one, two, other], key=lambda t: (t.document_id, t.chunk_id, t.id))
    assert triples.all([second.document_id]) == [other] and triples.all([]) == []
    assert triples.by_id([two.id, "gone", one.id]) == [two, one]
    assert triples.of_chunks([first.id]) == sorted([one, two], key=lambda t: t.id)
    assert triples.read() == {first.id: ("m v1", "truncated"), second.id: ("rules@1", "ok")}
    assert triples.extractors() == {"m v1": 1, "rules@1": 1}
    assert (triples.dropped(), triples.count()) == ({"no quote": 2}, 3)

    assert triples.store(first, Extraction("m v2", triples=(two,)))
    assert triples.all([first.document_id]) == [two]
    assert triples.read([first.document_id]) == {first.id: ("m v2", "ok")}
    assert triples.dropped([first.document_id]) == {}


def triples_go_with_their_document(ledger: Ledger, document: Document, chunk: Chunk) -> None:
    """And with a reading of it that came to other chunks."""
    ledger.triples.store(chunk, Extraction("m", triples=(a_triple(chunk),)))
    assert not ledger.triples.store(chunk.model_copy(update={"id": "gone"}), Extraction("m"))
    ledger.store_parse(document, [], [chunk], {})
    assert (ledger.triples.all(), ledger.triples.read()) == ([], {})
    ledger.triples.store(chunk, Extraction("m", triples=(a_triple(chunk),)))
    ledger.delete_document(document.id)
    assert (ledger.triples.count(), ledger.triples.read()) == (0, {})
    assert not ledger.triples.store(chunk, Extraction("m", triples=(a_triple(chunk),)))
    assert ledger.triples.count() == 0
