"""The best of many scores, the same whatever the order in which they came."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def highest(scores: NDArray[np.floating[Any]], k: int, *, above: float = -np.inf) -> NDArray[np.intp]:
    """Where the k highest scores over `above` are, and all that equal the last of them; ascending, not by score."""
    found = np.flatnonzero(scores > above)
    if len(found) <= k:
        return found
    least = np.partition(scores[found], len(found) - k)[len(found) - k]
    best: NDArray[np.intp] = found[scores[found] >= least]
    return best
