"""What a model's reply must look like, and what of it stands in the passage: nothing else becomes a triple."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from core.graph import Triple
from core.text import find_quote, sentences, spans_within
from core.types import Chunk
from graph.extraction.naming import clean_name, name_key, problem
from graph.extraction.triple_ids import triple_id
from graph.relations import is_citation, is_denied, normalise

MOST = 10  # relations of one reply, as its prompt says too
_AGENTS = frozenset("person people author authors team organisation organization company institution group".split())
_BY_AGENTS = frozenset("AUTHORED_BY DIRECTED_BY FOUNDED_BY".split())
# '(Vik et al., 2021; Strand, 2019a)', '[3, 7]'. Not '(born 4 May 1901)'.
_CITED = re.compile(
    r"\s?\((?:e\.g\.,? |see )?(?:[^()]*\bet al\b[^()]*|[A-Z][^()\d;]*,? (?:19|20)\d\d[a-z]?(?:[;,][^()]*)?)\)|"
    r"\s?\[\d+(?:[,;–-] ?\d+)*\]"
)
_LONGEST_QUOTE = 700  # characters
_LONGEST_WORDING = 60
_MOST_TYPE = 40


def _text(value: object) -> object:
    """null, lists and objects are no names; a number is one."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


Text = Annotated[str, BeforeValidator(_text)]


def _item(value: object) -> object:
    """['A', 'USES', 'B', 'quote'], as small models write, as an object; what is neither as one that says nothing."""
    if isinstance(value, list) and len(value) in (3, 4):
        return dict(zip(("subject", "relation", "object", "quote"), value, strict=False))
    return value if isinstance(value, dict) else {}


def _schema(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["properties"] if name != "object_type"]


class Stated(BaseModel):
    """One relation as the model says it. Lenient: one that is of no use must not cost the others."""

    model_config = ConfigDict(json_schema_extra=_schema)

    quote: Text = ""  # first: small models then name what stands in it, and not what stands in the example
    subject: Text = ""
    subject_type: Text = ""
    relation: Text = ""
    object: Text = ""
    object_type: Text = ""


class Statements(BaseModel):
    """The reply for one passage."""

    # Said in the schema only: small models repeat themselves to the last token, but one too many is no fault.
    triples: Annotated[list[Annotated[Stated, BeforeValidator(_item)]], Field(json_schema_extra={"maxItems": MOST})]


def uncited(text: str) -> str:
    """The text with blanks in place of citations, which small models take for what the text is about; all places
    stay, and a quote is found over them."""
    return _CITED.sub(lambda found: " " * len(found[0]), text)


def checked(stated: Stated, chunk: Chunk) -> Triple | str:
    """The triple, or why it is dropped.

    The quote has to stand in the passage; subject and object have to stand in its sentences or in the one before or
    behind them, and the quote that is kept is the shortest row of sentences that holds all three.
    """
    subject, target = clean_name(stated.subject), clean_name(stated.object)
    wording = " ".join(stated.relation.replace("_", " ").split()) if stated.relation.isupper() else stated.relation
    wording = " ".join(wording.split())
    if why := problem(subject) or problem(target):
        return why
    if not wording:
        return "no relation"
    if len(wording) > _LONGEST_WORDING:
        return "long relation"
    if is_denied(wording):
        return "denied"
    if name_key(subject) == name_key(target):
        return "same name"
    quote = _quoted(stated.quote, subject, target, chunk.text)
    if isinstance(quote, str):
        return quote
    start, end, subject, target = quote
    relation, inverted = normalise(wording)
    types = stated.subject_type.strip()[:_MOST_TYPE], stated.object_type.strip()[:_MOST_TYPE]
    if inverted or (relation in _BY_AGENTS and _is_agent(types[0]) and not _is_agent(types[1])):
        subject, target, types = target, subject, types[::-1]
    if not any(char.isalpha() for char in subject):
        return "generic name"  # a number can be what is said of something, not what it is said of
    return Triple(
        id=triple_id(chunk.id, subject, wording, target),
        document_id=chunk.document_id,
        chunk_id=chunk.id,
        subject=subject,
        subject_type=types[0],
        relation=relation,
        wording=wording.casefold() if wording.isupper() else wording,
        object=target,
        object_type=types[1],
        quote=chunk.text[start:end],
        spans=spans_within(chunk.spans, start, end),
        extracted_by="llm",
        is_citation=is_citation(relation),
    )


def _is_agent(kind: str) -> bool:
    return kind.casefold() in _AGENTS


def _quoted(quote: str, subject: str, target: str, text: str) -> tuple[int, int, str, str] | str:
    """(start, end) of the verbatim quote with both names as they stand in it, or what is missing."""
    if find_quote(subject, text) is None:
        return "subject not in the passage"
    if find_quote(target, text) is None:
        return "object not in the passage"
    place = find_quote(quote, text) or find_quote(quote, uncited(text))
    if place is None:
        return "quote not in the passage"
    bounds = sentences(text)
    inside = [n for n, (start, end) in enumerate(bounds) if start < place[1] and place[0] < end]
    for first, last in _rows(inside, len(bounds)):
        start, end = min(place[0], bounds[first][0]), max(place[1], bounds[last][1])
        names = [find_quote(name, text[start:end]) for name in (subject, target)]
        if end - start <= _LONGEST_QUOTE and names[0] is not None and names[1] is not None:
            said = [" ".join(text[start + a : start + b].split()) for a, b in (names[0], names[1])]
            return start, end, clean_name(said[0]), clean_name(said[1])
    return "names not in the quote"


def _rows(inside: Sequence[int], count: int) -> list[tuple[int, int]]:
    """The quote's own sentences, then one more before them, one more behind, and both."""
    if not inside:
        return []
    first, last = inside[0], inside[-1]
    rows = [(first, last), (first - 1, last), (first, last + 1), (first - 1, last + 1)]
    return [(a, b) for a, b in rows if a >= 0 and b < count]
