"""The whole served application as people meet it: the chat page in a real Chromium, and MCP beside it."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from PIL import Image

from core.errors import CorruptDocument, InvalidInput, LLMUnavailable
from core.ports import OnEvent
from core.settings import ServeSettings
from core.types import Answer, Document, Event, Filter, PageView, TraceStep, Turn
from mcp_tools.client import ToolClient
from tests.support.browser import browsing, expect, served
from tests.support.fake_service import QUOTE, FakeService
from ui.serve import serve

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = pytest.mark.integration

HOSTILE = "use <eos> and p<0.05 <think>a</think> done, ${window.hacked=1} {{x}} *a* `b` <img src=x onerror=hacked=1>"


def _png() -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (612, 792), "white").save(data, "PNG")
    return data.getvalue()


class Scripted(FakeService):
    """Answers slowly enough to be watched. 'hostile': text that looks like markup; 'weather': nothing supports an
    answer; 'fail': a typed error; 'crash': a fault of ours."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.go_on = asyncio.Event()
        self.histories: list[list[Turn]] = []
        self.filters: Filter | None = None

    async def ask(
        self,
        question: str,
        *,
        documents: Sequence[str] = (),
        filters: Filter | None = None,
        history: Sequence[Turn] = (),
        policy: str = "auto",
        on_event: OnEvent | None = None,
    ) -> Answer:
        assert on_event is not None
        self.histories.append(list(history))
        self.filters = filters
        if question == "fail":
            raise LLMUnavailable("the model <b> does not answer", hint="start it")
        if question == "crash":
            raise ZeroDivisionError("secret")
        step = TraceStep(stage="router", ms=3, summary="fact: <rules>")
        await on_event(Event(kind="stage", stage=step))
        await on_event(Event(kind="text", text="The bridge "))
        if question == "slow":
            await self.go_on.wait()
        text = f"{HOSTILE} [1]" if question == "hostile" else f"{QUOTE} [1] But [7]."
        answer = self._answer(question, text, step)
        if question == "hostile":
            citation = answer.citations[0].model_copy(
                update={"quote": HOSTILE, "document": HOSTILE, "section": HOSTILE}
            )
            answer = answer.model_copy(update={"citations": (citation,)})
        if question == "weather":
            nearest = (self._passage(next(iter(self.documents.values())), 1),)
            answer = answer.model_copy(update={"citations": (), "nearest": nearest, "written_by": "none", "text": ""})
        if question == "model":
            answer = answer.model_copy(update={"written_by": "llm", "model": "tiny-1"})
        return answer

    async def read_page(
        self, document: str, page: int, *, highlight: str = "", image: bool = True
    ) -> tuple[PageView, bytes]:
        view, _ = await super().read_page(document, page, highlight=highlight, image=image)
        return view, _png() if image else b""

    async def add_document(self, path: str, *, name: str = "", **options: Any) -> Document:
        content = Path(path).read_bytes()
        if not content.startswith(b"%PDF"):
            raise CorruptDocument("this is no PDF", hint="export it again")
        return await super().add_document(path, name=name, **options)


@asynccontextmanager
async def chatting(url: str, width: int = 1280) -> AsyncIterator[Page]:
    """The chat page, ready for a question."""
    async with browsing(url, "/", width) as page:
        await page.wait_for_selector("#library .q-library, #library .q-empty")
        yield page


async def ask(page: Page, question: str) -> None:
    from playwright.async_api import TimeoutError as TooLate

    asked = page.locator(".q-asked")
    before = await asked.count()
    await page.wait_for_selector("#question button.submit-button")  # not while a question is being answered
    await page.fill("#question textarea", question)
    await page.keyboard.press("Enter")
    try:
        await asked.nth(before).wait_for(timeout=30_000)
    except TooLate:
        left = await page.input_value("#question textarea")
        pytest.fail(f"the page did not take the question; its box holds {left!r}")


async def test_a_question_its_stages_its_answer_and_its_source() -> None:
    service = Scripted()
    async with served(service) as url, chatting(url) as page:
        await ask(page, "slow")
        await page.wait_for_selector("text=fact: <rules>")
        await page.wait_for_selector(".q-writing >> text=The bridge")
        service.go_on.set()
        await page.wait_for_selector(".q-page img")
        assert QUOTE in await page.inner_text(".q-answer .q-text")
        assert "[7]" in await page.inner_text(".q-answer .q-text")
        assert "Quoted from the papers" in await page.inner_text(".q-badges")
        assert "no language model configured" in await page.inner_text(".q-badges")
        assert "bridges.pdf, page 2" in await page.inner_text(".q-card")
        assert "bridges.pdf, page 2" in await page.inner_text(".q-source figcaption")
        await page.wait_for_selector(".q-card.chosen")
        assert await page.evaluate("document.querySelector('.q-page img').naturalWidth") == 612
        assert ("read_page", (next(iter(service.documents)), 2, QUOTE, True)) in service.calls


async def test_a_citation_opens_its_page() -> None:
    service = Scripted()
    async with served(service) as url, chatting(url) as page:
        await ask(page, "first")
        await page.wait_for_selector(".q-page img")
        await page.click("button[role=tab]:has-text('Library')")
        await page.wait_for_selector(".q-page img", state="hidden")
        await page.click("button.q-marker")
        await page.wait_for_selector(".q-page img")
        assert len([method for method, _ in service.calls if method == "read_page"]) == 2
        await ask(page, "model")
        await page.wait_for_selector("text=Written by tiny-1")
        await page.wait_for_selector(".q-marker[value='1.0'].chosen")
        assert [turn.role for turn in service.histories[1]] == ["user", "assistant"]
        assert [turn.content for turn in service.histories[1]] == ["first", f"{QUOTE} [1] But [7]."]


async def test_a_question_that_is_sent_as_the_stream_of_the_last_one_ends() -> None:
    async with served(Scripted()) as url, chatting(url) as page:
        for count in range(25):
            await ask(page, "first" if count % 2 else "model")
            await page.locator(".q-answer").nth(count).wait_for()


async def test_what_looks_like_markup_is_text() -> None:
    async with served(Scripted(f"{HOSTILE}.pdf")) as url, chatting(url) as page:
        assert f"{HOSTILE}.pdf" in await page.inner_text("#library")
        assert "<Eos>" in await page.inner_text("#conversation .example")
        await ask(page, "hostile")
        await page.wait_for_selector(".q-page img")
        for place in (".q-answer .q-text", ".q-card .q-where", ".q-card .q-quote", ".q-source blockquote"):
            assert HOSTILE in await page.inner_text(place)
        await ask(page, HOSTILE)
        await page.wait_for_selector(".q-card >> nth=1")
        assert await page.inner_text(".q-asked >> nth=1") == HOSTILE


async def test_nothing_supports_an_answer() -> None:
    async with served(Scripted()) as url, chatting(url) as page:
        await ask(page, "weather")
        await page.wait_for_selector("text=Nothing in the library supports an answer.")
        assert QUOTE in await page.inner_text(".q-card")
        assert "NEAREST PASSAGES" in await page.inner_text(".q-answer")
        await page.wait_for_selector(".q-page img")


@pytest.mark.parametrize(("question", "shown"), [("fail", "the model <b> does not answer"), ("crash", "")])
async def test_an_error_is_said_and_the_question_kept(question: str, shown: str) -> None:
    async with served(Scripted()) as url, chatting(url) as page:
        await ask(page, question)
        await page.wait_for_selector(".q-error")
        await expect(page.locator("#question textarea")).to_have_value(question)
        body = await page.inner_text("body")
        assert shown in await page.inner_text(".q-error")
        assert "Traceback" not in body and "secret" not in body


async def test_stop_ends_a_question() -> None:
    async with served(Scripted()) as url, chatting(url) as page:
        await ask(page, "slow")
        await page.wait_for_selector(".q-writing")
        await page.click("#question button.stop-button")
        await page.wait_for_selector("text=Stopped")
        await expect(page.locator("#question textarea")).to_have_value("slow")
        await ask(page, "again")
        await page.wait_for_selector(".q-page img")


async def test_upload_and_remove(tmp_path: Path) -> None:
    service = Scripted()
    service.documents.clear()
    good, bad = tmp_path / "<b>论文.pdf", tmp_path / "bad.pdf"
    good.write_bytes(b"%PDF-1.7")
    bad.write_bytes(b"nothing")
    async with served(service) as url, chatting(url) as page:
        assert "Add a document to begin" in await page.inner_text("#library")
        await page.set_input_files("#upload input[type=file], input[type=file]", [good, bad])
        await page.wait_for_selector("#notice >> text=bad.pdf: this is no PDF (export it again)")
        assert "论文.pdf" in await page.inner_text("#library")
        uploaded = [Path(str(path)) for method, path in service.calls if method == "add_document"]
        assert uploaded and not any(path.exists() for path in uploaded)
        page.on("dialog", lambda dialog: dialog.accept())
        await page.click("button.q-remove")
        await page.wait_for_selector("#library .q-empty")
        assert service.documents == {}


@pytest.mark.parametrize("width", [1280, 420])
async def test_an_upload_shows_how_far_it_is_and_the_page_stays_usable(tmp_path: Path, width: int) -> None:
    service = Scripted()
    service.hold = True
    first, second = tmp_path / "terns.pdf", tmp_path / "gulls.pdf"
    for file in (first, second):
        file.write_bytes(b"%PDF-1.7")
    async with served(service) as url, chatting(url, width) as page:
        await page.set_input_files("#upload input[type=file], input[type=file]", [first, second])
        await page.wait_for_selector("#jobs >> text=reading page 3 of 12 >> nth=1")
        assert "terns.pdf" in await page.inner_text("#jobs")
        if folder := os.environ.get("SCREENSHOTS"):
            await page.screenshot(path=f"{folder}/jobs-{width}.png", full_page=True)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await ask(page, "first")
        await page.wait_for_selector(".q-page img")
        await page.click("button[role=tab]:has-text('Library')")
        await page.click("#jobs button.q-cancel >> nth=1")
        await page.wait_for_selector("#notice >> text=1 cancelled.")
        await expect(page.locator("#jobs li")).to_have_count(1)
        service.release(next(key for key, states in service.queue.items() if not states[-1].finished))
        await page.wait_for_selector("#library >> text=terns")
        await page.wait_for_selector("#notice >> text=1 added.")
        await page.wait_for_selector("#jobs li", state="detached")


async def test_a_narrow_window_stacks_the_panel_below() -> None:
    async with served(Scripted()) as url, chatting(url, width=420) as page:
        await ask(page, "first")
        await page.wait_for_selector(".q-page img")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 420
        chat, panel = await page.locator("#conversation").bounding_box(), await page.locator("#panel").bounding_box()
        assert chat is not None and panel is not None
        assert panel["y"] >= chat["y"] + chat["height"]


async def test_several_people_ask_at_once() -> None:
    service = Scripted()
    async with served(service) as url, chatting(url) as first, chatting(url) as second:
        await ask(first, "slow")
        await first.wait_for_selector(".q-writing")
        await ask(second, "other")
        await second.wait_for_selector(".q-page img")
        service.go_on.set()
        await first.wait_for_selector(".q-page img")


# --- beside the page

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


async def test_mcp_over_http_with_and_without_a_slash() -> None:
    async with served(FakeService()) as url, httpx.AsyncClient(base_url=url, headers=ACCEPT) as http:
        for path in ("/mcp", "/mcp/"):
            reply = await http.post(path, json=INITIALIZE)
            assert reply.status_code == 200 and "serverInfo" in reply.text
            async with ToolClient(url + path) as tools:
                assert (await tools.ask("When?")).citations[0].quote == QUOTE
        stale = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await http.post("/mcp", json=stale, headers={"mcp-session-id": "old"})).status_code in (200, 404)
        evil = {"host": "evil.example"}
        assert (await http.post("/mcp", json=INITIALIZE, headers=evil)).status_code == 400
        assert (await http.post("/mcp", json=INITIALIZE, headers={"origin": "http://evil.example"})).status_code == 403


async def test_the_page_and_its_uploads_refuse_other_sites() -> None:
    async with served(FakeService()) as url, httpx.AsyncClient(base_url=url) as http:
        assert (await http.get("/", headers={"host": "evil.example"})).status_code == 400
        evil = {"origin": "http://evil.example"}
        upload = await http.post("/gradio_api/upload", files={"files": ("a.pdf", b"x")}, headers=evil)
        assert upload.status_code == 403
        assert "frame-ancestors 'self'" in (await http.get("/")).headers["content-security-policy"]
        assert (await http.get("/health")).json()["ledger"] == "sqlite"
        assert (await http.get("/v1/nothing")).json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_server_and_nothing_else(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    running = asyncio.create_task(serve(FakeService(), ServeSettings(port=0)))
    while "http://127.0.0.1:" not in capsys.readouterr().err:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    os.kill(os.getpid(), number)
    await asyncio.wait_for(running, 10)


async def test_a_port_in_use_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(InvalidInput) as raised:
        await serve(FakeService(), ServeSettings(port=listener.getsockname()[1]))
    assert "--port" in raised.value.hint
