"""For which document a reply is made: what is kept of it then goes with the document."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DOCUMENT: ContextVar[str] = ContextVar("document that replies are made for", default="")


@contextmanager
def made_for(document_id: str) -> Iterator[None]:
    """Replies asked for inside belong to that document, and to every other one that the same was asked for."""
    token = _DOCUMENT.set(document_id)
    try:
        yield
    finally:
        _DOCUMENT.reset(token)


def owner() -> str:
    """Its id; empty for replies to questions."""
    return _DOCUMENT.get()
