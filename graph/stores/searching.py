"""Entities by what somebody calls them: how like a name is, the same in every store."""

from __future__ import annotations

from collections.abc import Sequence

from graph.folding import fold

_UNLIKE = 4


def query_key(text: str) -> str:
    """As names are compared, without blanks at its ends or rows of them."""
    return " ".join(fold(text).split())


def likeness(names: Sequence[str], wanted: str) -> int | None:
    """Of an entity's folded names with what is wanted: 0 one is the same, 1 begins with it, 2 holds it, 3 holds all
    its words; None for none of these."""
    words = wanted.split()
    best = min((_likeness(name, wanted, words) for name in names), default=_UNLIKE)
    return None if best == _UNLIKE else best


def _likeness(name: str, wanted: str, words: Sequence[str]) -> int:
    if name == wanted:
        return 0
    if name.startswith(wanted):
        return 1
    if wanted in name:
        return 2
    return 3 if all(word in name for word in words) else _UNLIKE
