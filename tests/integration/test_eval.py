"""Measuring a library as its user does it, and the gate: the bundled questions over the sample papers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.integration.test_cli import quaere
from tests.support.library_contract import SAMPLES
from tests.support.passages import place, row, written

pytestmark = pytest.mark.integration
QUESTIONS = Path(__file__).parents[2] / "eval" / "data" / "samples.jsonl"
# Measured: 1.0 and 1.0. Two of the 30 may get lost; six pages are soon found among five passages, a quote is not.
LEAST = ("--min-page", "0.93", "--min-quote", "0.93")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval") / "library"
    added = quaere(folder, "add", *map(str, SAMPLES))
    assert added.returncode == 0, added.stderr
    return folder


def test_the_gate_and_its_one_object(library: Path, tmp_path: Path) -> None:
    saved = tmp_path / "run.json"
    done = quaere(
        tmp_path / "unused",
        *("eval", "retrieval", "--questions", str(QUESTIONS), "--library", str(library)),
        *(*LEAST, "--save", str(saved), "--json"),
    )
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run == json.loads(saved.read_text())
    assert (run["n"], run["unanswerable"], run["by_language"]["zh"]["n"]) == (30, 1, 3)
    assert len(run["per_question"]) == 30 and run["intervals"]["by_type"].keys() == run["by_type"].keys()
    assert all(len(one["passages"]) == 5 for one in run["per_question"])
    assert (run["ranking"] is None) == (importlib.util.find_spec("ir_measures") is None)
    again = quaere(library, "eval", "compare", str(saved), str(saved))
    assert again.returncode == 0, again.stderr


def test_a_rate_below_the_gate_and_a_table_for_a_person(library: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "q.jsonl", row("Who?", place("heronnet.pdf", 1, "No paper holds these words.")))
    done = quaere(library, "eval", "retrieval", "--questions", str(file), "--channels", "bm25", "--min-quote", "0.1")
    assert done.returncode == 1 and "quote@5 is 0.0, 0.1 was asked for" in done.stderr
    assert "page@5" in done.stdout and "channels bm25" in done.stdout


def test_an_ablation_is_written_whole(library: Path, tmp_path: Path) -> None:
    few = written(tmp_path / "few.jsonl", *map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines()[:2]))
    out = tmp_path / "out"
    done = quaere(library, "eval", "ablation", "--questions", str(few), "--out", str(out), "--no-png", "--json")
    assert done.returncode == 0, done.stderr
    names = [one["name"] for one in json.loads(done.stdout)["arrangements"]]
    assert names[:2] == ["only dense", "only bm25"] and "all" in names
    assert {file.name for file in out.iterdir()} == {"ablation.json", "ablation.html"}
    assert "only bm25" in (out / "ablation.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rows", "options", "code", "said"),
    [
        ([{"question": "Who?"}], (), 2, "line 1: type: Field required"),
        ([row("Who?", place("none.pdf", 1, "x"))], (), 3, "no document none.pdf"),
        ([row("Who?", place("heronnet.pdf", 1, "x"))], ("--channels", "smell"), 2, "unknown channel 'smell'"),
        ([row("Who?", place("heronnet.pdf", 1, "x"))], ("--library", "none"), 3, "no library at none"),
    ],
)
def test_what_can_not_be_measured_says_why(
    library: Path, tmp_path: Path, rows: list[object], options: tuple[str, ...], code: int, said: str
) -> None:
    file = written(tmp_path / "q.jsonl", *rows)
    done = quaere(library, "eval", "retrieval", "--questions", str(file), *options, "--json")
    assert done.returncode == code
    assert said in json.loads(done.stdout)["error"]["message"]


@pytest.mark.skipif(importlib.util.find_spec("ragas") is not None, reason="ragas is installed here")
def test_without_ragas_the_command_says_what_to_install(library: Path) -> None:
    done = quaere(library, "eval", "ragas", "--questions", str(QUESTIONS))
    assert done.returncode == 2 and "quaere[eval]" in done.stderr
