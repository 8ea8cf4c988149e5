"""Chunks: parents within a section for reading, children of whole sentences inside them for finding."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.text import sentences, text_of
from core.types import Block, Chunk, Span
from ingest.pdf import ParsedDocument

SEPARATOR = " › "
_SMALL_SHARE = 0.3  # a section shorter than this share of a parent joins the one before it


@dataclass
class _Section:
    path: tuple[str, ...]
    reference: bool
    spans: list[Span] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(span.end - span.start for span in self.spans)


def chunk_document(
    document_id: str, sha256: str, parsed: ParsedDocument, child_chars: int, parent_chars: int
) -> tuple[list[Chunk], list[Chunk]]:
    """(parents, children), each in the order of the text; every block is in exactly one parent and one child.

    A chunk's text is the text of its spans, one line end between two (core.text.text_of), so it can be cited.
    """
    texts = {page.number: page.text for page in parsed.pages}
    maker = _Maker(document_id, sha256, texts)
    parents, children = [], []
    for section in _sections(parsed.blocks, texts, parent_chars):
        for spans in _packed(_cut(section.spans, texts, parent_chars), parent_chars):
            if not re.search(r"\w", text_of(_merged(spans), texts)):
                continue
            parent = maker.make("parent", len(parents), section, spans)
            parents.append(parent)
            for part in _packed(_cut(spans, texts, child_chars), child_chars):
                if re.search(r"\w", text_of(_merged(part), texts)):
                    children.append(maker.make("child", len(children), section, part, parent.id))
    return parents, children


@dataclass(frozen=True)
class _Maker:
    document_id: str
    sha256: str
    texts: dict[int, str]

    def make(self, level: str, position: int, section: _Section, spans: Sequence[Span], parent: str = "") -> Chunk:
        merged = _merged(spans)
        text = text_of(merged, self.texts)
        return Chunk(
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.sha256}:{level}:{position}:{text}")),
            document_id=self.document_id,
            parent_id=parent,
            position=position,
            section=SEPARATOR.join(section.path),
            text=text,
            spans=tuple(merged),
            is_reference=section.reference,
        )


def _sections(blocks: Sequence[Block], texts: dict[int, str], parent_chars: int) -> list[_Section]:
    """Blocks by section; a heading opens one and is its first span. Tiny sections of one kind are merged."""
    found: list[_Section] = []
    path: list[tuple[int, str]] = []
    for block in blocks:
        text = texts[block.span.page][block.span.start : block.span.end]
        reference = block.kind == "reference"
        if block.kind == "heading":
            path = [(level, name) for level, name in path if level < block.level] + [(block.level, text)]
        names = tuple(name for _, name in path)
        if not found or block.kind == "heading" or found[-1].reference != reference:
            small = found and found[-1].size < _SMALL_SHARE * parent_chars and not reference
            if small and not found[-1].reference:
                found[-1].path = names
            else:
                found.append(_Section(names, reference))
        found[-1].spans.append(block.span)
    return found


def _cut(spans: Sequence[Span], texts: dict[int, str], limit: int) -> list[Span]:
    """Spans no longer than `limit` where possible, cut between sentences; a longer sentence is cut at a blank."""
    found: list[Span] = []
    for span in spans:
        if span.end - span.start <= limit * 0.75:
            found.append(span)
            continue
        text = texts[span.page][span.start : span.end]
        borders = [start for start, _ in sentences(text)][1:] + [len(text)]
        start = 0
        for border in borders:
            for cut in [*_long_cuts(text, start, border, limit), border]:
                found.append(Span(page=span.page, start=span.start + start, end=span.start + cut))
                start = cut
    return found


def _long_cuts(text: str, start: int, end: int, limit: int) -> list[int]:
    cuts = []
    while end - start > limit:
        blank = text.rfind(" ", start + limit // 2, start + limit)
        start = blank + 1 if blank > 0 else start + limit
        cuts.append(start)
    return cuts


def _packed(spans: Sequence[Span], limit: int) -> list[list[Span]]:
    """Neighbours put together up to `limit` characters, evenly, so that no crumb is left at the end."""
    total = sum(span.end - span.start for span in spans)
    parts = max(1, -(-total // limit))
    target = min(limit, total / parts * 1.08 + 20)
    found: list[list[Span]] = []
    size = 0
    for span in spans:
        length = span.end - span.start
        if not found or (size and size + length > target):
            found.append([])
            size = 0
        found[-1].append(span)
        size += length
    return found


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Spans of one page that touch, or that one line end parts, as one; blanks at a span's end are kept out."""
    found: list[Span] = []
    for span in spans:
        last = found[-1] if found else None
        if last and last.page == span.page and 0 <= span.start - last.end <= 1:
            found[-1] = Span(page=last.page, start=last.start, end=span.end)
        else:
            found.append(span)
    return found
