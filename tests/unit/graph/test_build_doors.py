"""`quaere graph build` at a terminal, and the two operations through the private door."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from core.graph import GraphEstimate, GraphReport
from core.types import Event
from mcp_tools.remote_graph import RemoteGraph
from mcp_tools.server import make_server
from tests.support.fake_service import FakeService
from ui.cli import app


def run(monkeypatch: pytest.MonkeyPatch, service: FakeService, *arguments: str) -> Result:
    @asynccontextmanager
    async def library(*_: object) -> AsyncIterator[FakeService]:
        yield service

    monkeypatch.setattr("ui.session.library", library)
    return CliRunner().invoke(app, ["graph", "build", *arguments])


def test_the_estimate_says_what_it_would_cost_and_builds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = FakeService()
    shown = run(monkeypatch, service, "--estimate", "--passes", "2")
    assert shown.exit_code == 0
    assert "3 passages to read by m, 1 read already" in shown.stdout
    assert "at most 3 calls: about 900 tokens of prompts and 300 of replies, 0.50 at the prices" in shown.stdout
    assert [name for name, _ in service.seen] == ["estimate_graph"]
    assert service.seen[0][1] == {"documents": (), "by": "auto", "passes": 2, "again": False}
    as_json = run(monkeypatch, service, "--estimate", "--json")
    assert GraphEstimate.model_validate_json(as_json.stdout).cost == 0.5


def test_a_build_says_what_was_kept_and_why_the_rest_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    service = FakeService()
    shown = run(monkeypatch, service, "--rules", "--again", "--document", "a.pdf", "--document", "b.pdf")
    assert shown.exit_code == 0
    assert "7 relations kept, 2 dropped" in shown.stdout and "2 no quote" in shown.stdout
    assert service.seen[0][1] == {"documents": ("a.pdf", "b.pdf"), "by": "rules", "passes": 0, "again": True}
    as_json = run(monkeypatch, service, "--json")
    assert json.loads(as_json.stdout)["kept"] == 7


def test_a_build_that_ended_early_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    class Poor(FakeService):
        async def build_graph(self, **asked: Any) -> GraphReport:
            whole = await super().build_graph(**asked)
            return whole.model_copy(update={"stopped": "the budget of 3 calls ran out"})

    shown = run(monkeypatch, Poor())
    assert shown.exit_code == 5
    assert "stopped: the budget of 3 calls ran out; the same command goes on from here" in shown.stdout


def test_passes_are_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, FakeService(), "--rules", "--passes", "2").exit_code == 2
    assert run(monkeypatch, FakeService(), "--passes", "3").exit_code == 2


async def test_a_guest_s_calls_pass_through_the_private_door() -> None:
    service, told = FakeService(), list[Event]()

    async def on_event(event: Event) -> None:
        told.append(event)

    async with RemoteGraph(make_server(service, private=True)) as remote:
        estimate = await remote.estimate_graph(documents=["a.pdf"], by="llm", passes=2, again=True)
        report = await remote.build_graph(documents=["a.pdf"], by="llm", passes=2, again=True, on_event=on_event)
    assert (estimate.calls, report.dropped) == (3, {"no quote": 2})
    assert [seen for _, seen in service.seen] == [
        {"documents": ("a.pdf",), "by": "llm", "passes": 2, "again": True}
    ] * 2
    assert [(event.step, event.done, event.total) for event in told] == [("extract", 3, 3)]
