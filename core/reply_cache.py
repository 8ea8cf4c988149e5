"""Replies kept by a hash of all that was asked."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from core.ports import ReplyCache
from core.replies import Reply
from core.settings import LLMSettings


class KeptReplies:
    """One endpoint's replies in a ReplyCache, which is called in a thread: it may be a database. None keeps none."""

    def __init__(self, settings: LLMSettings, cache: ReplyCache | None) -> None:
        self._settings = settings
        self._cache = cache

    async def get(self, request: dict[str, Any]) -> Reply | None:
        if self._cache is None:
            return None
        stored = await asyncio.to_thread(self._cache.get, self._key(request))
        return None if stored is None else Reply.from_cache(stored, self._settings.model)

    async def keep(self, request: dict[str, Any], reply: Reply) -> None:
        if self._cache is not None:
            await asyncio.to_thread(self._cache.put, self._key(request), self._settings.model, reply.to_cache())

    def _key(self, request: dict[str, Any]) -> str:
        """SHA-256 of endpoint, model, messages, parameters and schema."""
        asked = json.dumps([self._settings.base_url, request], sort_keys=True, default=str)
        return hashlib.sha256(asked.encode()).hexdigest()
