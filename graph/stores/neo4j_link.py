"""The way to a Neo4j server: one driver, used from any thread, with no call that waits longer than it may.

The driver is the asynchronous one, on an event loop in a thread of its own: only there can a call be ended while the
server is silent (its process stopped, its host gone), which the connection then does not outlive.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

import neo4j
from neo4j import exceptions

from core.settings import GraphSettings
from graph.stores.neo4j_values import plain
from graph.stores.store import StoreError, StoreUnavailable

T = TypeVar("T")
_PING_S = 1.0  # that a server has to say that it is there, after it was silent for a query's time
_CONNECT_S = 3.0
_RETRY_S = 1.0  # of a read that lost its connection; a server that is gone is not waited for
_CLOSE_S = 2.0
_IDLE_S = 5.0  # a connection that was idle for longer is tried before it is used
_TIMED_OUT = ("Neo.ClientError.Transaction.TransactionTimedOut", "Neo.TransientError.Transaction.Terminated")
_UNUSABLE = ("Neo.ClientError.Security.", "Neo.ClientError.Database.", "Neo.TransientError.Database.")
_BOLT = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=//)[^/@]*@")


class Run:
    """What one transaction may do."""

    def __init__(self, transaction: neo4j.AsyncManagedTransaction) -> None:
        self._transaction = transaction

    async def __call__(self, cypher: str, **parameters: object) -> list[dict[str, Any]]:
        """Rows by column, of values that JSON has. `cypher` is never text from outside."""
        result = await self._transaction.run(cypher, parameters)
        names = result.keys()
        return [{name: plain(record[name]) for name in names} async for record in result]


Work = Callable[[Run], Awaitable[T]]


class Neo4jLink:
    """Connects at the first call, and again whenever it has to. Thread-safe."""

    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._driver: neo4j.AsyncDriver | None = None
        self.address = _LOGIN.sub("", settings.neo4j_url)
        self.server = "neo4j"  # with its version, once it answered

    def read(self, work: Work[T]) -> T:
        """One read transaction of at most `timeout_s`. Raises StoreUnavailable, StoreError, and what `work` raises."""
        return self._call(self._transact(work, neo4j.READ_ACCESS, self._settings.timeout_s))

    def write(self, work: Work[T], timeout_s: float) -> T:
        """One write transaction, tried again after a deadlock or a lost connection. Raises like `read`."""
        return self._call(self._transact(work, neo4j.WRITE_ACCESS, timeout_s))

    def ask_version(self) -> str:
        """The server's name and version, asked now. Raises StoreUnavailable."""
        return self._call(self._ask_version(self._settings.timeout_s))

    def close(self) -> None:
        """For good. What is under way fails."""
        with self._lock:
            loop, driver, self._loop, self._driver = self._loop, self._driver, None, None
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(_close(driver), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._running()).result()
        except CancelledError:
            raise StoreUnavailable("the connection was closed") from None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._loop,), name="neo4j", daemon=True).start()
            return self._loop

    async def _transact(self, work: Work[T], mode: str, timeout_s: float) -> T:
        @neo4j.unit_of_work(timeout=timeout_s)
        async def run(transaction: neo4j.AsyncManagedTransaction) -> T:
            return await work(Run(transaction))

        async def transact() -> T:
            async with self._connected().session(
                database=self._settings.neo4j_database or None,
                default_access_mode=mode,
                max_transaction_retry_time=min(_RETRY_S, timeout_s) if reading else timeout_s,
                initial_retry_delay=0.1,
            ) as session:
                return await (session.execute_read(run) if reading else session.execute_write(run))

        reading = mode == neo4j.READ_ACCESS
        try:
            found = await self._within(timeout_s, transact())
        except StoreUnavailable as error:
            if error.__cause__ is None or not await self._is_there():
                raise
            raise StoreError(f"the query took longer than {timeout_s:g} s", hint=_SLOW_HINT) from None
        if self.server == "neo4j":
            await self._ask_version(timeout_s)
        return found

    async def _is_there(self) -> bool:
        """Whether the server answers at all, after a query that it did not answer in time."""
        try:
            await self._ask_version(_PING_S)
        except StoreUnavailable:
            return False
        return True

    async def _ask_version(self, timeout_s: float) -> str:
        async def ask() -> neo4j.ServerInfo:
            return await self._connected().get_server_info()

        info = await self._within(timeout_s, ask())
        self.server = info.agent.replace("Neo4j/", "neo4j ")
        return self.server

    async def _within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        """With the driver's errors as ours; where the time was over the error has a TimeoutError as its cause."""
        try:
            async with asyncio.timeout(timeout_s):
                return await work
        except TimeoutError as error:
            raise StoreUnavailable(f"it did not answer within {timeout_s:g} s", hint=_HINT) from error
        except (exceptions.Neo4jError, exceptions.DriverError, OSError, ValueError) as error:
            raise self._as_ours(error) from None

    def _connected(self) -> neo4j.AsyncDriver:
        """Only on the loop's thread."""
        if self._driver is None:
            # It warns of names that an empty database does not know yet, and of each time that it tries again.
            logging.getLogger("neo4j").setLevel(logging.ERROR)
            if not _BOLT.match(self._settings.neo4j_url):  # the driver's way over HTTP is a preview, and another one
                raise ValueError("it begins with neither bolt:// nor neo4j://")
            password = self._settings.neo4j_password.get_secret_value()
            self._driver = neo4j.AsyncGraphDatabase.driver(
                self._settings.neo4j_url,
                auth=(self._settings.neo4j_user, password) if password else None,
                user_agent="quaere",
                connection_timeout=min(_CONNECT_S, self._settings.timeout_s),
                connection_acquisition_timeout=self._settings.timeout_s,
                liveness_check_timeout=_IDLE_S,
            )
        return self._driver

    def _as_ours(self, error: Exception) -> StoreError:
        """What a person can act on; the driver's words hold the address but never the password."""
        said = " ".join(str(getattr(error, "message", None) or error).split())[:300]
        code = str(getattr(error, "code", None) or "")
        if isinstance(error, exceptions.AuthError):
            return StoreUnavailable(f"it refused user {self._settings.neo4j_user!r}: {said}", hint=_LOGIN_HINT)
        if code.startswith("Neo.ClientError.Database."):
            return StoreUnavailable(f"database {self._settings.neo4j_database!r}: {said}", hint=_DATABASE_HINT)
        if code in _TIMED_OUT:
            return StoreError(f"the query took longer than {self._settings.timeout_s:g} s", hint=_SLOW_HINT)
        if isinstance(error, exceptions.Neo4jError) and not code.startswith(_UNUSABLE):
            return StoreError(f"{said} ({code})")
        if isinstance(error, exceptions.ConfigurationError | ValueError):
            return StoreUnavailable(f"the URL can't be used: {said}", hint=_URL_HINT)
        return StoreUnavailable(_cause(error) or said or type(error).__name__, hint=_HINT)


def _cause(error: BaseException | None) -> str:
    """The last of the errors behind it, which says it in the fewest words: 'Connection refused'."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno and error.errno > 0 else ""


_SLOW_HINT = "ask for fewer hops, or raise QUAERE_GRAPH__TIMEOUT_S"
_HINT = "see that the Neo4j server runs, and QUAERE_GRAPH__NEO4J_URL"
_LOGIN_HINT = "see QUAERE_GRAPH__NEO4J_USER and QUAERE_GRAPH__NEO4J_PASSWORD"
_DATABASE_HINT = "see QUAERE_GRAPH__NEO4J_DATABASE; the Community edition has one, 'neo4j'"
_URL_HINT = "e.g. bolt://127.0.0.1:7687, without user and password: these have settings of their own"


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _close(driver: neo4j.AsyncDriver | None) -> None:
    pending = asyncio.all_tasks() - {asyncio.current_task()}
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    if driver is not None:
        try:
            async with asyncio.timeout(_CLOSE_S):
                await driver.close()
        except (TimeoutError, exceptions.DriverError, OSError):
            pass  # a server that is gone has nothing to be told
