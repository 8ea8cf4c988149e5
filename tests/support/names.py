"""Names in documents, and what resolution makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.graph import MergeRule
from core.ledger.entities import Said, Verdict
from graph.resolve.corpus import Corpus, corpus_of
from graph.resolve.resolution import Resolved, resolve


def said(
    name: str, document: str = "d1", type_: str = "", near: str = "thing", quote: str = "", near_type: str = ""
) -> Said:
    return Said(document, name, type_, near, near_type, quote)


def corpus(rows: Iterable[Said | str | tuple[str, ...]], texts: Sequence[tuple[str, str]] = ()) -> Corpus:
    """A string is a name in document d1, a tuple the arguments of `said`."""
    made = [row if isinstance(row, Said) else said(row) if isinstance(row, str) else said(*row) for row in rows]
    return corpus_of(made, texts)


class Outcome:
    """Who is who: `clusters` as sorted lists of 'name@document', without the word 'thing'."""

    def __init__(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.owner = {(owner.name, owner.document_id): owner for owner in resolved.owners}
        self.entity = {entity.id: entity for entity in resolved.entities}

    @property
    def clusters(self) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for (name, document), owner in sorted(self.owner.items()):
            if name != "thing":
                found.setdefault(owner.entity_id, []).append(f"{name}@{document}")
        return sorted(found.values())

    def one(self, first: str, second: str, in_first: str = "d1", in_second: str = "d1") -> bool:
        return self.owner[first, in_first].entity_id == self.owner[second, in_second].entity_id

    def named(self, name: str, document: str = "d1") -> str:
        """The name of its entity."""
        return self.entity[self.owner[name, document].entity_id].name


def resolved(
    *rows: Said | str | tuple[str, ...],
    texts: Sequence[tuple[str, str]] = (),
    rules: Sequence[MergeRule] = (),
    verdicts: Sequence[Verdict] = (),
    pairs: int = 0,
) -> Outcome:
    return Outcome(resolve(corpus(rows, texts), rules, verdicts, pairs))


def force(first: str, second: str) -> MergeRule:
    return MergeRule(first=first, second=second, kind="force")


def forbid(first: str, second: str) -> MergeRule:
    return MergeRule(first=first, second=second, kind="forbid")
