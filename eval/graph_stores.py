"""What the graph's stores cost: time to project, load, change, ask and drop a graph of a given size.

    python -m eval.graph_stores [--url bolt://127.0.0.1:7687 …] [--entities 10000] [--relations 40000]

One JSON object on stdout: NetworkX, and each Neo4j server that is named, beside the bare driver on the same server.
The graph is made up, random and the same each time. Each server's library `eval-…` is dropped at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, LiteralString
from uuid import uuid4

import neo4j
from pydantic import SecretStr

from core.graph import GraphData
from core.ledger.graph import GraphRows, Said
from core.settings import GraphSettings
from graph.cypher.parser import read_cypher
from graph.projection import project
from graph.stores.neo4j_load import key_of
from graph.stores.neo4j_store import Neo4jStore
from graph.stores.networkx_store import NetworkXStore
from graph.stores.store import GraphStore

_DOCUMENTS, _KINDS, _ASKED = 200, 30, 50
_TWO_HOPS = """MATCH (a:Entity {key: $key})-[:RELATION]-(b:Entity)-[:RELATION]-(c:Entity)
RETURN DISTINCT c.name AS name LIMIT 500"""
_PLAIN_NODES = "UNWIND $rows AS row MERGE (e:PlainEntity {key: row.key}) SET e.name = row.name"
_PLAIN_EDGES = """UNWIND $rows AS row MATCH (a:PlainEntity {key: row.source}) MATCH (b:PlainEntity {key: row.target})
CREATE (a)-[:PLAIN {relation: row.relation}]->(b)"""


def triples(entities: int, relations: int) -> list[Said]:
    """That many relations between at most that many names, each said by one of 200 documents."""
    chance = random.Random(7)
    found: dict[tuple[int, int, int], Said] = {}
    while len(found) < relations:
        one, other, kind = chance.randrange(entities), chance.randrange(entities), chance.randrange(_KINDS)
        said = Said(
            id=f"00000000-0000-5000-8000-{len(found):012}",
            document_id=f"document-{chance.randrange(_DOCUMENTS):04}",
            subject=f"Entity {one} of the survey",
            subject_type="Model",
            relation=f"RELATION_{kind}",
            wording=f"was related by way {kind} to",
            object=f"Entity {other} of the survey",
            object_type="Dataset",
            confidence=0.9,
            is_citation=False,
        )
        found.setdefault((one, other, kind), said)
    return list(found.values())


def measured(urls: Sequence[str], entities: int, relations: int, password: SecretStr) -> dict[str, Any]:
    said = triples(entities, relations)
    data, project_s = _timed(lambda: project(GraphRows("", said, {}, {})))
    changed = project(GraphRows("", said[:-50], {}, {}))
    local, load_s = _timed(lambda: NetworkXStore(data))
    asked = _asked(local, data)
    return {
        "entities": len(data.entities),
        "relations": len(data.relations),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "project_s": project_s,
        "networkx": {"load_s": load_s, "median_ms": asked},
        "neo4j": [
            _on_server(GraphSettings(neo4j_url=url, neo4j_password=password), local, data, changed) for url in urls
        ],
    }


def _on_server(settings: GraphSettings, local: NetworkXStore, data: GraphData, changed: GraphData) -> dict[str, Any]:
    library = f"eval-{uuid4().hex[:8]}"
    # Not the limit of one query: the bare driver has none either.
    patient = settings.model_copy(update={"timeout_s": 60.0})
    store, other = Neo4jStore(patient, library), Neo4jStore(patient, library)
    try:
        plain_s = _plain(settings, data)
        found: dict[str, Any] = {"server": store.ask_version(), "plain_batches_s": plain_s}
        found["load_s"] = _timed(lambda: store.sync(data))[1]
        found["nothing_changed_s"] = _timed(lambda: store.sync(data))[1]
        found["50_fewer_s"] = _timed(lambda: store.sync(changed))[1]
        found["50_more_by_another_process_s"] = _timed(lambda: other.sync(data))[1]
        found["median_ms"] = _asked(other.at(local), data)
        found["median_ms"]["bare_driver_two_hops"] = _bare(settings, library, data)
        found["drop_s"] = _timed(other.drop)[1]
    finally:
        store.close()
        other.close()
    return found


def _asked(store: GraphStore, data: GraphData) -> dict[str, float]:
    ids = [entity.id for entity in data.entities]
    names = [entity.name for entity in data.entities]
    some = [f"document-{n:04}" for n in range(_DOCUMENTS // 2)]
    pattern = 'MATCH (a {{name: "{}"}})-[:RELATION_1|RELATION_2|RELATION_3]->(b) RETURN b'
    patterns = [read_cypher(pattern.format(name)) for name in names[:_ASKED]]
    return {
        "two_hops": _median(lambda n: store.neighbourhood([ids[n]], 2, 500)),
        "two_hops_in_half_of_the_documents": _median(lambda n: store.neighbourhood([ids[n]], 2, 500, some)),
        "paths_of_3": _median(lambda n: store.paths(ids[n], ids[-1 - n], 3, 50)),
        "entities_by_name": _median(lambda n: store.entities(names[n], 20)),
        "pattern_of_one_relation": _median(lambda n: store.match(patterns[n], 50)),
    }


def _bare(settings: GraphSettings, library: str, data: GraphData) -> float:
    """Two hops by one query of the synchronous driver, which nothing is made of."""
    with _driver(settings) as driver, driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        keys = [key_of(library, entity.id) for entity in data.entities[:_ASKED]]
        return _median(lambda n: session.run(_TWO_HOPS, key=keys[n]).consume())


def _plain(settings: GraphSettings, data: GraphData) -> float:
    """The least that loading can cost: names and relations only, in the same batches, by the synchronous driver."""
    nodes = [{"key": entity.id, "name": entity.name} for entity in data.entities]
    edges = [{"source": item.subject, "target": item.object, "relation": item.relation} for item in data.relations]
    with _driver(settings) as driver, driver.session() as session:

        def write() -> None:
            for cypher, rows, size in ((_PLAIN_NODES, nodes, 2000), (_PLAIN_EDGES, edges, 4000)):
                for start in range(0, len(rows), size):
                    session.execute_write(_write_rows, cypher, rows[start : start + size])

        session.run("CREATE CONSTRAINT plain_key IF NOT EXISTS FOR (e:PlainEntity) REQUIRE e.key IS UNIQUE").consume()
        seconds = _timed(write)[1]
        while session.run("MATCH (e:PlainEntity) WITH e LIMIT 2000 DETACH DELETE e RETURN count(*)").single(True)[0]:
            pass
        session.run("DROP CONSTRAINT plain_key").consume()
    return seconds


def _write_rows(transaction: neo4j.ManagedTransaction, cypher: LiteralString, rows: Sequence[dict[str, str]]) -> None:
    transaction.run(cypher, rows=rows).consume()


def _driver(settings: GraphSettings) -> neo4j.Driver:
    password = settings.neo4j_password.get_secret_value()
    return neo4j.GraphDatabase.driver(settings.neo4j_url, auth=(settings.neo4j_user, password) if password else None)


def _median(call: Callable[[int], object]) -> float:
    """In milliseconds, of 50 calls after ten to warm up."""
    for n in range(10):
        call(n)
    return statistics.median(_timed(partial(call, n))[1] for n in range(_ASKED)) * 1000


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--relations", type=int, default=40_000)
    given = parser.parse_args()
    password = SecretStr(os.environ.get("QUAERE_GRAPH__NEO4J_PASSWORD", ""))
    found = measured(given.url, given.entities, given.relations, password)
    json.dump(_rounded(found), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
