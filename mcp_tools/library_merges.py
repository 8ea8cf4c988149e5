"""The calls about merged names of a library's handle: each goes to whoever owns the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.graph import Merge, MergeRule
from core.ports import Service

T = TypeVar("T")


class LibraryMerges:
    """`core.ports.MergeService` by `_call`, which the handle gives."""

    async def _call(self, use: Callable[[Service], Awaitable[T]]) -> T:
        raise NotImplementedError

    async def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        return await self._call(lambda service: service.merges(query=query, entity=entity, limit=limit))

    async def merge_names(self, first: str, second: str) -> MergeRule:
        return await self._call(lambda service: service.merge_names(first, second))

    async def separate_names(self, first: str, second: str) -> MergeRule:
        return await self._call(lambda service: service.separate_names(first, second))

    async def forget_rule(self, first: str, second: str) -> MergeRule:
        return await self._call(lambda service: service.forget_rule(first, second))

    async def merge_rules(self) -> list[MergeRule]:
        return await self._call(lambda service: service.merge_rules())
