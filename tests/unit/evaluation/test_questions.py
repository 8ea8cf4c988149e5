"""Question files: what is read, and what a bad one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import InvalidInput, NotFound
from eval.gold import normalised
from eval.questions import read_questions, write_questions
from ingest.pdf import parse_pdf
from tests.support.passages import place, row, written

GOOD = row("Who?", place("a.pdf", 1, "He."))
ROOT = Path(__file__).parents[3]


def test_what_a_file_says_more_is_left_alone(tmp_path: Path) -> None:
    file = written(tmp_path / "q.jsonl", GOOD | {"set": "open", "doc": "a.pdf"}, row("Nobody?", type="unanswerable"))
    file.write_text("\ufeff" + file.read_text() + "\n\n")
    asked = read_questions(file)
    assert [question.id for question in asked.questions] == ["1", "2"]
    assert [question.question for question in asked.answerable] == ["Who?"]
    assert asked.name == "q.jsonl" and len(asked.sha256) == 64


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD, {"question": "Who?"}], "line 2: type: Field required"),
        ([GOOD | {"evidence": [{"doc": "a"}]}], "line 1: evidence.0.page: Field required"),
        ([GOOD | {"evidence": [place("a", 0)]}], "line 1: evidence.0.page"),
        ([GOOD | {"evidence": []}], "needs evidence"),
        ([GOOD | {"type": "unanswerable"}], "has no evidence"),
        ([GOOD | {"question": "  "}], "line 1: question"),
        ([GOOD | {"question": "x" * 4001}], "line 1: question"),
        ([["no object"]], "line 1: "),
        ([GOOD | {"id": "x"}, GOOD | {"id": "x"}], "line 2: the id 'x' stands on line 1 already"),
        ([row("Nobody?", type="unanswerable")], "no question that can be answered"),
        ([], "no question that can be answered"),
    ],
)
def test_a_bad_file_names_line_and_field(tmp_path: Path, rows: list[object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as raised:
        read_questions(written(tmp_path / "q.jsonl", *rows))
    assert raised.value.hint


def test_what_is_no_text_or_not_there(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        read_questions(tmp_path / "q")
    with pytest.raises(InvalidInput, match="can't be read"):
        read_questions(tmp_path)
    with pytest.raises(NotFound):
        read_questions(tmp_path / "none")


def test_written_questions_are_read_again(tmp_path: Path) -> None:
    rows = [GOOD | {"id": "a"}, row("Was?", place("b", None, grade=2), lang="de", id="b")]
    asked = read_questions(written(tmp_path / "q.jsonl", *rows))
    write_questions(asked.questions, tmp_path / "again.jsonl")
    assert read_questions(tmp_path / "again.jsonl").questions == asked.questions


def test_the_quotes_of_the_bundled_questions_stand_on_their_pages() -> None:
    asked = read_questions(ROOT / "eval" / "data" / "samples.jsonl")
    places = [evidence for question in asked.questions for evidence in question.evidence]
    papers = {doc: parse_pdf(ROOT / "samples" / doc, 100).pages for doc in {place.doc for place in places}}
    texts = {(doc, page.number): normalised(page.text) for doc, pages in papers.items() for page in pages}
    assert [place for place in places if normalised(place.quote) not in texts[place.doc, place.page or 0]] == []
    languages = [question.lang for question in asked.questions]
    assert (languages.count("en"), languages.count("zh"), languages.count("ko")) == (25, 3, 3)
    assert all(question.reference for question in asked.answerable)
