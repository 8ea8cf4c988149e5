"""The application's part that answers for merged names, as core.ports.MergeService describes it."""

from __future__ import annotations

import asyncio
from functools import partial

from core.graph import Merge, MergeRule
from graph.resolve.service import Resolver


class MergesDoor:
    _resolver: Resolver

    async def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        return await asyncio.to_thread(partial(self._resolver.merges, query=query, entity=entity, limit=limit))

    async def merge_names(self, first: str, second: str) -> MergeRule:
        return await asyncio.to_thread(self._resolver.put_rule, first, second, "force")

    async def separate_names(self, first: str, second: str) -> MergeRule:
        return await asyncio.to_thread(self._resolver.put_rule, first, second, "forbid")

    async def forget_rule(self, first: str, second: str) -> MergeRule:
        return await asyncio.to_thread(self._resolver.forget_rule, first, second)

    async def merge_rules(self) -> list[MergeRule]:
        return await asyncio.to_thread(self._resolver.rules)
