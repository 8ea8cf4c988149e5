"""What keeps other web sites out of a server that asks for no password."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READS = {"GET", "HEAD", "OPTIONS"}
HEADERS = {
    # Gradio evaluates templates and styles inline; nothing is loaded from or sent to another host.
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
        "base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_wildcard(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")


def _name_and_port(netloc: str) -> tuple[str, int | None]:
    """('', None) for what is no host."""
    try:
        parts = urlsplit(f"//{netloc}")
        return (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", None


class Guard:
    """Refuses a Host that is not ours (DNS rebinding, 400) and a change that another site's page asks for (403).

    Bound to all addresses, every IP address is a name of ours: rebinding needs a domain name.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._names = {"localhost", "127.0.0.1", "::1", host.strip("[]").lower()}
        self._any_address = is_wildcard(host)
        if self._any_address:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return name != ""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._any_address

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str, str] | None:
        host = _name_and_port(headers.get("host", ""))
        if not self._is_ours(host[0]):
            return 400, "invalid_host", "this server does not answer to that Host"
        origin = headers.get("origin")
        if origin is None or method in READS:
            return None
        if not origin.startswith(("http://", "https://")) or _name_and_port(origin.partition("//")[2]) != host:
            return 403, "cross_origin", "a page of another site may not change anything here"
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is not None:
            status, code, message = refusal
            error = {"code": code, "message": message, "hint": "", "trace_id": ""}
            await JSONResponse({"error": error}, status)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
