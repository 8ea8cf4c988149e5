"""REST over a scripted library: contract, hostile file names, streams, errors, and what other sites may not do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.errors import CorruptDocument, LibraryBusy, LLMUnavailable
from core.ports import OnEvent
from core.settings import ServeSettings
from core.types import Answer, Document
from mcp_tools.client import ToolClient
from mcp_tools.server import make_server
from tests.support.fake_service import FakeService
from ui.guard import Guard
from ui.rest import make_rest
from ui.uploads import display_name

HERE = "http://127.0.0.1:8765"


class Uploads(FakeService):
    """Keeps what the library was handed: path, name and bytes, read while the file is there."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[tuple[Path, str, bytes]] = []

    async def add_document(self, path: str, *, name: str = "", **options: Any) -> Document:
        self.received.append((Path(path), name, Path(path).read_bytes()))
        return await super().add_document(path, name=name, **options)


@asynccontextmanager
async def client(service: FakeService, **settings: object) -> AsyncIterator[httpx.AsyncClient]:
    async with ToolClient(make_server(service)) as tools:
        app = make_rest(service, tools, ServeSettings.model_validate(settings))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=HERE) as http:
            yield http


@pytest.fixture
def service() -> Uploads:
    return Uploads()


@pytest.fixture
async def http(service: Uploads) -> AsyncIterator[httpx.AsyncClient]:
    async with client(service) as opened:
        yield opened


def pdf(name: str, content: bytes = b"%PDF-1.7") -> tuple[str, tuple[str, bytes, str]]:
    return "files", (name, content, "application/pdf")


def error_of(reply: httpx.Response) -> dict[str, str]:
    error = reply.json()["error"]
    assert set(error) == {"code", "message", "hint", "trace_id"}
    return dict(error)


# --- questions


async def test_ask_gives_the_answer_and_sends_everything_on(http: httpx.AsyncClient, service: Uploads) -> None:
    history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "then"}]
    reply = await http.post("/v1/ask", json={"question": "When?", "documents": ["bridges.pdf"], "history": history})
    assert reply.status_code == 200
    assert Answer.model_validate(reply.json()).citations[0].page == 2
    asked = dict(service.calls)["ask"]
    assert asked["documents"] == ("bridges.pdf",)
    assert [turn.content for turn in asked["history"]] == ["before", "then"]


async def events_of(http: httpx.AsyncClient) -> list[tuple[str, dict[str, object]]]:
    headers = {"accept": "text/event-stream"}
    async with http.stream("POST", "/v1/ask", json={"question": "When?"}, headers=headers) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        text = (await reply.aread()).decode()
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


async def test_a_stream_tells_stages_then_text_then_the_answer(http: httpx.AsyncClient) -> None:
    events = await events_of(http)
    kinds = [kind for kind, _ in events]
    assert kinds[0] == "stage" and kinds[-1] == "answer"
    assert set(kinds[1:-1]) == {"text"}
    assert events[0][1]["stage"] == "router"
    assert Answer.model_validate(events[-1][1]).written_by == "quotation"


async def test_a_stream_ends_with_a_typed_error(http: httpx.AsyncClient, service: Uploads) -> None:
    service.fail["ask"] = LLMUnavailable("no reply", hint="start it", trace_id="t-1")
    assert await events_of(http) == [
        ("error", {"code": "llm_unavailable", "message": "no reply", "hint": "start it", "trace_id": "t-1"})
    ]


async def test_search(http: httpx.AsyncClient) -> None:
    reply = await http.post("/v1/search", json={"query": "bridge", "top_k": 1})
    assert reply.json()["passages"][0]["document"] == "bridges.pdf"


async def test_filters_metadata_and_collections(http: httpx.AsyncClient, service: Uploads) -> None:
    body = {"filters": {"tags": ["x"], "fields": {"n": 1}}}
    assert (await http.post("/v1/search", json={"query": "bridge"} | body)).status_code == 200
    assert (await http.post("/v1/ask", json={"question": "When?"} | body)).status_code == 200
    assert [call["filters"].tags for _, call in service.calls] == [("x",), ("x",)]  # type: ignore[index]
    wrong = await http.post("/v1/ask", json={"question": "When?", "filters": {"as_of": "soon"}})
    assert wrong.status_code == 422 and "filters.as_of" in error_of(wrong)["message"]
    said = {"metadata": '{"tags": ["new"], "published_at": "2024-02-29"}'}
    added = await http.post("/v1/documents", files=[pdf("a.pdf")], params=said)
    assert added.json()[0]["tags"] == ["new"] and added.json()[0]["published_at"] == "2024-02-29"
    assert (await http.post("/v1/documents", files=[pdf("a.pdf")], params={"metadata": "{"})).status_code == 422
    edited = await http.patch("/v1/documents/a.pdf", json={"language": "DE"})
    assert (edited.json()["language"], edited.json()["tags"]) == ("de", ["new"])
    declared = {"name": "notes", "fields": [{"name": "country", "required": True}]}
    assert (await http.post("/v1/collections", json=declared)).status_code == 201
    assert [found["name"] for found in (await http.get("/v1/collections")).json()] == ["default", "notes"]
    assert (await http.post("/v1/collections", json={"name": "a b"})).status_code == 422
    assert (await http.delete("/v1/collections/notes")).json()["name"] == "notes"


async def test_a_page_and_its_image(http: httpx.AsyncClient) -> None:
    page = await http.get("/v1/documents/bridges.pdf/pages/2")
    assert page.json()["page"] == 2
    image = await http.get("/v1/documents/bridges.pdf/pages/2/image", params={"highlight": "The bridge"})
    assert image.headers["content-type"] == "image/png"
    assert image.content.startswith(b"\x89PNG")
    assert (await http.get("/v1/documents/bridges.pdf/pages/9")).status_code == 404


async def test_what_has_no_pages_to_draw_has_no_image() -> None:
    async with client(FakeService("notes.md")) as http:
        page = await http.get("/v1/documents/notes.md/pages/2")
        assert page.json()["format"] == "markdown" and page.json()["text"]
        image = await http.get("/v1/documents/notes.md/pages/2/image")
        assert image.status_code == 404 and "no pages to draw" in error_of(image)["message"]


# --- errors


async def test_errors_are_typed(http: httpx.AsyncClient, service: Uploads) -> None:
    service.fail["ask"] = LLMUnavailable("no reply", hint="start it", trace_id="t-1")
    reply = await http.post("/v1/ask", json={"question": "When?"})
    assert reply.status_code == 503
    assert error_of(reply) == {"code": "llm_unavailable", "message": "no reply", "hint": "start it", "trace_id": "t-1"}


@pytest.mark.parametrize(
    ("body", "named"),
    [({}, "question"), ({"question": 3}, "question"), ({"question": "a", "policy": "x"}, "policy"), ("no JSON", "")],
)
async def test_a_malformed_request_says_which_field(http: httpx.AsyncClient, body: object, named: str) -> None:
    reply = await http.post("/v1/ask", json=body)
    assert reply.status_code == 422
    assert error_of(reply)["code"] == "invalid_input"
    assert named in error_of(reply)["message"]


async def test_an_unknown_path(http: httpx.AsyncClient) -> None:
    for path in ("/v1/nothing", "/nothing"):
        reply = await http.get(path)
        assert (reply.status_code, error_of(reply)["code"]) == (404, "not_found")


async def test_a_fault_of_ours_shows_no_inside(http: httpx.AsyncClient, service: Uploads) -> None:
    service.fail["list_documents"] = ZeroDivisionError("secret path /root")
    reply = await http.get("/v1/documents")
    assert reply.status_code == 500
    assert "secret" not in reply.text and error_of(reply)["code"] == "internal"


async def test_health_is_503_when_it_fails(http: httpx.AsyncClient, service: Uploads) -> None:
    assert (await http.get("/health")).json()["llm"] == "none"
    service.fail["health"] = LibraryBusy("no reply")
    reply = await http.get("/health")
    assert (reply.status_code, error_of(reply)["code"]) == (503, "library_busy")


# --- documents


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("../../x.pdf", "x.pdf"),
        ("/etc/x.pdf", "x.pdf"),
        ("a\\b.pdf", "b.pdf"),
        ("x" * 300 + ".pdf", "x" * 196 + ".pdf"),
        ("论文一.pdf", "论文一.pdf"),
        ("a\x00\nb\x1b.pdf", "ab.pdf"),
        ("fdp.\u202efdp", "fdp.fdp"),
        ("..", "document.pdf"),
        ("", "document.pdf"),
    ],
)
def test_a_display_name_is_never_a_path(sent: str, shown: str) -> None:
    assert display_name(sent) == shown


@pytest.mark.parametrize("name", ["../../x.pdf", "/etc/x.pdf", "a\\b.pdf", "x" * 300 + ".pdf", "论文一.pdf"])
async def test_a_hostile_file_name_never_reaches_a_path(http: httpx.AsyncClient, service: Uploads, name: str) -> None:
    reply = await http.post("/v1/documents", files=[pdf(name)])
    assert reply.status_code == 201
    (path, shown, content) = service.received[0]
    assert path.name == "1.pdf" and path.parent.name.startswith("quaere-upload-")
    assert shown == display_name(name) == reply.json()[0]["name"]
    assert content == b"%PDF-1.7"
    assert not path.exists()


async def test_one_name_with_other_bytes_overwrites_nothing(http: httpx.AsyncClient, service: Uploads) -> None:
    reply = await http.post("/v1/documents", files=[pdf("a.pdf", b"one"), pdf("a.pdf", b"two")])
    assert reply.status_code == 201
    assert [content for _, _, content in service.received] == [b"one", b"two"]
    assert len({path for path, _, _ in service.received}) == 2


async def test_what_is_there_already_is_200(http: httpx.AsyncClient) -> None:
    assert (await http.post("/v1/documents", files=[pdf("a.pdf")])).status_code == 201
    assert (await http.post("/v1/documents", files=[pdf("a.pdf")])).status_code == 200


async def test_a_refused_document_is_named(http: httpx.AsyncClient, service: Uploads) -> None:
    service.fail["add_document"] = CorruptDocument("no PDF", hint="export it again")
    reply = await http.post("/v1/documents", files=[pdf("a.pdf")])
    assert reply.status_code == 422
    assert error_of(reply)["message"] == "a.pdf: no PDF"
    assert error_of(reply)["code"] == "corrupt_document"


async def test_an_upload_is_bounded_with_and_without_a_length(service: Uploads) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n'
        for _ in range(40):
            yield b"0" * 64 * 1024
        yield b"\r\n--x--\r\n"

    async with client(service, max_upload_mb=1) as http:
        whole = await http.post("/v1/documents", files=[pdf("a.pdf", b"0" * 3 * 1024 * 1024)])
        headers = {"content-type": "multipart/form-data; boundary=x"}
        streamed = await http.post("/v1/documents", content=parts(), headers=headers)
    for reply in (whole, streamed):
        assert (reply.status_code, error_of(reply)["code"]) == (413, "upload_too_large")
    assert service.received == []


@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data", "multipart/form-data; boundary=x"])
async def test_a_form_without_a_file(http: httpx.AsyncClient, content_type: str) -> None:
    reply = await http.post("/v1/documents", content=b"{}", headers={"content-type": content_type})
    assert (reply.status_code, error_of(reply)["code"]) == (422, "invalid_input")


async def test_list_and_remove(http: httpx.AsyncClient) -> None:
    (document,) = (await http.get("/v1/documents")).json()
    assert (await http.delete(f"/v1/documents/{document['id']}")).json()["name"] == "bridges.pdf"
    assert (await http.get("/v1/documents")).json() == []
    assert (await http.delete(f"/v1/documents/{document['id']}")).status_code == 404


# --- other sites


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://[", "127.0.0.1:8765"]
)
async def test_another_site_may_change_nothing(http: httpx.AsyncClient, service: Uploads, origin: str) -> None:
    reply = await http.delete("/v1/documents/bridges.pdf", headers={"origin": origin})
    assert (reply.status_code, error_of(reply)["code"]) == (403, "cross_origin")
    assert service.calls == []


async def test_our_own_page_may(http: httpx.AsyncClient) -> None:
    assert (await http.delete("/v1/documents/bridges.pdf", headers={"origin": HERE})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.7", "", "a:b"])
async def test_a_host_that_is_not_ours(http: httpx.AsyncClient, host: str) -> None:
    reply = await http.get("/v1/documents", headers={"host": host})
    assert (reply.status_code, error_of(reply)["code"]) == (400, "invalid_host")


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:8765", "papers.local:8765"])
async def test_hosts_that_are_ours(service: Uploads, host: str) -> None:
    async with client(service, host="papers.local") as http:
        assert (await http.get("/health", headers={"host": host})).status_code == 200


def test_bound_to_every_address_an_address_is_ours_and_a_domain_is_not() -> None:
    guard = Guard(httpx.ASGITransport, "0.0.0.0")  # type: ignore[arg-type]
    assert guard._is_ours("192.168.1.4")
    assert not guard._is_ours("evil.example")
    assert not guard._is_ours("")


# --- jobs


async def test_not_waiting_gives_the_job_and_where_to_look(http: httpx.AsyncClient, service: Uploads) -> None:
    reply = await http.post("/v1/documents?wait=false&replace=true", files=[pdf("a.pdf")])
    assert reply.status_code == 202
    (job,) = reply.json()
    assert reply.headers["location"] == f"/v1/jobs/{job['id']}"
    assert dict(service.calls)["submit"][1:] == ("a.pdf", True, "name")
    assert (await http.get(reply.headers["location"])).json()["state"] == "done"
    several = await http.post("/v1/documents?wait=false", files=[pdf("b.pdf"), pdf("c.pdf")])
    assert several.headers["location"] == "/v1/jobs" and len(several.json()) == 2
    assert [one["name"] for one in (await http.get("/v1/jobs")).json()] == ["c.pdf", "b.pdf", "a.pdf"]
    assert dict(service.calls)["submit"][3] == "never"


async def test_a_job_is_watched_cancelled_and_retried(http: httpx.AsyncClient, service: Uploads) -> None:
    service.hold = True
    (job,) = (await http.post("/v1/documents?wait=false", files=[pdf("a.pdf")])).json()
    where = f"/v1/jobs/{job['id']}"
    watching = asyncio.create_task(http.get(f"{where}/events"))
    await asyncio.sleep(0.1)
    assert (await http.post(f"{where}/cancel")).json()["state"] == "cancelled"
    text = (await watching).text
    assert "event: job" in text and '"done":3,"total":12' in text
    assert text.strip().split("\n\n")[-1].startswith("event: end") and '"cancelled"' in text
    assert (await http.post(f"{where}/retry")).json()["state"] == "queued"
    for path in ("/v1/jobs/none", "/v1/jobs/none/events"):
        assert (await http.get(path)).status_code == 404


# --- documentation


async def test_the_documentation_needs_no_other_host(http: httpx.AsyncClient) -> None:
    page = (await http.get("/docs")).text
    assert "https://" not in page
    assert (await http.get("/static-offline-docs/swagger-ui-bundle.js")).status_code == 200
    schema = (await http.get("/openapi.json")).json()
    assert {"/v1/ask", "/v1/search", "/v1/documents", "/health"} <= set(schema["paths"])
    assert "multipart/form-data" in schema["paths"]["/v1/documents"]["post"]["requestBody"]["content"]


async def test_leaving_a_stream_stops_the_question(service: Uploads) -> None:
    from ui.running import stream

    stopped = asyncio.Event()

    async def call(on_event: OnEvent) -> Answer:
        try:
            return await service.ask("sleep 60", on_event=on_event)
        finally:
            stopped.set()

    running = stream(call)
    pending = asyncio.ensure_future(anext(running))
    await asyncio.sleep(0.05)
    pending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pending
    await asyncio.wait_for(stopped.wait(), 2)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("a.md", ".md"), ("A.DOCX", ".docx"), ("a.htm", ".htm"), ("a.exe", ""), ("../../a.txt", ".txt"), ("a", "")],
)
async def test_an_upload_keeps_what_its_name_says_of_its_kind(
    http: httpx.AsyncClient, service: Uploads, name: str, kept: str
) -> None:
    reply = await http.post("/v1/documents", files=[("files", (name, b"content"))])
    assert reply.status_code == 201
    assert Path(service.received[0][0]).suffix == kept


async def test_a_figure_is_a_png(http: httpx.AsyncClient) -> None:
    (document,) = (await http.get("/v1/documents")).json()
    assert (document["tables"], document["figures"]) == (0, 0)
    picture = await http.get("/v1/documents/bridges.pdf/figures/1")
    assert picture.headers["content-type"] == "image/png" and picture.content.startswith(b"\x89PNG")
    for number in ("2", "9", "0"):
        missing = await http.get(f"/v1/documents/bridges.pdf/figures/{number}")
        assert missing.status_code == 404 and missing.json()["error"]["message"]
    assert (await http.get("/v1/documents/bridges.pdf/figures/x")).status_code in (400, 422)
