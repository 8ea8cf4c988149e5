"""A real browser for tests of pages, and the application that it looks at."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
import uvicorn

from core.ports import Service
from core.settings import ServeSettings
from ui.serve import make_app

if TYPE_CHECKING:
    from playwright.async_api import Locator, LocatorAssertions, Page

CHROMIUM = os.environ.get("QUAERE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NO_WEBGL = "--disable-3d-apis"


@asynccontextmanager
async def served(service: Service) -> AsyncIterator[str]:
    """The address of the whole application over that library."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = make_app(service, ServeSettings(port=port))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, ws="none"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await running


def expect(locator: Locator) -> LocatorAssertions:
    """What has to become true of an element. Unlike `wait_for_function` it needs no eval, which the pages forbid."""
    from playwright.async_api import expect as becomes

    becomes.set_options(timeout=60_000)
    return becomes(locator)


def _missing() -> str:
    if not CHROMIUM:
        return "no Chromium on this machine"
    return "" if importlib.util.find_spec("playwright") else "playwright is not installed"


@asynccontextmanager
async def browsing(url: str, path: str = "/", width: int = 1280, flags: tuple[str, ...] = ()) -> AsyncIterator[Page]:
    """A page. At the end: nothing ran that should not, and no other host was asked."""
    if missing := _missing():
        if os.environ.get("QUAERE_REQUIRE_ALL") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        page = await browser.new_page(viewport={"width": width, "height": 860})
        asked: list[str] = []
        faults: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
        page.set_default_timeout(60_000)
        await page.goto(url + path)
        yield page
        assert [one for one in asked if not one.startswith((url, "data:", "blob:"))] == []
        assert faults == [], faults
        assert await page.evaluate("window.hacked") is None
        await browser.close()
