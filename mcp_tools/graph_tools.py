"""The fourth tool, `query_graph`, and what pages and commands ask of the knowledge graph through the private door."""

from __future__ import annotations

from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from pydantic import BaseModel, Field

from core.graph import Entity, Extractor, GraphEstimate, GraphReport, GraphResult, GraphView
from core.graph_text import result_text
from core.ports import GraphService
from mcp_tools.arguments import MAX_QUESTION_CHARS, NO_FILTER, READ_ONLY, Documents, Filters, reporter, schema
from mcp_tools.border import guarded

MAX_NAME_CHARS = 1000
MAX_CYPHER_CHARS = 10_000
Hops = Annotated[int, Field(ge=1, le=5, description="How many relations a path may have.")]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
Passes = Annotated[int, Field(ge=0, le=2, description="Readings by the model; 0: as the settings say.")]


class EntityList(BaseModel):
    entities: list[Entity]


def _result(model: BaseModel) -> ToolResult:
    return ToolResult(structured_content=model.model_dump(mode="json"))


def add_query_graph(server: FastMCP[Any], service: GraphService) -> None:
    @server.tool(annotations=READ_ONLY, output_schema=schema(GraphResult))
    @guarded
    async def query_graph(
        question: Annotated[
            str, Field(max_length=MAX_QUESTION_CHARS, description="A question of relation, in plain language.")
        ] = "",
        entity: Annotated[Name, Field(description="Instead of a question: a name, to see what it is related to.")] = "",
        cypher: Annotated[
            str,
            Field(
                max_length=MAX_CYPHER_CHARS,
                description="Instead of a question: read-only Cypher over (:Entity {name, type}) and typed relations, "
                'e.g. MATCH (a {name: "BERT"})-[r:TRAINED_ON]->(b) RETURN b. What it returns is fixed: whole rows.',
            ),
        ] = "",
        hops: Hops = 2,
        limit: Annotated[int, Field(ge=1, le=1000, description="How many rows at most.")] = 50,
        documents: Documents = (),
        filters: Filters = NO_FILTER,
    ) -> ToolResult:
        """Ask the knowledge graph how things are related: exactly one of `question`, `entity` and `cypher`. Each row
        is a relation with the verbatim quotes that state it, with document and page. Nothing found is said so: then
        use `ask` or `search_passages`, since not every relation that a document states is in the graph."""
        found = await service.query_graph(
            question, entity=entity, cypher=cypher, hops=hops, limit=limit, documents=documents, filters=filters
        )
        return ToolResult(content=result_text(found), structured_content=found.model_dump(mode="json"))


def add_private_graph(server: FastMCP[Any], service: GraphService) -> None:
    @server.tool(annotations=READ_ONLY, output_schema=schema(GraphView))
    @guarded
    async def library_graph_view(
        entity: Name = "",
        hops: Hops = 1,
        limit: Annotated[int, Field(ge=1, le=1000)] = 300,
        documents: Documents = (),
        filters: Filters = NO_FILTER,
    ) -> ToolResult:
        """A part of the knowledge graph, with positions, to be drawn."""
        view = await service.graph_view(entity, hops=hops, limit=limit, documents=documents, filters=filters)
        return _result(view)

    @server.tool(annotations=READ_ONLY, output_schema=schema(EntityList))
    @guarded
    async def library_entities(query: Name = "", limit: Annotated[int, Field(ge=1, le=1000)] = 50) -> ToolResult:
        """Entities of the knowledge graph, by name."""
        return _result(EntityList(entities=await service.entities(query, limit=limit)))

    @server.tool(annotations=READ_ONLY, output_schema=schema(GraphEstimate))
    @guarded
    async def library_estimate_graph(
        documents: Documents = (), by: Extractor = "auto", passes: Passes = 0, again: bool = False
    ) -> ToolResult:
        """What building the graph would read and cost."""
        return _result(await service.estimate_graph(documents=documents, by=by, passes=passes, again=again))

    @server.tool(output_schema=schema(GraphReport))
    @guarded
    async def library_build_graph(
        context: Context, documents: Documents = (), by: Extractor = "auto", passes: Passes = 0, again: bool = False
    ) -> ToolResult:
        """Read triples from what was not read yet."""
        return _result(
            await service.build_graph(
                documents=documents, by=by, passes=passes, again=again, on_event=reporter(context)
            )
        )
