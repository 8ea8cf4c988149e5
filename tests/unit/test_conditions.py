"""What is typed on the command line about documents, as a filter."""

from datetime import date

import pytest

from core.errors import InvalidInput
from core.types import Filter
from ui.conditions import filter_of


def test_everything_that_can_be_said() -> None:
    assert filter_of() == Filter()
    said = filter_of(
        collection="admissions",
        tags=["new"],
        fields=["country=Spain", "country=Italy", "intake = 2027"],
        language="en",
        published_from="2024-01-31",
        published_to="2026-11-30",
        as_of="2026-11-30",
        include_expired=True,
    )
    assert said == Filter(
        collection="admissions",
        tags=("new",),
        fields={"country": ["Spain", "Italy"], "intake": ["2027"]},
        language="en",
        published_from=date(2024, 1, 31),
        published_to=date(2026, 11, 30),
        as_of=date(2026, 11, 30),
        include_expired=True,
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fields": ["Spain"]}, "no field"),
        ({"fields": ["country="]}, "no field"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"published_from": "2026-02-30"}, "published_from"),
        ({"published_from": "2026-02-02", "published_to": "2026-02-01"}, "is after"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        filter_of(**wrong)  # type: ignore[arg-type]
