"""The library as a door sees it: opened here when it is free, reached through its owner when it is not."""

from __future__ import annotations

import asyncio

from core.settings import Settings
from mcp_tools.library import Library
from quaere.app import App
from quaere.build import build


def library(settings: Settings, *, lazy: bool = False) -> Library:
    """An async context manager that is a core.ports.Service while entered; `lazy` enters before it is open."""

    async def opened() -> App:
        app = await asyncio.to_thread(build, settings)
        app.begin()
        return app

    return Library(settings.library, opened, lazy=lazy)
