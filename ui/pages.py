"""Pages beside the chat: the graph (/graph), its merges (/graph/merges), a document's page (/graph/page).

They are static files that ask REST for what they show. A script of theirs never makes markup from text: names and
quotes come from documents.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

FILES = Path(__file__).parent / "static"
PAGES = {"/graph": "graph.html", "/graph/merges": "merges.html", "/graph/page": "page.html"}
HEADERS = {
    # Stricter than the chat page's: nothing inline, nothing evaluated.
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'",
    "cache-control": "no-cache",
}


def mount_pages(app: FastAPI) -> None:
    """Before the chat page, which answers for every path that is not another's."""
    for path, name in PAGES.items():
        _add(app, path, FILES / name)
    app.mount("/graph/static", StaticFiles(directory=FILES), name="graph")


def _add(app: FastAPI, path: str, file: Path) -> None:
    async def page() -> FileResponse:
        return FileResponse(file, media_type="text/html", headers=HEADERS)

    for spelled in (path, f"{path}/"):
        app.add_api_route(spelled, page, include_in_schema=False, response_class=FileResponse)
