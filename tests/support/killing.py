"""A process that kills itself just before or just after a step of its task."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pkgutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import settings_for

# One process imports the product; each task is a fork of it, which saves its start.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__])
_OPENING_TOO = ("sync", "set_meta", "unlink")  # steps that opening a library takes


def run(folder: Path, task: str, where: str = "", step: str = "", moment: str = "") -> int:
    """Exit code of the task 'add', 'remove' or 'reindex' on `folder`/library; -9 where it was killed."""
    process = _processes.Process(target=_work, args=(folder, task, where, step, moment))
    process.start()
    process.join()
    return process.exitcode or 0


def _work(folder: Path, task: str, where: str, step: str, moment: str) -> None:
    armed = [False]
    if where:
        owner = pkgutil.resolve_name(where)
        setattr(owner, step, _killing(getattr(owner, step), armed, moment))
    asyncio.run(_do(folder, task, armed, step))


def _killing(work: Callable[..., Any], armed: list[bool], moment: str) -> Callable[..., Any]:
    def killed(*args: Any, **kwargs: Any) -> Any:
        if armed[0] and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = work(*args, **kwargs)
        if armed[0] and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return killed


async def _do(folder: Path, task: str, armed: list[bool], step: str) -> None:
    embedder = HashEmbedder("other", size=96) if task == "reindex" else HashEmbedder()
    armed[0] = step not in _OPENING_TOO
    app = build(settings_for(folder / "library"), embedder)
    armed[0] = True
    if task == "add":
        for name in ("one.md", "two.md"):
            await app.add_document(str(folder / name))
    elif task == "remove":
        for document in await app.list_documents():
            if document.name == "two.md":
                await app.remove_document(document.id)
    else:
        await app.reindex()
    armed[0] = False
    await app.aclose()
