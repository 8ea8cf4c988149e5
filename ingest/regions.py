"""Where tables without a full grid stand: between rules of one width, or where lines keep to the same columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from core.text import is_cjk
from core.types import Box, Page
from ingest.captions import Caption
from ingest.grids import Rules, touches
from ingest.gutters import Line, Region, em_of, phrases_of
from ingest.words import Word, around, lines_of

_SAME_END = 6.0  # points that the ends of a table's rules may differ
_SHORTEST = 50.0  # points: a shorter rule is a fraction bar or an underline
_LONG_WORDS = 5  # a cell of so many words is more like running text
_LONG_CJK = 15
_MOST_RULES = 200
_NEXT_ROW = 45.0  # points from a row's upper to its lower rule
_LONE = 4  # lines of one cell, one below the other
_FAR = 1.6  # em: what stands farther below is no more of the same block
_TEXT_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = 1.0  # em: gap between cells where no rule says that there is a table


def inside(words: Sequence[Word], box: Box) -> list[Word]:
    return [w for w in words if box[0] <= w.center <= box[2] and box[1] <= w.middle <= box[3]]


def between_rules(
    page: Page, words: Sequence[Word], rules: Rules, captions: Sequence[Caption], taken: Sequence[Box]
) -> Iterator[Region]:
    """Stretches from a first to a last rule of one width with lines of cells between them.

    Rules inside of `taken` are left out; the caller adds to it what is a table, so that no two overlap.
    """
    long = [rule for rule in rules.across if rule[2] - rule[0] >= _SHORTEST]
    for number, first in enumerate(long):
        if any(touches((first[0], first[1] - 1, first[2], first[1] + 1), box) for box in taken):
            continue
        alike = [first, *(rule for rule in long[number + 1 :] if _same_ends(first, rule))]
        run = _run(page, words, alike[:_MOST_RULES], captions)
        run = _open_ended(run, rules) if len(run) > 1 else run
        if len(run) > 1:
            yield _region(run, rules)


def _same_ends(one: Box, other: Box) -> bool:
    return abs(one[0] - other[0]) <= _SAME_END and abs(one[2] - other[2]) <= _SAME_END


def _within(rule: Box, box: Box) -> bool:
    return rule[0] >= box[0] - _SAME_END and rule[2] <= box[2] + _SAME_END


def _run(page: Page, words: Sequence[Word], rules: Sequence[Box], captions: Sequence[Caption]) -> list[Box]:
    """The rules from the first on that have only cells between one and the next."""
    run = [rules[0]]
    lines_with_cells = 0
    for above, below in pairwise(rules):
        box = (min(above[0], below[0]) - 2, above[1], max(above[2], below[2]) + 2, below[1])
        held = inside(words, box)
        if not held and below[1] - above[1] > 8:
            break
        named = any(c.kind == "table" and _is_beside(c.box, box) for c in captions)
        count = _cell_lines(page, held, named)
        if held and (count < 0 or any(_begins_in(caption.first, box) for caption in captions)):
            break
        lines_with_cells += max(count, 0)
        run.append(below)
    return run if lines_with_cells else run[:1]


def _begins_in(line: Box, box: Box) -> bool:
    """Whether a line of text stands in the box; it may reach over a rule that is drawn close to it."""
    return line[0] < box[2] and box[0] < line[2] and box[1] < (line[1] + line[3]) / 2 < box[3]


def _is_beside(caption: Box, box: Box) -> bool:
    return 0 <= box[1] - caption[3] < 30 or 0 <= caption[1] - box[3] < 30


def _open_ended(run: list[Box], rules: Rules) -> list[Box]:
    """With a last rule put below vertical ones that go on under it, where a table has none at its foot."""
    left, y, right, _ = run[-1]
    feet = [r[3] for r in rules.down if left - 3 < r[0] < right + 3 and abs(r[1] - run[0][1]) < 4 and r[3] > y + 12]
    feet += [r[3] for r in rules.down if left - 3 < r[0] < right + 3 and abs(r[1] - y) < 4 and r[3] > y + 12]
    return [*run, (left, max(feet), right, max(feet))] if len(feet) > 1 else run


def _cell_lines(page: Page, words: Sequence[Word], named: bool) -> int:
    """How many lines have several cells; -1 where what stands there is no table."""
    if not words:
        return 0
    em = em_of(words)
    lines = lines_of(words)
    several = sum(len(phrases_of(line, em)) > 1 for line in lines)
    if len(lines) > 3 and several < 0.4 * len(lines):
        return -1
    if not named and is_prose(page, [phrases_of(line, em, blank=_WIDE) for line in lines]):
        return -1
    return several


def is_prose(page: Page, lines: Sequence[Line]) -> bool:
    """Whether the texts that wide gaps part are as long as lines of running text, most or many of them."""
    texts = [page.text[p.words[0].start : p.words[-1].end] for line in lines for p in line]
    if len(lines) <= 2 or not texts:
        return False
    if sum(map(is_cjk, "".join(texts))) * 3 > sum(map(len, texts)):
        return 2 * sum(len(text) > _LONG_CJK for text in texts) > len(texts)
    words = [len(_TEXT_WORD.findall(text)) for text in texts]
    many = len(lines) > 12 and sum(words) > 3.2 * len(words)
    return many or 2 * sum(count > _LONG_WORDS for count in words) > len(words)


def _region(run: Sequence[Box], rules: Rules) -> Region:
    box = (min(r[0] for r in run), run[0][1], max(r[2] for r in run), run[-1][1])
    partly = [r for r in rules.across if box[1] < r[1] < box[3] and _within(r, box) and not _same_ends(r, run[0])]
    down = [r for r in rules.down if box[0] + 3 < r[0] < box[2] - 3 and r[1] > box[1] - 4 and r[3] < box[3] + 4]
    return Region(box, tuple(rule[1] for rule in run), tuple(partly), tuple(down))


def goes_on_below(words: Sequence[Word], rules: Rules, box: Box) -> bool:
    """Whether rules of the box's width go on below it with cells between: it is a table's head, or some rows of it."""
    below = [r for r in rules.across if _same_ends(r, box) and 4 < r[1] - box[3] < _NEXT_ROW]
    if not below:
        return False
    held = inside(words, (box[0] - 2, box[3], box[2] + 2, below[0][1]))
    return bool(held) and any(len(phrases_of(line, em_of(held), blank=_WIDE)) > 1 for line in lines_of(held))


def aligned_blocks(words: Sequence[Word]) -> Iterator[Region]:
    """Stretches of consecutive lines of which most have several cells; `words` in the order of the text."""
    block: list[list[Word]] = []
    lone = 0
    em = em_of(words) if words else 0.0
    for line in [*_text_lines(words), []]:
        several = bool(line) and len(phrases_of(line, em, blank=_WIDE)) > 1
        if line and block:
            beside = _is_right_of(block, line, em)
            below = -0.5 * em < line[0].box[1] - _bottom(block[-1]) < _FAR * em
            if (beside or below) and (several or (lone < _LONE and (beside or _stands_under(block, line, em)))):
                block.append(line)
                lone = 0 if several or beside else lone + 1
                continue
        yield from _as_region(block, lone, em)
        block, lone = ([line] if several else []), 0


def _text_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Words that follow one another in the text, to the right on one line."""
    lines: list[list[Word]] = []
    for word in words:
        last = lines[-1][-1] if lines else None
        if last and abs(last.middle - word.middle) < 0.4 * max(last.height, word.height) and word.box[0] > last.box[0]:
            lines[-1].append(word)
        else:
            lines.append([word])
    return lines


def _bottom(line: Sequence[Word]) -> float:
    return max(word.box[3] for word in line)


def _is_right_of(block: Sequence[Sequence[Word]], line: Sequence[Word], em: float) -> bool:
    """Beside the block's last lines: of cells of several lines, where one is written after the other."""
    last, box = around(w.box for w in block[-1]), around(w.box for w in line)
    return around(w.box for w in block[0])[1] - em < box[1] < last[3] and box[0] > last[2]


def _stands_under(block: Sequence[Sequence[Word]], line: Sequence[Word], em: float) -> bool:
    """Whether a line of one cell begins where a cell of the block begins, and is no longer than a cell."""
    box = around(w.box for w in line)
    starts = [phrase.box[0] for other in block for phrase in phrases_of(other, em, blank=_WIDE)]
    whole = around(w.box for other in block for w in other)
    return any(abs(box[0] - start) < 0.5 * em for start in starts) and box[2] - box[0] < 0.6 * (whole[2] - whole[0])


def _as_region(block: Sequence[Sequence[Word]], lone: int, em: float) -> Iterator[Region]:
    """Without the lines of one cell at its end, from the first that begins where the block does: they are text."""
    if not block:
        return
    edge = min(line[0].box[0] for line in block)
    end = next((at for at in range(len(block) - lone, len(block)) if block[at][0].box[0] < edge + em), len(block))
    if end >= 2:
        left, top, right, bottom = around(word.box for line in block[:end] for word in line)
        yield Region((left - 1, top - 0.5, right + 1, bottom + 0.5))
