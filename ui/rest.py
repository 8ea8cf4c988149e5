"""REST under /v1, its documentation at /docs, /health. Questions go through the tools, documents to the library."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi_offline import FastAPIOffline  # Swagger UI from the wheel: the machine may have no network
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from core.errors import InvalidInput, NotFound, QuaereError
from core.metadata import parsed
from core.ports import OnEvent, Service
from core.settings import ServeSettings
from core.types import (
    Answer,
    Collection,
    Document,
    Event,
    Filter,
    Frozen,
    Health,
    Job,
    Metadata,
    PageView,
    Replace,
    SearchResult,
    Turn,
)
from ui.guard import Guard
from ui.rest_graph import add_graph
from ui.rest_merges import add_merges
from ui.running import Tools, stream
from ui.uploads import received

PING_S = 15.0
T = TypeVar("T")
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[Any]]
_log = logging.getLogger(__name__)


class Question(Frozen):
    question: str
    documents: tuple[str, ...] = Field(default=(), description="ids or names; empty is the whole library")
    filters: Filter = Filter()
    history: tuple[Turn, ...] = ()
    policy: Literal["auto", "quote"] = "auto"


class Search(Frozen):
    query: str
    top_k: int = Field(default=6, ge=1, le=50)
    channels: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    filters: Filter = Filter()
    explain: bool = Field(default=False, description="list every candidate and what became of it")


class ErrorDetail(BaseModel):
    model_config = ConfigDict(title="Error")

    code: str
    message: str
    hint: str = ""
    trace_id: str = ""


class ErrorBody(BaseModel):
    error: ErrorDetail


def _body(error: QuaereError) -> dict[str, Any]:
    detail = ErrorDetail(code=error.code, message=error.message, hint=error.hint, trace_id=error.trace_id)
    return ErrorBody(error=detail).model_dump()


def _reply(error: QuaereError, status: int = 0) -> JSONResponse:
    return JSONResponse(_body(error), status or error.status)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(QuaereError)
    async def known(_: Request, error: QuaereError) -> JSONResponse:
        return _reply(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return _reply(InvalidInput(f"{where}: {first['msg']}" if where else first["msg"], hint="see /docs"))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404:
            return _reply(NotFound(f"nothing at {request.url.path}", hint="see /docs"))
        code = "method_not_allowed" if error.status_code == 405 else "http_error"
        body = ErrorBody(error=ErrorDetail(code=code, message=str(error.detail)))
        return JSONResponse(body.model_dump(), error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def unknown(_: Request, error: Exception) -> JSONResponse:
        return _reply(QuaereError("something went wrong inside Quaere", hint="the server's log says more"))


def _sse(kind: str, data: str) -> str:
    return f"event: {kind}\ndata: {data}\n\n"  # the data is JSON, and so one line


def _event(event: Event | Answer | Job) -> str:
    if isinstance(event, Answer):
        return _sse("answer", event.model_dump_json())
    if isinstance(event, Job):
        return _sse("end", event.model_dump_json())
    if event.job is not None:
        return _sse("job", event.job.model_dump_json())
    if event.stage is not None:
        return _sse("stage", event.stage.model_dump_json())
    return _sse(event.kind, event.model_dump_json(include={"text"}))


async def _events(call: Callable[[OnEvent], Any]) -> AsyncIterator[str]:
    """The stream as server-sent events, with a comment now and then so that no proxy thinks it dead."""
    source = stream(call)
    pending = asyncio.ensure_future(anext(source))
    try:
        while True:
            done, _ = await asyncio.wait([pending], timeout=PING_S)
            if not done:
                yield ": still running\n\n"
                continue
            yield _event(pending.result())
            pending = asyncio.ensure_future(anext(source))
    except StopAsyncIteration:
        return
    except QuaereError as error:
        yield _sse("error", ErrorBody.model_validate(_body(error)).error.model_dump_json())
    finally:
        pending.cancel()
        await asyncio.wait([pending])
        await source.aclose()  # type: ignore[attr-defined]


def _add_questions(router: APIRouter, tools: Tools) -> None:
    @router.post(
        "/ask",
        response_model=Answer,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def ask(asked: Question, accept: Annotated[str, Header()] = "") -> Any:
        """Ask. With `Accept: text/event-stream` the reply is a stream of server-sent events: `stage` (a
        TraceStep) as each stage ends, `text` as the answer is written, then one `answer` or `error`."""

        def call(on_event: OnEvent | None = None) -> Any:
            options = {"documents": asked.documents, "history": asked.history, "policy": asked.policy}
            options["filters"] = asked.filters  # type: ignore[assignment]
            return tools.ask(asked.question, **options, on_event=on_event)  # type: ignore[arg-type]

        if "text/event-stream" not in accept:
            return await call()
        return StreamingResponse(_events(call), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @router.post("/search")
    async def search(asked: Search) -> SearchResult:
        """Passages, best first, with the rank that each channel gave them."""
        return await tools.search_passages(
            asked.query,
            top_k=asked.top_k,
            channels=asked.channels,
            documents=asked.documents,
            filters=asked.filters,
            explain=asked.explain,
        )


def _add_pages(router: APIRouter, tools: Tools) -> None:
    @router.get("/documents/{document}/pages/{page}")
    async def read_page(document: str, page: int, highlight: Annotated[str, Query()] = "") -> PageView:
        view, _ = await tools.read_page(document, page, highlight=highlight, image=False)
        return view

    @router.get(
        "/documents/{document}/pages/{page}/image",
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}},
    )
    async def page_image(document: str, page: int, highlight: Annotated[str, Query()] = "") -> Response:
        """A PDF's page as a PNG, with `highlight` (text that stands on it) marked. Other files have no such pages."""
        view, png = await tools.read_page(document, page, highlight=highlight, image=True)
        if not png:
            raise NotFound(f"{view.document} has no pages to draw: only a PDF has", hint="read the page's text instead")
        return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


def _add_figures(router: APIRouter, service: Service) -> None:
    @router.get(
        "/documents/{document}/figures/{number}",
        response_class=Response,
        responses={200: {"content": {"image/png": {}}}},
    )
    async def figure_image(document: str, number: int) -> Response:
        """A figure of a PDF as a PNG, by its place in the document, as a citation's `figure.number` says it."""
        figure, png = await service.read_figure(document, number)
        if not png:
            raise NotFound(f"figure {number} could not be drawn", hint=f"see page {figure.page}")
        return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


_FILES = {
    "schema": {
        "type": "object",
        "required": ["files"],
        "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
    }
}


class _Options(TypedDict):
    """How each file of a form is added."""

    metadata: Metadata | None
    upload: bool
    replace: Replace


def _add_documents(router: APIRouter, service: Service, max_mb: int) -> None:
    @router.get("/documents")
    async def list_documents() -> list[Document]:
        return await service.list_documents()

    @router.post(
        "/documents",
        status_code=201,
        response_model=list[Document] | list[Job],
        openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": _FILES}}},
        responses={
            200: {"model": list[Document], "description": "All of them were there already"},
            202: {"model": list[Job], "description": "With wait=false: queued; Location is where to look"},
        },
    )
    async def add_documents(
        request: Request,
        response: Response,
        metadata: Annotated[str, Query(description="what is said of each of them: Metadata, as JSON")] = "",
        wait: bool = True,
        replace: bool = False,
    ) -> list[Document] | list[Job]:
        """Add PDF, Markdown, text, HTML or DOCX files. The first refused one ends the call; those before it stay.
        With `replace=true` each takes the place of the document that has its name; otherwise both stay."""
        options = _Options(metadata=_metadata(metadata), upload=True, replace="name" if replace else "never")
        async with received(request, max_mb) as files:
            if not wait:
                return await _queued(files, options, response)
            return await _added(files, options, response)

    async def _queued(files: list[tuple[Path, str]], options: _Options, response: Response) -> list[Job]:
        jobs = [await _named(name, service.submit(str(path), name=name, **options)) for path, name in files]
        response.status_code = 202
        response.headers["Location"] = f"/v1/jobs/{jobs[0].id}" if len(jobs) == 1 else "/v1/jobs"
        return jobs

    async def _added(files: list[tuple[Path, str]], options: _Options, response: Response) -> list[Document]:
        before = {document.id for document in await service.list_documents()}
        added = [await _named(name, service.add_document(str(path), name=name, **options)) for path, name in files]
        if all(document.id in before for document in added):
            response.status_code = 200
        return added

    @router.patch("/documents/{document}")
    async def edit_document(document: str, changes: Metadata) -> Document:
        """Change what is said of a document: what is left out stays, null takes a field or a date away."""
        return await service.edit_document(document, changes)

    @router.delete("/documents/{document}")
    async def remove_document(document: str) -> Document:
        return await service.remove_document(document)


def _metadata(text: str) -> Metadata | None:
    if not text.strip():
        return None
    try:
        return parsed(Metadata, json.loads(text))
    except ValueError as error:
        raise InvalidInput(f"metadata: no JSON: {error}", hint='e.g. {"collection": "admissions"}') from error


def _add_collections(router: APIRouter, service: Service) -> None:
    @router.get("/collections")
    async def collections() -> list[Collection]:
        return await service.collections()

    @router.post("/collections", status_code=201)
    async def create_collection(collection: Collection, replace: bool = False) -> Collection:
        """Declare a collection and its fields. `replace` changes one, where all of its documents still fit."""
        return await service.create_collection(collection, replace=replace)

    @router.delete("/collections/{name}")
    async def remove_collection(name: str) -> Collection:
        """Refused while it has documents."""
        return await service.remove_collection(name)


async def _named(name: str, call: Awaitable[T]) -> T:
    """The call; its error says which file it is about."""
    try:
        return await call
    except QuaereError as error:
        error.message = f"{name}: {error.message}"
        raise


def _add_jobs(router: APIRouter, service: Service) -> None:
    @router.get("/jobs")
    async def list_jobs() -> list[Job]:
        """The newest first."""
        return await service.jobs()

    @router.get("/jobs/{job}")
    async def get_job(job: str) -> Job:
        return await service.job(job)

    @router.get(
        "/jobs/{job}/events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    )
    async def job_events(job: str) -> StreamingResponse:
        """Server-sent events: `job` with the Job as it is and at each change, then `end` with the Job that has ended.
        A stream that broke is asked for again: it begins with the Job as it is then."""
        found = await service.job(job)  # what is not there is a 404, not a stream

        def call(on_event: OnEvent) -> Any:
            return service.watch(found.id, on_event=on_event)

        return StreamingResponse(_events(call), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @router.post("/jobs/{job}/cancel")
    async def cancel_job(job: str) -> Job:
        """Nothing of its document stays. What has ended stays as it is."""
        return await service.cancel(job)

    @router.post("/jobs/{job}/retry")
    async def retry_job(job: str) -> Job:
        """Queues a job that failed or was cancelled; any other is returned as it is."""
        return await service.retry(job)


def _add_health(app: FastAPI, service: Service) -> None:
    @app.get("/health", response_model=Health, responses={503: {"model": ErrorBody}}, tags=["health"])
    async def health() -> Any:
        try:
            return await service.health()
        except QuaereError as error:
            return _reply(error, 503)


def make_rest(service: Service, tools: Tools, settings: ServeSettings, *, lifespan: Lifespan | None = None) -> FastAPI:
    app = FastAPIOffline(
        title="Quaere",
        description="Ask your papers; every sentence of the answer leads back to a page.",
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(Guard, host=settings.host)
    _add_error_handlers(app)
    router = APIRouter(prefix="/v1", responses={"4XX": {"model": ErrorBody}, "5XX": {"model": ErrorBody}})
    _add_questions(router, tools)
    _add_documents(router, service, settings.max_upload_mb)
    _add_collections(router, service)
    _add_jobs(router, service)
    _add_pages(router, tools)
    _add_figures(router, service)
    add_graph(router, service, tools)
    add_merges(router, service)

    @router.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False)
    async def nothing(path: str) -> None:
        raise NotFound(f"nothing at /v1/{path}", hint="see /docs")

    app.include_router(router)
    _add_health(app, service)
    return app
