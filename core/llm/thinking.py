"""Parting a model's thinking from its answer, however the reply is cut into pieces.

Only a block that the reply begins with is thinking: a `<think>` later in the text is the text's own.
"""

from __future__ import annotations

import re
from typing import Literal

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile(f"{OPEN}|{CLOSE}")
_QUOTES = "`'\"“‘«"


class ThinkSplitter:
    """Feed it pieces; each call gives the text that is now certainly answer. After `finish`, `text` and `thinking`
    are right, and depend on the reply alone, not on where it was cut.

    A reply that only closes a block (`…</think> answer`: the chat template opened it) can't be told from an answer
    before the tag comes. What was given by then can't be taken back; with `hold` nothing is given until it is
    certain, for a model that was seen to do this (`unopened`).

    Where the thinking itself holds an opening tag, the first closing tag may be that one's: what follows is kept
    back until another closing tag, or the end, has shown which.
    """

    def __init__(self, *, hold: bool = False) -> None:
        self.unopened = False
        self.rest = ""
        self._hold = hold
        self._state: Literal["start", "thinking", "nested", "plain", "gap", "answer"] = "start"
        self._buffer = ""  # not yet decided
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._opened = 0  # opening tags inside the thinking that no closing tag has answered
        self._held = 0  # parts of _text that were not given yet

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking).strip()

    def feed(self, piece: str) -> str:
        self._buffer += piece
        return self._advance(last=False)

    def finish(self) -> tuple[str, str]:
        """(thinking, text) of the whole reply; `rest` is then the text that no feed gave."""
        self.rest = self._advance(last=True)
        return self.thinking, self.text

    def _advance(self, last: bool) -> str:
        steps = {
            "start": self._start,
            "thinking": self._think,
            "nested": self._nest,
            "plain": self._plain,
            "gap": self._gap,
            "answer": self._answer,
        }
        before = ""
        while before != self._state:
            before = self._state
            steps[before](last)
        if self._hold and self._state == "plain" and not last:
            return ""
        given = "".join(self._text[self._held :])
        self._held = len(self._text)
        return given

    def _start(self, last: bool) -> None:
        self._buffer = self._buffer.lstrip()
        if self._buffer.startswith(OPEN):
            self._buffer, self._state = self._buffer[len(OPEN) :], "thinking"
        elif last or not OPEN.startswith(self._buffer):
            # JSON begins an answer, never a thought; a closing tag inside it is one of its strings.
            self._state = "answer" if self._buffer.startswith("{") else "plain"

    def _plain(self, last: bool) -> None:
        while tag := _TAG.search(self._buffer):
            if tag.group() == CLOSE and not self._is_quoted(tag.start(), self._text):
                self._thinking = [*self._text, self._buffer[: tag.start()]]
                self._text, self._held, self.unopened = [], 0, True
                self._buffer, self._state = self._buffer[tag.end() :], "gap"
                return
            self._take(tag.end(), self._text)
            if tag.group() == OPEN:
                self._state = "answer"
                return
        self._take(len(self._buffer) - (0 if last else _overlap(self._buffer, OPEN, CLOSE)), self._text)

    def _think(self, last: bool) -> None:
        while tag := _TAG.search(self._buffer):
            if tag.group() == CLOSE:
                self._take(tag.start(), self._thinking)
                self._buffer = self._buffer[len(CLOSE) :]
                self._state = "nested" if self._opened else "gap"
                return
            self._opened += not self._is_quoted(tag.start(), self._thinking)
            self._take(tag.end(), self._thinking)
        self._take(len(self._buffer) - (0 if last else _overlap(self._buffer, OPEN, CLOSE)), self._thinking)

    def _nest(self, last: bool) -> None:
        tag = _TAG.search(self._buffer)
        while self._opened and tag and tag.group() == CLOSE and not self._is_quoted(tag.start(), []):
            self._opened -= 1
            self._thinking += [CLOSE, self._buffer[: tag.start()]]
            self._buffer = self._buffer[tag.end() :]
            tag = _TAG.search(self._buffer)
        if tag or last or not self._opened:
            self._state = "gap"

    def _gap(self, last: bool) -> None:
        self._buffer = self._buffer.lstrip()
        if self._buffer:
            self._state = "answer"

    def _answer(self, last: bool) -> None:
        self._take(len(self._buffer), self._text)

    def _take(self, end: int, into: list[str]) -> None:
        if end:
            into.append(self._buffer[:end])
            self._buffer = self._buffer[end:]

    def _is_quoted(self, at: int, taken: list[str]) -> bool:
        before = self._buffer[at - 1] if at else (taken[-1][-1] if taken else "")
        return bool(before) and before in _QUOTES


def split(reply: str) -> tuple[str, str]:
    """(thinking, text) of a whole reply."""
    splitter = ThinkSplitter()
    splitter.feed(reply)
    return splitter.finish()


def _overlap(text: str, *tags: str) -> int:
    """Length of the longest end of `text` that one of the tags may begin with."""
    longest = min(len(text), max(map(len, tags)) - 1)
    return next((n for n in range(longest, 0, -1) if any(tag.startswith(text[-n:]) for tag in tags)), 0)
