"""`quaere graph`."""

from __future__ import annotations

import typer

from ui import graph_build, graph_merges, graph_query

graph = typer.Typer(no_args_is_help=True, help="The knowledge graph: relations that documents state, with quotes.")
for command in (graph_build.build, graph_query.query, graph_query.entities, graph_query.show):
    graph.command()(command)
for decision in (
    graph_merges.merges,
    graph_merges.rules,
    graph_merges.merge,
    graph_merges.separate,
    graph_merges.forget,
):
    graph.command()(decision)
