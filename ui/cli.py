"""The command line. Results go to stdout, everything else to stderr; exit codes are those of core.errors."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.errors import Cancelled, InvalidInput, rebuild
from core.formats import KINDS, SUFFIXES
from ui import terminal
from ui.command import Json, exit_on_error, run, settings_of
from ui.evaluate import evaluate
from ui.graph import graph

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from pydantic import BaseModel

    from core.types import Metadata
    from mcp_tools.library import Library

app = typer.Typer(
    name="quaere",
    help="Ask your papers; every sentence of the answer leads back to a page.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
In = Annotated[list[str] | None, typer.Option("--in", help="Only this document (id or name); may be repeated.")]
InCollection = Annotated[str, typer.Option("--collection", help="Only documents of this collection.")]
WithTag = Annotated[
    list[str] | None, typer.Option("--tag", help="Only documents with this tag; may be repeated, any of them fits.")
]
WithField = Annotated[
    list[str] | None,
    typer.Option("--field", help="NAME=VALUE: only documents of that value; the same name again adds a value."),
]
InLanguage = Annotated[str, typer.Option("--language", help="Only documents in this language, e.g. en.")]
PublishedFrom = Annotated[str, typer.Option(help="YYYY-MM-DD: only what was published then or later.")]
PublishedTo = Annotated[str, typer.Option(help="YYYY-MM-DD: only what was published then or before.")]
AsOf = Annotated[str, typer.Option(help="YYYY-MM-DD: what is valid on that day [default: today].")]
Expired = Annotated[bool, typer.Option("--include-expired", help="Documents too that are valid no more.")]
SetCollection = Annotated[str | None, typer.Option("--collection", help="The collection it belongs to.")]
SetTag = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be repeated. They replace those it had.")]
SetField = Annotated[list[str] | None, typer.Option("--field", help="NAME=VALUE, as its collection declares it.")]
SetLanguage = Annotated[str | None, typer.Option("--language", help="A language code, e.g. en.")]
PublishedAt = Annotated[str | None, typer.Option(help="YYYY-MM-DD.")]
ValidUntil = Annotated[str | None, typer.Option(help="YYYY-MM-DD: its last valid day.")]


app.add_typer(evaluate, name="eval")
app.add_typer(graph, name="graph")


@app.callback()
def common(
    context: typer.Context,
    library: Annotated[
        Path | None, typer.Option(help="The library's folder [default: in the user's data folder].")
    ] = None,
) -> None:
    context.obj = library


@app.command()
def add(
    context: typer.Context,
    paths: Annotated[list[Path] | None, typer.Argument(help=f"{KINDS} files, or folders of them.")] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="A JSONL file that names files beside it with their metadata.")
    ] = None,
    collection: SetCollection = None,
    tags: SetTag = None,
    fields: SetField = None,
    language: SetLanguage = None,
    published_at: PublishedAt = None,
    valid_until: ValidUntil = None,
    detach: Annotated[bool, typer.Option("--detach", help="Only queue them, and print the jobs' ids.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the older version of a file that has changed.")] = False,
    as_json: Json = False,
) -> None:
    """Add documents. What is there already is not added twice, only described anew; a changed file replaces its older
    version.

    Ctrl-C cancels what is not ready yet. What was interrupted otherwise goes on with the next command.
    """
    said = {"collection": collection, "tags": tags, "fields": fields, "language": language}
    said |= {"published_at": published_at, "valid_until": valid_until}
    if manifest is not None and (paths or any(value is not None for value in said.values())):
        raise typer.BadParameter("--manifest says all there is to say: no paths and no other options beside it")
    if manifest is None and not paths:
        raise typer.BadParameter("name a file, a folder, or a --manifest")

    async def work(service: Library) -> None:
        from ui.adding import Adding

        adding = Adding(service, as_json)
        await adding.submit(await _described(service, paths or [], manifest, said), "never" if keep else "path")
        await (adding.leave() if detach else adding.follow())
        if adding.last_error is not None:
            raise typer.Exit(adding.last_error.exit_code)

    run(context, work, as_json)


@app.command()
def jobs(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help="Only this job (id, or its first 8 characters).")] = "",
    follow: Annotated[
        bool, typer.Option("--follow", help="Stay until it has ended; Ctrl-C only stops looking.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the jobs that add documents, the newest first, or show one."""
    if follow and not job:
        raise typer.BadParameter("--follow goes with the id of a job")

    async def work(service: Library) -> None:
        if not job:
            found = await service.jobs()
            if as_json:
                print(json.dumps([one.model_dump(mode="json") for one in found], ensure_ascii=False))
            else:
                terminal.show_jobs(found)
            return
        with terminal.Progress() as progress:
            one = await (service.watch(job, on_event=progress.event) if follow else service.job(job))
        _print(one, as_json, terminal.job_text)
        if follow and one.error is not None:
            raise typer.Exit(rebuild(one.error.code, one.error.message).exit_code)
        if follow and one.state == "cancelled":
            raise typer.Exit(Cancelled.exit_code)

    run(context, work, as_json)


@app.command()
def cancel(context: typer.Context, job: str, as_json: Json = False) -> None:
    """Cancel a job; nothing of its document stays. What has ended stays as it is."""

    async def work(service: Library) -> None:
        _print(await service.cancel(job), as_json, terminal.job_text)

    run(context, work, as_json)


@app.command()
def retry(context: typer.Context, job: str, as_json: Json = False) -> None:
    """Queue a job that failed or was cancelled again."""

    async def work(service: Library) -> None:
        _print(await service.retry(job), as_json, terminal.job_text)
        terminal.say_who_works(service.owns)

    run(context, work, as_json)


@app.command("list")
def list_documents(
    context: typer.Context,
    collection: InCollection = "",
    tags: WithTag = None,
    fields: WithField = None,
    expired: Annotated[bool, typer.Option("--expired", help="Only those that are valid no more.")] = False,
    as_json: Json = False,
) -> None:
    """List the library's documents."""

    async def work(service: Library) -> None:
        from ui.conditions import filter_of

        filters = filter_of(collection=collection, tags=tags, fields=fields, include_expired=True)
        documents = await service.list_documents(filters)
        if expired:
            documents = [document for document in documents if document.expired(date.today())]
        if as_json:
            print(json.dumps([document.model_dump(mode="json") for document in documents], ensure_ascii=False))
        else:
            terminal.show_documents(documents)

    run(context, work, as_json)


@app.command()
def edit(
    context: typer.Context,
    document: str,
    title: Annotated[str | None, typer.Option(help="The title it is shown and found with.")] = None,
    collection: SetCollection = None,
    tags: SetTag = None,
    fields: SetField = None,
    language: SetLanguage = None,
    published_at: PublishedAt = None,
    valid_until: ValidUntil = None,
    as_json: Json = False,
) -> None:
    """Change what is said of a document; '' takes a value away. Nothing is read or embedded again."""

    async def work(service: Library) -> None:
        from core.types import Filter
        from ui.conditions import metadata_of

        found = await service.list_documents(Filter(documents=(document,), include_expired=True))
        changes = await metadata_of(
            service,
            title=title,
            collection=collection,
            tags=tags,
            fields=fields,
            language=language,
            published_at=published_at,
            valid_until=valid_until,
            known_in=found[0].collection,
        )
        if changes is None:
            raise InvalidInput("nothing to change was named", hint="e.g. --tag new --valid-until 2027-12-31")
        _print(await service.edit_document(found[0].id, changes), as_json, terminal.document_line)

    run(context, work, as_json)


@app.command()
def ask(
    context: typer.Context,
    question: str,
    documents: In = None,
    collection: InCollection = "",
    tags: WithTag = None,
    fields: WithField = None,
    language: InLanguage = "",
    published_from: PublishedFrom = "",
    published_to: PublishedTo = "",
    as_of: AsOf = "",
    include_expired: Expired = False,
    quote: Annotated[bool, typer.Option("--quote", help="Quote only, even with a language model configured.")] = False,
    as_json: Json = False,
) -> None:
    """Ask a question; each sentence of the answer cites its page."""

    async def work(service: Library) -> None:
        from ui.conditions import filter_of

        stream = terminal.Stream(quiet=as_json)
        filters = filter_of(
            collection=collection,
            tags=tags,
            fields=fields,
            language=language,
            published_from=published_from,
            published_to=published_to,
            as_of=as_of,
            include_expired=include_expired,
        )
        answer = await service.ask(
            question,
            documents=documents or [],
            filters=filters,
            policy="quote" if quote else "auto",
            on_event=stream.event,
        )
        stream.end()
        _print(answer, as_json, terminal.answer_text)

    run(context, work, as_json)


@app.command()
def search(
    context: typer.Context,
    query: str,
    top_k: Annotated[int, typer.Option(min=1, max=50, help="How many passages.")] = 6,
    documents: In = None,
    collection: InCollection = "",
    tags: WithTag = None,
    fields: WithField = None,
    language: InLanguage = "",
    published_from: PublishedFrom = "",
    published_to: PublishedTo = "",
    as_of: AsOf = "",
    include_expired: Expired = False,
    channels: Annotated[
        list[str] | None,
        typer.Option("--channel", help="dense, bm25, sparse or mentions; may be repeated [default: all]."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="List every candidate too, and why it is there or not.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find passages, with the rank each channel gave them."""

    async def work(service: Library) -> None:
        from ui.conditions import filter_of

        filters = filter_of(
            collection=collection,
            tags=tags,
            fields=fields,
            language=language,
            published_from=published_from,
            published_to=published_to,
            as_of=as_of,
            include_expired=include_expired,
        )
        found = await service.search_passages(
            query, top_k=top_k, channels=channels or [], documents=documents or [], filters=filters, explain=explain
        )
        _print(found, as_json, terminal.passages_text)

    run(context, work, as_json)


collections = typer.Typer(no_args_is_help=True, help="Declare collections, whose documents share their fields.")
app.add_typer(collections, name="collection")


@collections.command("create")
def create_collection(
    context: typer.Context,
    name: str,
    file: Annotated[Path | None, typer.Option(help="TOML or JSON: title, review_undated, fields.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change one that is there, where all its documents still fit.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Declare a collection and its fields."""

    async def work(service: Library) -> None:
        from core.metadata import parsed
        from core.types import Collection
        from ingest.manifest import read_declaration

        declared = read_declaration(name, file) if file else parsed(Collection, {"name": name})
        _print(await service.create_collection(declared, replace=replace), as_json, terminal.collection_text)

    run(context, work, as_json)


@collections.command("list")
def list_collections(context: typer.Context, as_json: Json = False) -> None:
    """List the collections with their fields."""

    async def work(service: Library) -> None:
        found = await service.collections()
        if as_json:
            print(json.dumps([collection.model_dump(mode="json") for collection in found], ensure_ascii=False))
        else:
            print("\n".join(terminal.collection_text(collection) for collection in found))

    run(context, work, as_json)


@collections.command("show")
def show_collection(context: typer.Context, name: str, as_json: Json = False) -> None:
    """Show one collection."""

    async def work(service: Library) -> None:
        from core.metadata import find_collection

        _print(find_collection(name, await service.collections()), as_json, terminal.collection_text)

    run(context, work, as_json)


@collections.command("remove")
def remove_collection(context: typer.Context, name: str, as_json: Json = False) -> None:
    """Remove a collection that has no documents."""

    async def work(service: Library) -> None:
        _print(await service.remove_collection(name), as_json, lambda gone: f"removed the collection {gone.name}")

    run(context, work, as_json)


@app.command()
def page(
    context: typer.Context,
    document: str,
    number: Annotated[int, typer.Argument(min=1, help="Page, from 1.")],
    image: Annotated[Path | None, typer.Option(help="Write the image of a PDF's page to this PNG file.")] = None,
    highlight: Annotated[str, typer.Option(help="Text of the page to mark in the image.")] = "",
    as_json: Json = False,
) -> None:
    """Read one page: its text, and its image on request."""

    async def work(service: Library) -> None:
        view, png = await service.read_page(document, number, highlight=highlight, image=image is not None)
        if image is not None and not png:
            raise InvalidInput(f"{view.document} has no pages to draw: only a PDF has", hint="leave out --image")
        if image is not None:
            image.write_bytes(png)
        if view.ocr and not as_json:
            print(f"{view.place}: read from a scan, and may be misread", file=sys.stderr)
        _print(view, as_json, lambda shown: shown.text or f"(no text: {shown.gap or 'a blank page'})")

    run(context, work, as_json)


@app.command()
def remove(context: typer.Context, document: str, as_json: Json = False) -> None:
    """Remove a document and everything made from it."""

    async def work(service: Library) -> None:
        removed = await service.remove_document(document)
        _print(removed, as_json, lambda gone: f"removed {gone.name} ({gone.id[:8]})")

    run(context, work, as_json)


@app.command()
def reindex(context: typer.Context, as_json: Json = False) -> None:
    """Rebuild the indexes from the ledger, with the embedder that is configured now."""

    async def work(service: Library) -> None:
        with terminal.Progress() as progress:
            health = await service.reindex(on_event=progress.event)
        _print(health, as_json, terminal.health_text)

    run(context, work, as_json)


@app.command()
def check(
    context: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    as_json: Json = False,
) -> None:
    """Check that documents, stored files, vectors and BM25 agree; exits with 6 where something is left to do."""

    async def work(service: Library) -> None:
        report = await service.check(repair=repair)
        _print(report, as_json, terminal.check_text)
        if report.left:
            raise typer.Exit(6)

    run(context, work, as_json)


@app.command()
def health(context: typer.Context, as_json: Json = False) -> None:
    """Say what the library holds and what answers with it."""

    async def work(service: Library) -> None:
        _print(await service.health(), as_json, terminal.health_text)

    run(context, work, as_json)


@app.command()
def trace(context: typer.Context, trace_id: str) -> None:
    """Print the stored trace of a question as JSON: each stage, its time, and where it failed."""

    async def work(service: Library) -> None:
        print(await service.trace(trace_id))

    run(context, work, True)


@app.command()
def cache(
    context: typer.Context,
    clear: Annotated[
        bool, typer.Option("--clear", help="Forget them, so that the same is asked and paid anew.")
    ] = False,
    model: Annotated[str, typer.Option(help="With --clear: only this model's replies.")] = "",
    as_json: Json = False,
) -> None:
    """Show or clear the replies of language models that are kept."""
    if model and not clear:
        raise typer.BadParameter("--model goes with --clear")

    async def work(service: Library) -> None:
        if clear:
            gone = await service.clear_replies(model=model)
            print(json.dumps({"cleared": gone}) if as_json else f"{gone} kept replies cleared")
            return
        kept = await service.kept_replies()
        if as_json:
            print(json.dumps([entry.model_dump() for entry in kept], ensure_ascii=False))
        else:
            terminal.show_kept_replies(kept)

    run(context, work, as_json)


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check each configured language model: reachable, model, streaming, JSON, window, speed; say what to change."""

    async def work() -> None:
        from core.llm.doctor import examine

        reports = []
        async for report in examine(settings_of(context).llm):
            reports.append(report)
            if not as_json:
                print(terminal.report_text(report), flush=True)
        if as_json:
            print(json.dumps([report.model_dump() | {"works": report.works} for report in reports], ensure_ascii=False))
        elif not reports:
            print("No language model is configured: answers are quotations, which is fine.")
            print("For written answers set QUAERE_LLM__BASE_URL and QUAERE_LLM__MODEL.")
        if not all(report.works for report in reports):
            raise typer.Exit(5)

    exit_on_error(lambda: asyncio.run(work()), as_json)


@app.command()
def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on [default: 127.0.0.1].")] = None,
    port: Annotated[int | None, typer.Option(help="Port [default: 8765].")] = None,
) -> None:
    """Serve the chat page (/), REST (/v1, /docs), MCP (/mcp) and /health in one process."""
    from ui.serve import serve as run_server

    settings = settings_of(context)
    changed = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = settings.model_copy(update={"serve": settings.serve.model_copy(update=changed)})
    run(context, lambda service: run_server(service, settings.serve), False, settings)


@app.command()
def mcp(context: typer.Context) -> None:
    """Serve the tools over stdio, for an MCP host."""
    from mcp_tools.stdio import claim_stdout, run_stdio
    from ui.session import library

    wire = claim_stdout()  # before anything else may print

    async def serve_tools() -> None:
        async with library(settings_of(context), lazy=True) as service:
            await run_stdio(service, wire=wire)

    exit_on_error(lambda: asyncio.run(serve_tools()), False)


def _files(paths: list[Path]) -> list[Path]:
    """The files themselves, and of folders what can be read below them, in the order of names; nothing hidden."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(p for p in path.rglob("*") if _is_wanted(p, path)) if path.is_dir() else []
        if path.is_dir() and not inside:
            raise InvalidInput(f"no document below {path}", hint=f"files that can be read end in {', '.join(SUFFIXES)}")
        found += inside or [path]
    return found


async def _described(
    service: Library, paths: list[Path], manifest: Path | None, said: dict[str, Any]
) -> list[tuple[Path, Metadata | None]]:
    """Each file to add, with what is said of it; all of it is checked before any is added."""
    from ingest.manifest import read_manifest
    from ui.conditions import metadata_of

    if manifest is not None:
        entries = await asyncio.to_thread(read_manifest, manifest, await service.collections())
        return [(entry.path, entry.metadata) for entry in entries]
    metadata = await metadata_of(service, **said)
    return [(file, metadata) for file in _files(paths)]


def _is_wanted(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix.lower() in SUFFIXES and not hidden and file.is_file()


def _print(value: BaseModel, as_json: bool, text: Callable[[Any], str]) -> None:
    print(value.model_dump_json() if as_json else text(value), flush=True)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
