"""Rates over questions, with the interval that as many other questions of the kind could have given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
Interval = tuple[float, float]


def rate(hits: Sequence[bool | None]) -> float | None:
    """Share of True, to four digits; None where nothing could be judged. A None among the hits is left out."""
    judged = [hit for hit in hits if hit is not None]
    return round(sum(judged) / len(judged), 4) if judged else None


def interval(hits: Sequence[bool | None], seed: int = 0) -> Interval | None:
    """The bootstrap's 95 % percentile interval of `rate`, by 10,000 resamples of the questions.

    Resampling n flags with replacement and counting is drawing from a binomial distribution, so that is drawn. It is
    too narrow where nearly all flags are the same: of 10 hits in 10 it says (1.0, 1.0). Efron & Tibshirani 1993.
    """
    judged = [hit for hit in hits if hit is not None]
    if not judged:
        return None
    drawn = np.random.default_rng(seed).binomial(len(judged), sum(judged) / len(judged), RESAMPLES) / len(judged)
    return _percentiles(drawn)


def paired_interval(before: Sequence[bool], after: Sequence[bool], seed: int = 0) -> Interval | None:
    """The same of the difference of two rates over the same questions, `after` less `before`; -1.0 to 1.0."""
    change = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    if not len(change):
        return None
    shares = [float(np.mean(change == value)) for value in (-1, 0, 1)]
    counts = np.random.default_rng(seed).multinomial(len(change), shares, RESAMPLES)
    return _percentiles((counts[:, 2] - counts[:, 0]) / len(change))


def _percentiles(drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5))
    return round(float(low), 3), round(float(high), 3)
