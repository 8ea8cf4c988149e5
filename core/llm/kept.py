"""Replies kept by a hash of all that was asked, and two equal calls at once made one."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from core.errors import LibraryError
from core.llm.json_reply import MODES
from core.llm.made_for import owner
from core.llm.replies import Reply
from core.ports import HOW_ASKED, ReplyCache
from core.settings import Endpoint
from core.spending import current


class KeptReplies:
    """One endpoint's replies in a ReplyCache, which is called in a thread: it may be a database. None keeps none."""

    def __init__(self, settings: Endpoint, cache: ReplyCache | None) -> None:
        self._settings = settings
        self._cache = cache
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def key(self, request: dict[str, Any], prompts: list[str]) -> str:
        """SHA-256 of endpoint, model, messages, parameters, schema, and the versions of the prompts."""
        asked = json.dumps([self._settings.base_url, request, prompts], sort_keys=True, default=str)
        return hashlib.sha256(asked.encode()).hexdigest()

    @asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[Reply | None]:
        """The reply that is kept. Where there is none, whoever asks is alone for that key until it leaves."""
        if self._cache is None:
            yield None
            return
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            stored = await asyncio.to_thread(self._cache.get, key)
            if stored is not None:
                await self._own(key)
            yield None if stored is None else Reply.from_cache(stored, self._settings.model)

    async def keep(self, key: str, reply: Reply, prompts: list[str]) -> None:
        """Stored even when the caller is cancelled now: the reply was paid for."""
        if self._cache is not None:
            put = asyncio.to_thread(self._cache.put, key, self._settings.model, reply.to_cache(), ", ".join(prompts))
            try:
                await asyncio.shield(asyncio.create_task(put))
                await self._own(key)
            except LibraryError as error:  # a full disk must not cost the reply
                current().note(f"the reply could not be kept: {error.message}")

    async def _own(self, key: str) -> None:
        if self._cache is not None and owner():
            await asyncio.to_thread(self._cache.own, key, owner())

    # how the endpoint takes a schema is found once, and kept beside its replies

    async def mode(self) -> int:
        """An index into MODES; 0 where nothing is known."""
        if self._cache is None:
            return 0
        stored = await asyncio.to_thread(self._cache.get, self._mode_key)
        return MODES.index(stored) if stored in MODES else 0

    async def keep_mode(self, mode: int) -> None:
        if self._cache is not None:
            args = (self._mode_key, self._settings.model, MODES[mode], HOW_ASKED)
            await asyncio.to_thread(self._cache.put, *args)

    @property
    def _mode_key(self) -> str:
        asked = json.dumps(["mode", self._settings.base_url, self._settings.model])
        return hashlib.sha256(asked.encode()).hexdigest()
