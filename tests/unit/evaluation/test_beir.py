"""BEIR's folders made into documents and questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import InvalidInput, NotFound
from eval.beir import Converted, convert
from eval.questions import read_questions
from ingest.formats.reader import READERS
from tests.support.passages import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "beir"
    (made / "qrels").mkdir(parents=True)
    written(
        made / "corpus.jsonl",
        {"_id": "d/1", "title": "Hens & ducks", "text": "Hens lay <b>eggs</b>.\n\n# No heading", "metadata": {}},
        {"_id": "D/1", "title": "", "text": "Other."},
        {"_id": "empty", "title": "", "text": " "},
        {"_id": "titled", "title": "Only a title", "text": ""},
    )
    written(made / "queries.jsonl", {"_id": "q1", "text": "Who lays?"}, {"_id": "q2", "text": "What is lost?"})
    qrels = ["query-id\tcorpus-id\tscore", "q1\td/1\t2", "q1\tD/1\t1", "q1\ttitled\t0", "q2\tempty\t1"]
    (made / "qrels" / "test.tsv").write_text("\n".join(qrels) + "\n")
    return made


def test_a_folder_becomes_documents_and_questions(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert convert(folder, out, kind="multihop") == Converted(
        documents=3, questions=1, without_text=1, without_evidence=1
    )
    (question,) = read_questions(out / "questions.jsonl").questions
    assert (question.id, question.type, question.lang) == ("q1", "multihop", "en")
    first, second = question.evidence
    assert (first.page, first.quote, first.grade, second.grade) == (None, "", 2, 1)
    assert first.doc.startswith("d_1-")
    names = {file.name for file in (out / "documents").iterdir()}
    assert {first.doc, second.doc, "titled.html"} == names and len({name.lower() for name in names}) == 3


def test_a_document_is_read_as_it_was_written(folder: Path, tmp_path: Path) -> None:
    convert(folder, tmp_path / "out")
    (file,) = (tmp_path / "out" / "documents").glob("d_1*")
    parsed = READERS["html"](file, 10)
    assert parsed.title == "Hens & ducks"
    assert [page.text for page in parsed.pages] == ["Hens lay <b>eggs</b>.\n# No heading"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("corpus.jsonl", '{"_id": "d1"}\n', "corpus.jsonl, line 1: text: Field required"),
        ("queries.jsonl", "no json\n", "queries.jsonl, line 1"),
        ("qrels/test.tsv", "q1\td1\n", "test.tsv, line 1"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "names no relevant document"),
    ],
)
def test_a_bad_folder_says_where(folder: Path, tmp_path: Path, file: str, content: str, said: str) -> None:
    (folder / file).write_text(content)
    with pytest.raises(InvalidInput, match=said):
        convert(folder, tmp_path / "out")


def test_what_is_not_there_and_what_is_in_the_way(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"dev\.tsv"):
        convert(folder, tmp_path / "out", split="dev")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(InvalidInput, match="not empty"):
        convert(folder, tmp_path / "full")
