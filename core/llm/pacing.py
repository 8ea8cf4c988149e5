"""How many requests an endpoint gets at once, and when one that failed is sent again."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.llm.failures import Failed
from core.settings import Connection

_LONGEST_PAUSE_S = 30.0  # of our own choosing; an endpoint may ask for more
_log = logging.getLogger(__name__)


class Gate:
    """What all calls to one base URL share: how many run at once, and a pause that it asked for."""

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._shut_until = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        async with self._slots:
            loop = asyncio.get_running_loop()
            while (left := self._shut_until - loop.time()) > 0:  # noqa: ASYNC110  (it may be put off meanwhile)
                await asyncio.sleep(left)
            yield

    def shut(self, seconds: float) -> None:
        self._shut_until = max(self._shut_until, asyncio.get_running_loop().time() + seconds)


class Patience:
    """Whether one call is tried again, and when."""

    def __init__(self, settings: Connection) -> None:
        self._settings = settings
        self._tries = 0
        self._waits = 0
        self._waited = 0.0

    def pause(self, failed: Failed) -> float | None:
        """Seconds before the next attempt; None where there is none.

        An endpoint that says "later" (429) is asked until `max_wait_s` are waited, one that fails `max_retries` times.
        """
        if not failed.retry:
            return None
        if failed.later:
            self._waits += 1
        else:
            self._tries += 1
            if self._tries > self._settings.max_retries:
                return None
        doubled = self._settings.backoff_s * 2.0 ** min(self._waits + self._tries - 1, 10)
        pause = max(failed.wait_s or 0.0, min(doubled, _LONGEST_PAUSE_S) * random.uniform(0.8, 1.2))
        if self._waited + pause > self._settings.max_wait_s or self._waits > 100:
            return None
        self._waited += pause
        _log.info("trying again in %.1f s: %s", pause, failed)
        return pause
