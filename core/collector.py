"""Python's cycle collector, kept out of work that makes many objects at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_paused = 0
_was_on = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """For work of seconds whose objects are all kept: the collector looks at them again and again while they grow,
    which is half the time of loading 40,000 relations. May nest and run in several threads: the last to leave
    switches the collector on again, if it was on.
    """
    global _paused, _was_on
    with _lock:
        if not _paused:
            _was_on = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _lock:
            _paused -= 1
            if not _paused and _was_on:
                gc.enable()
