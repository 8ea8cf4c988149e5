"""The part of regular expressions that is read in a pattern: letters, `.`, `.*`, `.+`, and one of several texts.

A regular expression from outside is never run: it is read into globs (`*` any text, `?` any character, `\\` before
what stands for itself), which are matched in time linear in both for each star.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MOST_CHARACTERS, _MOST_ALTERNATIVES, _MOST_STARS = 2_000, 32, 8
_SPECIAL = "\\*?"


def read_regex(text: str) -> tuple[str, ...]:
    """The globs of a regular expression that has to fit a whole name. Raises ValueError with what is allowed."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"a regular expression has at most {_MOST_CHARACTERS} characters")
    found = {_tidied(glob) for glob in _Reader(re.sub(r"^\(\?[ius]+\)", "", text)).read()}
    if any(_stars(glob) > _MOST_STARS for glob in found):
        raise ValueError(f"a regular expression has at most {_MOST_STARS} times .*")
    return tuple(sorted(found))


def escaped(text: str) -> str:
    """A glob that fits this text alone."""
    return re.sub(r"([\\*?])", r"\\\1", text)


def parts(glob: str) -> list[str]:
    """Its pieces: '*', '?', or one character with a backslash before it."""
    return [piece if piece in "*?" else "\\" + piece[-1] for piece in re.findall(r"\\.|.", glob, re.DOTALL)]


def literal(pieces: list[str]) -> str | None:
    """The text that these pieces fit alone; None where there are more."""
    return None if any(piece in "*?" for piece in pieces) else "".join(piece[1] for piece in pieces)


def as_regex(glob: str, *, anchored: bool = True) -> str:
    """The regular expression of a glob, for Java and Python alike."""
    known = {"*": ".*", "?": "."}
    text = "".join(known.get(piece) or re.escape(piece[1]) for piece in parts(glob))
    return f"(?s){text}" if anchored else text


def matches_glob(glob: str, text: str) -> bool:
    """Whether it fits the whole text; at most stars times the product of both lengths, without backtracking further
    than the last star."""
    first, *rest = _segments(glob)
    if not rest:
        return len(first) == len(text) and _fits(first, text, 0)
    if len(text) < len(first) + len(rest[-1]) or not _fits(first, text, 0):
        return False
    at = len(first)
    for segment in rest[:-1]:
        at = _find(segment, text, at)
        if at < 0:
            return False
        at += len(segment)
    last = len(text) - len(rest[-1])
    return last >= at and _fits(rest[-1], text, last)


@lru_cache(maxsize=256)
def _segments(glob: str) -> tuple[tuple[str, ...], ...]:
    """What stands between the stars; '' is any character."""
    found: list[list[str]] = [[]]
    for piece in parts(glob):
        if piece == "*":
            found.append([])
        else:
            found[-1].append("" if piece == "?" else piece[1])
    return tuple(map(tuple, found))


def _find(segment: tuple[str, ...], text: str, start: int) -> int:
    if "" not in segment:
        return text.find("".join(segment), start)
    return next((at for at in range(start, len(text) - len(segment) + 1) if _fits(segment, text, at)), -1)


def _fits(segment: tuple[str, ...], text: str, at: int) -> bool:
    return all(char in ("", text[at + offset]) for offset, char in enumerate(segment))


def _stars(glob: str) -> int:
    return parts(glob).count("*")


def _tidied(glob: str) -> str:
    """Without a star beside a star, characters before stars."""
    found: list[str] = []
    run: list[str] = []
    for piece in [*parts(glob), ""]:
        if piece and piece in "*?":
            run.append(piece)
            continue
        found += ["?"] * run.count("?") + (["*"] if "*" in run else [])
        run = []
        found.append(piece if not piece or piece[1] in _SPECIAL else piece[1])
    return "".join(found)


class _Reader:
    """Recursive descent over a small regular expression; groups nest at most four deep."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> list[str]:
        found = self._either(0)
        if self._at < len(self._text):
            raise ValueError("a ')' of the regular expression closes nothing")
        return found

    def _either(self, depth: int) -> list[str]:
        found = self._row(depth)
        while self._peek() == "|":
            self._at += 1
            found += self._row(depth)
        return _bounded(found)

    def _row(self, depth: int) -> list[str]:
        found = [""]
        while self._peek() not in ("", "|", ")"):
            ways = self._piece(depth)
            found = _bounded([before + way for before in found for way in ways])
        return found

    def _piece(self, depth: int) -> list[str]:
        char = self._peek()
        self._at += 1
        if char == "(":
            return self._group(depth)
        if char == ".":
            return [self._dot()]
        if char == "\\":
            return [self._escape()]
        if char in "[]{}*+?" or (self._peek() in ("*", "+", "?", "{") and self._peek()):
            raise ValueError(_ALLOWED)
        if char in "^$":
            edge = self._at == 1 if char == "^" else self._at == len(self._text)
            if not edge:
                raise ValueError(_ALLOWED)
            return [""]
        return [escaped(char)]

    def _group(self, depth: int) -> list[str]:
        if self._text.startswith("?:", self._at):
            self._at += 2
        if depth == 4 or self._peek() == "?":
            raise ValueError(_ALLOWED)
        found = self._either(depth + 1)
        if self._peek() != ")":
            raise ValueError("a '(' of the regular expression is not closed")
        self._at += 1
        if self._peek() in ("*", "+", "?", "{") and self._peek():
            raise ValueError(_ALLOWED)
        return found

    def _dot(self) -> str:
        after = self._peek()
        if after == "{":
            raise ValueError(_ALLOWED)
        if after not in ("*", "+"):
            if after == "?":
                raise ValueError(_ALLOWED)
            return "?"
        self._at += 1
        if self._peek() == "?":  # lazy or not, a whole text fits alike
            self._at += 1
        return "*" if after == "*" else "?*"

    def _escape(self) -> str:
        char = self._peek()
        self._at += 1
        if not char or char.isalnum() or (self._peek() in ("*", "+", "?", "{") and self._peek()):
            raise ValueError(_ALLOWED)
        return escaped(char)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


_ALLOWED = "of regular expressions only letters, '.', '.*', '.+', '|', groups and '(?i)' are read"


def _bounded(found: list[str]) -> list[str]:
    if len(found) > _MOST_ALTERNATIVES:
        raise ValueError(f"a regular expression has at most {_MOST_ALTERNATIVES} alternatives")
    return found
