"""What stands behind the private door: every tool over HTTP, for whoever brings the token."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from fastmcp.server.auth import AccessToken, TokenVerifier

from core.ports import Service
from mcp_tools.server import make_server

if TYPE_CHECKING:
    from starlette.applications import Starlette


class _OneToken(TokenVerifier):
    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if not secrets.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="guest", scopes=[])


def private_app(service: Service, token: str) -> Starlette:
    server = make_server(service, private=True, auth=_OneToken(token))
    return server.http_app(path="/mcp", host_origin_protection=True)
