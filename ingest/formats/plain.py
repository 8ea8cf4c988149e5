"""Plain text: paragraphs between blank lines, wrapped lines joined, headings where a line alone looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from core.text import is_cjk
from ingest.formats.decode import read_text
from ingest.formats.pages import Piece, check_length, paged
from ingest.pdf import ParsedDocument

_UNDERLINE = re.compile(r"^(={3,}|-{3,}|~{3,})$")
_NUMBERED = re.compile(r"^(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_][^\n]{1,90}$")
_CHAPTER = re.compile(
    r"^(chapter|part|appendix|section)\s+([\divxlc]+|[A-Z])\b.{0,80}$|^第.{1,6}[章节節部篇]", re.IGNORECASE
)
_KNOWN = re.compile(
    r"^(abstract|summary|introduction|background|methods?|results|discussion|conclusions?|references|bibliography|"
    r"摘要|引言|绪论|结论|参考文献|附录)$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*([•‣▪●◦*+-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_COLUMNS = re.compile(r"\S {3,}\S|\t|\|")  # lines of a table, or of code
_CLOSED = re.compile(r"[.!?:;。！？：；,，][\"'”’)\]」』）]*$")
_HYPHEN = re.compile(r"([^\W\d_]+)-$")
_WORD = re.compile(r"[^\W\d_]+")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST_WORD = 60
_WRAPPED = 40  # characters: the lines of a text that was wrapped are longer


@dataclass(frozen=True)
class _Paragraph:
    line: int  # of the file, from 1
    lines: tuple[str, ...]
    new_page: bool


def read_plain(path: Path, max_pages: int) -> ParsedDocument:
    """Raises CorruptDocument, NoText, InvalidInput. A page's anchors are the file's lines: 'L120'."""
    text = read_text(path)
    check_length(path.name, text, max_pages)
    pieces = list(_pieces(text))
    title = pieces[0].text if pieces and pieces[0].level else ""
    return paged(path.name, title, pieces, max_pages)


def _pieces(text: str) -> Iterator[Piece]:
    paragraphs = list(_paragraphs(text))
    words = frozenset(_HYPHENATED.findall(text))
    levels = [_level(paragraph) for paragraph in paragraphs]
    for at, paragraph in enumerate(paragraphs):
        anchor = f"L{paragraph.line}"
        if levels[at] and not _is_listed(levels, at):
            yield Piece("heading", paragraph.lines[0], levels[at], anchor, paragraph.new_page)
            continue
        for number, (kind, lines) in enumerate(_groups(paragraph.lines)):
            joined = _joined(lines, words, is_item=kind == "list")
            yield Piece(kind, joined, 0, anchor if number == 0 else "", paragraph.new_page and number == 0)


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    found: list[str] = []
    first, new_page = 0, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        breaks, line = "\f" in line, line.replace("\f", "").rstrip()
        if found and (breaks or not line):
            yield _Paragraph(first, tuple(found), new_page)
            found, new_page = [], False
        new_page = new_page or breaks
        if line:
            first = first if found else number
            found.append(line)


def _level(paragraph: _Paragraph) -> int:
    """1 to 4 for what looks like a heading, 0 for anything else."""
    lines, text = paragraph.lines, paragraph.lines[0].strip()
    if len(lines) == 2 and _UNDERLINE.match(lines[1].strip()) and len(text) < 120:
        return 1 if lines[1].lstrip().startswith("=") else 2
    if len(lines) != 1 or len(text) > 100 or _CLOSED.search(text) or not _WORD.search(text):
        return 0
    if match := _NUMBERED.match(text):
        return min(match["number"].count(".") + 1, 4)
    letters = [char for char in text if char.isalpha()]
    shouted = len(letters) >= 4 and text.isupper() and 2 * len(letters) > len(text) and not _COLUMNS.search(text)
    return 1 if shouted or _CHAPTER.match(text) or _KNOWN.match(text) else 0


def _is_listed(levels: Sequence[int], at: int) -> bool:
    """Whether lines of one kind follow each other: then they are a list and no headings."""
    return levels[at] in (*levels[at - 1 : at], *levels[at + 1 : at + 2])


def _groups(lines: Sequence[str]) -> Iterator[tuple[Literal["list", "text"], list[str]]]:
    """A paragraph's items one by one, each with the lines that go on with it; or all its lines."""
    group: list[str] = []
    is_item = False
    for line in lines:
        if _ITEM.match(line):
            if group:
                yield ("list" if is_item else "text"), group
            group, is_item = [], True
        group.append(line)
    yield ("list" if is_item else "text"), group


def _joined(lines: Sequence[str], words: frozenset[str], is_item: bool) -> str:
    """Lines of wrapped prose as one; verses, tables and code line by line."""
    if len(lines) == 1:
        return lines[0].strip()
    columns = sum(bool(_COLUMNS.search(line.strip())) for line in lines)
    inner = [len(line) for line in lines[:-1]]
    wide = sum(is_cjk(char) for char in lines[0]) > len(lines[0]) / 3
    narrow = sum(inner) / len(inner) < (_WRAPPED / 2 if wide else _WRAPPED)
    if columns * 2 > len(lines) or (narrow and not is_item):
        return "\n".join(lines)
    stripped = [line.strip() for line in lines]
    return "".join(_ended(line, after, words) for line, after in pairwise(stripped)) + stripped[-1]


def _ended(line: str, after: str, words: frozenset[str]) -> str:
    """The line as it stands before the next one: with a blank, or without its hyphen where that parts a word."""
    if is_cjk(line[-1]) and is_cjk(after[0]):
        return line
    ends, begins = _HYPHEN.search(line, max(0, len(line) - _LONGEST_WORD)), _WORD.match(after)
    if ends and begins and begins[0][0].islower():
        is_written_so = f"{ends[1]}-{begins[0]}" in words and ends[1] + begins[0] not in words
        return line if is_written_so else line[:-1]
    return f"{line} "
