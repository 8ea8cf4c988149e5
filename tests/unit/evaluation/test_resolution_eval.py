"""Entity resolution on the labelled pairs: the floors that it has to keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.resolution import Pair, are_merged, main, measure, read_pairs


def test_there_are_pairs_of_every_trap_in_both_halves() -> None:
    pairs = read_pairs()
    kinds = {pair.kind for pair in pairs}
    traps = {"version", "size", "acronym", "homonym", "case", "plural", "cjk", "transliteration", "containment"}
    assert len(pairs) >= 200 and traps <= kinds
    for split in ("tune", "held"):
        half = [pair for pair in pairs if pair.split == split]
        assert len(half) >= 100 and {pair.kind for pair in half} == kinds
        assert min(sum(pair.same for pair in half), sum(not pair.same for pair in half)) >= 50


@pytest.mark.parametrize("half", ["tune", "held"])
def test_precision_and_recall(half: str) -> None:
    run = measure([pair for pair in read_pairs() if pair.split == half])
    rates = run.tune if half == "tune" else run.held
    assert rates.precision is not None and rates.precision >= 0.98, run.wrong
    assert rates.recall is not None and rates.recall >= 0.95, run.wrong


def test_a_wrong_label_is_counted_as_wrong() -> None:
    pair = Pair(first="GPT-3", second="GPT-4", same=True, kind="version", split="held")
    run = measure([pair])
    assert not are_merged(pair) and run.held.recall == 0 and run.held.precision is None
    assert run.wrong == ("held version: 'GPT-3' and 'GPT-4' kept apart",)


def test_the_command_prints_and_saves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["--json", "--save", str(tmp_path / "run.json")])
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "run.json").read_text()) and printed["pairs"] == len(read_pairs())
    main([])
    assert "held out" in capsys.readouterr().out
