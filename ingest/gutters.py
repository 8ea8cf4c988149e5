"""Columns from the white space that goes down through the lines of a table, and from its vertical rules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from core.types import Box
from ingest.words import Word, around

_BLANK = 0.4  # em: a gap within a cell is at most so wide
_GUTTER = 0.35  # em: the least that separates columns of many lines
_WIDE_GUTTER = 0.8  # em: of few lines
_CROSSING = 0.25  # of a table's lines, so many may have a text that goes over a gutter
_STEP = 0.5  # points


@dataclass(frozen=True)
class Region:
    """`across`: heights of the rules over its whole width, its own top and bottom too; `partly`, `down`: others."""

    box: Box
    across: tuple[float, ...] = ()
    partly: tuple[Box, ...] = ()
    down: tuple[Box, ...] = ()


@dataclass
class Phrase:
    """Words of one line without a wide gap; it goes over the columns `first` to `last`."""

    words: list[Word]
    first: int = 0
    last: int = 0
    placed: bool = False  # for good, by where its middle is
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.box = around(word.box for word in self.words)

    @property
    def center(self) -> float:
        return (self.box[0] + self.box[2]) / 2


Line = list[Phrase]


def em_of(words: Sequence[Word]) -> float:
    return 0.8 * median(word.height for word in words)


def phrases_of(line: Sequence[Word], em: float, down: Sequence[Box] = (), blank: float = _BLANK) -> Line:
    found: list[list[Word]] = []
    for word in line:
        if found and word.box[0] - found[-1][-1].box[2] <= blank * em and not _parted(found[-1][-1], word, down):
            found[-1].append(word)
        else:
            found.append([word])
    return [Phrase(words) for words in found]


def _parted(one: Word, other: Word, down: Sequence[Box]) -> bool:
    return any(one.center < rule[0] < other.center and rule[1] <= one.middle <= rule[3] for rule in down)


def splits_of(lines: Sequence[Line], heads: int, region: Region, em: float) -> list[float]:
    """Where one column ends and the next begins, from the left."""
    used = [line for line in lines[heads:] if len(line) > 1]
    if heads and len(lines[heads - 1]) > 1:
        used.append(lines[heads - 1])
    if not used:
        return []
    rough = _gutters(used, region, int(_CROSSING * len(used)))
    crossing = {id(phrase) for line in used for phrase in line if any(_covers(phrase, gutter) for gutter in rough)}
    least = _GUTTER if len(used) > 3 else _WIDE_GUTTER
    clean = [[phrase for phrase in line if id(phrase) not in crossing] for line in used]
    fine = [g for g in _gutters(clean, region, 0) if g[1] - g[0] >= least * em or _ruled(g, region)]
    if heads:
        body = [line for line in clean if line]
        fine = [g for g in fine if not any(_covers(p, g) for p in lines[heads - 1]) or _is_firm(g, body, em)]
    if is_mostly_ruled(fine, region):
        return [x for gutter in fine if (x := _ruled(gutter, region))]
    head = [phrase.box for line in lines[:heads] for phrase in line]
    return [_ruled(gutter, region) or _middle_of_gutter(gutter, head) for gutter in fine]


def _is_firm(gutter: tuple[float, float], body: Sequence[Line], em: float) -> bool:
    """Whether it parts columns though a head goes over it: wide, or with texts close to both its sides in 3 lines."""
    near = sum(
        any(0 <= gutter[0] - p.box[2] < 4 * em for p in line) and any(0 <= p.box[0] - gutter[1] < 4 * em for p in line)
        for line in body
    )
    return gutter[1] - gutter[0] > 0.9 * em or near >= 3


def is_mostly_ruled(gutters: Sequence[tuple[float, float]], region: Region) -> bool:
    return sum(bool(_ruled(gutter, region)) for gutter in gutters) > 0.6 * max(len(gutters), 2)


def _middle_of_gutter(gutter: tuple[float, float], head: Sequence[Box]) -> float:
    """Of the part of it that the head's texts leave free: they may be wider than what stands below."""
    left = max([gutter[0], *(box[2] for box in head if gutter[0] < box[2] < gutter[1])])
    right = min([gutter[1], *(box[0] for box in head if gutter[0] < box[0] < gutter[1])])
    return (left + right) / 2 if left < right else (gutter[0] + gutter[1]) / 2


def _gutters(lines: Sequence[Line], region: Region, allowed: int) -> list[tuple[float, float]]:
    """Stretches between texts that at most `allowed` lines cover: of each, the part that the fewest cover."""
    boxes = [phrase.box for line in lines for phrase in line]
    if not boxes:
        return []
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    count = int((right - left) / _STEP) + 2
    cover = [0] * count
    for box in boxes:
        for at in range(int((box[0] - left) / _STEP), int((box[2] - left) / _STEP) + 1):
            cover[at] += 1
    for rule in _long_rules(region):
        if left < rule < right:
            cover[int((rule - left) / _STEP)] = 0
    found = []
    at = 0
    while at < count:
        start = at
        while at < count and cover[at] <= allowed:
            at += 1
        if at > start:
            low = min(cover[start:at])
            begin = next(i for i in range(start, at) if cover[i] == low)
            end = next((i for i in range(begin, at) if cover[i] != low), at)
            if begin > 0 and end < count - 1:
                found.append((left + begin * _STEP, left + end * _STEP))
        at += 1
    return found


def _long_rules(region: Region) -> list[float]:
    height = region.box[3] - region.box[1]
    lengths: dict[int, float] = {}
    for rule in region.down:
        lengths[round(rule[0])] = lengths.get(round(rule[0]), 0.0) + rule[3] - rule[1]
    return [float(x) for x, length in sorted(lengths.items()) if length > 0.4 * height]


def _ruled(gutter: tuple[float, float], region: Region) -> float:
    """The vertical rule in the gutter, 0 where there is none."""
    return next((x for x in _long_rules(region) if gutter[0] - 1 <= x <= gutter[1] + 1), 0.0)


def _covers(phrase: Phrase, gutter: tuple[float, float]) -> bool:
    return phrase.box[0] < gutter[0] + 0.1 and phrase.box[2] > gutter[1] - 0.1


def place(phrase: Phrase, splits: Sequence[float], em: float) -> None:
    if phrase.placed:
        return
    slack = min(0.3 * em, (phrase.box[2] - phrase.box[0]) / 3)
    phrase.first = bisect_right(splits, phrase.box[0] + slack)
    phrase.last = max(phrase.first, bisect_right(splits, phrase.box[2] - slack))


def cut(line: Line, splits: Sequence[float], body: Sequence[Line]) -> Line:
    """Texts that stand so close that they read as one, cut where the columns part, if that fills nearly all columns."""
    found: Line = []
    for phrase in line:
        pieces: list[list[Word]] = [[]]
        for word in phrase.words:
            last = pieces[-1][-1].center if pieces[-1] else word.center
            if bisect_right(splits, last) != bisect_right(splits, word.center):
                pieces.append([])
            pieces[-1].append(word)
        cut = [Phrase(words) for words in pieces]
        for piece in cut if len(cut) > 1 else ():
            piece.first = piece.last = bisect_right(splits, piece.center)
            piece.placed = True
        found += cut if len(cut) > 1 and all(_stands_on(piece, body) for piece in cut) else [phrase]
    return found if len(found) >= 0.8 * (len(splits) + 1) else line


def _stands_on(head: Phrase, body: Sequence[Line]) -> bool:
    """Whether two texts below share its middle or an edge with it."""
    slack = 1 + 0.2 * (head.box[2] - head.box[0])
    near = 0
    for phrase in (phrase for line in body if len(line) > 1 for phrase in line):
        near += abs(phrase.center - head.center) < slack or min(
            abs(phrase.box[0] - head.box[0]), abs(phrase.box[2] - head.box[2])
        ) < min(slack, 2)
    return near >= 2
