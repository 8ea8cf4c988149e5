"""Jobs: their states, cancelling at each stage, restarting, retrying, and changed files in place of old ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import Cancelled, CorruptDocument, InvalidInput, LibraryError, NotFound
from core.ports import Vectors
from core.settings import Settings
from core.types import Event, Job
from ingest.pipeline import NOT_EMBEDDED, PROBE
from quaere.app import App
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, settings_for

TERNS = "# Terns\n\nThe common tern flies 22,000 km a year.\n\n## Food\n\nIt dives for sand eels near the coast.\n"
CHANGED = TERNS.replace("22,000", "23,500") + "\n## Nests\n\nNests are scrapes in the shingle.\n"
BAD = "The unspeakable passage."


class Scripted(HashEmbedder):
    """Waits at its first text while `gate` is closed; refuses texts that hold `BAD`; `broken` refuses all."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False
        self.embedded: list[str] = []

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.gate.wait(20)
        if self.broken or any(BAD in text for text in texts):
            raise RuntimeError("no")
        self.embedded += texts
        return super().passages(texts)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path / "library")


@pytest.fixture
def embedder() -> Scripted:
    return Scripted()


@pytest.fixture
async def app(settings: Settings, embedder: Scripted) -> AsyncIterator[App]:
    app = build(settings, embedder)
    yield app
    embedder.gate.set()
    await app.aclose()


def written(folder: Path, name: str, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


async def reached(app: App, job: Job, stage: str) -> Job:
    async with asyncio.timeout(20):
        while (now := await app.job(job.id)).stage != stage:
            assert not now.finished, now
            await asyncio.sleep(0.01)
    return now


async def fresh(tmp_path: Path, *files: tuple[str, str]) -> dict[str, Any]:
    """What a new library holds that was given these files only: (path, text)."""
    settings = settings_for(tmp_path / f"fresh-{os.urandom(4).hex()}")
    app = build(settings, HashEmbedder())
    for path, text in files:
        Path(path).write_text(text)
        await app.add_document(path)
    held = contents(app, settings)
    await app.aclose()
    return held


# --- states


async def test_a_job_is_queued_runs_and_is_done(app: App, embedder: Scripted) -> None:
    embedder.gate.clear()
    first = await app.submit(str(SAMPLES[0]))
    second = await app.submit(str(SAMPLES[1]))
    assert (first.state, first.name, first.document_id) == ("queued", SAMPLES[0].name, "")
    running = await reached(app, first, "embed")
    assert (running.state, running.done, running.total > 0) == ("running", 0, True)
    assert (await app.job(second.id[:8])).state == "queued"
    events: list[Event] = []

    async def note(event: Event) -> None:
        events.append(event)

    watching = asyncio.create_task(app.watch(first.id, on_event=note))
    await asyncio.sleep(0.05)
    embedder.gate.set()
    done = await watching
    assert (done.state, done.outcome, done.error) == ("done", "added", None)
    assert [e.job.state for e in events if e.job][-1] == "done"
    stages = list(dict.fromkeys(e.job.stage for e in events if e.job))
    assert stages == ["embed", "summarise", "index"]
    assert done.document_id in {document.id for document in await app.list_documents()}
    await app.watch(second.id)
    assert [job.id for job in await app.jobs()] == [second.id, first.id]


async def test_one_bad_document_never_fails_the_batch(app: App, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 not really")
    submitted = [await app.submit(path) for path in (str(SAMPLES[0]), str(bad), str(SAMPLES[1]))]
    ended = [await app.watch(job.id) for job in submitted]
    assert [job.state for job in ended] == ["done", "failed", "done"]
    error = ended[1].error
    assert error is not None and error.code == CorruptDocument.code and error.hint
    assert "bad.pdf" in error.message and submitted[1].id not in error.message
    assert len(await app.list_documents()) == 2


async def test_a_fault_of_ours_fails_one_job_and_shows_no_inside(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.pipeline.chunk_document", lambda *_: 1 / 0)
    failed = await app.watch((await app.submit(str(SAMPLES[0]))).id)
    assert failed.error is not None and failed.error.code == "internal" and "zero" not in failed.error.message
    monkeypatch.undo()
    assert (await app.watch((await app.retry(failed.id)).id)).state == "done"


async def test_what_is_no_file_is_no_job(app: App, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await app.submit(str(tmp_path / "none.pdf"))
    with pytest.raises(InvalidInput):
        await app.submit(str(tmp_path))
    assert await app.jobs() == []
    for call in (app.job, app.cancel, app.retry, app.watch):
        with pytest.raises(NotFound):
            await call("00000000")


async def test_the_same_file_twice_is_one_job_while_it_waits_and_one_document(app: App, embedder: Scripted) -> None:
    embedder.gate.clear()
    first = await app.submit(str(SAMPLES[0]))
    assert (await app.submit(str(SAMPLES[0]))).id == first.id
    embedder.gate.set()
    await app.watch(first.id)
    again = await app.watch((await app.submit(str(SAMPLES[0]))).id)
    assert (again.state, again.outcome) == ("done", "known")
    assert len(await app.list_documents()) == 1


async def test_finished_jobs_are_kept_up_to_a_number(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ledger.store.KEPT_JOBS", 2)
    for sample in SAMPLES:
        await app.add_document(str(sample))
    assert [job.name for job in await app.jobs()] == [SAMPLES[2].name, SAMPLES[1].name]


async def test_leaving_does_not_cancel(app: App, embedder: Scripted) -> None:
    embedder.gate.clear()
    adding = asyncio.create_task(app.add_document(str(SAMPLES[0])))
    async with asyncio.timeout(20):
        while not (jobs := await app.jobs()):
            await asyncio.sleep(0.01)
    await reached(app, jobs[0], "embed")
    adding.cancel()
    await asyncio.wait([adding])
    embedder.gate.set()
    assert (await app.watch(jobs[0].id)).state == "done"


# --- cancelling


@pytest.mark.parametrize("stage", ["queued", "parse", "embed", "summarise"])
async def test_cancelled_at_any_stage_nothing_stays(
    app: App, settings: Settings, embedder: Scripted, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.add_document(str(SAMPLES[0]))
    before = contents(app, settings)
    hold = asyncio.Event()

    async def never(_: object) -> None:
        await hold.wait()

    if stage in ("queued", "embed"):
        embedder.gate.clear()
    if stage == "parse":
        monkeypatch.setattr("ingest.sandbox.COMMAND", ("-c", "import time; time.sleep(60)"))
    if stage == "summarise":
        monkeypatch.setattr(app._summariser, "summarise", never)
    ahead = await app.submit(str(SAMPLES[2])) if stage == "queued" else None
    job = await app.submit(str(SAMPLES[1]))
    if stage in ("embed", "summarise"):
        await reached(app, job, stage)
    elif stage == "parse":
        await asyncio.sleep(0.3)
    cancelling = asyncio.create_task(app.cancel(job.id))
    await asyncio.sleep(0.2)
    embedder.gate.set()
    assert (await asyncio.wait_for(cancelling, 5)).state == "cancelled"
    if ahead is not None:
        await app.watch(ahead.id)
        await app.remove_document(SAMPLES[2].name)
    assert contents(app, settings) == before
    assert (await app.cancel(job.id)).state == "cancelled"
    monkeypatch.undo()
    assert (await app.watch((await app.retry(job.id)).id)).state == "done"


async def test_the_child_of_a_cancelled_parse_is_killed(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr("ingest.sandbox.COMMAND", ("-c", "import time; time.sleep(60)"))
    popen = subprocess.Popen

    def noted(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **options))
        return started[-1]

    monkeypatch.setattr("ingest.sandbox.subprocess.Popen", noted)
    adding = asyncio.create_task(app.add_document(str(SAMPLES[0])))
    async with asyncio.timeout(20):
        while not started:
            await asyncio.sleep(0.01)
    await app.cancel((await app.jobs())[0].id)
    assert started[0].poll() is not None
    with pytest.raises(Cancelled):
        await adding


async def test_what_is_done_is_not_cancelled(app: App) -> None:
    document = await app.add_document(str(SAMPLES[0]))
    job = (await app.jobs())[0]
    assert await app.cancel(job.id) == job
    assert await app.list_documents() == [document]


async def test_cancelling_one_of_two_jobs_for_the_same_bytes(app: App, embedder: Scripted, tmp_path: Path) -> None:
    embedder.gate.clear()
    first = await app.submit(written(tmp_path / "a", "terns.md", TERNS))
    second = await app.submit(written(tmp_path / "b", "terns.md", TERNS))
    await reached(app, first, "embed")
    await app.cancel(second.id)
    embedder.gate.set()
    assert (await app.watch(first.id)).state == "done"
    assert (await app.list_documents())[0].status == "ready"


async def test_removing_a_document_that_is_being_read_cancels_its_job(app: App, embedder: Scripted) -> None:
    embedder.gate.clear()
    job = await app.submit(str(SAMPLES[0]))
    await reached(app, job, "embed")
    removing = asyncio.create_task(app.remove_document(SAMPLES[0].name))
    await asyncio.sleep(0.1)
    embedder.gate.set()
    await removing
    assert (await app.job(job.id)).state == "cancelled" and await app.list_documents() == []


# --- restarting and retrying


async def test_a_restart_goes_on_with_the_queue(settings: Settings, tmp_path: Path) -> None:
    first = Scripted()
    first.gate.clear()
    app = build(settings, first)
    upload = tmp_path / "1.md"
    upload.write_text(TERNS)
    jobs = [
        await app.submit(str(SAMPLES[0])),
        await app.submit(str(SAMPLES[1])),
        await app.submit(str(upload), name="terns.md", upload=True),
    ]
    upload.unlink()
    await reached(app, jobs[0], "embed")
    closing = asyncio.create_task(app.aclose())
    await asyncio.sleep(0.1)
    first.gate.set()
    await closing

    again = build(settings, HashEmbedder())
    assert [job.state for job in await again.jobs()] == ["queued", "queued", "running"]
    again.begin()
    assert [(await again.watch(job.id)).state for job in jobs] == ["done"] * 3
    held = contents(again, settings)
    await again.aclose()
    whole = settings_for(tmp_path / "whole")
    other = build(whole, HashEmbedder())
    upload.write_text(TERNS)
    for sample in SAMPLES[:2]:
        await other.add_document(str(sample))
    await other.add_document(str(upload), name="terns.md", upload=True)
    assert held == contents(other, whole)
    await other.aclose()


async def test_an_unfinished_document_without_a_job_gets_one(settings: Settings, embedder: Scripted) -> None:
    app = build(settings, embedder)
    embedder.gate.clear()
    job = await app.submit(str(SAMPLES[0]))
    await reached(app, job, "embed")
    closing = asyncio.create_task(app.aclose())
    await asyncio.sleep(0.1)
    embedder.gate.set()
    await closing
    again = build(settings, embedder)
    again._ledger.put_job((await again.jobs())[0].model_copy(update={"state": "cancelled"}))
    again._queue.adopt()
    again.begin()
    adopted = (await again.jobs())[0]
    assert adopted.id != job.id and (await again.watch(adopted.id)).state == "done"
    await again.aclose()


async def test_retrying_is_idempotent(app: App, embedder: Scripted, tmp_path: Path) -> None:
    embedder.broken = True
    path = written(tmp_path, "terns.md", TERNS)
    failed = await app.watch((await app.submit(path, upload=True)).id)
    assert failed.state == "failed"
    assert [document.status for document in await app.list_documents()] == ["failed"]
    Path(path).unlink()
    embedder.broken = False
    embedder.gate.clear()
    first, second = await app.retry(failed.id), await app.retry(failed.id)
    assert first.id == second.id == failed.id and second.state in ("queued", "running")
    embedder.gate.set()
    done = await app.watch(failed.id)
    assert done.state == "done" and await app.retry(failed.id) == done
    assert [(d.status, d.error) for d in await app.list_documents()] == [("ready", "")]
    assert len(await app.jobs()) == 1


async def test_an_upload_that_is_gone_is_asked_for_again(app: App, embedder: Scripted, tmp_path: Path) -> None:
    embedder.gate.clear()
    job = await app.submit(written(tmp_path, "terns.md", TERNS), upload=True)
    cancelling = asyncio.create_task(app.cancel(job.id))
    await asyncio.sleep(0.1)
    embedder.gate.set()
    await cancelling
    with pytest.raises(InvalidInput, match="gone"):
        await app.retry(job.id)


# --- bad chunks


async def test_a_chunk_that_cannot_be_embedded_is_a_gap(app: App, settings: Settings, tmp_path: Path) -> None:
    text = TERNS + f"\n## Odd\n\n{BAD}\n\n## End\n\nThe last tern leaves in September.\n"
    document = await app.add_document(written(tmp_path, "terns.md", text))
    assert document.status == "ready_with_gaps"
    assert [gap.reason for gap in document.gaps] == [NOT_EMBEDDED]
    held = contents(app, settings)
    assert len(held["vectors"]) == len(held["bm25"]) - 1
    found = await app.search_passages("unspeakable", channels=["bm25"])
    assert any(BAD in passage.text for passage in found.passages)
    await app.reindex()
    assert contents(app, settings) == held


async def test_an_embedder_that_embeds_nothing_is_no_gap(app: App, embedder: Scripted) -> None:
    embedder.broken = True
    with pytest.raises(Exception, match="went wrong"):
        await app.add_document(str(SAMPLES[0]))
    embedder.broken = False
    assert PROBE not in embedder.embedded


async def test_a_vector_that_is_no_number_is_refused(app: App, embedder: Scripted, tmp_path: Path) -> None:
    def passages(texts: Sequence[str]) -> Vectors:
        rows = HashEmbedder.passages(embedder, texts)
        rows[[number for number, text in enumerate(texts) if "eels" in text]] = np.nan
        return rows

    embedder.passages = passages  # type: ignore[method-assign]
    document = await app.add_document(written(tmp_path, "terns.md", TERNS))
    assert [gap.reason for gap in document.gaps] == [NOT_EMBEDDED]


# --- a changed file


async def test_a_changed_file_replaces_its_old_version(
    app: App, settings: Settings, embedder: Scripted, tmp_path: Path
) -> None:
    same = "# Voice\n\n" + " ".join(f"Call {n} carries over the water." for n in range(90)) + "\n\n"
    path = written(tmp_path, "terns.md", same + TERNS)
    old = await app.add_document(path)
    before = set(embedder.embedded)
    embedder.embedded.clear()
    Path(path).write_text(same + CHANGED)
    job = await app.watch((await app.submit(path)).id)
    assert job.outcome == "replaced"
    (new,) = await app.list_documents()
    assert new.id == job.document_id != old.id
    assert (
        before.isdisjoint(embedder.embedded) and 0 < len(embedder.embedded) < new.chunks
    )  # the same is not done again
    assert contents(app, settings) == await fresh(tmp_path, (path, same + CHANGED))


async def test_any_series_of_changes_ends_as_the_last_alone(app: App, settings: Settings, tmp_path: Path) -> None:
    a, b = str(tmp_path / "a.md"), str(tmp_path / "b.md")
    versions = [TERNS, CHANGED, TERNS + "One more line.\n", TERNS]
    for first, second in zip(versions, reversed(versions), strict=True):
        for path, text in ((a, first), (b, f"{second}\nOf b.\n")):
            Path(path).write_text(text)
            await app.add_document(path)
    assert contents(app, settings) == await fresh(tmp_path, (a, versions[-1]), (b, f"{versions[0]}\nOf b.\n"))


async def test_the_old_version_stays_until_the_new_one_is_ready(app: App, embedder: Scripted, tmp_path: Path) -> None:
    path = written(tmp_path, "terns.md", TERNS)
    old = await app.add_document(path)
    embedder.gate.clear()
    Path(path).write_text(CHANGED)
    job = await app.submit(path)
    await reached(app, job, "embed")
    assert (await app.search_passages("sand eels")).passages[0].document_id == old.id
    embedder.gate.set()
    await app.watch(job.id)
    assert old.id not in {p.document_id for p in (await app.search_passages("sand eels")).passages}


async def test_a_new_version_that_is_refused_replaces_nothing(app: App, tmp_path: Path) -> None:
    path = written(tmp_path, "terns.md", TERNS)
    old = await app.add_document(path)
    Path(path).write_text("")
    with pytest.raises(CorruptDocument):
        await app.add_document(path)
    assert await app.list_documents() == [old]


async def test_the_same_name_in_another_folder_is_another_document(app: App, tmp_path: Path) -> None:
    await app.add_document(written(tmp_path / "a", "paper.md", TERNS))
    await app.add_document(written(tmp_path / "b", "paper.md", CHANGED))
    assert len(await app.list_documents()) == 2


async def test_the_same_bytes_at_two_paths_go_when_neither_has_them(app: App, tmp_path: Path) -> None:
    a, b = written(tmp_path, "a.md", TERNS), written(tmp_path, "b.md", TERNS)
    old = await app.add_document(a)
    assert await app.add_document(b) == old
    await app.add_document(written(tmp_path, "a.md", CHANGED))
    assert old in await app.list_documents()
    await app.add_document(written(tmp_path, "b.md", CHANGED))
    assert old not in await app.list_documents() and len(await app.list_documents()) == 1


async def test_keep_keeps_both(app: App, tmp_path: Path) -> None:
    path = written(tmp_path, "terns.md", TERNS)
    await app.add_document(path)
    Path(path).write_text(CHANGED)
    await app.add_document(path, replace="never")
    assert len(await app.list_documents()) == 2


async def test_an_upload_replaces_its_name_only_when_it_says_so(app: App, tmp_path: Path) -> None:
    path = written(tmp_path, "terns.md", TERNS)
    first = await app.add_document(path, upload=True)
    Path(path).write_text(CHANGED)
    second = await app.add_document(path, upload=True)
    assert await app.list_documents() == [first, second]
    Path(path).write_text(f"{CHANGED}More.\n")
    with pytest.raises(InvalidInput, match="several"):
        await app.add_document(path, upload=True, replace="name")
    await app.remove_document(first.id)
    third = await app.add_document(path, upload=True, replace="name")
    assert await app.list_documents() == [third]


def test_a_library_error_is_no_refusal() -> None:
    assert LibraryError("x").exit_code == 6 and Cancelled("x").exit_code == 4
