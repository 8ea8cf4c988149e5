"""Entity resolution against labelled pairs of names: precision and recall of "these two are one".

`python -m eval.resolution [--json] [--save FILE]`. The pairs (eval/data/resolution.jsonl) are of the four papers and
of what commonly goes wrong. Each is resolved alone, in a library of its own that holds the two names and what the
pair's context says; half of them are for tuning, half are held out. No language model.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field

from core.ledger.entities import Said
from core.types import Frozen
from graph.resolve.corpus import corpus_of
from graph.resolve.resolution import resolve

PAIRS = files("eval") / "data" / "resolution.jsonl"


class Context(Frozen):
    """What stands round the two names. They are in two documents, a and b, unless they stand together."""

    together: bool = False
    documents: tuple[str, str] = ("a", "b")
    types: tuple[str, str] = ("", "")
    text: str = Field(default="", description="of the first name's document")
    text2: str = Field(default="", description="of the second name's")
    others: tuple[str, ...] = Field(default=(), description="more names in the first one's document")
    others2: tuple[str, ...] = Field(default=(), description="more names in the second one's document")
    other_type: str = ""
    neighbours: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    quotes: tuple[str, str] = ("", "")


class Pair(Frozen):
    first: str
    second: str
    same: bool
    kind: str
    context: Context = Context()
    split: Literal["tune", "held"]


class Rates(Frozen):
    """Of pairs: `merged` were found to be one, `right` of these are, `same` should have been."""

    n: int
    same: int
    merged: int
    right: int
    precision: float | None = Field(description="right of merged; None where nothing was merged")
    recall: float | None = Field(description="right of same; None where there were none to find")


class ResolutionRun(Frozen):
    pairs: int
    tune: Rates
    held: Rates
    by_kind: dict[str, Rates] = Field(description="of both halves")
    wrong: tuple[str, ...] = Field(description="each pair that came out wrong")


def read_pairs() -> list[Pair]:
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    return [Pair.model_validate_json(line) for line in lines if line.strip()]


def are_merged(pair: Pair) -> bool:
    """Whether the two names come out as one entity."""
    context = pair.context
    a, b = (context.documents[0],) * 2 if context.together else context.documents
    texts = [(a, context.text), (b, context.text2)]
    corpus = corpus_of(_said(pair, a, b), [text for text in texts if text[1]])
    owners = {(owner.name, owner.document_id): owner.entity_id for owner in resolve(corpus).owners}
    return owners[pair.first, a] == owners[pair.second, b]


def measure(pairs: Sequence[Pair]) -> ResolutionRun:
    merged = [are_merged(pair) for pair in pairs]
    kinds: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    splits: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for pair, found in zip(pairs, merged, strict=True):
        kinds[pair.kind].append((pair.same, found))
        splits[pair.split].append((pair.same, found))
    wrong = [pair for pair, found in zip(pairs, merged, strict=True) if pair.same != found]
    return ResolutionRun(
        pairs=len(pairs),
        tune=_rates(splits["tune"]),
        held=_rates(splits["held"]),
        by_kind={kind: _rates(outcomes) for kind, outcomes in sorted(kinds.items())},
        wrong=tuple(_line(pair) for pair in wrong),
    )


def _said(pair: Pair, a: str, b: str) -> Iterator[Said]:
    context = pair.context
    for name, document, type_, near, quote in (
        (pair.first, a, context.types[0], context.neighbours[0], context.quotes[0]),
        (pair.second, b, context.types[1], context.neighbours[1], context.quotes[1]),
    ):
        for other in near or ("thing",):
            yield Said(document, name, type_, other, "", quote)
    for document, others in ((a, context.others), (b, context.others2)):
        for other in others:
            yield Said(document, other, context.other_type, "thing", "", "")


def _rates(outcomes: Sequence[tuple[bool, bool]]) -> Rates:
    """Of (should be one, was found to be one)."""
    same, merged = sum(wanted for wanted, _ in outcomes), sum(found for _, found in outcomes)
    right = sum(wanted and found for wanted, found in outcomes)
    return Rates(
        n=len(outcomes),
        same=same,
        merged=merged,
        right=right,
        precision=round(right / merged, 4) if merged else None,
        recall=round(right / same, 4) if same else None,
    )


def _line(pair: Pair) -> str:
    error = "kept apart" if pair.same else "merged"
    return f"{pair.split} {pair.kind}: {pair.first!r} and {pair.second!r} {error}"


def text_of(run: ResolutionRun) -> str:
    lines = [
        f"{run.pairs} labelled pairs, no language model",
        f"{'':16}{'n':>5}{'same':>6}{'precision':>11}{'recall':>8}",
    ]
    for name, rates in (("tuned on", run.tune), ("held out", run.held), *run.by_kind.items()):
        shown = ["–" if rate is None else f"{rate:.3f}" for rate in (rates.precision, rates.recall)]
        lines.append(f"{name:16}{rates.n:>5}{rates.same:>6}{shown[0]:>11}{shown[1]:>8}")
    return "\n".join([*lines, *(f"wrong: {line}" for line in run.wrong)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m eval.resolution", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--save", type=Path, help="write the run to this JSON file too")
    given = parser.parse_args(arguments)
    run = measure(read_pairs())
    if given.save:
        given.save.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    print(json.dumps(run.model_dump(), ensure_ascii=False) if given.json else text_of(run))


if __name__ == "__main__":
    main()
