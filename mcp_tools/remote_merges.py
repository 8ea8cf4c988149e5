"""Merged names of a library that another process owns."""

from __future__ import annotations

from core.graph import Merge, MergeRule
from mcp_tools.client import ToolClient
from mcp_tools.merge_tools import MergeList, RuleList


class RemoteMerges(ToolClient):
    """`core.ports.MergeService` over the owner's door."""

    async def merges(self, *, query: str = "", entity: str = "", limit: int = 100) -> list[Merge]:
        arguments = {"query": query, "entity": entity, "limit": limit}
        return (await self.get("library_merges", arguments, MergeList)).merges

    async def merge_names(self, first: str, second: str) -> MergeRule:
        return await self.get("library_merge_names", {"first": first, "second": second}, MergeRule)

    async def separate_names(self, first: str, second: str) -> MergeRule:
        return await self.get("library_separate_names", {"first": first, "second": second}, MergeRule)

    async def forget_rule(self, first: str, second: str) -> MergeRule:
        return await self.get("library_forget_rule", {"first": first, "second": second}, MergeRule)

    async def merge_rules(self) -> list[MergeRule]:
        return (await self.get("library_merge_rules", {}, RuleList)).rules
