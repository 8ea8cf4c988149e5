"""Regular expressions are read into globs that mean what they meant, and never run."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.patterns.globs import as_regex, matches_glob, read_regex

_pieces = st.lists(  # five groups of two are as many alternatives as are read
    st.sampled_from([".*", ".", ".+", "a", "b", "(a|b.)", r"\.", r"\*", "(?:ab|)", "é", "\\\\"]), max_size=5
)


@given(_pieces, st.text("ab.*é\\\n", max_size=12))
def test_they_fit_what_the_expression_fits(pieces: list[str], text: str) -> None:
    expression = "".join(pieces)
    expected = re.fullmatch(expression, text, re.DOTALL) is not None
    globs = read_regex(expression)
    assert any(matches_glob(glob, text) for glob in globs) == expected
    assert any(re.fullmatch(as_regex(glob), text) for glob in globs) == expected
    again = read_regex("|".join(as_regex(glob, anchored=False) for glob in globs))
    assert again == globs


@pytest.mark.parametrize(
    "expression",
    ["a*", "a+", "a?", "[ab]", "a{3}", "(a)*", r"\d", r"\bx", "(?=a)", "(?<n>a)", "a**", ".*?+", ".?", ".{2}", "^a^",
     "(a", "a)", "((((((a))))))", "x" * 2_001, "(a|b)" * 6, ".*x" * 9, r"a\*+", "\\"],
)  # fmt: skip
def test_the_rest_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        read_regex(expression)


def test_a_long_name_costs_no_more_than_its_length() -> None:
    (glob,) = read_regex(".*a.*a.*a.*a.*a.*a.*b")
    start = time.perf_counter()
    assert not matches_glob(glob, "a" * 20_000)
    assert time.perf_counter() - start < 0.5
