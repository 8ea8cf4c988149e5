"""One graph for whoever asks: Neo4j's answer where it is there and up to date, else that of NetworkX in this process.

A circuit breaker (Nygard, Release It!, 2007) stands before Neo4j, so that a server that is down or silent costs one
question its time limit and not each. It is tried again in the background, brought up to date, and then used again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from core.graph import GraphData
from graph.stores.networkx_store import NetworkXStore
from graph.stores.store import GraphStore, StoreError, StoreOutdated, StoreUnavailable

if TYPE_CHECKING:
    from graph.stores.neo4j_store import Neo4jStore  # 0.8 s of start, for those who have a server

T = TypeVar("T")
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0
_LINGER_S = 20.0  # a load that is under way when this is closed may end
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answered(Generic[T]):
    """`local` is that version of the graph in NetworkX, whichever answered. `degraded`: why it is not Neo4j that did,
    where it should have; for the trace."""

    value: T
    backend: Literal["neo4j", "networkx"]
    local: NetworkXStore
    degraded: str = ""


class Breaker:
    """Closed: queries go through. Open: they don't, and after a wait that doubles each time one may be tried."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wait_s = _FIRST_WAIT_S
        self._next = 0.0
        self.since: datetime | None = None
        self.why = ""

    @property
    def due(self) -> bool:
        return self._clock() >= self._next

    def failed(self, why: str) -> None:
        with self._lock:
            self.since = self.since or datetime.now()
            self.why = why
            self._put_off()

    def put_off(self) -> None:
        """Nothing is wrong, but it is not to be tried again at once."""
        with self._lock:
            self._put_off()

    def succeeded(self) -> None:
        with self._lock:
            self.since, self.why, self._wait_s, self._next = None, "", _FIRST_WAIT_S, 0.0

    def _put_off(self) -> None:
        self._next = self._clock() + self._wait_s
        self._wait_s = min(self._wait_s * 2, _LONGEST_WAIT_S)


class Graph:
    """The library's graph, in whichever store answers. Synchronous and thread-safe.

    `project` gives the graph as the ledger has it now, and the same object while that has not changed.
    """

    def __init__(
        self, project: Callable[[], GraphData], neo4j: Neo4jStore | None = None, breaker: Breaker | None = None
    ) -> None:
        self._project = project
        self._neo4j = neo4j
        self._breaker = breaker or Breaker()
        self._lock = threading.Lock()
        self._kept: tuple[GraphData, NetworkXStore] | None = None
        self._catching_up: threading.Thread | None = None

    def data(self) -> GraphData:
        """As the ledger has it now."""
        return self._local()[0]

    def local(self) -> NetworkXStore:
        """What NetworkX has of `data`."""
        return self._local()[1]

    def ask(self, query: Callable[[GraphStore], T]) -> Answered[T]:
        """What the query finds in the graph as it is now. It may run twice, in one store and then in the other.

        Raises what `query` raises of its own; a store that fails is no error.
        """
        data, local = self._local()
        if self._neo4j is None:
            return Answered(query(local), "networkx", local)
        why = self._why_not()
        if not why:
            try:
                return Answered(query(self._neo4j.at(local)), "neo4j", local)
            except StoreError as error:
                why = self._failed(error, data)
        else:
            self._catch_up(data)
        return Answered(query(local), "networkx", local, f"{why}; NetworkX answered")

    def health(self) -> str:
        """What answers now: 'neo4j 5.26.30 at bolt://…', 'networkx', or 'networkx (neo4j at … since 14:02: …)'."""
        answered = self.ask(lambda store: store.check())
        if answered.backend == "neo4j" and self._neo4j:
            return f"{self._neo4j.server} at {self._neo4j.address}"
        why = answered.degraded.removesuffix("; NetworkX answered")
        return f"networkx ({why})" if why else "networkx"

    def update(self) -> str:
        """Bring Neo4j up to date now, in this thread; `health` afterwards."""
        if self._neo4j is not None:
            self._synchronise(self.data())
        return self.health()

    def close(self) -> None:
        """A load that is under way may end first, for 20 s at most."""
        if self._catching_up is not None:
            self._catching_up.join(_LINGER_S)
        if self._neo4j is not None:
            self._neo4j.close()

    def _local(self) -> tuple[GraphData, NetworkXStore]:
        data = self._project()
        with self._lock:
            if self._kept is None or self._kept[0].version != data.version:
                self._kept = data, NetworkXStore(data)
            return self._kept

    def _why_not(self) -> str:
        """Why Neo4j is not asked; '' where it is."""
        if self._breaker.since is None or self._neo4j is None:
            return ""
        since = self._breaker.since.strftime("%H:%M")
        return f"neo4j at {self._neo4j.address} can't be used since {since}: {self._breaker.why}"

    def _failed(self, error: StoreError, data: GraphData) -> str:
        """Why, after what follows from it."""
        if isinstance(error, StoreUnavailable):
            _log.info("the graph database can't be used: %s", error.message)
            self._breaker.failed(_said(error))
            return self._why_not()
        if isinstance(error, StoreOutdated):
            self._catch_up(data)
        return f"neo4j at {self._neo4j.address if self._neo4j else ''}: {error.message}"

    def _catch_up(self, data: GraphData) -> None:
        """In the background, one at a time."""
        with self._lock:
            running = self._catching_up is not None and self._catching_up.is_alive()
            if running or not self._breaker.due:
                return
            self._catching_up = threading.Thread(
                target=self._synchronise, args=(data,), name="graph catching up", daemon=True
            )
            self._catching_up.start()

    def _synchronise(self, data: GraphData) -> None:
        if self._neo4j is None:
            return
        try:
            self._neo4j.sync(data)
        except StoreOutdated:
            self._breaker.put_off()
        except StoreError as error:
            self._breaker.failed(_said(error))
        else:
            self._breaker.succeeded()


def _said(error: StoreError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
