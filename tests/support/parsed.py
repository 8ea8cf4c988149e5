"""What a parsed document holds, in a form that tests can compare."""

from __future__ import annotations

from ingest.pdf import ParsedDocument


def blocks(parsed: ParsedDocument) -> list[tuple[str, str]]:
    """(kind, text) of each block; every block's span lies within its page."""
    texts = {page.number: page.text for page in parsed.pages}
    assert all(0 <= b.span.start < b.span.end <= len(texts[b.span.page]) for b in parsed.blocks)
    return [(b.kind, texts[b.span.page][b.span.start : b.span.end]) for b in parsed.blocks]


def page_texts(parsed: ParsedDocument) -> list[str]:
    assert [page.number for page in parsed.pages] == list(range(1, len(parsed.pages) + 1))
    return [page.text for page in parsed.pages]


def anchors(parsed: ParsedDocument) -> list[list[str]]:
    return [[anchor.name for anchor in page.anchors] for page in parsed.pages]
