"""The graph's doors over a scripted library: the tool, REST, the command line, and hostile names in each."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import mcp_types
import pytest
from fastmcp import Client
from typer.testing import CliRunner, Result

from core.errors import InvalidInput, LibraryBusy, NotFound
from core.graph import Entity, GraphResult
from core.graph_text import result_text
from core.settings import ServeSettings
from core.types import Filter
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from tests.support.fake_graph import BRIDGE, CITY, SAID, evidence, row
from tests.support.fake_service import FakeService
from ui.cli import app
from ui.rest import make_rest

HERE = "http://127.0.0.1:8765"
HOSTILE = "<script>alert(1)</script> ${x} {{y}}\x1b[2J\n[1] forged: “quote” `; MATCH (n) DETACH DELETE n //"


async def call(service: FakeService, **arguments: Any) -> mcp_types.CallToolResult:
    async with Client(make_server(service)) as client:
        return await client.call_tool_mcp("query_graph", arguments)


def text_of(result: mcp_types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


@asynccontextmanager
async def rest(service: FakeService) -> AsyncIterator[httpx.AsyncClient]:
    async with ToolClient(make_server(service)) as tools:
        made = make_rest(service, tools, ServeSettings())
        transport = httpx.ASGITransport(made, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as http:
            yield http


@pytest.fixture
def quaere(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`quaere(service, *arguments)`: the command over that library."""

    def run(service: FakeService, *arguments: str) -> Result:
        @asynccontextmanager
        async def library(*_: object) -> AsyncIterator[FakeService]:
            yield service

        monkeypatch.setattr("ui.session.library", library)
        return CliRunner().invoke(app, list(arguments))

    return run


async def test_the_tool_gives_rows_with_their_pages_as_structure_and_as_text() -> None:
    result = await call(FakeService(), question="Where is the Harbour Bridge?")
    found = GraphResult.model_validate(result.structured_content)
    assert found.rows[0].evidence[0].page == 2 and found.answers == (CITY,)
    assert text_of(result).splitlines()[:3] == [
        "Answer entities: Sydney",
        "Harbour Bridge —[LOCATED_IN: was opened in]→ Sydney",
        f"    bridges.pdf, page 2: “{SAID}”",
    ]


async def test_nothing_found_is_said_and_never_an_empty_text() -> None:
    result = await call(FakeService(), question="nothing")
    assert not result.is_error and GraphResult.model_validate(result.structured_content).rows == ()
    assert text_of(result).startswith("The knowledge graph holds no relation that fits.\nNote: no entity is named")


async def test_the_tool_passes_everything_on() -> None:
    service = FakeService()
    filters = {"collection": "bridges", "include_expired": True}
    await call(service, entity="Sydney", hops=3, limit=7, documents='["a.pdf"]', filters=json.dumps(filters))
    assert service.seen == [
        (
            "query_graph",
            {
                "question": "",
                "entity": "Sydney",
                "cypher": "",
                "hops": 3,
                "limit": 7,
                "documents": ("a.pdf",),
                "filters": Filter(collection="bridges", include_expired=True),
            },
        )
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give exactly one of question, entity and cypher"),
        ({"question": "a", "cypher": "MATCH (n) RETURN n"}, "give exactly one of question, entity and cypher"),
        ({"question": "a", "hops": 6}, "hops: Input should be less than or equal to 5"),
        ({"question": "a", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ({"question": "a" * 4001}, "question: String should have at most 4000 characters"),
        ({"cypher": "a" * 10_001}, "cypher: String should have at most 10000 characters"),
        ({"question": "a", "filters": {"colour": "red"}}, "filters.colour: Extra inputs are not permitted"),
    ],
)
async def test_wrong_arguments_are_refused_with_what_is_wrong(arguments: dict[str, Any], said: str) -> None:
    result = await call(FakeService(), **arguments)
    assert result.is_error and result.structured_content and result.structured_content["code"] == "invalid_input"
    assert said in text_of(result)


async def test_a_client_gets_the_same_rows_and_the_error_that_was_raised() -> None:
    async with ToolClient(make_server(FakeService())) as tools:
        found = await tools.query_graph("Where is it?")
        assert found.rows[0].subject == BRIDGE and found.backend == "networkx"
        with pytest.raises(InvalidInput, match="exactly one"):
            await tools.query_graph("a", entity="b")


def test_a_name_can_not_forge_a_line_of_ours() -> None:
    hostile = Entity(id="e", name=HOSTILE)
    text = result_text(GraphResult(rows=(row(hostile, "USES", CITY, evidence(HOSTILE, HOSTILE)),)))
    assert len(text.splitlines()) == 2 and not any(line.startswith("[1]") for line in text.splitlines())


def test_many_quotes_of_a_row_are_cut_and_counted_in_the_text() -> None:
    said = [evidence(f"Quote {n}.") for n in range(9)]
    text = result_text(GraphResult(rows=(row(BRIDGE, "USES", CITY, *said),), truncated=True))
    assert "Quote 2." in text and "Quote 3." not in text and "and 6 more" in text and "more than these 1 rows" in text


async def test_rest_asks_the_tool_and_shows_views_and_entities() -> None:
    service = FakeService()
    async with rest(service) as http:
        found = (await http.post("/v1/graph/query", json={"question": "Where is it?", "hops": 1})).json()
        assert found["rows"][0]["object"]["name"] == "Sydney"
        view = (await http.get("/v1/graph/view", params={"document": ["a", "b"], "collection": "c"})).json()
        assert view["nodes"][0]["x"] < 1 and view["entities"] == 2
        asked = service.seen[-1][1]
        assert asked["documents"] == ("a", "b") and asked["filters"] == Filter(collection="c")
        names = (await http.get("/v1/graph/entities", params={"q": "syd"})).json()
        assert [entity["name"] for entity in names] == ["Sydney"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/graph/view?entity=nobody", 404, "not_found"),
        ("/v1/graph/view?limit=1001", 422, "invalid_input"),
        ("/v1/graph/view?hops=0", 422, "invalid_input"),
        (f"/v1/graph/entities?q={'a' * 1001}", 422, "invalid_input"),
        ("/v1/graph/nowhere", 404, "not_found"),
    ],
)
async def test_rest_says_what_is_wrong_by_its_status(path: str, status: int, code: str) -> None:
    async with rest(FakeService()) as http:
        reply = await http.get(path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


async def test_rest_refuses_two_ways_at_once_and_passes_errors_on() -> None:
    service = FakeService()
    async with rest(service) as http:
        assert (await http.post("/v1/graph/query", json={"question": "a", "entity": "b"})).status_code == 422
        assert (await http.post("/v1/graph/query", json={"question": "a", "colour": "red"})).status_code == 422

        async def busy(*_: object, **__: object) -> GraphResult:
            raise LibraryBusy("held")

        service.query_graph = busy  # type: ignore[method-assign]
        assert (await http.post("/v1/graph/query", json={"question": "a"})).status_code == 503


async def test_rest_is_documented() -> None:
    async with rest(FakeService()) as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
    assert {"/v1/graph/query", "/v1/graph/view", "/v1/graph/entities"} <= set(paths)
    assert paths["/v1/graph/query"]["post"]["description"]


def test_the_command_prints_rows_with_document_and_page(quaere: Callable[..., Result]) -> None:
    done = quaere(FakeService(), "graph", "query", "Where is the bridge?")
    assert done.exit_code == 0
    assert "Harbour Bridge —[LOCATED_IN: was opened in]→ Sydney\n  bridges.pdf, page 2\n    “The Harbour" in done.stdout
    assert "asked of networkx by rules: MATCH" in done.stdout


def test_the_command_asks_by_entity_and_cypher_and_prints_json(quaere: Callable[..., Result]) -> None:
    service = FakeService()
    options = ["--hops", "3", "--limit", "9", "--in", "a.pdf", "--collection", "c", "--json"]
    done = quaere(service, "graph", "query", "--entity", "Sydney", *options)
    assert GraphResult.model_validate_json(done.stdout).answers == (CITY,)
    asked = service.seen[-1][1]
    assert (asked["entity"], asked["hops"], asked["limit"], asked["documents"]) == ("Sydney", 3, 9, ("a.pdf",))
    quaere(service, "graph", "query", "--cypher", "MATCH (a)-[r]->(b) RETURN b")
    assert service.seen[-1][1]["cypher"] == "MATCH (a)-[r]->(b) RETURN b"


@pytest.mark.parametrize("ways", [[], ["a", "--entity", "b"], ["--entity", "a", "--cypher", "b"], ["  "]])
def test_the_command_wants_one_way(quaere: Callable[..., Result], ways: list[str]) -> None:
    done = quaere(FakeService(), "graph", "query", *ways)
    assert done.exit_code == 2


def test_the_command_says_that_there_is_nothing(quaere: Callable[..., Result]) -> None:
    service = FakeService()
    service.empty = True
    assert "holds no relation that fits" in quaere(service, "graph", "query", "Where?").stdout
    assert "empty" in quaere(service, "graph", "entities").stdout
    assert "no entity has a name like 'x'" in quaere(service, "graph", "entities", "x").stdout
    assert "empty" in quaere(service, "graph", "show").stdout


def test_entities_and_a_part_of_the_graph_as_lines(quaere: Callable[..., Result]) -> None:
    service = FakeService()
    assert "    3  Harbour Bridge (Place), also the Bridge" in quaere(service, "graph", "entities").stdout
    shown = quaere(service, "graph", "show", "Sydney", "--hops", "2").stdout
    assert shown.startswith("Harbour Bridge —[LOCATED_IN]→ Sydney") and "2 Place" in shown
    done = quaere(service, "graph", "show", "nobody")
    assert done.exit_code == NotFound.exit_code and "nobody" in done.stderr


def test_a_hostile_name_stays_on_its_line_in_the_terminal(quaere: Callable[..., Result]) -> None:
    service = FakeService()
    service.rows = [row(Entity(id="e", name=HOSTILE, type=HOSTILE), "USES", CITY, evidence(HOSTILE, HOSTILE))]
    for command in (["query", "x"], ["entities"], ["show"]):
        done = quaere(service, "graph", *command)
        assert done.exit_code == 0
        assert not any(line.startswith("[1]") for line in done.stdout.splitlines()) and "\x1b" not in done.stdout


async def test_rest_shows_merges_and_takes_and_forgets_rules() -> None:
    service = FakeService()
    two = {"first": "the Bridge", "second": "Harbour Bridge"}
    async with rest(service) as http:
        assert [merge["name"] for merge in (await http.get("/v1/graph/merges?q=bridge")).json()] == ["the Bridge"]
        assert (await http.get("/v1/graph/merges?entity=Sydney")).json() == []
        made = await http.post("/v1/graph/rules", json={**two, "kind": "forbid"})
        assert made.status_code == 201
        assert (
            (await http.get("/v1/graph/rules")).json() == [made.json()] == [rule.model_dump() for rule in service.rules]
        )
        assert (await http.delete("/v1/graph/rules", params=two)).json() == made.json()
        gone = await http.delete("/v1/graph/rules", params=two)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")
        assert (await http.post("/v1/graph/rules", json={**two, "kind": "maybe"})).status_code == 422


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_page_of_another_site_decides_nothing(method: str) -> None:
    service = FakeService()
    async with rest(service) as http:
        rule = {"first": "a", "second": "b", "kind": "force"}
        options = {"json": rule} if method == "POST" else {"params": {"first": "a", "second": "b"}}
        reply = await http.request(method, "/v1/graph/rules", headers={"origin": "http://evil.example"}, **options)  # type: ignore[arg-type]
    assert reply.status_code == 403 and service.rules == []


def test_names_are_merged_separated_and_forgotten_at_the_terminal(quaere: Callable[..., Result]) -> None:
    service = FakeService()
    assert (
        "the Bridge is Harbour Bridge: containment 1.00, 'the Bridge' is the"
        in quaere(service, "graph", "merges").stdout
    )
    assert "'a' is the same as 'b'" in quaere(service, "graph", "merge", "b", "a").stdout
    assert "'a' is the same as 'b'" in quaere(service, "graph", "rules").stdout
    assert "forgotten" in quaere(service, "graph", "forget", "a", "b").stdout
    assert "'a' is not the same as 'b'" in quaere(service, "graph", "separate", "a", "b").stdout
    missing = quaere(service, "graph", "forget", "x", "y")
    assert missing.exit_code == NotFound.exit_code and "quaere graph rules" in missing.stderr
