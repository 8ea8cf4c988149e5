"""Scripted merges of names: one merge, and the rules that were made."""

from __future__ import annotations

from typing import Literal

from core.errors import NotFound
from core.graph import Merge, MergeRule

MERGE = Merge(
    name="the Bridge",
    entity_id="e-bridge",
    entity="Harbour Bridge",
    into="Harbour Bridge",
    tier="containment",
    reason="'the Bridge' is the end of 'Harbour Bridge', which alone in this document ends so",
    documents=("d-1",),
)


class FakeMerges:
    def __init__(self) -> None:
        self.found = [MERGE]
        self.rules: list[MergeRule] = []

    async def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        wanted = [merge for merge in self.found if query.casefold() in merge.name.casefold()]
        return [merge for merge in wanted if entity in ("", merge.entity, merge.entity_id)][:limit]

    async def merge_names(self, first: str, second: str) -> MergeRule:
        return self._rule(first, second, "force")

    async def separate_names(self, first: str, second: str) -> MergeRule:
        return self._rule(first, second, "forbid")

    async def forget_rule(self, first: str, second: str) -> MergeRule:
        for rule in self.rules:
            if {rule.first, rule.second} == {first, second}:
                self.rules.remove(rule)
                return rule
        raise NotFound(f"there is no rule about {first!r} and {second!r}", hint="see `quaere graph rules`")

    async def merge_rules(self) -> list[MergeRule]:
        return list(self.rules)

    def _rule(self, first: str, second: str, kind: Literal["force", "forbid"]) -> MergeRule:
        one, two = sorted((first, second))
        self.rules.append(rule := MergeRule(first=one, second=two, kind=kind))
        return rule
