"""A library of many documents: the last costs about what an early one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.many import HashedWords, measured, parsing_here

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.timeout(600)
async def test_the_last_document_costs_no_more_than_a_few_times_an_early_one(tmp_path: Path) -> None:
    with parsing_here():
        found = await measured(400, HashedWords(), tmp_path)
    assert found["add_ms"]["last"] < 3 * found["add_ms"]["20"]
    assert found["remove_ms"]["last"] < 3 * found["remove_ms"]["10"]
    assert found["the_right_note_is_found"]
    assert found["check"]["findings"] == found["check_after_half_removed"]["findings"] == []
