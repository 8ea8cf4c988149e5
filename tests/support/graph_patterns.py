"""Random multigraphs with hostile names, random queries over them, and two independent engines that answer them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import kglite
import networkx as nx

from graph.cypher.compiler import Keys, Statement, compiled, read_record
from graph.folding import folded_names, type_key, wording_key
from graph.patterns.found import Found, Matched, matched
from graph.patterns.pattern import Pattern

LONG = "é'`\"}{" + "n" * 10_000 + "\\"
NAMES = (
    "BERT", "bert",
    "it's", "a `quoted` name", "{brace}", "}) DETACH DELETE n //", "模型", "データ", "😀 emoji", "ＧＰＴ－４",
    'say "hi"', "back\\slash", "line\nbreak", "$p1", "MERGE", "N 1", "Straße", "  ", LONG,
)  # fmt: skip
TYPES = ("Model", "Data Set", "")
RELATIONS = ("TRAINED_ON", "USES", "RELATED_TO", "SAME_AS", "PROPOSES")
WORDINGS = ("was trained on", "uses it's", 'is "based" on', "基于", "orchestrates")
DOCUMENTS = ("d1", "d2")
LIBRARY = "library's"

MultiGraph = nx.MultiDiGraph


def random_graph(rng: random.Random) -> MultiGraph[str]:
    """Up to 7 entities and 14 relations, self-loops and parallel ones among them."""
    graph: MultiGraph[str] = nx.MultiDiGraph()
    for number in range(rng.randint(1, 7)):
        graph.add_node(
            f"e{number}",
            name=rng.choice(NAMES),
            aliases=tuple(rng.sample(NAMES, rng.choice((0, 0, 1, 2)))),
            type=rng.choice(TYPES),
            documents=tuple(sorted(rng.sample(DOCUMENTS, rng.randint(1, 2)))),
        )
    for _ in range(rng.randint(0, 14)):
        source = rng.choice(list(graph))
        target = source if rng.random() < 0.15 else rng.choice(list(graph))
        relation = rng.choice(RELATIONS)
        graph.add_edge(
            source,
            target,
            key=relation,
            relation=relation,
            wordings=tuple(rng.sample(WORDINGS, rng.randint(1, 2))),
            triples=tuple(f"t{number}" for number in range(rng.randint(1, 3))),
            documents=tuple(sorted(rng.sample(DOCUMENTS, rng.randint(1, 2)))),
            confidence=rng.choice((0.25, 0.5, 1.0)),
        )
    return graph


def node_rows(graph: MultiGraph[str]) -> list[dict[str, object]]:
    """Properties of the nodes as a database keeps them; None is no property."""
    return [
        {
            "id": node,
            "key": node,
            "library": LIBRARY,
            "name": data["name"],
            "names": folded_names(data["name"], data["aliases"]),
            "kind": type_key(data["type"]),
            "documents": list(data["documents"]),
        }
        for node, data in graph.nodes(data=True)
    ]


def edge_rows(graph: MultiGraph[str]) -> list[dict[str, object]]:
    return [
        {
            "source": source,
            "target": target,
            "relation": key,
            "library": LIBRARY,
            "wording_keys": sorted({wording_key(wording) for wording in data["wordings"]}),
            "triples": list(data["triples"]),
            "documents": list(data["documents"]),
            "confidence": data["confidence"],
        }
        for source, target, key, data in graph.edges(keys=True, data=True)
    ]


CREATE_NODES = "UNWIND $rows AS row CREATE (n:Entity) SET n = row"
CREATE_EDGES = (
    "UNWIND $rows AS row MATCH (a:Entity {id: row.source, library: row.library}), "
    "(b:Entity {id: row.target, library: row.library}) CREATE (a)-[r:RELATION {relation: row.relation, "
    "library: row.library, wording_keys: row.wording_keys, triples: row.triples, documents: row.documents, "
    "confidence: row.confidence}]->(b)"
)

Run = Callable[[str, Mapping[str, object]], list[dict[str, Any]]]
"""A statement's records as dicts."""


def in_kglite(graph: MultiGraph[str]) -> Run:
    engine = kglite.KnowledgeGraph()
    # It knows the properties that were set once.
    other = "{id: $i, key: $i, library: '-', name: '-', names: ['-'], kind: '-', documents: ['-']}"
    said = "{relation: '-', library: '-', wording_keys: ['-'], triples: ['-'], documents: ['-'], confidence: 0.0}"
    for name in ("x1", "x2"):
        engine.cypher(f"CREATE (:Entity {other})", params={"i": name})
    engine.cypher(f"MATCH (a:Entity {{id: 'x1'}}), (b:Entity {{id: 'x2'}}) CREATE (a)-[:RELATION {said}]->(b)")
    engine.cypher("MATCH (n) DETACH DELETE n")
    for row in node_rows(graph):
        known = {key: value for key, value in row.items() if value is not None}
        engine.cypher(f"CREATE (:Entity {{{', '.join(f'{key}: ${key}' for key in known)}}})", params=known)
    for row in edge_rows(graph):
        keys = ", ".join(f"{key}: ${key}" for key in row if key not in ("source", "target"))
        engine.cypher(
            "MATCH (a:Entity {id: $source}), (b:Entity {id: $target}) "
            f"WHERE a.library = $library AND b.library = $library CREATE (a)-[:RELATION {{{keys}}}]->(b)",
            params=row,
        )
    return lambda text, parameters: list(engine.cypher(text, params=dict(parameters)).to_list())


def answered(
    run: Run, pattern: Pattern, *, limit: int, documents: Collection[str] | None = None, keys: Keys | None = None
) -> Matched:
    """What a database makes of the compiled pattern."""
    statements = compiled(pattern, library=LIBRARY, limit=limit, documents=documents, keys=keys)
    return matched(pattern, [_found(run, statement) for statement in statements], limit)


def _found(run: Run, statement: Statement) -> Found:
    (record,) = run(statement.text, statement.parameters)
    return read_record(record)


@dataclass
class QueryWriter:
    """Writes random queries in the subset that is read: text with parameters."""

    rng: random.Random
    parameters: dict[str, Any] = field(default_factory=dict)

    def query(self) -> str:
        return " UNION ".join(self._single() for _ in range(2 if self.rng.random() < 0.1 else 1))

    def _single(self) -> str:
        self._nodes: list[str] = []
        self._edges: list[str] = []
        self._count = 0
        clauses = [self._match("MATCH")]
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            clauses.append(self._match(self.rng.choice(("MATCH", "OPTIONAL MATCH", "OPTIONAL MATCH"))))
        return f"{' '.join(clauses)} RETURN *"

    def _match(self, word: str) -> str:
        chains = [self._chain(3 - len(self._edges)) for _ in range(1 if self.rng.random() < 0.8 else 2)]
        where = f" WHERE {self._condition(2)}" if self.rng.random() < 0.5 else ""
        return f"{word} {', '.join(chains)}{where}"

    def _chain(self, most: int) -> str:
        text = self._node()
        for _ in range(self.rng.randint(0 if self._edges else 1, max(1, min(2, most)))):
            if self._count >= 4:
                break
            self._count += 1
            text += self._edge() + self._node()
        return text

    def _node(self) -> str:
        if self._nodes and self.rng.random() < 0.45:
            return f"({self.rng.choice(self._nodes)})"
        name = f"n{len(self._nodes)}"
        self._nodes.append(name)
        label = self.rng.choice(("", "", ":Entity", ":Model", ":`Data Set`", ":Model|Entity", ":!Model"))
        inside = f" {{name: {self._text(self.rng.choice(NAMES))}}}" if self.rng.random() < 0.25 else ""
        return f"({name}{label}{inside})"

    def _edge(self) -> str:
        left, right = self.rng.choice((("-", "->"), ("<-", "-"), ("-", "-"), ("-", "->"), ("<-", "->")))
        name = f"r{len(self._edges)}"
        types = self.rng.choice(
            ("", "", ":TRAINED_ON", ":USES|TRAINED_ON", ":ORCHESTRATES", ":DEVELOPED_BY", ":SAME_AS")
        )
        if self.rng.random() < 0.25:
            self._edges.append("")
            inside = self.rng.choice(("", "", " {confidence: 1.0}"))
            return f"{left}[{types}*{self.rng.choice(('1..2', '0..2', '2', '..3', '1..3'))}{inside}]{right}"
        self._edges.append(name)
        return f"{left}[{name}{types}]{right}"

    def _condition(self, depth: int) -> str:
        if depth and self.rng.random() < 0.5:
            word = self.rng.choice((" AND ", " OR "))
            return f"({self._condition(depth - 1)}{word}{self._condition(depth - 1)})"
        if depth and self.rng.random() < 0.2:
            return f"NOT ({self._condition(depth - 1)})"
        edges = [edge for edge in self._edges if edge]
        if edges and self.rng.random() < 0.35:
            return self._of_edge(self.rng.choice(edges))
        return self._of_node(self.rng.choice(self._nodes))

    def _of_node(self, node: str) -> str:
        name = self.rng.choice(NAMES)
        other = self.rng.choice(self._nodes)
        part = name[1:4] if len(name) > 2 else name
        return self.rng.choice((
            f"{node}.name = {self._text(name)}",
            f"toLower({node}.name) <> {self._text(name.lower())}",
            f"{node}.name IN [{self._text(name)}, {self._text(self.rng.choice(NAMES))}]",
            f"{node}.name CONTAINS {self._text(part)}",
            f"{self._text(name)} IN {node}.aliases",
            f"{node}.name STARTS WITH {self._text(part)}",
            f"{node}.name ENDS WITH {self._text(name[-2:])}",
            f"any(x IN {node}.aliases WHERE x CONTAINS {self._text(part)} OR x = 'bert')",
            f"{node}.name =~ '(?i).*(e.|模).*'",
            f"{node}.name =~ '.*b.*t.*'",
            f"{node}.type = 'Model'",
            f"{node}.type <> 'model'",
            f"{node}.type IS NULL",
            f"{node}:Model",
            f"{node} = {other}",
            f"{node} <> {other}",
            f"{node}.name = {other}.name",
            f"{node}.type <> {other}.type",
            f"{node} IS NULL",
        ))  # fmt: skip

    def _of_edge(self, edge: str) -> str:
        return self.rng.choice((
            f"type({edge}) = 'USES'",
            f"NOT type({edge}) IN ['USES', 'ORCHESTRATES']",
            f"{edge}.wording CONTAINS 'trained'",
            f"{edge}.wording = {self._text(self.rng.choice(WORDINGS))}",
            f"type({edge}) CONTAINS 'TRAIN'",
            f"{edge}.confidence > 0.3",
            f"{edge}.confidence <= 0.5",
            f"0.5 <> {edge}.confidence",
            f"{edge} IS NOT NULL",
        ))  # fmt: skip

    def _text(self, value: str) -> str:
        if self.rng.random() < 0.3:
            name = f"v{len(self.parameters)}"
            self.parameters[name] = value
            return f"${name}"
        quote = self.rng.choice("'\"")
        for char, escape in (("\\", "\\\\"), (quote, f"\\{quote}"), ("\n", "\\n")):
            value = value.replace(char, escape)
        return f"{quote}{value}{quote}"


class RawWriter(QueryWriter):
    """Writes queries that mean to a database what they mean here, so that their own text can be run: only ids,
    relations and confidence are asked for. `returned` is what such a run has to return."""

    def query(self) -> str:
        self._paths: list[str] = []
        text = self._single().removesuffix("RETURN *")
        single = ", ".join(edge for edge in self._edges if edge)
        said = "[startNode(x).id, x.relation, endNode(x).id]"
        lists = [f"[x IN [{single}] WHERE x IS NOT NULL | {said}]"]
        lists += [f"[x IN coalesce({path}, []) | {said}]" for path in self._paths]
        self.returned = f"{text} RETURN {' + '.join(lists)} AS found"
        return f"{text} RETURN *"

    def _node(self) -> str:
        if self._nodes and self.rng.random() < 0.45:
            return f"({self.rng.choice(self._nodes)})"
        name = f"n{len(self._nodes)}"
        self._nodes.append(name)
        inside = f" {{id: 'e{self.rng.randint(0, 6)}'}}" if self.rng.random() < 0.25 else ""
        return f"({name}:Entity{inside})"

    def _edge(self) -> str:
        left, right = self.rng.choice((("-", "->"), ("<-", "-"), ("-", "-"), ("-", "->")))
        inside = self.rng.choice(("", "", " {relation: 'USES'}", " {relation: 'TRAINED_ON'}"))
        if self.rng.random() < 0.3:
            self._edges.append("")
            self._paths.append(f"p{len(self._paths)}")
            return f"{left}[{self._paths[-1]}:RELATION*{self.rng.choice(('1..2', '0..2', '2', '..3'))}{inside}]{right}"
        self._edges.append(f"r{len(self._edges)}")
        return f"{left}[{self._edges[-1]}:RELATION{inside}]{right}"

    def _of_node(self, node: str) -> str:
        other = self.rng.choice(self._nodes)
        ids = [f"'e{self.rng.randint(0, 6)}'" for _ in range(3)]
        return self.rng.choice((
            f"{node}.id = {ids[0]}",
            f"{node}.id <> {ids[0]}",
            f"{node}.id IN [{', '.join(ids)}]",
            f"NOT {node}.id IN [{', '.join(ids)}]",
            f"{node} = {other}",
            f"{node} <> {other}",
            f"{node} IS NULL",
            f"{node} IS NOT NULL",
        ))  # fmt: skip

    def _of_edge(self, edge: str) -> str:
        return self.rng.choice((
            f"{edge}.relation = 'USES'",
            f"{edge}.relation <> 'USES'",
            f"{edge}.relation IN ['USES', 'PROPOSES']",
            f"{edge}.confidence > 0.3",
            f"{edge}.confidence <= 0.5",
            f"{edge} IS NULL",
        ))  # fmt: skip


def relations_of(run: Run, text: str) -> set[tuple[str, ...]]:
    """What the rows of a query's own text hold."""
    return {tuple(relation) for record in run(text, {}) for relation in record["found"]}
