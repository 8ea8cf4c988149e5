"""`quaere graph build`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ui import terminal
from ui.command import Json, run

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from core.graph import Extractor, GraphEstimate, GraphReport
    from mcp_tools.library import Library


def build(
    context: typer.Context,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it would read and cost.")] = False,
    documents: Annotated[
        list[str] | None, typer.Option("--document", help="Only this document (id or name); may be repeated.")
    ] = None,
    passes: Annotated[
        int, typer.Option(min=0, max=2, help="Readings by the model; what both find is surer [default: as set].")
    ] = 0,
    rules: Annotated[bool, typer.Option("--rules", help="By rules, even where a language model is set.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also what was read before. Replies that are kept cost nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read relations from what was not read yet: by the extract role's model where one is set, else by rules.

    It may be interrupted at any moment: the same command goes on where it was, and pays for nothing twice.
    """
    if rules and passes:
        raise typer.BadParameter("--passes goes with a language model, not with --rules")

    async def work(service: Library) -> None:
        by: Extractor = "rules" if rules else "auto"
        chosen = tuple(documents or ())
        if estimate:
            found = await service.estimate_graph(documents=chosen, by=by, passes=passes, again=again)
            print(found.model_dump_json() if as_json else estimate_text(found))
            return
        with terminal.Progress() as progress:
            report = await service.build_graph(
                documents=chosen, by=by, passes=passes, again=again, on_event=progress.event
            )
        print(report.model_dump_json() if as_json else report_text(report))
        if report.stopped:
            raise typer.Exit(5)

    run(context, work, as_json)


def estimate_text(found: GraphEstimate) -> str:
    lines = [f"{found.chunks} passages to read by {found.extractor}, {found.done} read already"]
    if found.calls:
        tokens = f"about {found.prompt_tokens:,} tokens of prompts and {found.completion_tokens:,} of replies"
        cost = f", {found.cost:.2f} at the prices that are set" if found.cost else ", no prices are set"
        lines.append(f"at most {found.calls:,} calls: {tokens}{cost}")
    return "\n".join(lines)


def report_text(report: GraphReport) -> str:
    lines = [
        f"{report.chunks} passages read by {report.extractor}, {report.skipped} skipped, {report.failed} failed",
        f"{report.kept} relations kept, {sum(report.dropped.values())} dropped",
        *(f"  {count:>6} {reason}" for reason, count in sorted(report.dropped.items(), key=lambda item: -item[1])),
        f"the graph has {report.entities} entities and {report.relations} relations",
    ]
    return "\n".join(
        [*lines, f"stopped: {report.stopped}; the same command goes on from here"] if report.stopped else lines
    )
