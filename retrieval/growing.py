"""From a parent that was found to the passage that is read: with its neighbours, as far as there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.types import Chunk


@dataclass(frozen=True)
class Room:
    """Characters of one passage, and of all."""

    passage: int
    all: int


Run = list[Chunk]


def grown(
    found: Sequence[Chunk], near: Mapping[tuple[str, int], Chunk], count: int, room: Room
) -> list[tuple[Chunk, Run]]:
    """At most `count` (parent found, its run of neighbouring parents), of those parents that are in no run before.

    `near` are parents by (document id, position), those found among them. A parent takes in the shorter neighbour
    first, none from over more than a page's border and none between content and references. The first run is there
    even where it is larger than the room for all.
    """
    taken: set[str] = set()
    runs: list[tuple[Chunk, Run]] = []
    left = room.all
    for parent in found:
        if parent.id in taken:
            continue
        run = _run(parent, near, taken, min(room.passage, left))
        size = _size(run)
        if len(runs) == count or (runs and size > left):
            break
        left -= size
        taken |= {chunk.id for chunk in run}
        runs.append((parent, run))
    return runs


def _run(parent: Chunk, near: Mapping[tuple[str, int], Chunk], taken: set[str], limit: int) -> Run:
    run = [parent]
    while True:
        before = near.get((parent.document_id, run[0].position - 1))
        after = near.get((parent.document_id, run[-1].position + 1))
        fit = [
            chunk
            for chunk, beside in ((before, run[0]), (after, run[-1]))
            if chunk is not None
            and chunk.id not in taken
            and _size([*run, chunk]) <= limit
            and chunk.is_reference == parent.is_reference
            and abs(chunk.spans[0].page - beside.spans[0].page) <= 1
        ]
        if not fit:
            return run
        chosen = min(fit, key=lambda chunk: len(chunk.text))
        run = [chosen, *run] if chosen is before else [*run, chosen]


def _size(run: Sequence[Chunk]) -> int:
    return sum(len(chunk.text) for chunk in run) + len(run) - 1
