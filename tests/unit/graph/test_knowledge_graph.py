"""The knowledge graph of a real library, read by rules: asked, limited, drawn, and following what is added and removed;
and answers to questions of relation that rest on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.errors import InvalidInput, NotFound
from core.graph_text import NOTHING, result_text
from core.types import Filter, Metadata
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import settings_for

HERON = """# HeronNet

HeronNet was developed by the Harbour Institute. HeronNet was trained on the Atlas corpus. Its weather is mild.

HeronNet is better than Egret-2 in all three areas. The ferry leaves at nine in the morning and is back at dusk.
"""
ATLAS = """# Atlas

The Atlas corpus was created by Maria Tern. Nobody has counted the gulls of the bay for more than thirty years.
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("graph")
    app = build(settings_for(folder / "library"), HashEmbedder())
    for name, text in (("heron.md", HERON), ("atlas.md", ATLAS)):
        (folder / name).write_text(text, "utf-8")
        await app.add_document(str(folder / name))
    yield app
    await app.aclose()


def said(found: object) -> set[tuple[str, str, str]]:
    return {(row.subject.name, row.relation, row.object.name) for row in found.rows}  # type: ignore[attr-defined]


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_question_is_answered_by_rows_whose_quotes_stand_on_their_pages(app: App) -> None:
    found = await app.query_graph("Who developed HeronNet?")
    assert [entity.name for entity in found.answers] == ["Harbour Institute"]
    assert (found.backend, found.asked_by, found.note) == ("networkx", "rules", "")
    for evidence in (evidence for row in found.rows for evidence in row.evidence):
        view, _ = await app.read_page(evidence.document_id, evidence.page, image=False)
        span = evidence.spans[0]
        assert evidence.quote and view.text[span.start : span.end] in evidence.quote
    assert [step.stage for step in found.trace] == ["graph"] and found.trace[0].degraded == ""


async def test_the_three_ways_give_the_same_row(app: App) -> None:
    question = await app.query_graph("What was HeronNet trained on?")
    cypher = await app.query_graph(cypher="MATCH (m {name: 'HeronNet'})-[:TRAINED_ON]->(d) RETURN d.name AS x")
    assert said(question) == said(cypher) and len(cypher.rows) == 1
    assert said(cypher) <= said(await app.query_graph(entity="heronnet", hops=1))


async def test_a_query_for_entities_alone_has_answers_without_rows(app: App) -> None:
    found = await app.query_graph(cypher="MATCH (n) WHERE n.name STARTS WITH 'Heron' RETURN n")
    assert ([entity.name for entity in found.answers], found.rows) == (["HeronNet"], ())
    assert "HeronNet" in result_text(found) and NOTHING not in result_text(found)
    nothing = await app.query_graph(cypher="MATCH (n) WHERE n.name STARTS WITH 'Albatross' RETURN n")
    assert NOTHING in result_text(nothing)


async def test_two_hops_lead_over_two_documents(app: App) -> None:
    found = await app.query_graph("How is HeronNet related to Maria Tern?", hops=3)
    assert len(found.rows) == 2 and len({row.evidence[0].document for row in found.rows}) == 2
    assert (await app.query_graph(entity="Harbour Institute", hops=1)).rows
    near = await app.query_graph(entity="Maria Tern", hops=1)
    far = await app.query_graph(entity="Maria Tern", hops=2)
    assert len(far.rows) > len(near.rows) == 1


async def test_only_evidence_of_the_chosen_documents_counts(app: App) -> None:
    assert (await app.query_graph(entity="HeronNet", documents=["heron.md"])).rows
    none = await app.query_graph(entity="HeronNet", documents=["atlas.md"])
    assert none.rows == () and "no relation of it is stated by the documents" in none.note
    question = await app.query_graph("Who developed HeronNet?", documents=["atlas.md"])
    assert question.rows == () and question.answers == () and question.note
    view = await app.graph_view(documents=["atlas.md"])
    assert view.relations < (await app.graph_view()).relations


async def test_expired_documents_state_nothing_unless_they_are_asked_for(app: App) -> None:
    before = await app.query_graph("Who developed HeronNet?")
    document = before.rows[0].evidence[0].document_id
    await app.edit_document(document, Metadata(valid_until="2020-01-01"))  # type: ignore[arg-type]
    try:
        assert (await app.query_graph("Who developed HeronNet?")).answers == ()
        expired = await app.query_graph("Who developed HeronNet?", filters=Filter(include_expired=True))
        assert expired.answers == before.answers
    finally:
        await app.edit_document(document, Metadata(valid_until=None))
    assert (await app.query_graph("Who developed HeronNet?")).answers == before.answers


@pytest.mark.parametrize("ways", [{}, {"question": "a", "entity": "b"}, {"question": "  ", "cypher": "\x00"}])
async def test_exactly_one_way_is_wanted(app: App, ways: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="exactly one"):
        await app.query_graph(**ways)


async def test_what_is_not_there_is_said(app: App) -> None:
    unknown = await app.query_graph(entity="HeronNett")
    assert unknown.rows == () and "no entity" in unknown.note
    assert "names nothing" in (await app.query_graph("Who built the moon?")).note
    with pytest.raises(InvalidInput):
        await app.query_graph(cypher="MATCH (n) DETACH DELETE n")
    with pytest.raises(NotFound, match="Nobody"):
        await app.graph_view("Nobody")


async def test_rows_that_are_not_what_was_asked_are_no_answer(app: App) -> None:
    found = await app.query_graph("Where was HeronNet born?")
    assert found.answers == () and found.relations == ()
    assert found.rows == () or "no relation says what is asked" in found.note


async def test_a_view_holds_an_entity_and_its_neighbours(app: App) -> None:
    view = await app.graph_view("heronnet")
    names = {node.name for node in view.nodes}
    assert "HeronNet" in names and "Egret-2" in names and "Maria Tern" not in names
    assert {edge.relation for edge in view.edges} >= {"TRAINED_ON", "OUTPERFORMS"}
    assert all(0 <= node.x <= 1 and 0 <= node.y <= 1 for node in view.nodes)


async def test_health_and_entities(app: App) -> None:
    health = await app.health()
    assert health.graph == "networkx" and health.entities >= 5 and health.relations >= 4
    assert [entity.name for entity in await app.entities("heron")][:1] == ["HeronNet"]
    assert len(await app.entities(limit=2)) == 2


async def test_a_relational_answer_cites_pages_and_its_trace_says_what_the_graph_gave(app: App) -> None:
    answer = await app.ask("How is HeronNet related to Egret-2?")
    stages = {step.stage: step for step in answer.trace}
    assert list(stages) == ["router", "graph", "retriever", "reasoner", "reflector"]
    assert stages["graph"].degraded == "" and stages["graph"].details["rows"] == 1
    assert stages["graph"].details["backend"] == "networkx" and "heronnet" in str(stages["graph"].details["pattern"])
    assert answer.citations[0].quote == "HeronNet is better than Egret-2 in all three areas."
    assert answer.citations[0].document == "heron.md"


async def test_where_the_graph_has_nothing_passages_answer_and_the_trace_says_so(app: App) -> None:
    answer = await app.ask("How is the ferry related to dusk?")
    graph = next(step for step in answer.trace if step.stage == "graph")
    assert "answered from passages" in graph.degraded and graph.details["rows"] == 0
    assert any("ferry leaves" in citation.quote for citation in answer.citations)


async def test_a_question_of_fact_does_not_ask_the_graph(app: App) -> None:
    answer = await app.ask("When does the ferry leave?")
    assert "graph" not in [step.stage for step in answer.trace]


async def test_what_is_removed_is_gone_and_a_rule_changes_the_next_answer(tmp_path: Path) -> None:
    app = build(settings_for(tmp_path / "library"), HashEmbedder())
    (tmp_path / "heron.md").write_text(HERON, "utf-8")
    (tmp_path / "atlas.md").write_text(ATLAS, "utf-8")
    await app.add_document(str(tmp_path / "heron.md"))
    alone = await app.graph_view()
    other = await app.add_document(str(tmp_path / "atlas.md"))
    assert (await app.graph_view()).relations > alone.relations
    await app.merge_names("HeronNet", "Egret-2")
    assert [entity.name for entity in await app.entities("egret")] == [e.name for e in await app.entities("heronnet")]
    await app.forget_rule("HeronNet", "Egret-2")
    await app.remove_document(other.id)
    assert await app.graph_view() == alone
    await app.remove_document((await app.list_documents())[0].id)
    empty = await app.query_graph("Who developed HeronNet?")
    assert empty.rows == () and "empty" in empty.note
    assert (await app.graph_view()).entities == 0
    await app.aclose()
