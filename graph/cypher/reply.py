"""The query in a model's reply: without thinking, tokens of its chat template, code fences and prose around it.

What is left out is prose for certain: what might be a clause stays, and is refused by the parser.
"""

from __future__ import annotations

import re

from core.llm.thinking import split
from graph.cypher.refusals import CLAUSES

_TOKEN = r"<\|[a-zA-Z_]{1,40}\|>|</?s>|\[/?INST\]"
_FIRST = re.compile(rf"\A(?:\s*(?:{_TOKEN})(?:\s*(?:assistant|user|system)\b)?)+")
_STRING_OR_TOKEN = re.compile(rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|({_TOKEN})""", re.DOTALL)
_FENCE = re.compile(
    r"(?:(?<=[\s:>])|\A)```[ \t]*(?:cypher\b|[a-zA-Z0-9]*[ \t]*(?=\n))?(.*?)(?:(?<![\'\"])```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_BEGIN = re.compile(r"\b(?:OPTIONAL\s+)?MATCH\b\s*(?:[^\W\d]\w*\s*=\s*)?\(", re.IGNORECASE)
_CLAUSE = re.compile(
    rf"(?:{'|'.join(sorted(CLAUSES))}|MATCH|OPTIONAL|WHERE|RETURN|UNION|ORDER|SKIP|LIMIT|AND|OR|NOT)\b", re.IGNORECASE
)
_SIGNS = re.compile(r"[(){}\[\]=;$`<>/\\]")
_LABEL = re.compile(
    r"\A\s*(?:cypher(?:\s+query)?|query|answer|sql)\s*:?[ \t]*(?=\n|\bMATCH\b|\bOPTIONAL\b)", re.IGNORECASE
)


def query_in(reply: str) -> str:
    """Of several fenced queries the last; of none the text from its first MATCH to the prose after it."""
    text = _FIRST.sub("", split(reply)[1])
    if _BEGIN.match(text.lstrip()):  # a fence after it is in a string, or closes what the prompt had opened
        return _without_end(_without_tokens(re.sub(r"\s```\s*\Z", "", text))).strip()
    fenced = [_LABEL.sub("", found[1]).strip() for found in _FENCE.finditer(text) if found[1].strip()]
    if fenced:
        return _without_tokens(next((each for each in reversed(fenced) if _CLAUSE.match(each)), fenced[-1])).strip()
    return _without_end(_without_tokens(_without_begin(_LABEL.sub("", text)))).strip()


def _without_tokens(query: str) -> str:
    """Each token of a chat template is an end; in a string it is a text like any other."""
    return _STRING_OR_TOKEN.sub(lambda found: "\n\n" if found[1] else found[0], query)


def _without_begin(text: str) -> str:
    """Without the prose before the first MATCH, if it is prose: it says no clause and has none of a query's signs."""
    begin = _BEGIN.search(text)
    before = text[: begin.start()] if begin else ""
    if begin is None or not before.strip() or _SIGNS.search(before):
        return text
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    ends_open = lines[-1].endswith(":")
    if any(_CLAUSE.match(line) for line in lines if not (ends_open and " " in line)):
        return text
    return text[begin.start() :]


def _without_end(text: str) -> str:
    """Without the paragraphs after the query, if they are prose: none of their lines begins like a clause."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    while len(paragraphs) > 1 and not any(map(_may_be_query, paragraphs[-1].splitlines())):
        paragraphs.pop()
    return "\n\n".join(paragraphs)


def _may_be_query(line: str) -> bool:
    line = line.strip()
    return bool(_CLAUSE.match(line)) or line.startswith(("//", "/*", ";", "(", "-", "<"))
