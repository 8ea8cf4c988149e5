"""What a query that can't be read is told: where, why, and what is read."""

from __future__ import annotations

import re

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

from core.errors import InvalidInput

ALLOWED = (
    "queries are read-only: MATCH and OPTIONAL MATCH with (a)-[r:RELATION*1..3]->(b), WHERE with AND, OR, NOT, =, <>, "
    "IN, CONTAINS, STARTS WITH, ENDS WITH, =~, IS NULL, toLower, type; UNION; RETURN, DISTINCT, ORDER BY, SKIP, LIMIT"
)
CLAUSES = {
    **dict.fromkeys(
        "CREATE MERGE SET DELETE DETACH REMOVE FOREACH DROP ALTER INSERT".split(), "nothing can be written"
    ),
    **dict.fromkeys("CALL YIELD".split(), "procedures and subqueries can't be called"),
    **dict.fromkeys("LOAD CSV".split(), "nothing can be loaded"),
    **dict.fromkeys("USE SHOW START STOP TERMINATE GRANT DENY REVOKE ENABLE".split(), "it speaks to the server"),
    **dict.fromkeys("EXPLAIN PROFILE CYPHER USING".split(), "how a query is run can't be chosen"),
    **dict.fromkeys("EXISTS COUNT COLLECT".split(), "subqueries are not read: write what they ask for as a pattern"),
    **dict.fromkeys("WITH UNWIND".split(), "it is not needed: write all patterns in MATCH and conditions in WHERE"),
    **dict.fromkeys("XOR CASE FINISH LET FILTER".split(), "it is not read"),
    **dict.fromkeys(
        ("SHORTESTPATH", "ALLSHORTESTPATHS", "SHORTEST"), "write (a)-[*1..3]-(b): every path is looked for"
    ),
}


def refused(at: Token | None, why: str, *, line: int = 1, column: int = 1) -> InvalidInput:
    """The error for a place in a query, both counted from 1."""
    if at is not None:
        line, column = at.line or 1, at.column or 1
    return InvalidInput(f"the query can't be read at line {line}, column {column}: {why}", hint=ALLOWED)


def explained(error: UnexpectedToken | UnexpectedCharacters | UnexpectedEOF, text: str) -> InvalidInput:
    """A parser's error in words for a model or a person."""
    ended = isinstance(error, UnexpectedEOF) or (isinstance(error, UnexpectedToken) and error.token.type == "$END")
    at = len(text) if ended else error.pos_in_stream
    if at is None or at < 0 or at >= len(text.rstrip()):
        return refused(None, "it ends too early", line=text.count("\n") + 1, column=len(text.rsplit("\n", 1)[-1]) + 1)
    at -= text[max(at - 1, 0) : at + 1] in ("//", "/*")  # the first / could have been a division
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    return refused(None, _why(text, at), line=line, column=column)


def _why(text: str, at: int) -> str:
    rest = text[at : at + 200]
    if rest[0] in "'\"":
        return "a string is not closed, or has an escape other than \\\\, \\', \\\" and \\n (write \\u… as itself)"
    if rest.startswith(("//", "/*")):
        return "comments are not read"
    if "`" in rest[0]:
        return "a quoted name has letters, digits, blanks, hyphens and underscores only"
    if rest[0] == "\\":
        return "escapes are read in strings only"
    if ";" in text[:at] and text[:at].rstrip().endswith(";"):
        return "there is more than one statement"
    if opened := re.search(r"\b(EXISTS|COUNT|COLLECT|CALL)\s*\{[^}]*$", text[max(at - 200, 0) : at], re.IGNORECASE):
        return f"{opened[1].upper()} {{ is not allowed: {CLAUSES[opened[1].upper()]}"
    around = re.finditer(r"[^\W\d]\w*(?:\.\w+)+(?=\s*\()", text[max(at - 100, 0) : at + 100])
    if called := next((each[0] for each in around if each.start() <= min(at, 100) <= each.end() + 1), ""):
        return f"the function {called[:60]} can't be called"
    word = re.match(r"\w+", rest)
    if rest[0] in "({" and (before := re.search(r"(\w+)\s*$", text[max(at - 40, 0) : at])):
        word = before if before[1].upper() in CLAUSES else word
    name = word[word.re.groups].upper() if word else ""
    if name in CLAUSES:
        return f"{name} is not allowed: {CLAUSES[name]}"
    return f"'{word[0][:40] if word else rest[0]}' is not expected here"
