"""Jobs as a person and a program meet them: kill -9 with a queue, server-sent events, and the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, contents, settings_for

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]

SUBMIT = """
import asyncio, sys, time
from pathlib import Path
from quaere.build import build
from tests.support.embedder import HashEmbedder
from tests.support.library_contract import SAMPLES, settings_for

class Slow(HashEmbedder):
    def passages(self, texts):
        time.sleep(0.1)
        return super().passages(texts)

async def main():
    app = build(settings_for(Path(sys.argv[1])), Slow())
    for sample in SAMPLES:
        await app.submit(str(sample))
    print("queued", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def submitting(library: Path) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", SUBMIT, str(library)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("after", [0.0, 0.7, 1.5])
async def test_a_queue_of_three_survives_kill_9(tmp_path: Path, after: float) -> None:
    killed, whole = settings_for(tmp_path / "killed"), settings_for(tmp_path / "whole")
    process = submitting(killed.library)
    assert process.stdout is not None and process.stdout.readline() == "queued\n"
    await asyncio.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    survivor, other = build(killed, HashEmbedder()), build(whole, HashEmbedder())
    survivor.begin()
    jobs = [await survivor.watch(job.id) for job in await survivor.jobs()]
    assert [job.state for job in jobs] == ["done"] * 3
    for sample in SAMPLES:
        await other.add_document(str(sample))
    assert contents(survivor, killed) == contents(other, whole)
    await survivor.aclose()
    await other.aclose()


def command(library: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "ui.cli", "--library", str(library), *arguments]


def quaere(library: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(library, *arguments), cwd=ROOT, capture_output=True, text=True, timeout=100)


@contextmanager
def serving(library: Path) -> Iterator[str]:
    arguments = command(library, "serve", "--port", "0")
    with subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(line for line in server.stderr if "Quaere at" in line).split()[2]
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(20)


@pytest.mark.timeout(400)
def test_rest_through_a_real_server(tmp_path: Path) -> None:
    with serving(tmp_path / "library") as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        with SAMPLES[0].open("rb") as file:
            reply = http.post("/v1/documents?wait=false", files={"files": (SAMPLES[0].name, file)})
        assert reply.status_code == 202
        (job,) = reply.json()
        assert reply.headers["location"] == f"/v1/jobs/{job['id']}"
        with http.stream("GET", f"{reply.headers['location']}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in stream.iter_lines() if line]
        kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        states = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        assert kinds[-1] == "end" and set(kinds[:-1]) == {"job"}
        assert (states[-1]["state"], states[-1]["outcome"]) == ("done", "added")
        assert {"parse", "embed", "index"} & {state["stage"] for state in states}
        assert http.get(f"/v1/jobs/{job['id']}").json()["state"] == "done"
        assert [one["id"] for one in http.get("/v1/jobs").json()] == [job["id"]]
        for call in ("cancel", "retry"):
            assert http.post(f"/v1/jobs/{job['id']}/{call}").json()["state"] == "done"
        assert http.get("/v1/jobs/none/events").status_code == 404

        # a guest of the server, on the command line
        detached = quaere(tmp_path / "library", "add", "--detach", str(SAMPLES[1]))
        assert detached.returncode == 0 and detached.stderr == ""
        followed = quaere(tmp_path / "library", "jobs", detached.stdout.strip(), "--follow")
        assert followed.returncode == 0 and "done" in followed.stdout
        assert len(http.get("/v1/documents").json()) == 2


@pytest.mark.timeout(400)
def test_detached_and_followed_without_a_server(tmp_path: Path) -> None:
    library, bad = tmp_path / "library", tmp_path / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 not really")
    detached = quaere(library, "add", "--detach", str(SAMPLES[0]), str(bad))
    assert detached.returncode == 0 and "--follow" in detached.stderr
    good_id, bad_id = detached.stdout.split()
    followed = quaere(library, "jobs", bad_id, "--follow")
    assert followed.returncode == 4 and "failed" in followed.stdout and "hint" in followed.stdout
    jobs = json.loads(quaere(library, "jobs", "--json").stdout)
    assert {job["id"]: job["state"] for job in jobs} == {good_id: "done", bad_id: "failed"}
    assert quaere(library, "cancel", good_id[:8]).stdout.split()[1] == "done"
    assert quaere(library, "retry", good_id).stdout.split()[1] == "done"
    assert quaere(library, "jobs", "no-such-job").returncode == 3


@pytest.mark.timeout(400)
def test_a_changed_file_on_the_command_line(tmp_path: Path) -> None:
    library, file = tmp_path / "library", tmp_path / "terns.md"
    file.write_text("# Terns\n\nThe tern flies 22,000 km.\n")
    assert quaere(library, "add", str(file)).returncode == 0
    file.write_text("# Terns\n\nThe tern flies 23,500 km.\n")
    assert "replaced its older version" in quaere(library, "add", str(file)).stdout
    file.write_text("# Terns\n\nThe tern flies far.\n")
    kept = json.loads(quaere(library, "add", "--keep", "--json", str(file)).stdout)
    assert kept["outcome"] == "added"
    assert len(json.loads(quaere(library, "list", "--json").stdout)) == 2


@pytest.mark.timeout(400)
def test_ctrl_c_cancels_what_is_not_added(tmp_path: Path) -> None:
    library, large = tmp_path / "library", tmp_path / "large.md"
    large.write_text(
        "# Terns\n\n" + "\n\n".join(f"Tern {n} flies {n} km over the sea to the south." for n in range(9000))
    )
    adding = subprocess.Popen(
        command(library, "add", str(large)), cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert adding.stderr is not None
    assert any("embedding" in line for line in adding.stderr)
    time.sleep(0.5)
    adding.send_signal(signal.SIGINT)
    _, said = adding.communicate(timeout=60)
    assert adding.returncode == 130 and "cancelled: 1 of 1 not added" in said
    assert json.loads(quaere(library, "list", "--json").stdout) == []
    assert json.loads(quaere(library, "jobs", "--json").stdout)[0]["state"] == "cancelled"
