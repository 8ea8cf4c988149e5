"""`quaere graph merges`, `merge`, `separate`, `forget` and `rules`: which names are the same, and who says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ui.command import Json, run

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from core.graph import Merge, MergeRule
    from mcp_tools.library import Library

First = Annotated[str, typer.Argument(help="A name, as it stands in a document.")]
Second = Annotated[str, typer.Argument(help="Another one.")]


def merges(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Only where this is part of a name.")] = "",
    entity: Annotated[str, typer.Option(help="Only the names of this entity (name or id).")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 100,
    as_json: Json = False,
) -> None:
    """List names that were found to be of one entity, and why."""

    async def work(service: Library) -> None:
        found = await service.merges(query=text, entity=entity, limit=limit)
        if as_json:
            print(json.dumps([merge.model_dump(mode="json") for merge in found], ensure_ascii=False))
        else:
            print("\n".join(map(merge_text, found)) or "no names were merged", flush=True)

    run(context, work, as_json)


def rules(context: typer.Context, as_json: Json = False) -> None:
    """List what you decided about names."""

    async def work(service: Library) -> None:
        found = await service.merge_rules()
        if as_json:
            print(json.dumps([rule.model_dump(mode="json") for rule in found], ensure_ascii=False))
        else:
            print("\n".join(map(rule_text, found)) or "no rules", flush=True)

    run(context, work, as_json)


def merge(context: typer.Context, first: First, second: Second, as_json: Json = False) -> None:
    """Two names are the same from now on, in every document."""

    async def work(service: Library) -> None:
        _say(await service.merge_names(first, second), as_json)

    run(context, work, as_json)


def separate(context: typer.Context, first: First, second: Second, as_json: Json = False) -> None:
    """Two names are never the same: this undoes a merge."""

    async def work(service: Library) -> None:
        _say(await service.separate_names(first, second), as_json)

    run(context, work, as_json)


def forget(context: typer.Context, first: First, second: Second, as_json: Json = False) -> None:
    """Take back what you decided about two names."""

    async def work(service: Library) -> None:
        rule = await service.forget_rule(first, second)
        print(rule.model_dump_json() if as_json else f"forgotten: {rule_text(rule)}", flush=True)

    run(context, work, as_json)


def _say(rule: MergeRule, as_json: bool) -> None:
    print(rule.model_dump_json() if as_json else rule_text(rule), flush=True)


def rule_text(rule: MergeRule) -> str:
    return f"{rule.first!r} {'is the same as' if rule.kind == 'force' else 'is not the same as'} {rule.second!r}"


def merge_text(merge: Merge) -> str:
    from core.graph_text import one_line

    of = "" if one_line(merge.name) == one_line(merge.entity) else f" is {one_line(merge.entity)}"
    return f"{one_line(merge.name)}{of}: {merge.tier} {merge.score:.2f}, {one_line(merge.reason)}"
