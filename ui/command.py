"""What every command does: it opens the library, does the work there, and turns an error into an exit code."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from core.errors import QuaereError
from ui import terminal

if TYPE_CHECKING:  # not loaded for --help, which has to come at once
    from core.settings import Settings
    from mcp_tools.library import Library

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Work = Callable[["Library"], Awaitable[None]]
T = TypeVar("T")


def run(context: typer.Context, work: Work, as_json: bool, settings: Settings | None = None) -> None:
    """Open the library, as its owner or as a guest of the process that owns it, and do the work."""

    async def opened() -> None:
        from ui.session import library

        async with library(settings or settings_of(context)) as service:
            await work(service)

    exit_on_error(lambda: asyncio.run(opened()), as_json)


def exit_on_error(call: Callable[[], T], as_json: bool) -> T:
    try:
        return call()
    except QuaereError as error:
        terminal.show_error(error, "", as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:  # `quaere list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def settings_of(context: typer.Context) -> Settings:
    from core.settings import load_settings

    try:
        return load_settings(**({"library": context.obj.expanduser().absolute()} if context.obj else {}))
    except QuaereError as error:
        terminal.show_error(error, "", False)
        raise typer.Exit(error.exit_code) from None
