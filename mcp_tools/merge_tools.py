"""What the library's user may see and decide of merged names, through the private door."""

from __future__ import annotations

from typing import Annotated, Any

from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from pydantic import BaseModel, Field

from core.graph import Merge, MergeRule
from core.ports import MergeService
from mcp_tools.arguments import READ_ONLY, schema
from mcp_tools.border import guarded
from mcp_tools.graph_tools import MAX_NAME_CHARS

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Part = Annotated[str, Field(max_length=MAX_NAME_CHARS)]


class MergeList(BaseModel):
    merges: list[Merge]


class RuleList(BaseModel):
    rules: list[MergeRule]


def _result(model: BaseModel) -> ToolResult:
    return ToolResult(structured_content=model.model_dump(mode="json"))


def add_private_merges(server: FastMCP[Any], service: MergeService) -> None:
    @server.tool(annotations=READ_ONLY, output_schema=schema(MergeList))
    @guarded
    async def library_merges(
        query: Part = "", entity: Part = "", limit: Annotated[int, Field(ge=1, le=100_000)] = 100
    ) -> ToolResult:
        """Names that stand for something of another name, and why."""
        return _result(MergeList(merges=await service.merges(query=query, entity=entity, limit=limit)))

    @server.tool(output_schema=schema(MergeRule))
    @guarded
    async def library_merge_names(first: Name, second: Name) -> ToolResult:
        """Make two names one."""
        return _result(await service.merge_names(first, second))

    @server.tool(output_schema=schema(MergeRule))
    @guarded
    async def library_separate_names(first: Name, second: Name) -> ToolResult:
        """Keep two names apart."""
        return _result(await service.separate_names(first, second))

    @server.tool(output_schema=schema(MergeRule))
    @guarded
    async def library_forget_rule(first: Name, second: Name) -> ToolResult:
        """Forget what was decided of two names."""
        return _result(await service.forget_rule(first, second))

    @server.tool(annotations=READ_ONLY, output_schema=schema(RuleList))
    @guarded
    async def library_merge_rules() -> ToolResult:
        """What was decided of names."""
        return _result(RuleList(rules=await service.merge_rules()))
