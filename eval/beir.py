"""BEIR's folders (corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv) as documents to add and questions to measure them by.

Thakur et al., NeurIPS 2021. A document becomes an HTML file, for that has a title, which is embedded before each
passage, and nothing in its text can be taken for markup.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import InvalidInput, NotFound
from core.types import Frozen
from eval.questions import Evidence, Question, write_questions

_HTML = Markup('<!doctype html>\n<meta charset="utf-8">\n<title>{}</title>\n{}\n')
_PARAGRAPH = Markup("<p>{}</p>")


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str = Field(alias="_id", min_length=1)
    title: str = ""
    text: str


class Converted(Frozen):
    documents: int
    questions: int
    without_text: int = Field(description="documents that hold nothing, which are left out")
    without_evidence: int = Field(description="questions of the split of which no document that is there is relevant")


def convert(folder: Path, out: Path, *, split: str = "test", kind: str = "document", lang: str = "en") -> Converted:
    """Writes out/documents/*.html and out/questions.jsonl. Of `kind` multihop, a question needs all its documents.

    `out` must not exist, or be empty. A grade of 0 or less is not relevant. Raises NotFound, InvalidInput.
    """
    grades = _grades(folder / "qrels" / f"{split}.tsv")
    queries = {item.id: item.text for item in _items(folder / "queries.jsonl")}
    corpus = _items(folder / "corpus.jsonl")
    target = _empty(out) / "documents"
    target.mkdir(parents=True)
    names, without_text = _write_documents(corpus, target)
    questions = []
    for query, relevant in grades.items():
        places = tuple(
            Evidence(doc=names[document], page=None, quote="", grade=grade)
            for document, grade in relevant.items()
            if document in names
        )
        if places and queries.get(query, "").strip():
            questions.append(Question(id=query, question=queries[query], type=kind, lang=lang, evidence=places))
    write_questions(questions, out / "questions.jsonl")
    return Converted(
        documents=len(names),
        questions=len(questions),
        without_text=without_text,
        without_evidence=len(grades) - len(questions),
    )


def _write_documents(corpus: Iterator[_Item], target: Path) -> tuple[dict[str, str], int]:
    """File names by the documents' ids, and how many held nothing."""
    names: dict[str, str] = {}
    without_text = 0
    for item in corpus:
        parts = [part.strip() for part in item.text.split("\n\n") if part.strip()] or [item.title.strip()]
        if not parts[0]:
            without_text += 1
            continue
        names[item.id] = _name(item.id)
        paragraphs = Markup("\n").join(_PARAGRAPH.format(part) for part in parts)
        (target / names[item.id]).write_text(_HTML.format(item.title, paragraphs), encoding="utf-8")
    return names, without_text


def _name(item: str) -> str:
    """A file name of its own for each id, also where case does not count."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,99}", item):
        return f"{item}.html"
    readable = re.sub(r"[^\w.-]", "_", item)[:100]
    return f"{readable}-{hashlib.sha256(item.encode()).hexdigest()[:12]}.html"


def _items(file: Path) -> Iterator[_Item]:
    for number, line in _lines(file):
        try:
            yield _Item.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise InvalidInput(f"{file.name}, line {number}: {field}: {first['msg']}", hint=_hint()) from None


def _grades(file: Path) -> dict[str, dict[str, int]]:
    """By query, the grades of its relevant documents."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    rows = csv.reader((line for _, line in _lines(file)), delimiter="\t", quoting=csv.QUOTE_NONE)
    for number, row in enumerate(rows, 1):
        if number == 1 and row[:1] == ["query-id"]:
            continue
        try:
            query, document, grade = row
            if int(grade) > 0:
                found[query][document] = int(grade)
        except ValueError:
            raise InvalidInput(f"{file.name}, line {number}: no query, document and grade", hint=_hint()) from None
    if not found:
        raise InvalidInput(f"{file.name} names no relevant document", hint=_hint())
    return found


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.rstrip("\n")
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}", hint=_hint()) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file.name} can't be read: {error}", hint=_hint()) from None


def _hint() -> str:
    return "a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv"


def _empty(out: Path) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out} is there already, and not empty", hint="name a folder that is new")
    return out
