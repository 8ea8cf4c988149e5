"""Reranking over HTTP against a real server that plays a script: TEI's API, and that of Jina, Cohere and vLLM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from core.errors import QuaereError, ServiceBadReply, ServiceError, ServiceRejected, ServiceUnavailable
from core.llm.tokens import estimate
from core.settings import RerankSettings
from retrieval.rerank import Reranking
from retrieval.rerank_http import HttpReranker
from retrieval.shorten import pair_room, shortened
from tests.support.scripted_endpoint import KEY, LLMServer, Request, Scripted, raw, refusal

Play = Callable[..., tuple[HttpReranker, LLMServer]]
TEI_SAYS = "Failed to deserialize the JSON body into the target type: missing field `texts` at line 1 column 52"


@pytest.fixture
def play() -> Iterator[Play]:
    with ExitStack() as stack:

        def start(*script: Any, **changed: Any) -> tuple[HttpReranker, LLMServer]:
            server = stack.enter_context(LLMServer(script if isinstance(script[0], Scripted) else script[0]))
            given = {"base_url": server.url, "model": "m", "api_key": SecretStr(KEY), "backoff_s": 0}
            return HttpReranker(RerankSettings(provider="http", **(given | changed))), server

        yield start


def tei(request: Request) -> Scripted:
    """As text-embeddings-inference answers: a list, the best first."""
    if "texts" not in request.body:
        return Scripted(TEI_SAYS, 422, "text/plain")
    found = [{"index": n, "score": float(len(text))} for n, text in enumerate(request.body["texts"])]
    return raw(sorted(found, key=lambda row: -row["score"]))


def vllm(request: Request) -> Scripted:
    if "documents" not in request.body:
        return refusal(400, "Field required: documents")
    found = [
        {"index": n, "document": {"text": text}, "relevance_score": len(text) / 100}
        for n, text in enumerate(request.body["documents"])
    ]
    return raw({"id": "r", "model": "m", "usage": {"total_tokens": 9}, "results": sorted(found, key=str)[::-1]})


def test_tei(play: Play) -> None:
    reranker, server = play(tei, api="tei")

    assert reranker.scores("why", ["a", "abc", "ab"]).scores.tolist() == [1, 3, 2]
    assert server.requests[0].path == "/v1/rerank"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].body == {
        "query": "why",
        "texts": ["a", "abc", "ab"],
        "raw_scores": True,
        "truncate": True,
    }


def test_jina_cohere_and_vllm(play: Play) -> None:
    reranker, server = play(vllm, api="jina")

    assert reranker.scores("why", ["a", "abc", "ab"]).scores == pytest.approx([0.01, 0.03, 0.02])
    assert server.requests[0].body == {"model": "m", "query": "why", "documents": ["a", "abc", "ab"]}


@pytest.mark.parametrize(("service", "asked"), [(tei, 3), (vllm, 2)])
def test_which_it_is_is_found_out_once(play: Play, service: Callable[[Request], Scripted], asked: int) -> None:
    reranker, server = play(service)

    for _ in range(2):
        assert reranker.scores("why", ["a", "abc"]).scores.argmax() == 1
    assert len(server.requests) == asked


def test_an_address_may_end_in_rerank(play: Play) -> None:
    _, server = play(tei)
    settings = RerankSettings(base_url=f"{server.url}/rerank", api="tei")
    HttpReranker(settings).scores("why", ["a"])
    assert server.requests[0].path == "/v1/rerank"


def test_no_texts_cost_no_request(play: Play) -> None:
    reranker, server = play(tei)
    assert len(reranker.scores("why", []).scores) == 0
    assert server.requests == []


# --- length


def test_over_long_texts_are_cut_and_counted(play: Play) -> None:
    reranker, server = play(tei, api="tei", max_tokens=64)
    long, short = "The gauge was read every ten minutes. " * 40, "The clock was set by radio."
    scored = reranker.scores("How often?", [short, long, long])

    assert scored.cut == 2
    sent = server.requests[0].body["texts"]
    assert sent[0] == short
    assert long.startswith(sent[1]) and 40 < estimate(sent[1]) <= 64


def test_a_question_that_is_cut_cuts_every_pair(play: Play) -> None:
    reranker, server = play(tei, api="tei", max_tokens=32)
    assert reranker.scores("How often was it read? " * 20, ["a", "b"]).cut == 2
    assert estimate(server.requests[0].body["query"]) <= 24


@pytest.mark.parametrize(
    "text", ["The gauge was read. " * 50, "潮位计每十分钟读一次。" * 50, "4711 " * 200, "𝔸" * 200, ""]
)
@pytest.mark.parametrize("tokens", [1, 7, 60, 10_000])
def test_shortened_is_the_longest_beginning_that_fits(text: str, tokens: int) -> None:
    found = shortened(text, tokens)

    assert text.startswith(found)
    assert estimate(found) <= max(tokens, 0) or found == ""
    assert found == text or len(found) > 0.8 * len(text) * tokens / estimate(text) - 5


def test_a_passage_always_has_room() -> None:
    for length in (32, 512):
        kept, room = pair_room("question " * 1000, length)
        assert kept and room >= 1


# --- replies that are no use, failures

BAD: dict[str, Scripted] = {
    "too few": raw([{"index": 0, "score": 1}]),
    "one twice": raw([{"index": 0, "score": 1}, {"index": 0, "score": 2}]),
    "out of range": raw([{"index": 0, "score": 1}, {"index": 2, "score": 2}]),
    "NaN": raw([{"index": 0, "score": float("nan")}, {"index": 1, "score": 2}]),
    "beyond float32": raw([{"index": 0, "score": 1e300}, {"index": 1, "score": 2}]),
    "no score": raw({"results": [{"index": 0}, {"index": 1}]}),
    "another shape": raw({"scores": [1, 2]}),
    "no JSON": Scripted("ok"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_reply_that_is_no_use_is_an_error(play: Play, name: str) -> None:
    reranker, server = play(BAD[name])
    with pytest.raises(ServiceBadReply):
        reranker.scores("why", ["a", "b"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("scripted", "kind", "requests"),
    [
        (refusal(429), ServiceUnavailable, 102),
        (refusal(503), ServiceUnavailable, 3),
        (refusal(401), ServiceRejected, 1),
        (refusal(422, "batch size 40 > maximum allowed batch size 32"), ServiceRejected, 1),
    ],
)
def test_failures_are_typed_and_tried_again_as_of_a_language_model(
    play: Play, scripted: Scripted, kind: type[ServiceError], requests: int
) -> None:
    reranker, server = play(scripted)
    with pytest.raises(kind):
        reranker.scores("why", ["a"])
    assert len(server.requests) <= requests


@pytest.mark.parametrize("slow", [Scripted("[]", delay_s=2), Scripted("[" + "\n\n" * 30, drip_s=0.1), refusal(503)])
def test_it_is_over_when_the_time_is(play: Play, slow: Scripted) -> None:
    reranker, _ = play(slow, backoff_s=30)
    start = time.perf_counter()
    with pytest.raises(TimeoutError):
        reranker.scores("why", ["a"], within_s=0.3)
    assert time.perf_counter() - start < 1.5


def test_under_a_budget_what_did_not_come_stays_in_its_order(play: Play) -> None:
    def slower(request: Request) -> Scripted:
        answer = tei(request)
        return Scripted(answer.body, delay_s=0 if "abc" in request.body["texts"] else 2)

    reranker, _ = play(slower, api="tei", batch_size=2)
    found = Reranking(reranker, budget_ms=400).rank("why", ["a", "abc", "ab", "abcd", "x"])

    assert sorted(found.scores) in ([0, 1], [1, 3], [])
    assert found.late == 5 - len(found.scores) and "the budget of 400 ms ran out" in found.summary


@pytest.mark.parametrize("scripted", [refusal(401, f"bad {KEY}"), Scripted(f"{KEY} missing field `texts`", 422)])
def test_no_error_holds_the_key(play: Play, scripted: Scripted) -> None:
    reranker, _ = play(scripted)
    with pytest.raises(QuaereError) as caught:
        reranker.scores("why", ["a"])
    assert KEY not in f"{caught.value.message} {caught.value.hint}"
