"""The graph is a function of what the ledger holds of documents that are ready, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.graph import Entity, GraphData, Triple
from core.ledger import Ledger
from core.ledger.entities import Owner
from core.ledger.graph import GraphRows, Named, Said
from core.ledger.triples import Extraction
from core.types import Chunk, Span
from graph.projection import Projection, project
from tests.support.graphs import graph_of, resolved, said
from tests.support.ledger_contract import a_document

names = st.sampled_from(["BERT", "bert", "ＢＥＲＴ", "GPT-3", "M1", "MiniMax-M1", "床前", ""])
triples = st.builds(
    said,
    names,
    st.sampled_from(["USES", "TRAINED_ON"]),
    names,
    st.sampled_from(["a", "b"]),
    wording=st.sampled_from(["", "uses", "was trained on"]),
    confidence=st.sampled_from([0.5, 1.0]),
)


def test_one_relation_for_all_that_say_it() -> None:
    found = graph_of(
        said("BERT", "TRAINED_ON", "BookCorpus", "a", wording="was trained on", confidence=0.5),
        said("BERT", "TRAINED_ON", "BookCorpus", "b", wording="learned from", confidence=0.9),
    )
    (relation,) = found.relations
    assert relation.wordings == ("learned from", "was trained on")
    assert (relation.documents, relation.confidence, len(relation.triples)) == (("a", "b"), 0.9, 2)
    bert = next(entity for entity in found.entities if entity.name == "BERT")
    assert (bert.mentions, bert.documents, bert.type) == (2, ("a", "b"), "Thing")


def test_names_that_differ_in_case_or_width_are_one_before_resolution() -> None:
    found = graph_of(said("BERT", "USES", "x"), said("ＢＥＲＴ", "USES", "y"), said("BERT", "USES", "z"))
    bert = next(entity for entity in found.entities if entity.name == "BERT")
    assert (len(found.entities), bert.aliases, bert.mentions) == (4, ("ＢＥＲＴ",), 3)


def test_resolution_says_whose_a_name_is_by_document() -> None:
    stated = [said("Smith", "USES", "x", "a"), said("Smith", "USES", "x", "b"), said("J. Smith", "USES", "x", "b")]
    owners = {("Smith", "a"): "one", ("Smith", "b"): "two", ("J. Smith", "b"): "two"}
    found = resolved(stated, owners, {"one": Named("Smith", "Person"), "two": Named("J. Smith", "Person")})
    by_id = {entity.id: entity for entity in found.entities}
    assert (by_id["two"].name, by_id["two"].aliases, by_id["two"].mentions) == ("J. Smith", ("Smith",), 2)
    assert (by_id["one"].documents, by_id["one"].type) == (("a",), "Person")


def test_a_name_that_no_document_says_any_more_is_not_shown() -> None:
    found = resolved([said("M1", "USES", "x")], {("M1", "d1"): "e"}, {"e": Named("MiniMax-M1", "Model")})
    assert next(entity for entity in found.entities if entity.id == "e") == Entity(
        id="e", name="M1", type="Model", documents=("d1",), mentions=1
    )


def test_that_two_names_of_a_thing_are_one_is_no_relation_of_it() -> None:
    stated = [said("BN", "SAME_AS", "batch normalization", "a"), said("BN", "USES", "BN", "a")]
    owners = {("BN", "a"): "one", ("batch normalization", "a"): "one"}
    found = resolved(stated, owners, {"one": Named("BN", "")})
    assert [(relation.relation, relation.subject) for relation in found.relations] == [("USES", "one")]
    assert found.entities[0].aliases == ("batch normalization",)
    assert len(graph_of(*stated).relations) == 2  # before resolution they are two things


def test_a_self_loop_names_its_entity_once() -> None:
    assert [entity.mentions for entity in graph_of(said("M1", "USES", "M1")).entities] == [1]


@given(st.lists(triples, max_size=12), st.randoms())
def test_order_is_of_no_account(stated: list[Said], chance: object) -> None:
    shuffled = list(stated)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert graph_of(*shuffled) == graph_of(*stated)


@given(st.lists(triples, max_size=8), st.lists(triples, max_size=8))
def test_versions_are_equal_where_graphs_are(one: list[Said], other: list[Said]) -> None:
    first, second = graph_of(*one), graph_of(*other)
    assert (first.version == second.version) == (first == second)


def test_models_that_skip_validation_are_valid() -> None:
    found = graph_of(said("a", "USES", "b"))
    assert GraphData.model_validate(found.model_dump()) == found


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield ledger
    ledger.close()


def _store(ledger: Ledger, letter: str, *pairs: tuple[str, str], status: str = "ready") -> str:
    document = a_document(letter, status=status)
    chunk = Chunk(
        id=f"chunk-{letter}", document_id=document.id, parent_id="", position=0, section="", text="t", spans=()
    )
    ledger.store_parse(document, [], [chunk], {})
    found = tuple(
        Triple(
            id=f"{letter}-{one}-{other}",
            document_id=document.id,
            chunk_id=chunk.id,
            subject=one,
            relation="USES",
            wording="uses",
            object=other,
            quote=f"{one} uses {other}",
            spans=(Span(page=1, start=0, end=9),),
        )
        for one, other in pairs
    )
    ledger.triples.store(chunk, Extraction("test", triples=found))
    return document.id


def _projected(ledger: Ledger) -> GraphData:
    return project(ledger.graph.read())


def test_what_is_removed_leaves_nothing(ledger: Ledger) -> None:
    _store(ledger, "a", ("BERT", "BookCorpus"))
    before = _projected(ledger)
    gone = _store(ledger, "b", ("BERT", "GLUE"), ("bert", "BookCorpus"))
    assert _projected(ledger) != before
    ledger.delete_document(gone)
    assert _projected(ledger) == before
    assert "GLUE" not in repr(before)


def test_only_what_is_ready_counts(ledger: Ledger) -> None:
    for letter, status in zip("abcd", ("ready", "ready_with_gaps", "processing", "failed"), strict=True):
        _store(ledger, letter, (f"subject {letter}", "object"), status=status)
    assert {entity.name for entity in _projected(ledger).entities} == {"subject a", "subject b", "object"}


def test_a_projection_is_made_anew_only_when_something_changed(ledger: Ledger) -> None:
    calls: list[int] = []
    projection = Projection(ledger.graph, lambda: calls.append(1))
    _store(ledger, "a", ("BERT", "BookCorpus"))
    first = projection.current()
    assert projection.current() is first and calls == [1]
    _store(ledger, "b", ("BERT", "GLUE"), status="processing")
    _store(ledger, "c", ("BERT", "SQuAD"))
    assert len(projection.current().relations) == 2
    ledger.delete_document(a_document("c").id)
    assert projection.current() == first


def test_every_change_of_the_graph_changes_its_stamp(ledger: Ledger) -> None:
    stamps = [ledger.graph.stamp()]

    def changed() -> bool:
        stamps.append(ledger.graph.stamp())
        return stamps[-1] not in stamps[:-1]

    _store(ledger, "a", ("BERT", "BookCorpus"))
    assert changed()
    ledger.put_document(a_document("a", status="processing"))
    assert changed()
    ledger.put_document(a_document("a"))
    ledger.entity_ledger().replace([Entity(id="e", name="BERT")], [], "state")
    assert changed()
    ledger.store_parse(a_document("a"), [], [], {})
    assert changed()
    ledger.delete_document(a_document("a").id)
    assert changed()
    ledger.save_trace("t", "question", "{}")
    assert not changed()


def test_entities_that_resolution_named(ledger: Ledger) -> None:
    document = _store(ledger, "a", ("M1", "MiniMax-M1"), ("M1", "data"))
    owners = [Owner(name, document, "e", "MiniMax-M1", "containment", 1.0, "why") for name in ("M1", "MiniMax-M1")]
    ledger.entity_ledger().replace([Entity(id="e", name="MiniMax-M1", type="Model")], owners, "state")
    found = _projected(ledger)
    entity = next(entity for entity in found.entities if entity.id == "e")
    assert (entity.name, entity.aliases, entity.type, entity.mentions) == ("MiniMax-M1", ("M1",), "Model", 2)
    assert [(r.subject, r.object == "e") for r in found.relations].count(("e", True)) == 1


def test_the_library_keeps_its_id(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.open(f"sqlite:///{tmp_path / 'other.db'}")
    assert ledger.graph.library() == ledger.graph.library() != other.graph.library()
    other.close()


def test_an_empty_ledger_has_an_empty_graph(ledger: Ledger) -> None:
    assert _projected(ledger) == graph_of() == project(GraphRows("", (), {}, {}))
