"""The public tools, in memory: results, errors, arguments as clients really send them."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Any

import mcp_types
import pytest
from fastmcp import Client

from core.errors import InvalidInput, LLMUnavailable, NotFound, NothingIngested, QuaereError
from core.types import Answer, Event, Filter, PageView, SearchResult, Turn
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from tests.support.fake_service import PNG, QUOTE, FakeService


async def raw(service: FakeService, tool: str, **arguments: Any) -> mcp_types.CallToolResult:
    async with Client(make_server(service)) as client:
        return await client.call_tool_mcp(tool, arguments)


def text_of(result: mcp_types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


async def test_exactly_four_read_only_tools_with_described_parameters() -> None:
    async with Client(make_server(FakeService())) as client:
        tools = await client.list_tools()
    assert sorted(tool.name for tool in tools) == ["ask", "query_graph", "read_page", "search_passages"]
    for tool in tools:
        assert tool.annotations is not None and tool.annotations.read_only_hint is True
        assert tool.description and tool.output_schema
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


async def test_private_adds_what_only_the_user_may_do() -> None:
    async with Client(make_server(FakeService(), private=True)) as client:
        names = {tool.name for tool in await client.list_tools()}
    verbs = ("list", "figure", "remove", "reindex", "health", "trace", "replies", "forget_replies")
    verbs += ("check", "edit", "collections", "create_collection", "remove_collection", "submit", "jobs", "job")
    verbs += ("watch", "cancel", "retry", "graph_view", "entities", "estimate_graph", "build_graph")
    verbs += ("merges", "merge_names", "separate_names", "forget_rule", "merge_rules")
    operations = {f"library_{verb}" for verb in verbs}
    assert names == {"ask", "query_graph", "read_page", "search_passages"} | operations


async def test_ask_gives_structure_and_text_with_numbered_citations() -> None:
    result = await raw(FakeService(), "ask", question="When did it open?")
    answer = Answer.model_validate(result.structured_content)
    assert answer.citations[0].quote == QUOTE
    assert text_of(result) == f"{QUOTE} [1]\n\n[1] bridges.pdf, page 2: “{QUOTE}”"


async def test_read_page_gives_text_picture_and_structure() -> None:
    service = FakeService()
    async with ToolClient(make_server(service)) as tools:
        view, png = await tools.read_page("bridges.pdf", 2, highlight="opened")
        assert (view.page, view.highlights) == (2, ((72, 72, 200, 84),))
        assert png == PNG
        assert (await tools.read_page("bridges.pdf", 2, image=False))[1] == b""
    result = await raw(service, "read_page", document="bridges.pdf", page=1)
    assert QUOTE in text_of(result) and PageView.model_validate(result.structured_content)


async def test_events_arrive_in_order_before_the_answer_even_when_their_handler_is_slow() -> None:
    seen: list[Event] = []

    async def slow_at_first(event: Event) -> None:
        await asyncio.sleep(0.02 if not seen else 0)
        seen.append(event)

    async with ToolClient(make_server(FakeService())) as tools:
        await tools.ask("When?", on_event=slow_at_first)
    assert [event.kind for event in seen] == ["stage"] + ["text"] * 6
    assert " ".join(event.text for event in seen[1:]) == f"{QUOTE} [1]"


async def test_an_error_of_the_event_handler_reaches_the_caller() -> None:
    async def broken(event: Event) -> None:
        raise ZeroDivisionError

    async with ToolClient(make_server(FakeService())) as tools:
        with pytest.raises(ZeroDivisionError):
            await tools.ask("When?", on_event=broken)


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ('["a", "b"]', ("a", "b")),
        (["a"], ("a",)),
        ("a.pdf", ("a.pdf",)),
        ("[draft] a.pdf", ("[draft] a.pdf",)),
        ("", ()),
        (None, ()),
    ],
)
async def test_lists_are_taken_as_clients_send_them(sent: object, got: tuple[str, ...]) -> None:
    service = FakeService()
    result = await raw(service, "search_passages", query="x", documents=sent)
    assert not result.is_error, text_of(result)
    assert service.calls[0][1]["documents"] == got  # type: ignore[index]


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        (
            {"collection": "a", "tags": ["x"], "fields": {"n": 1}},
            Filter(collection="a", tags=("x",), fields={"n": 1.0}),
        ),
        ('{"tags": "x", "as_of": "2024-02-29"}', Filter(tags=("x",), as_of=date(2024, 2, 29))),
        ({"fields": '{"country": ["Spain", "Peru"]}'}, Filter(fields={"country": ("Spain", "Peru")})),
        ({"collection": None, "as_of": ""}, Filter()),
        ("", Filter()),
        (None, Filter()),
    ],
)
@pytest.mark.parametrize(("tool", "asked"), [("ask", "question"), ("search_passages", "query")])
async def test_filters_are_taken_as_clients_send_them(tool: str, asked: str, sent: object, got: Filter) -> None:
    service = FakeService()
    result = await raw(service, tool, **{asked: "x"}, filters=sent)
    assert not result.is_error, text_of(result)
    assert service.calls[0][1]["filters"] == got  # type: ignore[index]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"colection": "a"}, "filters.colection: Extra inputs are not permitted"),
        ("{", "filters: no JSON object"),
        ({"as_of": 2024}, "filters.as_of: 2024 is no day"),
        ({"published_from": "2024-02-02", "published_to": "2024-02-01"}, "filters: published_from 2024-02-02 is after"),
    ],
)
async def test_bad_filters_are_named(sent: object, says: str) -> None:
    result = await raw(FakeService(), "ask", question="x", filters=sent)
    assert result.is_error and text_of(result).startswith(says)


async def test_filters_pass_the_client_unchanged() -> None:
    service, filters = FakeService(), Filter(tags=("x",), fields={"n": (1.0, 2.0), "b": True}, as_of=date(2024, 1, 1))
    async with ToolClient(make_server(service)) as tools:
        await tools.ask("x", filters=filters)
        await tools.search_passages("x", filters=filters)
    assert [call["filters"] for _, call in service.calls] == [filters, filters]  # type: ignore[index]


async def test_history_as_json_text() -> None:
    service = FakeService()
    await raw(service, "ask", question="and then?", history='[{"role": "user", "content": "when?"}]')
    assert service.calls[0][1]["history"] == (Turn(role="user", content="when?"),)  # type: ignore[index]


async def test_a_list_of_the_wrong_things_is_refused_by_name() -> None:
    result = await raw(FakeService(), "ask", question="x", documents='[{"a": 1}]')
    assert result.is_error and text_of(result).startswith("documents.0: ")


@pytest.mark.parametrize("text", ['{"x": 1}', '["a"]', "12", "null"])
async def test_a_question_that_looks_like_json_stays_a_string(text: str) -> None:
    service = FakeService()
    assert Answer.model_validate((await raw(service, "ask", question=text)).structured_content).question == text
    found = SearchResult.model_validate((await raw(service, "search_passages", query=text)).structured_content)
    assert found.query == text


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask", {"question": " \n"}, "question: must not be blank"),
        ("ask", {"question": "x" * 4001}, "question: String should have at most 4000 characters"),
        ("ask", {}, "question: Missing required argument"),
        ("ask", {"question": "x", "policy": "guess"}, "policy: Input should be 'auto' or 'quote'"),
        ("search_passages", {"query": "x", "top_k": 51}, "top_k: Input should be less than or equal to 50"),
        ("search_passages", {"query": "x", "top_k": 0}, "top_k: Input should be greater than or equal to 1"),
        ("read_page", {"document": "bridges.pdf", "page": 0}, "page: Input should be greater than or equal to 1"),
        ("ask", {"question": "x", "temperature": 2}, "temperature: Unexpected keyword argument"),
    ],
)
async def test_bad_arguments_are_named(tool: str, arguments: dict[str, Any], says: str) -> None:
    result = await raw(FakeService(), tool, **arguments)
    assert result.is_error and result.structured_content is not None
    assert result.structured_content["code"] == "invalid_input"
    assert result.structured_content["message"] == says
    assert says in text_of(result) and "pydantic" not in text_of(result)


async def test_a_question_of_the_greatest_length_is_taken() -> None:
    assert not (await raw(FakeService(), "ask", question="x" * 4000)).is_error


async def test_errors_keep_class_hint_and_trace() -> None:
    service = FakeService()
    service.fail["ask"] = LLMUnavailable("the model does not answer", hint="start it", trace_id="t-9")
    async with ToolClient(make_server(service)) as tools:
        with pytest.raises(LLMUnavailable) as caught:
            await tools.ask("x")
        with pytest.raises(NotFound, match="nope"):
            await tools.read_page("nope", 1)
        with pytest.raises(InvalidInput):
            await tools.ask("")
        service.documents.clear()
        del service.fail["ask"]
        with pytest.raises(NothingIngested):
            await tools.ask("x")
    assert (caught.value.hint, caught.value.trace_id, caught.value.retryable) == ("start it", "t-9", True)


async def test_unexpected_errors_are_masked_for_the_client_and_logged(capfd: pytest.CaptureFixture[str]) -> None:
    service = FakeService()
    service.fail["ask"] = ValueError("password=hunter2")
    result = await raw(service, "ask", question="x")
    assert result.is_error and result.structured_content is not None
    assert result.structured_content["message"] == "internal error"
    assert "hunter2" not in result.model_dump_json()
    out, err = capfd.readouterr()
    assert "hunter2" in err and "Traceback" in err and not out


async def test_a_cancelled_question_is_cancelled_in_the_service() -> None:
    service, started, stopped = FakeService(), asyncio.Event(), asyncio.Event()

    async def hang(_: str) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    service.before = hang
    async with ToolClient(make_server(service)) as tools:
        call = asyncio.create_task(tools.ask("x"))
        await asyncio.wait_for(started.wait(), 5)
        call.cancel()
        await asyncio.wait_for(stopped.wait(), 5)
        with pytest.raises(asyncio.CancelledError):
            await call
        service.before = None
        assert (await tools.ask("x")).text


async def test_resources_and_prompts() -> None:
    service = FakeService()
    async with Client(make_server(service)) as client:
        assert {str(found.uri) for found in await client.list_resources()} == {
            "quaere://health",
            "quaere://collections",
            "quaere://documents",
        }
        health = json.loads((await client.read_resource("quaere://health"))[0].text)  # type: ignore[union-attr]
        documents = json.loads((await client.read_resource("quaere://documents"))[0].text)  # type: ignore[union-attr]
        assert {prompt.name for prompt in await client.list_prompts()} == {"literature_review", "compare_papers"}
        review = await client.get_prompt("literature_review", {"topic": "suspension bridges"})
        compare = await client.get_prompt("compare_papers", {"first": "a.pdf", "second": "b.pdf"})
    assert health["documents"] == 1 and documents[0]["name"] == "bridges.pdf"
    assert "suspension bridges" in review.messages[0].content.text  # type: ignore[union-attr]
    assert "a.pdf" in compare.messages[0].content.text  # type: ignore[union-attr]


async def test_an_unknown_code_still_gives_an_error_of_the_tree() -> None:
    class Odd(QuaereError):
        code = "invalid_input_of_the_future"

    service = FakeService()
    service.fail["ask"] = Odd("newer than this client")
    async with ToolClient(make_server(service)) as tools:
        with pytest.raises(QuaereError, match="newer than this client"):
            await tools.ask("x")
