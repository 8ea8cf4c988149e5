"""The client against a real HTTP server on the loopback that plays a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from core.llm import LLM
from core.settings import LLMSettings
from tests.support.scripted_endpoint import KEY, Kept, LLMServer, Scripted

Play = Callable[..., tuple[LLM, LLMServer]]


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    """`llm, server = play(script…, setting=…)`; both are closed at the end. A script may be one function."""
    clients: list[LLM] = []
    with ExitStack() as stack:

        def start(
            *script: Any, cache: Kept | None = None, pages: Mapping[str, object] | None = None, **changed: Any
        ) -> tuple[LLM, LLMServer]:
            played = script if isinstance(script[0], Scripted) else script[0]
            server = stack.enter_context(LLMServer(played, pages))
            given: dict[str, Any] = {"base_url": server.url, "model": "m", "api_key": SecretStr(KEY), "backoff_s": 0}
            clients.append(LLM(LLMSettings(**(given | changed)), cache))
            return clients[-1], server

        yield start
        for client in clients:
            await client.aclose()
