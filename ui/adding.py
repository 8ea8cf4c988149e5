"""`quaere add`: files into the queue, and what becomes of them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import Cancelled, QuaereError
from core.jobs import document_of
from core.types import Job, Metadata, Replace
from mcp_tools.library import Library
from ui import terminal


class Adding:
    def __init__(self, library: Library, as_json: bool) -> None:
        self._library = library
        self._as_json = as_json
        self._jobs: list[Job] = []
        self.last_error: QuaereError | None = None

    async def submit(self, files: Sequence[tuple[Path, Metadata | None]], replace: Replace) -> None:
        """A file that can't be had does not keep the others out."""
        for file, metadata in files:
            try:
                path = str(file.resolve())
                job = await self._library.submit(path, name=file.name, metadata=metadata, replace=replace)
                self._jobs.append(job)
            except QuaereError as error:
                self._failed(error, file.name)
            except asyncio.CancelledError:
                await self._cancel(self._jobs)
                raise

    async def leave(self) -> None:
        for job in self._jobs:
            print(job.model_dump_json() if self._as_json else job.id, flush=True)
        if self._jobs:
            terminal.say_who_works(self._library.owns)

    async def follow(self) -> None:
        """Until all have ended. Interrupted, those that have not are cancelled: nobody would know that they go on."""
        waiting = list(self._jobs)
        try:
            with terminal.Progress() as progress:
                while waiting:
                    await self._finish(await self._library.watch(waiting[0].id, on_event=progress.event))
                    waiting.pop(0)
        except asyncio.CancelledError:
            await self._cancel(waiting)
            raise

    async def _finish(self, job: Job) -> None:
        try:
            document = await document_of(self._library, job)
        except QuaereError as error:
            self._failed(error, "" if isinstance(error, Cancelled) else job.name)
            return
        if self._as_json:
            shown = document.model_dump(mode="json") | {"outcome": job.outcome}
            print(json.dumps(shown, ensure_ascii=False), flush=True)
        else:
            print(terminal.document_line(document, job.outcome), flush=True)

    async def _cancel(self, jobs: Sequence[Job]) -> None:
        gone = [job for job in jobs if (await self._library.cancel(job.id)).state == "cancelled"]
        print(f"cancelled: {len(gone)} of {len(self._jobs)} not added", file=sys.stderr)
        if gone:
            print("  hint: with --detach they are added in the background", file=sys.stderr)

    def _failed(self, error: QuaereError, name: str) -> None:
        self.last_error = error
        terminal.show_error(error, name, self._as_json)
