"""The command line as a person and as a program use it: real processes, the real embedder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from tests.support.library_contract import SAMPLES
from tests.support.scripted_endpoint import KEY, LLMServer, Request, Scripted, streamed
from tests.support.scripted_endpoint import answer as completion

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
ANSWER = "How does HeronNet compare with Egret-2 three hours ahead?"


def quaere(library: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ui.cli", "--library", str(library), *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "library"
    added = quaere(folder, "add", *map(str, SAMPLES), "--json")
    assert added.returncode == 0, added.stderr
    assert [json.loads(line)["status"] for line in added.stdout.splitlines()] == ["ready"] * 3
    return folder


def test_an_answer_for_a_program(library: Path) -> None:
    result = quaere(library, "ask", ANSWER, "--json")
    answer = json.loads(result.stdout)
    assert result.returncode == 0 and answer["written_by"] == "quotation"
    assert answer["citations"][0]["document"] == "heronnet.pdf"


def test_an_answer_for_a_person(library: Path) -> None:
    shown = quaere(library, "ask", ANSWER).stdout
    assert "[1] HeronNet" in shown and "page 1" in shown and "no language model involved" in shown


def test_list_search_page_health(library: Path, tmp_path: Path) -> None:
    assert len(json.loads(quaere(library, "list", "--json").stdout)) == 3
    assert json.loads(quaere(library, "search", "ferries", "--json").stdout)["passages"]
    picture = tmp_path / "page.png"
    assert quaere(library, "page", "tidemark.pdf", "1", "--image", str(picture)).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(quaere(library, "health", "--json").stdout)["documents"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("ask", " "), 2, "empty"),
        (("ask", "What?", "--in", "none.pdf"), 3, "no document"),
        (("remove", "none.pdf"), 3, "no document"),
        (("add", "/nowhere.pdf"), 3, "no such file"),
        (("page", "tidemark.pdf", "99"), 3, "pages 1 to 2"),
        (("add", "docs/screenshots/chat-1280-after.png"), 4, "no kind that can be read"),
    ],
)
def test_errors_say_what_to_do(library: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    result = quaere(library, *arguments)
    assert result.returncode == code and says in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_an_empty_library_is_no_answer(tmp_path: Path) -> None:
    result = quaere(tmp_path / "empty", "ask", "What?", "--json")
    assert result.returncode == 3 and json.loads(result.stdout)["error"]["code"] == "nothing_ingested"


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    result = quaere(tmp_path / "x", "list", QUAERE_LLM__MAX_TOKENS="many")
    assert result.returncode == 2 and "llm.max_tokens" in result.stderr


def test_with_a_language_model(library: Path) -> None:
    written = streamed("HeronNet is ", "better [1]. I made this up.")
    with LLMServer([completion('{"sentences": [1, 2, 999]}'), written]) as llm:
        model = {"QUAERE_LLM__BASE_URL": llm.url, "QUAERE_LLM__MODEL": "scripted"}
        answer = json.loads(quaere(library, "ask", "What is the error of HeronNet?", "--json", **model).stdout)
        again = json.loads(quaere(library, "ask", "What is the error of HeronNet?", "--json", **model).stdout)
        assert len(llm.requests) == 2
    assert (answer["usage"]["calls"], answer["usage"]["prompt_tokens"]) == (2, 14)
    assert (again["usage"]["calls"], again["usage"]["cached_calls"], again["text"]) == (0, 2, answer["text"])
    listed = json.loads(quaere(library, "cache", "--json").stdout)
    assert [(entry["model"], entry["replies"]) for entry in listed] == [("scripted", 1), ("scripted", 1)]
    assert sorted(entry["prompt"].split("@")[0] for entry in listed) == ["extract", "write"]
    assert quaere(library, "cache", "--clear", "--model", "scripted").stdout == "2 kept replies cleared\n"
    assert "No reply" in quaere(library, "cache").stdout
    assert (answer["written_by"], answer["model"]) == ("llm", "scripted")
    assert [claim["text"] for claim in answer["claims"]] == ["HeronNet is better."]
    assert len(answer["citations"]) == 1
    assert next(s for s in answer["trace"] if s["stage"] == "reasoner")["details"]["dropped"] == 2


def test_a_language_model_that_ends_in_the_middle(library: Path) -> None:
    with LLMServer([completion('{"sentences": [1]}'), streamed("HeronNet", finish=None, done=False, cut=True)]) as llm:
        model = {"QUAERE_LLM__BASE_URL": llm.url, "QUAERE_LLM__MODEL": "scripted"}
        failed = quaere(library, "ask", "What is the error of HeronNet?", "--json", **model)
    error = json.loads(failed.stdout)["error"]
    assert failed.returncode == 5 and error["code"] == "llm_unavailable" and "--quote" in error["hint"]
    kept = json.loads(quaere(library, "trace", error["trace_id"]).stdout)
    assert [step["stage"] for step in kept["steps"] if step["error"]] == ["reasoner"]
    assert (kept["usage"]["calls"], kept["usage"]["failed_calls"]) == (2, 1)  # what was cut is paid for too


def test_a_spent_budget_quotes_instead(library: Path) -> None:
    with LLMServer([completion('{"sentences": [1]}'), streamed("HeronNet is better [1].")]) as llm:
        model = {"QUAERE_LLM__BASE_URL": llm.url, "QUAERE_LLM__MODEL": "thrifty", "QUAERE_BUDGET__QUESTION__CALLS": "1"}
        answer = json.loads(quaere(library, "ask", ANSWER, "--json", **model).stdout)
    assert (answer["written_by"], answer["partial"], len(llm.requests)) == ("quotation", True, 1)
    assert any("budget of 1 calls ran out" in step["degraded"] for step in answer["trace"])


def test_doctor(library: Path) -> None:
    def reply(request: Request) -> Scripted:
        if request.body.get("stream"):
            return streamed("1 ", "2 ", "3")
        return completion('{"city": "Athens", "year": 1896}')

    with LLMServer(reply, {"/v1/models": {"data": [{"id": "m", "max_model_len": 32768}]}}) as llm:
        model = {"QUAERE_LLM__BASE_URL": llm.url, "QUAERE_LLM__MODEL": "m", "QUAERE_LLM__API_KEY": KEY}
        well = quaere(library, "doctor", **model)
        report = json.loads(quaere(library, "doctor", "--json", **model).stdout)
    assert well.returncode == 0 and "by JSON schema" in well.stdout and "32768 tokens, told" in well.stdout
    assert [check["state"] for check in report[0]["checks"]] == ["ok"] * 6
    assert KEY not in well.stdout + well.stderr + json.dumps(report)
    ill = quaere(library, "doctor", **model)  # it is gone now
    assert ill.returncode == 5 and "start the server" in ill.stdout
    none = quaere(library, "doctor")
    assert none.returncode == 0 and "QUAERE_LLM__BASE_URL" in none.stdout


async def test_two_mcp_hosts_and_a_question_then_the_owner_is_killed(library: Path) -> None:
    def host() -> Client[StdioTransport]:
        arguments = ["-m", "ui.cli", "--library", str(library), "mcp"]
        return Client(StdioTransport(sys.executable, arguments, cwd=str(ROOT), env=dict(os.environ), keep_alive=False))

    async with host() as first:
        assert {tool.name for tool in await first.list_tools()} == {
            "ask",
            "query_graph",
            "read_page",
            "search_passages",
        }
        assert (await first.call_tool("ask", {"question": ANSWER})).structured_content["citations"]
        async with host() as second:
            assert (await second.call_tool("ask", {"question": ANSWER})).structured_content["citations"]
            assert json.loads(quaere(library, "ask", ANSWER, "--json").stdout)["citations"]
            owner = json.loads((library / "owner.json").read_text())["pid"]
            os.kill(owner, signal.SIGKILL)
            start = time.monotonic()
            again = await second.call_tool("ask", {"question": "How often was water level sampled in TIDEMARK?"})
            assert any("every 2 minutes" in c["quote"] for c in again.structured_content["citations"])
            assert time.monotonic() - start < 30
            assert json.loads((library / "owner.json").read_text())["pid"] != owner


def test_remove(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    assert quaere(folder, "add", str(SAMPLES[0])).returncode == 0
    assert quaere(folder, "remove", SAMPLES[0].name).returncode == 0
    assert json.loads(quaere(folder, "list", "--json").stdout) == []


def test_a_folder_gives_every_kind_of_file_and_nothing_hidden(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / ".cache").mkdir()
    (folder / "deep" / "gulls.md").write_text("# Gulls\n\nThe gull has 2 wings.\n")
    (folder / "terns.HTML").write_text("<p id=a>The tern has 2 wings.")
    (folder / "auks.txt").write_text("The auk has 2 wings.")
    (folder / ".cache" / "secret.txt").write_text("Not this.")
    (folder / "data.csv").write_text("not,this")
    added = quaere(tmp_path / "library", "add", str(folder), "--json")
    assert added.returncode == 0, added.stderr
    formats = {(found["name"], found["format"]) for found in map(json.loads, added.stdout.splitlines())}
    assert formats == {("gulls.md", "markdown"), ("terns.HTML", "html"), ("auks.txt", "text")}
    image = quaere(tmp_path / "library", "page", "gulls.md", "1", "--image", str(tmp_path / "x.png"))
    assert image.returncode == 2 and "no pages to draw" in image.stderr and not (tmp_path / "x.png").exists()
    assert quaere(tmp_path / "library", "page", "gulls.md", "1").stdout == "Gulls\nThe gull has 2 wings.\n"
    empty = quaere(tmp_path / "library", "add", str(folder / ".cache"))
    assert empty.returncode == 0  # what is named itself is not hidden
