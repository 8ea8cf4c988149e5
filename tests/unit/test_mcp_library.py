"""The private door and the handle on a library: who owns it, and what happens when the owner goes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from core.errors import EmbeddingChanged, LibraryBusy, LibraryError, NotFound
from core.types import Collection, Document, Event, FieldSpec, Filter, Metadata
from mcp_tools import library as library_module
from mcp_tools.door import Door, Owner, owner_path, read_owner, write_owner
from mcp_tools.library import Library
from mcp_tools.remote import RemoteService
from quaere import __version__
from tests.support.fake_service import PNG, FakeService

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


@contextlib.asynccontextmanager
async def open_library(folder: Path, service: FakeService | None = None, **options: float) -> AsyncIterator[Library]:
    async def open_app() -> FakeService:
        return service or FakeService()

    async with Library(folder, open_app, **options) as library:  # type: ignore[arg-type]
        yield library


async def post(url: str, **headers: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.post(url, json=INITIALIZE, headers=headers)).status_code


async def test_the_door_refuses_strangers(tmp_path: Path) -> None:
    async with Door(FakeService(), tmp_path) as door:
        url, right = door.owner.url, f"Bearer {door.owner.token}"
        assert url.startswith("http://127.0.0.1:")
        assert await post(url) == 401
        assert await post(url, authorization="Bearer guess") == 401
        assert await post(url, authorization=right, host="evil.example") == 421
        assert await post(url, authorization=right, origin="http://evil.example") == 403
        with pytest.raises(LibraryBusy):
            async with RemoteService(url, "guess") as service:
                await service.health()


async def test_a_door_that_cannot_be_opened_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Door, "_application", broken)
    async with Door(FakeService(), tmp_path) as door:
        async with asyncio.timeout(10):
            assert [await post(door.owner.url), await post(door.owner.url)] == [500, 500]


async def test_a_door_closes_while_it_is_being_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening, opened, real = threading.Event(), threading.Event(), Door._application

    def slow(self: Door, token: str) -> object:
        opening.set()
        assert opened.wait(10)
        return real(self, token)

    monkeypatch.setattr(Door, "_application", slow)
    async with asyncio.timeout(20):
        async with Door(FakeService(), tmp_path) as door:
            knocking = asyncio.create_task(post(door.owner.url))
            await asyncio.to_thread(opening.wait, 10)
            asyncio.get_running_loop().call_later(0.2, opened.set)
        with contextlib.suppress(httpx.HTTPError):
            assert await knocking == 401


async def test_owner_json_is_private_and_removed_on_close(tmp_path: Path) -> None:
    async with Door(FakeService(), tmp_path) as door:
        assert stat.S_IMODE(owner_path(tmp_path).stat().st_mode) == 0o600
        assert read_owner(tmp_path) == door.owner
        assert os.listdir(tmp_path) == ["owner.json"]
    assert not owner_path(tmp_path).exists()


async def test_the_owner_json_of_another_is_left_alone(tmp_path: Path) -> None:
    other = Owner(pid=1, url="http://127.0.0.1:1/mcp", token="t", version="1")
    async with Door(FakeService(), tmp_path):
        write_owner(tmp_path, other)
    assert read_owner(tmp_path) == other


async def test_the_second_is_a_guest_of_the_first(tmp_path: Path) -> None:
    folder, service, events = tmp_path / "lib", FakeService(), list[Event]()

    async def on_event(event: Event) -> None:
        events.append(event)

    async with open_library(folder, service) as owner, open_library(folder) as guest:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (owner.owns, guest.owns) == (True, False)
        added = await guest.add_document("/papers/tunnels.pdf", on_event=on_event)
        assert [event.step for event in events] == ["queued", "parse", "chunk", "done", "done"]
        assert await owner.list_documents() == await guest.list_documents()
        assert (await guest.read_page(added.id, 1))[1] == PNG
        assert (await guest.search_passages("x", top_k=1)).passages[0].page == 2
        described = await guest.edit_document("tunnels.pdf", Metadata(tags=("x",), published_at=None))
        assert described.tags == ("x",)
        assert service.calls[-1][1][1].model_fields_set == {"tags", "published_at"}  # type: ignore[index]
        again = await guest.add_document("/papers/tunnels.pdf", metadata=Metadata(language="de"))
        assert again.language == "de" and again.id == added.id
        notes = await guest.create_collection(Collection(name="notes", fields=(FieldSpec(name="country"),)))
        assert notes in await guest.collections() and await guest.remove_collection("notes") == notes
        await guest.list_documents(Filter(tags=("x",)))
        assert service.calls[-1] == ("list_documents", Filter(tags=("x",)))
        added = (await guest.list_documents())[-1]
        assert await guest.remove_document("tunnels.pdf") == added
        assert await guest.reindex() == await guest.health() == await owner.health()
        assert await guest.trace("t") == '{"trace_id": "t-1"}'
        with pytest.raises(NotFound):
            await guest.remove_document("tunnels.pdf")
    assert service.closed


async def test_a_picture_of_several_megabytes_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.fake_service.PNG", PNG * 3000)
    async with open_library(tmp_path), open_library(tmp_path) as guest:
        assert len((await guest.read_page("bridges.pdf", 1))[1]) > 6_000_000


async def test_proxies_are_not_asked_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with open_library(tmp_path), open_library(tmp_path) as guest:
        assert (await guest.health()).documents == 1


async def test_calls_in_flight_move_to_one_new_owner_when_the_owner_closes(tmp_path: Path) -> None:
    opened = 0

    async def open_app() -> FakeService:
        nonlocal opened
        opened += 1
        return FakeService()

    owner = Library(tmp_path, open_app)
    await owner.__aenter__()
    async with Library(tmp_path, open_app) as guest:
        calls = [asyncio.create_task(guest.ask("sleep 3")) for _ in range(5)]
        await asyncio.sleep(0.3)
        await owner.__aexit__(None, None, None)
        answers = await asyncio.gather(*calls)
        assert guest.owns and len(answers) == 5 and opened == 2


async def test_a_removal_that_broke_off_and_is_then_not_found_was_done(tmp_path: Path) -> None:
    first, second = FakeService(), FakeService()
    second.documents.clear()
    owner = Library(tmp_path, lambda: _now(first))
    await owner.__aenter__()
    async with open_library(tmp_path, second) as guest:
        document = (await guest.list_documents())[0]

        begun = asyncio.Event()

        async def hang(method: str) -> None:
            if method == "remove_document":
                begun.set()
                await asyncio.sleep(60)

        first.before = hang
        removal: asyncio.Task[Document] = asyncio.create_task(guest.remove_document("bridges.pdf"))
        await begun.wait()
        await owner.__aexit__(None, None, None)
        assert await removal == document


async def _now(service: FakeService) -> FakeService:
    return service


async def test_a_stale_owner_json_does_not_stop_the_next_owner(tmp_path: Path) -> None:
    write_owner(tmp_path, Owner(pid=999_999, url="http://127.0.0.1:9/mcp", token="t", version=__version__))
    async with open_library(tmp_path) as library:
        assert library.owns and (await library.health()).documents == 1


async def test_an_owner_that_does_not_answer_is_named(tmp_path: Path) -> None:
    async with open_library(tmp_path):
        write_owner(tmp_path, Owner(pid=4242, url="http://127.0.0.1:9/mcp", token="t", version=__version__))
        with pytest.raises(LibraryBusy, match="process 4242"):
            async with open_library(tmp_path, wait_s=0.5):
                pass


async def test_an_owner_of_another_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_library(tmp_path):
        monkeypatch.setattr(library_module, "__version__", "99")
        with pytest.raises(LibraryError, match="version 99"):
            async with open_library(tmp_path):
                pass


async def test_a_failed_opening_frees_the_lock(tmp_path: Path) -> None:
    async def refuse() -> FakeService:
        raise EmbeddingChanged("other model", hint="reindex")

    with pytest.raises(EmbeddingChanged):
        async with Library(tmp_path, refuse):
            pass
    async with open_library(tmp_path) as library:
        assert library.owns


async def test_a_lazy_library_opens_behind_the_first_calls_and_once(tmp_path: Path) -> None:
    gate, opened = asyncio.Event(), 0

    async def open_app() -> FakeService:
        nonlocal opened
        opened += 1
        await gate.wait()
        return FakeService()

    async with Library(tmp_path, open_app, lazy=True) as library:
        hasty = asyncio.create_task(library.health())
        calls = [asyncio.create_task(library.health()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert not library.owns
        hasty.cancel()
        gate.set()
        assert len(await asyncio.gather(*calls)) == 3 and opened == 1


@pytest.mark.parametrize("folder", ["/proc/quaere", "/proc/self", __file__])
async def test_a_folder_that_cannot_be_written_to(folder: str) -> None:
    with pytest.raises(LibraryError, match="cannot be used") as caught:
        async with open_library(Path(folder)):
            pass
    assert caught.value.hint and not isinstance(caught.value, LibraryBusy)
