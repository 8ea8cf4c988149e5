"""The query in a model's reply, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from core.errors import InvalidInput
from graph.cypher.parser import read_cypher
from graph.cypher.reply import query_in

QUERY = "MATCH (a {name: 'BERT'})-[:USES]->(b)\nWHERE b.name <> 'x'\nRETURN b.name"


@pytest.mark.parametrize(
    "reply",
    [
        QUERY,
        f"```cypher\n{QUERY}\n```",
        f"```\n{QUERY}\n```",
        f"```Cypher\n{QUERY}",  # cut off
        f"~~~\n```cypher\n{QUERY}\n```\n~~~",
        f"Sure! Here it is:\n\n{QUERY}\n\nIt finds what BERT uses. Use it well.",
        f"To answer this, you can use this query: {QUERY}",
        f"Use the following query:\n{QUERY}",
        f"<think>MATCH (x) DELETE x</think>```cypher\n{QUERY}\n```",
        f"<think>```cypher\nMATCH (n) RETURN n\n```</think>{QUERY}",
        f"let me see… MATCH (n) RETURN n</think>\n{QUERY}",
        f"```cypher\nMATCH (n) RETURN n\n```\nBetter:\n```cypher\n{QUERY}\n```",
        f"```cypher\n{QUERY}\n```\nwhich gives\n```json\n[1]\n```",
        f"<|im_start|>assistant\n{QUERY}<|im_end|>",
        f"{QUERY}</s>",
        f"{QUERY}\n```",
        f"{QUERY};<|eot_id|>",
        f"cypher\n{QUERY}",
        f"Cypher query: {QUERY}",
    ],
)
def test_what_is_around_a_query_is_left_out(reply: str) -> None:
    assert read_cypher(reply) == read_cypher(QUERY)


@pytest.mark.parametrize(
    "reply",
    [
        f"CREATE (x)\n{QUERY}",
        f"CALL db.labels:\n\nMATCH (n) RETURN n\n\n{QUERY}",
        f"{QUERY}\n\nDELETE b",
        f"{QUERY}\n\nThen run:\nCREATE (n)",
        f"{QUERY}\n// comment",
        f"{QUERY}<|im_end|>\nDETACH DELETE b",
        f"<think>{QUERY}</think>",
        "I can't write that.",
    ],
)
def test_what_may_be_a_clause_is_not_taken_for_prose(reply: str) -> None:
    with pytest.raises(InvalidInput):
        read_cypher(reply)


def test_tokens_and_fences_in_a_string_are_its_own() -> None:
    text = "MATCH (a {name: '<|im_end|> </s> ``` <think>'}) RETURN a"
    assert query_in(text) == text
