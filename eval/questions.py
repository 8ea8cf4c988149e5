"""Question files: a JSON object a line, each a question with the places that answer it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.errors import InvalidInput, NotFound

UNANSWERABLE = "unanswerable"
SHOWN = 20  # errors in one message
EXAMPLE = '{"question": "…", "type": "fact", "lang": "en", "evidence": [{"doc": "a.pdf", "page": 3, "quote": "…"}]}'


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # a file may say more of its questions than is needed here


class Evidence(_Row):
    """A place that answers a question, or a part of one."""

    doc: str = Field(min_length=1, description="the document's name in the library")
    page: int | None = Field(ge=1, description="null: the document as a whole, whichever page")
    quote: str = Field(description="verbatim, of one page; empty where only the page or document is known")
    grade: int = Field(default=1, ge=1, description="how relevant; counts in nDCG only")


class Question(_Row):
    """Evidence is empty for type `unanswerable`, and for no other."""

    id: str = Field(default="", description="the number of its line, where the file gives none")
    question: str = Field(min_length=1, max_length=4000, pattern=r"\S")
    type: str = Field(min_length=1)
    lang: str = Field(min_length=1)
    evidence: tuple[Evidence, ...]
    reference: str = Field(default="", description="a right answer, for a judge to compare with")

    @property
    def answerable(self) -> bool:
        return self.type != UNANSWERABLE

    @model_validator(mode="after")
    def _consistent(self) -> Question:
        if self.answerable and not self.evidence:
            raise ValueError(f"a question of type {self.type!r} needs evidence")
        if not self.answerable and self.evidence:
            raise ValueError("an unanswerable question has no evidence")
        return self


@dataclass(frozen=True)
class QuestionSet:
    """A file's questions, in the order of its lines; one of them at least can be answered."""

    name: str
    sha256: str
    questions: tuple[Question, ...]

    @property
    def answerable(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if question.answerable)


def read_questions(file: Path) -> QuestionSet:
    """Raises NotFound, and InvalidInput that names line and field of each error."""
    found: list[Question] = []
    problems: list[str] = []
    lines: dict[str, int] = {}
    content = _content(file)
    for number, line in _lines(content, file):
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            problems.append(f"line {number}: {_said(error)}")
            continue
        question = question if question.id else question.model_copy(update={"id": str(number)})
        if (first := lines.setdefault(question.id, number)) != number:
            problems.append(f"line {number}: the id {question.id!r} stands on line {first} already")
        found.append(question)
    if problems:
        more = f"\n… and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise InvalidInput("\n".join(problems[:SHOWN]) + more, hint=f"a line is e.g. {EXAMPLE}")
    if not any(question.answerable for question in found):
        raise InvalidInput(f"{file.name} holds no question that can be answered", hint=f"a line is e.g. {EXAMPLE}")
    return QuestionSet(file.name, hashlib.sha256(content).hexdigest(), tuple(found))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}") from None


def _lines(content: bytes, file: Path) -> Iterator[tuple[int, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file.name} is not UTF-8 text", hint=f"a line is e.g. {EXAMPLE}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _said(error: ValidationError) -> str:
    """The first thing that is wrong, with the field it is in."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg']}" if field else str(first["msg"])


def write_questions(questions: Iterable[Question], file: Path) -> None:
    """One a line, without what is as it is by default."""
    lines = (json.dumps(question.model_dump(exclude_defaults=True), ensure_ascii=False) for question in questions)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
