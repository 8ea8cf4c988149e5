"""The language models of the product, by what they do."""

from __future__ import annotations

from core.llm.client import LLM
from core.llm.pacing import Gate
from core.ports import ReplyCache
from core.settings import Endpoint, LLMSettings, Role


class LLMs:
    """One client for each endpoint and model that the settings name; roles that differ in nothing share it."""

    def __init__(self, settings: LLMSettings, cache: ReplyCache | None) -> None:
        self._settings = settings
        self._cache = cache
        self._clients: list[tuple[Endpoint, LLM]] = []
        self._gates: dict[str, Gate] = {}

    def of(self, role: Role) -> LLM | None:
        """None where neither the role nor the main endpoint has a base URL, and for `vision` where the role names
        neither endpoint nor model. Raises LLMNotConfigured."""
        settings = self._settings.of(role)
        own = self._settings.vision
        if role == "vision" and not (own.base_url or own.model):
            return None  # most models see nothing: one that does is named
        if not settings.base_url:
            return None
        client = next((client for known, client in self._clients if known == settings), None)
        if client is None:
            gate = self._gates.setdefault(settings.base_url, Gate(settings.max_concurrency))
            client = LLM(settings, self._cache, gate)
            self._clients.append((settings, client))
        return client

    async def aclose(self) -> None:
        for _, client in self._clients:
            await client.aclose()
