"""Rates and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from eval.rates import interval, paired_interval, rate


def test_what_was_not_judged_is_left_out() -> None:
    assert rate([True, None, False, True]) == 0.6667
    assert rate([]) is rate([None]) is interval([None]) is paired_interval([], []) is None


def test_the_interval_is_the_bootstraps() -> None:
    flags = [True] * 60 + [False] * 34
    dice = np.random.default_rng(7)
    resampled = [float(np.mean(dice.choice(flags, len(flags)))) for _ in range(4000)]
    found = interval(flags)
    assert found == pytest.approx(tuple(np.percentile(resampled, (2.5, 97.5))), abs=0.012)
    assert found == interval(flags)


def test_the_interval_of_a_difference_takes_the_questions_in_pairs() -> None:
    before, after = [True] * 50 + [False] * 50, [True] * 50 + [False] * 40 + [True] * 10
    low, high = paired_interval(before, after) or (0.0, 0.0)
    assert 0.03 < low < 0.1 < high < 0.18
    assert paired_interval(before, before) == (0.0, 0.0)
