"""Batches of texts of about one length: what is padded to the longest of a batch wastes least."""

from __future__ import annotations

from collections.abc import Sequence


def size_of(text: str) -> int:
    """Bytes of UTF-8, which go with tokens in all scripts (3 to 4 a token of XLM-R), where characters do not."""
    return len(text.encode())


def by_length(sizes: Sequence[int], batch_size: int) -> list[list[int]]:
    """The places 0 to n-1 in batches, the longest first; inside of a batch, and among equals, in their order."""
    order = sorted(range(len(sizes)), key=lambda place: -sizes[place])
    return [sorted(order[start : start + batch_size]) for start in range(0, len(order), batch_size)]
