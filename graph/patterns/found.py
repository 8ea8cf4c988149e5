"""What a pattern finds, in the one form that both stores give: relations that take part in a match, and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.patterns.pattern import Pattern

MOST_ENTITIES = 10_000  # of an answer that are told apart before it is cut at the limit


class RelationKey(NamedTuple):
    """A relation's identity in the graph: two entity ids and what joins them."""

    subject: str
    relation: str
    object: str


class Weighed(NamedTuple):
    """A relation in the order of rows: what more triples say comes first, then by identity."""

    triples: int  # negative
    key: RelationKey


@dataclass(frozen=True)
class Found:
    """What one alternative of a pattern found, each once."""

    relations: Iterable[Weighed]
    asked: Iterable[str]
    anchors: Iterable[str]


@dataclass(frozen=True)
class Matched:
    """The projection. `answers` follows from the anchors, not from what a query returns: with none anchored all
    entities of the rows, with one the other ends, with two all of them, and `joined`, what relates them."""

    relations: tuple[RelationKey, ...] = ()
    answers: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    truncated: bool = False


def matched(pattern: Pattern, found: Sequence[Found], limit: int) -> Matched:
    """One projection of what the alternatives found, of at most `limit` relations and answers.

    A relation or entity that is over the limit has to be in `found` too, one at least, for `truncated` to be right.
    """
    weighed = sorted({each for one in found for each in one.relations})
    rows = tuple(each.key for each in weighed[:limit])
    asked = {entity for one in found for entity in one.asked}
    anchors = {entity for one in found for entity in one.anchors}
    several = False
    for alternative, one in zip(pattern.alternatives, found, strict=True):
        several = several or len(alternative.anchors) > 1
        if not alternative.anchors:  # also what lies within paths
            asked.update(end for each in one.relations for end in (each.key.subject, each.key.object))
    in_rows = dict.fromkeys(end for row in rows for end in (row.subject, row.object))
    order = [*(end for end in in_rows if end in asked), *sorted(asked - in_rows.keys())]
    return Matched(
        relations=rows,
        answers=tuple(order[:limit]),
        anchors=tuple([*(end for end in in_rows if end in anchors), *sorted(anchors - in_rows.keys())][:limit]),
        joined=tuple(sorted({row.relation for row in rows})) if several else (),
        truncated=len(weighed) > limit or len(order) > limit,
    )
