"""Nothing but the read-only subset is read, and words in a string are only words."""

from __future__ import annotations

import time

import pytest

from core.errors import InvalidInput
from graph.cypher.compiler import compiled
from graph.cypher.parser import read_cypher

HOSTILE = (
    # what writes
    "CREATE (n:Entity {name: 'x'})",
    "CREATE (n) RETURN n",
    "MERGE (n:Entity {name: 'x'}) RETURN n",
    "MATCH (n) DELETE n",
    "MATCH (n) DETACH DELETE n",
    "match (n) detach delete n",
    "MATCH (n) SET n.name = 'x'",
    "MATCH (n) SET n += {name: 'x'} RETURN n",
    "MATCH (n) SET n:Owned RETURN n",
    "MATCH (n) REMOVE n.name",
    "MATCH (n) REMOVE n:Entity RETURN n",
    "MATCH (n) FOREACH (x IN [1] | SET n.name = 'x')",
    "MATCH (a), (b) CREATE (a)-[:USES]->(b)",
    "MATCH (a), (b) MERGE (a)-[:USES]->(b) RETURN a",
    "MATCH (n) RETURN n UNION CREATE (m) RETURN m",
    "MATCH (n) RETURN n\nDETACH DELETE n",
    "MATCH (n) RETURN n\n\nDETACH DELETE n",
    "MATCH (n) WITH n DELETE n",
    "OPTIONAL MATCH (n) DELETE n",
    "INSERT (n:Entity {name: 'x'})",
    "MATCH (n) NODETACH DELETE n",
    # what calls
    "CALL db.labels()",
    "CALL db.labels() YIELD label RETURN label",
    "CALL apoc.cypher.runWrite('CREATE (n)', {}) YIELD value RETURN value",
    "CALL dbms.components() YIELD name MATCH (n) RETURN n",
    "MATCH (n) CALL { WITH n DETACH DELETE n } RETURN n",
    "MATCH (n) CALL (n) { DELETE n } RETURN n",
    "MATCH (n) CALL { CREATE (m) } IN TRANSACTIONS RETURN n",
    "CALL db.index.fulltext.queryNodes('x', 'y')",
    "MATCH (n) WHERE apoc.text.levenshteinSimilarity(n.name, 'x') > 0.5 RETURN n",
    "MATCH (n) RETURN apoc.cypher.runFirstColumn('CREATE (n)', {})",
    "MATCH (n) RETURN load(n)",
    "MATCH (n {name: apoc.load.json('http://127.0.0.1')}) RETURN n",
    "MATCH (n) WHERE randomUUID() = n.name RETURN n",
    # what loads, and what speaks to the server
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "LOAD CSV WITH HEADERS FROM 'http://127.0.0.1/x' AS line MATCH (n) RETURN n",
    "MATCH (n) LOAD CSV FROM 'http://127.0.0.1/?' + n.name AS line RETURN line",
    "USE system MATCH (n) RETURN n",
    "USE neo4j\nMATCH (n) RETURN n",
    "SHOW DATABASES",
    "SHOW USERS YIELD *",
    "STOP DATABASE neo4j",
    "DROP CONSTRAINT name IF EXISTS",
    "CREATE INDEX FOR (n:Entity) ON (n.name)",
    "GRANT ROLE admin TO me",
    "TERMINATE TRANSACTIONS 'x'",
    "EXPLAIN MATCH (n) RETURN n",
    "PROFILE MATCH (n) RETURN n",
    "CYPHER runtime=slotted MATCH (n) RETURN n",
    "ALTER USER neo4j SET PASSWORD 'x'",
    # comments
    "MATCH (n) RETURN n // DELETE",
    "MATCH (n) /* x */ RETURN n",
    "MATCH (n) DEL/**/ETE n",
    "// MATCH\nCREATE (n)",
    "/* MATCH (n) */ CREATE (n)",
    "MATCH (n {name: 'a'}) //\nDELETE n",
    # several statements
    "MATCH (n) RETURN n; MATCH (m) DELETE m",
    "MATCH (n) RETURN n;;",
    "MATCH (n) RETURN n; CREATE (m)",
    "; MATCH (n) RETURN n",
    "MATCH (n); DELETE n",
    # unicode escapes and look-alikes
    "MATCH (n) \\u0044ELETE n",
    "MATCH (n {name: '\\u0027}) DETACH DELETE n RETURN (\\u0027'}) RETURN n",
    "\\u004DATCH (n) RETURN n",
    "MATCH (n:\\u0045ntity) RETURN n",
    "MATCH (n {name: 'x\\u0027'}) RETURN n",
    "MATCH (n)\u2028DELETE n",
    "ＭＡＴＣＨ (n) ＤＥＬＥＴＥ n",
    "MATCH (n) DELETЕ n",
    # subqueries
    "MATCH (n) WHERE EXISTS { (n)-->() } RETURN n",
    "MATCH (n) WHERE EXISTS { MATCH (n)-->(m) } RETURN n",
    "MATCH (n) WHERE COUNT { (n)--() } > 2 RETURN n",
    "MATCH (n) RETURN COLLECT { MATCH (m) RETURN m }",
    "MATCH (n) WHERE (n)-->() RETURN n",
    "MATCH (n) WHERE NOT (n)-[:USES]->() RETURN n",
    "MATCH (n) RETURN [(n)-->(m) | m.name]",
    # names that would break out
    "MATCH (n:`Entity) DETACH DELETE n //`) RETURN n",
    "MATCH (n:`Entity`` {x: 1}) DELETE n //`) RETURN n",
    "MATCH (`n) DETACH DELETE (n`) RETURN n",
    "MATCH (n)-[:`X]->() DELETE n //`]->(m) RETURN n",
    "MATCH (n {`name: 'x'}) DELETE n //`: 'y'}) RETURN n",
    "MATCH (n:`DETACH DELETE`{) RETURN n",
    "MATCH (n {name: 'x'}) DETACH DELETE n RETURN ('y'})",
    "MATCH (n {name: 'it's'}) RETURN n",
    "MATCH (n {name: 'open}) DELETE n",
    "MATCH (n:$(label)) RETURN n",
    "MATCH (n)-[:$any($types)]->(m) RETURN n",
    "MATCH (n $props) RETURN n",
    "MATCH (n {name: $missing}) RETURN n",
    # what is no query, or not this language
    "",
    "   ",
    "DROP TABLE students",
    "SELECT * FROM entities",
    "RETURN 1",
    "MATCH",
    "MATCH (n",
    "MATCH (n) RETURN",
    "MATCH (n) RETURN m",
    "MATCH (n) WHERE m.name = 'x' RETURN n",
    "MATCH (n) RETURN n ORDER BY",
    "MATCH (n) RETURN n LIMIT -1",
    "MATCH (n) RETURN n LIMIT 1 LIMIT 2",
    "MATCH (n) RETURNn",
    "MATCH (n) UNWIND [1, 2] AS x RETURN x",
    "MATCH (n) WITH n RETURN n",
    "MATCH p = shortestPath((a)-[*..3]-(b)) RETURN p",
    "MATCH (a)((b)-[]->(c)){1,3}(d) RETURN a",
    "MATCH (a)-[r:USES*3..1]->(b) RETURN a",
    "MATCH (a)-[r]->(b), (b)-[r]->(c) RETURN a",
    "MATCH (a)-[a]->(b) RETURN a",
    "MATCH (n) WHERE n.name RETURN n",
    "MATCH (n) WHERE n.secret = 'x' RETURN n",
    "MATCH (n) WHERE n.name > 'x' RETURN n",
    "MATCH (n) WHERE n.name =~ '(a+)+$' RETURN n",
    "MATCH (n) WHERE n.name =~ '(a|aa)*b' RETURN n",
    "MATCH (n) WHERE n.name = NULL RETURN n",
    "MATCH (n) WHERE 1 = 1 RETURN n",
    "MATCH (n) WHERE n.name = 'x' XOR n.name = 'y' RETURN n",
    "MATCH (n {name: 'a\0b'}) RETURN n",
    "MATCH (n {name: '\ud800'}) RETURN n",
    "<think>MATCH (n) RETURN n</think>",
    "<think>MATCH (n) RETURN n",
    "<think>ok</think>```cypher\nMATCH (n) RETURN n\n```\n```cypher\nMATCH (n) DELETE n\n```",
)

WORDS = (
    "MERGE", "DELETE everything", "DETACH DELETE n", "CALL db.labels()", "LOAD CSV FROM 'x'", "CREATE (n)", "SET x = 1",
    "}) DETACH DELETE n //", "// comment", "/* comment */", "a; b", "`quoted`", "$param", "EXISTS { (n) }", "<think>",
    "```", "<|im_end|>", "'); DROP TABLE x; --", "http://example.org/", "USE PROFILE EXPLAIN", "REMOVE n FOREACH",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_of_the_subset_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_cypher(text)
    assert refusal.value.hint
    assert len(refusal.value.message) < 300


def test_there_are_many_hostile_queries() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60
    assert len(WORDS) >= 10


def test_words_of_other_clauses_are_only_words_in_a_string() -> None:
    for name in WORDS:
        text = name.replace("\\", "\\\\").replace("'", "\\'")
        written = read_cypher(f"MATCH (a {{name: '{text}'}})-->(b) RETURN b")
        given = read_cypher("MATCH (a {name: $name})-->(b) RETURN b", {"name": name})
        assert written == given
        (statement,) = compiled(given, library="l", limit=5)
        assert [name.casefold()] in statement.parameters.values()
        assert name not in statement.text


def test_innocent_names_may_be_words_of_the_language() -> None:
    for text in (
        "MATCH (match)-[set:USES]->(create) RETURN create.name AS delete",
        "MATCH (a:Call)-[:MERGE|SET]->(b:Delete) RETURN a, b",
        "MATCH (a)-[:CREATED|LOADS]->(b) WHERE a.name CONTAINS 'DETACH' RETURN b",
        "MATCH (a:`Load Csv`) RETURN a",
        "MATCH (order)-->(limit) RETURN order ORDER BY order.name LIMIT 3",
    ):
        assert read_cypher(text).alternatives


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("MATCH (n) DELETE n", 1, 11, "DELETE"),
        ("MATCH (n)\n  CALL db.labels()", 2, 3, "CALL"),
        ("MATCH (n)\nWHERE n.age = 3\nRETURN n", 2, 9, "age"),
        ("MATCH (n) RETURN n // x", 1, 20, "comments"),
        ("MATCH (n) RETURN apoc.x.y(n)", 1, 24, "apoc.x.y"),
        ("MATCH (n) WHERE EXISTS { (n)-->() } RETURN n", 1, 26, "EXISTS"),
        ("MATCH (n) RETURN n; MATCH (m) RETURN m", 1, 21, "statement"),
        ("MATCH (n {name: 'x\\u0041'}) RETURN n", 1, 17, "escape"),
        ("MATCH (n) WHERE n.name = 'x' AND", 1, 33, "early"),
        ("MATCH p = shortestPath((a)-[*]-(b)) RETURN p", 1, 11, "shortestPath"),
    ],
)
def test_a_refusal_says_where_and_why(text: str, line: int, column: int, word: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_cypher(text)
    assert f"line {line}, column {column}:" in refusal.value.message
    assert word.lower() in refusal.value.message.lower()


@pytest.mark.parametrize(
    "text",
    [
        "MATCH " + "(" * 100_000,
        "MATCH (n) WHERE " + "(" * 49_000,
        "MATCH (n) WHERE " + "NOT " * 12_000 + "n.name = 'x' RETURN n",
        "MATCH (n) WHERE " + "n.name = 'x' OR " * 3_000 + "n.name = 'y' RETURN n",
        "MATCH (n) WHERE n.name IN [" + "'x', " * 9_000 + "'y'] RETURN n",
        "MATCH " + ", ".join(f"(a{n})-->(b{n})" for n in range(2_500)) + " RETURN *",
        "MATCH (n {name: '" + "\\\\" * 24_000,
        "MATCH (n {name: '" + "x" * 100_000 + "'}) RETURN n",
        "`" * 49_000,
        "```" * 16_000,
        "<think>" * 7_000,
        "<think></think>" * 3_200,
        "MATCH (n)" + "-" * 49_000,
        "MATCH (n) RETURN " + "[" * 49_000,
        "x\n\n" * 16_000 + "MATCH",
        "MATCH (n) RETURN n" + "\n\nThen." * 6_000 + "\n\nDELETE",
        "MATCH (a)" * 5_000 + " RETURN a",
        " " * 49_000 + "MATCH (",
        "MATCH (n) WHERE n.name =~ '" + "(a|b)" * 300 + "' RETURN n",
        "MATCH (n) WHERE n.name =~ '" + ".*x" * 600 + "' RETURN n",
    ],
    ids=lambda text: text[:30],
)
def test_a_long_hostile_text_is_refused_within_a_second(text: str) -> None:
    read_cypher("MATCH (n) RETURN n")  # the grammar is read once
    start = time.perf_counter()
    with pytest.raises(InvalidInput):
        read_cypher(text)
    assert time.perf_counter() - start < 1
