"""A job that is waited for."""

from __future__ import annotations

from core.errors import Cancelled, NotFound, rebuild
from core.ports import OnEvent, Service
from core.types import Document, Event, Filter, Job, Metadata, Replace


async def add_and_wait(
    service: Service,
    path: str,
    *,
    name: str,
    metadata: Metadata | None,
    upload: bool,
    replace: Replace,
    on_event: OnEvent | None,
) -> Document:
    """`core.ports.Service.add_document` by means of the rest of the service."""

    async def told(event: Event) -> None:
        if on_event is not None and event.job is not None:
            await on_event(as_ingest(event.job))

    job = await service.submit(path, name=name, metadata=metadata, upload=upload, replace=replace)
    job = await service.watch(job.id, on_event=told)
    return await document_of(service, job)


async def document_of(service: Service, job: Job) -> Document:
    """What came of a job that has ended. Raises what it failed of."""
    if job.error is not None:
        raise rebuild(job.error.code, job.error.message, job.error.hint)
    if job.state == "cancelled":
        raise Cancelled(f"adding {job.name} was cancelled", hint=f"`quaere retry {job.id[:8]}` begins again")
    gone = NotFound(f"{job.name} was added, and removed since")
    try:
        found = await service.list_documents(Filter(documents=(job.document_id,), include_expired=True))
    except NotFound:
        raise gone from None
    for document in found:
        if document.id == job.document_id:
            return document
    raise gone


def as_ingest(job: Job) -> Event:
    step = {"done": "done", "failed": "failed", "cancelled": "cancelled"}.get(job.state) or job.stage or job.state
    return Event(kind="ingest", document=job.name, step=step, done=job.done, total=job.total)
