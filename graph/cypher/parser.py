"""Cypher text to a Pattern: one grammar, nothing else is understood, nothing of the text goes any further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken
from lark.lark import PostLex

from core.errors import InvalidInput
from graph.cypher.builder import Builder
from graph.cypher.refusals import ALLOWED, explained, refused
from graph.cypher.reply import query_in
from graph.cypher.syntax import Query, ToSyntax
from graph.patterns.canonical import pattern_of
from graph.patterns.pattern import Pattern

MOST_CHARACTERS, _MOST_TOKENS = 50_000, 1_000
ParameterValue = str | int | float | Sequence[str]


def read_cypher(text: str, parameters: Mapping[str, ParameterValue] | None = None, *, hops: int = 3) -> Pattern:
    """The pattern of a query, with a model's thinking, code fences and prose around it left out.

    `hops` is the most of one path; what asks for more, or sets no bound, gets that, and the pattern's notes say so.
    Raises InvalidInput with line, column, and what is read; linear in the length, which is bounded.
    """
    queries = _syntax(query_in(_bounded(text, 4 * MOST_CHARACTERS)))
    notes: list[str] = []
    alternatives = [Builder(parameters or {}, hops, notes).parts(query) for query in queries]
    return pattern_of(alternatives, notes)


def _syntax(text: str) -> tuple[Query, ...]:
    _bounded(text, MOST_CHARACTERS)
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in text):
        raise InvalidInput("the query holds half a character or a NUL", hint=ALLOWED)
    try:
        return _parser().parse(text)  # type: ignore[return-value] # the transformer's
    except (UnexpectedToken, UnexpectedCharacters, UnexpectedEOF) as error:
        raise explained(error, text) from None


def _bounded(text: str, most: int) -> str:
    if len(text) > most:
        raise InvalidInput(f"the query has {len(text)} characters; {most} are the most", hint=ALLOWED)
    return text


class _Guard(PostLex):
    """Refuses what has too many words, and words that run into each other (`RETURNa`)."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        before: Token | None = None
        for count, token in enumerate(stream):
            if count >= _MOST_TOKENS:
                raise refused(token, f"it has more than {_MOST_TOKENS} words")
            if before is not None and before.end_pos == token.start_pos and _is_word(before[-1]) and _is_word(token[0]):
                raise refused(token, f"'{token[:40]}' is not expected here")
            before = token
            yield token


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


@cache
def _parser() -> Lark:
    grammar = (files("graph.cypher") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=ToSyntax(), postlex=_Guard(), maybe_placeholders=False)
