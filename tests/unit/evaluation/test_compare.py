"""Runs compared, ablations, and their reports."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.errors import InvalidInput, LLMNotConfigured, NotFound, QuaereError
from core.types import Passage, SearchResult
from eval.ablation import Ablation, ablate, arrangements
from eval.compare import compare
from eval.plot import write_png
from eval.questions import read_questions
from eval.report import page
from eval.retrieval import measure
from eval.run import Run
from tests.support.passages import ScriptedSearch, passage, place, row, written
from ui.cli import app

HENS, DUCKS = passage("a.pdf", 1, text="red hens"), passage("a.pdf", 2, text="blue ducks")
ROWS = [
    row("hens", place("a.pdf", 1, "Red hens"), id="h"),
    row("<ducks>", place("a.pdf", 2, "Blue ducks"), id="d", lang="zh"),
    row("geese", place("a.pdf", 3, "Grey geese"), id="g"),
]
needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib (the extra `report`) is not installed"
)


async def run_of(tmp_path: Path, found: dict[str, list[Passage]], *rows: object) -> Run:
    asked = read_questions(written(tmp_path / "q.jsonl", *(rows or ROWS)))
    return await measure(ScriptedSearch(found, "a.pdf"), asked)


async def test_what_got_worse_and_better(tmp_path: Path) -> None:
    before = await run_of(tmp_path, {"hens": [HENS], "geese": [passage("a.pdf", 3)]})
    after = await run_of(tmp_path, {"<ducks>": [HENS, DUCKS], "geese": [passage("a.pdf", 3, text="grey geese")]})
    found = compare(before, after)
    assert [(c.id, c.level, c.rank_before, c.rank_after) for c in found.worse] == [
        ("h", "page", 1, None),
        ("h", "quote", 1, None),
    ]
    assert [(c.id, c.level, c.rank_before, c.rank_after) for c in found.better] == [
        ("d", "page", None, 2),
        ("d", "quote", None, 2),
        ("g", "quote", None, 1),
    ]
    assert (found.n, found.questions_worse, found.questions_better) == (3, 1, 2)
    assert (found.quote_hit_at_5.before, found.quote_hit_at_5.after) == (0.3333, 0.6667)
    assert compare(before, before).worse == () and compare(before, before).setup == {}


async def test_other_questions_are_not_compared(tmp_path: Path) -> None:
    before = await run_of(tmp_path, {}, *ROWS[:2])
    changed = row("hens, in other words", place("a.pdf", 1, "Red hens"), id="h")
    found = compare(before, await run_of(tmp_path, {}, changed, *ROWS[1:]))
    assert (found.n, found.only_before, found.only_after) == (1, ("h",), ("h", "g"))
    assert "questions_sha256" in found.setup
    with pytest.raises(InvalidInput, match="no question in common"):
        compare(before, await run_of(tmp_path, {}, ROWS[2]))


async def test_the_command_fails_where_more_got_worse_than_is_allowed(tmp_path: Path) -> None:
    files = [tmp_path / "before.json", tmp_path / "after.json"]
    files[0].write_text((await run_of(tmp_path, {"hens": [HENS]})).model_dump_json())
    files[1].write_text((await run_of(tmp_path, {"<ducks>": [DUCKS]})).model_dump_json())
    arguments = ["eval", "compare", *map(str, files)]
    worse = CliRunner().invoke(app, arguments)
    assert worse.exit_code == 1 and "worse (page, passage 1 → none) h: hens" in worse.stdout
    allowed = CliRunner().invoke(app, [*arguments, "--allow", "1", "--json"])
    assert allowed.exit_code == 0 and json.loads(allowed.stdout)["questions_worse"] == 1
    absent = CliRunner().invoke(app, ["eval", "compare", str(files[0]), str(tmp_path / "none.json"), "--json"])
    assert absent.exit_code == 3 and json.loads(absent.stdout)["error"]["code"] == "not_found"


def test_arrangements_come_once_each() -> None:
    assert arrangements(("x", "y", "z")) == {
        "only x": ("x",),
        "only y": ("y",),
        "only z": ("z",),
        "all": ("x", "y", "z"),
        "all but x": ("y", "z"),
        "all but y": ("x", "z"),
        "all but z": ("x", "y"),
    }
    assert list(arrangements(("x", "y"))) == ["only x", "only y", "all"]
    assert list(arrangements(("x",))) == ["only x"]


class Channelled(ScriptedSearch):
    """bm25 finds hens; dense is out of order."""

    broken: QuaereError = LLMNotConfigured("dense is out of order")
    all_broken = False

    async def search_passages(self, query: str, *, channels: tuple[str, ...] = (), **rest: object) -> SearchResult:  # type: ignore[override]
        if self.all_broken or channels == ("dense",):
            raise self.broken
        return SearchResult(query=query, passages=(HENS,) if "bm25" in channels else (), trace=())


async def test_a_channel_that_fails_is_told_and_the_others_are_measured(tmp_path: Path) -> None:
    asked = read_questions(written(tmp_path / "q.jsonl", *ROWS))
    library = Channelled({}, "a.pdf")
    found = await ablate(library, asked)
    assert found.failed == {"only dense": "dense is out of order"}
    assert found.runs["only bm25"].page_hit_at_5 == 0.3333
    assert Ablation.model_validate_json(found.model_dump_json()) == found
    library.all_broken = True
    with pytest.raises(LLMNotConfigured):
        await ablate(library, asked)
    with pytest.raises(NotFound):
        await ablate(Channelled({}, "b.pdf"), asked)


async def test_the_page_shows_rates_and_where_runs_differ_and_runs_nothing(tmp_path: Path) -> None:
    runs = {"a <b>": await run_of(tmp_path, {"hens": [HENS]}), "both": await run_of(tmp_path, {"<ducks>": [DUCKS]})}
    shown = page("T & U", runs, {"hyde": "no model"})
    assert "T &amp; U" in shown and "a &lt;b&gt;" in shown and "<ducks>" not in shown
    assert "d · &lt;ducks&gt;" in shown and "h · hens" in shown and "g · geese" not in shown
    assert "<strong>hyde</strong> could not be measured: no model" in shown
    assert "http" not in shown and "<script" not in shown


async def test_a_rate_that_is_not_known_is_shown_as_such(tmp_path: Path) -> None:
    run = await run_of(tmp_path, {"hens": [HENS]}, row("hens", place("a.pdf", None)))
    assert "not known" in page("T", {"one": run}, {})


@needs_matplotlib
async def test_the_picture_is_a_png(tmp_path: Path) -> None:
    run = await run_of(tmp_path, {"hens": [HENS]})
    write_png(tmp_path / "x.png", "Title", {"one": run, "two": run})
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="can't be written"):
        write_png(tmp_path / "none" / "x.png", "Title", {"one": run})


async def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidInput) as raised:
        write_png(tmp_path / "x.png", "Title", {"one": await run_of(tmp_path, {})})
    assert "quaere[report]" in raised.value.hint


@needs_matplotlib
async def test_saved_runs_are_reported(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text((await run_of(tmp_path, {"hens": [HENS]})).model_dump_json())
    done = CliRunner().invoke(app, ["eval", "report", str(tmp_path / "one.json"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"report.html", "report.png"}
    twice = CliRunner().invoke(app, ["eval", "report", *[str(tmp_path / "one.json")] * 2, "--out", str(tmp_path)])
    assert twice.exit_code == 2 and "same name" in twice.stderr
