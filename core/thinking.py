"""Parting a model's thinking from its answer, however the reply is cut into pieces.

Only a block that the reply begins with is thinking: a `<think>` later in the text is the text's own.
"""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Feed it pieces; it gives the text that is certainly answer. `finish` settles what is left.

    A reply that only closes a block (`…</think> answer`, its opening tag eaten by a chat template) can't be told
    from an answer before the tag comes: what was given by then stays given, and `text` at the end is right.
    """

    def __init__(self) -> None:
        self._all = ""
        self._given = 0

    def feed(self, piece: str) -> str:
        self._all += piece
        start = self._all.lstrip()
        if OPEN.startswith(start) and len(start) < len(OPEN):
            return ""  # may yet become an opening tag
        thinking, text = split(self._all)
        if start.startswith(OPEN) and CLOSE not in self._all:
            return ""
        # A closing tag may be half here: its beginning is held back.
        safe = len(text) - _overlap(text, CLOSE)
        if thinking and self._given > safe:  # only now it shows that what was given was thinking
            self._given = safe
        new, self._given = text[self._given : safe], max(self._given, safe)
        return new

    def finish(self) -> tuple[str, str]:
        """(thinking, text) of the whole reply."""
        return split(self._all)


def split(reply: str) -> tuple[str, str]:
    """(thinking, text): a leading block, closed or not; or all before a closing tag that nothing opened."""
    start = reply.lstrip()
    if start.startswith(OPEN):
        inside, closed, text = start[len(OPEN) :].partition(CLOSE)
        return (inside.strip(), text.strip()) if closed else (start[len(OPEN) :].strip(), "")
    before, closed, text = reply.partition(CLOSE)
    if closed and OPEN not in before:
        return before.strip(), text.strip()
    return "", reply.strip()


def _overlap(text: str, tag: str) -> int:
    """Length of the longest end of `text` that a `tag` may begin with."""
    return next((n for n in range(min(len(text), len(tag) - 1), 0, -1) if tag.startswith(text[-n:])), 0)
