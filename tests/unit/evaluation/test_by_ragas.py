"""ragas' metrics, judged by an endpoint that plays a script. Needs the extra `eval` (requirements-eval.lock)."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.llm import LLM
from core.settings import Endpoint
from eval.judged import Sample, Verdict, verdict
from tests.support.embedder import HashEmbedder
from tests.support.scripted_endpoint import LLMServer, Request, Scripted, answer, refusal

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ragas") is None and os.environ.get("QUAERE_REQUIRE_EVAL") != "1",
    reason="ragas is not installed: pip install -r requirements-eval.lock",
)
SAMPLE = Sample("Who lays eggs?", "Hens lay eggs. Ducks fly.", ("Hens lay eggs.", "Ducks swim."), "Hens do.")


def attributed(*flags: int) -> dict[str, Any]:
    return {"classifications": [{"statement": "s", "reason": "r", "attributed": flag} for flag in flags]}


def faithful(*flags: int) -> dict[str, Any]:
    return {"statements": [{"statement": "s", "reason": "r", "verdict": flag} for flag in flags]}


VALID: dict[str, Any] = {
    "ContextRecallOutput": attributed(1, 0),
    "ContextPrecisionOutput": {"reason": "r", "verdict": 1},
    "StatementGeneratorOutput": {"statements": ["Hens lay eggs.", "Ducks fly.", "Hens are birds.", "Eggs are laid."]},
    "NLIStatementOutput": faithful(1, 0, 0, 0),
    "AnswerRelevanceOutput": {"question": "Who lays eggs?", "noncommittal": 0},
}


def playing(replies: Mapping[str, Any], wrapped: str = "{}") -> Callable[[Request], Scripted]:
    """Answers by the schema that is asked for; a text is sent as it is."""

    def play(request: Request) -> Scripted:
        reply = replies[request.body["response_format"]["json_schema"]["name"]]
        if isinstance(reply, Scripted):
            return reply
        return answer(reply if isinstance(reply, str) else wrapped.replace("{}", json.dumps(reply)))

    return play


async def verdicts(script: Callable[[Request], Scripted]) -> dict[str, Verdict]:
    from eval.by_ragas import metrics

    with LLMServer(script) as server:
        llm = LLM(Endpoint(base_url=server.url, model="m", backoff_s=0, max_retries=0))
        found = {name: await verdict(metric, SAMPLE, []) for name, metric in metrics(llm, HashEmbedder()).items()}
        await llm.aclose()
    return found


async def test_valid_verdicts() -> None:
    found = await verdicts(playing(VALID))
    assert {name: one.score for name, one in found.items()} == {
        "context_recall": 0.5,
        "context_precision": 1.0,
        "faithfulness": 0.25,
        "answer_relevancy": 1.0,
    }


@pytest.mark.parametrize("wrapped", ["<think>Is it 7? {}</think>\n{}", "thinking of a 7 </think>```json\n{}\n```"])
async def test_thinking_is_no_verdict(wrapped: str) -> None:
    assert await verdicts(playing(VALID, wrapped)) == await verdicts(playing(VALID))


async def test_what_is_not_defined_is_nan() -> None:
    nothing = {"ContextRecallOutput": attributed(), "StatementGeneratorOutput": {"statements": []}}
    found = await verdicts(playing(VALID | nothing))
    assert {name for name, one in found.items() if one.problem == "nan"} == {"context_recall", "faithfulness"}
    assert found["context_precision"].score == 1.0


@pytest.mark.parametrize(
    ("schema", "reply", "metric"),
    [
        ("ContextRecallOutput", "I can not say.", "context_recall"),
        ("ContextRecallOutput", '{"classifications": [{"statement": "s", "reason": "r", "attributed": NaN}]}', None),
        ("ContextRecallOutput", attributed(1, 7), "context_recall"),
        ("ContextPrecisionOutput", {"reason": "r", "verdict": -1}, "context_precision"),
        ("ContextPrecisionOutput", {"reason": "r"}, "context_precision"),
        ("NLIStatementOutput", faithful(1, 1), "faithfulness"),  # on four statements
        ("NLIStatementOutput", "<think>endless", "faithfulness"),
        ("AnswerRelevanceOutput", {"question": " ", "noncommittal": 0}, "answer_relevancy"),
        ("AnswerRelevanceOutput", answer("{", finish="length"), "answer_relevancy"),
    ],
)
async def test_what_is_no_verdict_is_unparsable(schema: str, reply: object, metric: str | None) -> None:
    found = await verdicts(playing(VALID | {schema: reply}))
    bad = {name: (one.score, one.problem) for name, one in found.items() if one.problem}
    assert bad == {metric or "context_recall": (None, "unparsable")}
    assert found[metric or "context_recall"].detail


async def test_an_endpoint_that_refuses_is_a_failure_not_a_verdict() -> None:
    found = await verdicts(playing(VALID | {"NLIStatementOutput": refusal(500)}))
    assert (found["faithfulness"].problem, found["context_recall"].score) == ("failed", 0.5)
