"""`quaere graph query`, `entities` and `show`: what the knowledge graph says, at a terminal."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from ui.command import Json, run

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from core.graph import Entity, GraphResult, GraphView
    from core.types import Filter
    from mcp_tools.library import Library

In = Annotated[list[str] | None, typer.Option("--in", help="Only this document (id or name); may be repeated.")]
InCollection = Annotated[str, typer.Option("--collection", help="Only documents of this collection.")]
Expired = Annotated[bool, typer.Option("--include-expired", help="Documents too that are valid no more.")]

EMPTY = "The knowledge graph is empty: `quaere graph build` reads what the documents state."


def query(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question of relation, in plain language.")] = "",
    entity: Annotated[str, typer.Option(help="Instead of a question: a name, to see what it is related to.")] = "",
    cypher: Annotated[str, typer.Option(help="Instead of a question: read-only Cypher.")] = "",
    hops: Annotated[int, typer.Option(min=1, max=5, help="How many relations a path may have.")] = 2,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many rows at most.")] = 50,
    documents: In = None,
    collection: InCollection = "",
    include_expired: Expired = False,
    as_json: Json = False,
) -> None:
    """Ask the graph how things are related: a question, --entity NAME or --cypher TEXT. Each row has its quotes."""
    if len([way for way in (question, entity, cypher) if way.strip()]) != 1:
        raise typer.BadParameter("give a question, --entity or --cypher: one of them")

    async def work(service: Library) -> None:
        found = await service.query_graph(
            question,
            entity=entity,
            cypher=cypher,
            hops=hops,
            limit=limit,
            documents=documents or [],
            filters=_filters(collection, include_expired),
        )
        print(found.model_dump_json() if as_json else rows_text(found), flush=True)

    run(context, work, as_json)


def entities(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Part of a name [default: those of which most is said].")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 50,
    as_json: Json = False,
) -> None:
    """List entities of the graph, with their other names."""

    async def work(service: Library) -> None:
        found = await service.entities(text, limit=limit)
        if as_json:
            print(json.dumps([entity.model_dump(mode="json") for entity in found], ensure_ascii=False))
        else:
            print(entities_text(found, text), flush=True)

    run(context, work, as_json)


def show(
    context: typer.Context,
    entity: Annotated[str, typer.Argument(help="A name [default: the best connected entities].")] = "",
    hops: Annotated[int, typer.Option(min=1, max=5, help="How far away from it.")] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many entities at most.")] = 30,
    documents: In = None,
    collection: InCollection = "",
    include_expired: Expired = False,
    as_json: Json = False,
) -> None:
    """Show a part of the graph as lines; `quaere serve` draws it at /graph."""

    async def work(service: Library) -> None:
        view = await service.graph_view(
            entity,
            hops=hops,
            limit=limit,
            documents=documents or [],
            filters=_filters(collection, include_expired),
        )
        print(view.model_dump_json() if as_json else view_text(view), flush=True)

    run(context, work, as_json)


def _filters(collection: str, include_expired: bool) -> Filter:
    from ui.conditions import filter_of

    return filter_of(collection=collection, include_expired=include_expired)


def rows_text(found: GraphResult) -> str:
    """Each row on a line, its quotes below it; what was asked for first, how it was asked last."""
    from core.graph_text import NOTHING, SHOWN_QUOTES, answer_line, one_line, statement

    lines = [] if found.rows or found.answers else [NOTHING]
    lines += [answer_line(found)] if answer_line(found) else []
    lines += [f"note: {found.note}"] if found.note else []
    lines += [""] if found.rows and lines else []
    for row in found.rows:
        lines.append(one_line(statement(row)))
        for said in row.evidence[:SHOWN_QUOTES]:
            quote = textwrap.fill(f"“{one_line(said.quote)}”", 100, initial_indent="    ", subsequent_indent="    ")
            lines += [f"  {one_line(said.document)}, page {said.page}", quote]
        if (more := len(row.evidence) - SHOWN_QUOTES) > 0:
            lines.append(f"  and {more} more")
    lines += [f"There are more than {len(found.rows)} rows: raise --limit."] if found.truncated else []
    lines += [f"note: {step.degraded}" for step in found.trace if step.degraded]
    lines += [f"asked of {found.backend} by {found.asked_by}: {one_line(found.pattern)}"] if found.pattern else []
    return "\n".join(lines)


def entities_text(found: list[Entity], asked: str) -> str:
    from core.graph_text import one_line

    if not found:
        return f"no entity has a name like {asked!r}" if asked else EMPTY
    lines = []
    for entity in found:
        type_ = f" ({one_line(entity.type)})" if entity.type else ""
        also = f", also {', '.join(map(one_line, entity.aliases))}" if entity.aliases else ""
        lines.append(f"{entity.mentions:>5}  {one_line(entity.name)}{type_}{also}")
    return "\n".join(lines)


def view_text(view: GraphView) -> str:
    from core.graph_text import one_line

    if not view.entities:
        return EMPTY
    names = {node.id: one_line(node.name) for node in view.nodes}
    lines = [f"{names[e.source]} —[{one_line(e.relation)}]→ {names[e.target]}" for e in view.edges]
    types = Counter(node.type or "no type" for node in view.nodes)
    kinds = ", ".join(f"{count} {one_line(name)}" for name, count in types.most_common())
    whole = f"{view.entities} entities and {view.relations} relations; shown: {view.shown} ({kinds})"
    return "\n".join([*lines, "", whole])
