"""Embeddings over HTTP against a real server that plays a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from core.errors import InvalidInput, QuaereError, ServiceBadReply, ServiceRejected, ServiceUnavailable
from core.settings import EmbedderSettings
from retrieval.embed_http import HttpEmbedder
from tests.support.scripted_endpoint import HTML, KEY, LLMServer, Request, Scripted, raw, refusal

Play = Callable[..., tuple[HttpEmbedder, LLMServer]]


@pytest.fixture
def play() -> Iterator[Play]:
    with ExitStack() as stack:

        def start(*script: Any, **changed: Any) -> tuple[HttpEmbedder, LLMServer]:
            server = stack.enter_context(LLMServer(script if isinstance(script[0], Scripted) else script[0]))
            given = {"base_url": server.url, "model": "m", "api_key": SecretStr(KEY), "backoff_s": 0}
            return HttpEmbedder(EmbedderSettings(provider="http", **(given | changed))), server

        yield start


def rows(*vectors: Sequence[Any], order: Sequence[int] = ()) -> Scripted:
    data = [{"object": "embedding", "index": n, "embedding": list(vectors[n])} for n in order or range(len(vectors))]
    return raw({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def by_size(request: Request) -> Scripted:
    """[length, 1] for each text."""
    return rows(*([len(text), 1] for text in request.body["input"]))


def test_vectors_are_of_length_one_and_in_the_order_of_the_texts(play: Play) -> None:
    embedder, server = play(by_size, batch_size=2)
    texts = ["a", "a long text", "a text", "b", "the longest text of all"]
    found = embedder.passages(texts)

    assert found.dtype == np.float32 and found.shape == (5, 2)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert np.allclose(found[:, 0] / found[:, 1], [len(text) for text in texts])
    assert [request.body["input"] for request in server.requests] == [
        ["a long text", "the longest text of all"],
        ["a", "a text"],
        ["b"],
    ]


def test_what_is_asked(play: Play) -> None:
    embedder, server = play(by_size, query_prefix="query: ", passage_prefix="passage: ", dimensions=2)
    embedder.query("why")
    embedder.passages(["since"])
    first, second = server.requests

    assert first.path == "/v1/embeddings"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.body == {"model": "m", "input": ["query: why"], "encoding_format": "float", "dimensions": 2}
    assert second.body["input"] == ["passage: since"]


def test_no_dimensions_are_asked_for_where_none_are_set(play: Play) -> None:
    embedder, server = play(by_size)
    embedder.query("why")
    assert "dimensions" not in server.requests[0].body


def test_no_texts_cost_no_request(play: Play) -> None:
    embedder, server = play(by_size)
    assert len(embedder.passages([])) == 0
    assert server.requests == []


def test_the_fingerprint_names_model_dimension_and_the_passages_prefix(play: Play) -> None:
    embedder, server = play(by_size)
    assert (embedder.fingerprint, embedder.fingerprint, len(server.requests)) == ("http/m/2", "http/m/2", 1)

    known, server = play(by_size, dimensions=2)
    assert (known.fingerprint, len(server.requests)) == ("http/m/2", 0)

    asked, _ = play(by_size, query_prefix="query: ")
    stored, _ = play(by_size, passage_prefix="passage: ")
    assert asked.fingerprint == "http/m/2" != stored.fingerprint


def test_vectors_belong_to_texts_by_their_index(play: Play) -> None:
    embedder, _ = play(rows([1, 0], [0, 1], order=(1, 0)))
    assert np.array_equal(embedder.passages(["a", "b"]), [[1, 0], [0, 1]])


BAD: dict[str, tuple[Scripted, str]] = {
    "too few": (rows([1, 0]), "1 vectors for 2 texts"),
    "too many": (rows([1, 0], [0, 1], [1, 1]), "3 vectors for 2 texts"),
    "one index twice": (rows([1, 0], [0, 1], order=(0, 0)), "indices do not say"),
    "an index out of range": (
        raw({"data": [{"index": n, "embedding": [1.0, 2.0]} for n in (0, 7)]}),
        "indices do not say",
    ),
    "two dimensions": (rows([1, 0], [0, 1, 2]), "vectors of 2, 3 dimensions, not 2"),
    "another dimension": (rows([1, 0, 0], [0, 1, 0]), "vectors of 3 dimensions, not 2"),
    "NaN": (rows([1, float("nan")], [0, 1]), "no number"),
    "infinity": (rows([1, float("inf")], [0, 1]), "no number"),
    "zero": (rows([0, 0], [0, 1]), "zero"),
    "null": (rows([1, None], [0, 1]), "no list of embeddings"),
    "base64": (raw({"data": [{"index": n, "embedding": "AACAPw=="} for n in (0, 1)]}), "no list of embeddings"),
    "no data": (raw({"object": "list"}), "no list of embeddings"),
    "a list": (raw([1, 2]), "no list of embeddings"),
    "no JSON": (Scripted("embeddings!"), "not JSON"),
    "a page": (Scripted("<html>", type=HTML), "an HTML page"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_reply_that_is_no_use_is_an_error_that_says_why(play: Play, name: str) -> None:
    scripted, words = BAD[name]
    embedder, server = play(scripted, dimensions=2)
    with pytest.raises(ServiceBadReply) as caught:
        embedder.passages(["a", "b"])

    assert words in caught.value.message
    assert server.url in caught.value.message
    assert len(server.requests) == 1  # the same again would be no better


def test_the_dimension_that_was_seen_is_held_to(play: Play) -> None:
    embedder, _ = play(rows([1, 0]), rows([1, 0, 0]))
    embedder.query("a")
    with pytest.raises(ServiceBadReply, match="vectors of 3 dimensions, not 2"):
        embedder.query("a")


# --- failures


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_what_may_pass_is_tried_again(play: Play, status: int) -> None:
    embedder, server = play(refusal(status), refusal(status), rows([1, 0]))
    assert embedder.query("a").tolist() == [1, 0]
    assert len(server.requests) == 3


def test_a_service_that_says_later_is_waited_for_as_long_as_is_set(play: Play) -> None:
    embedder, server = play(refusal(429, retry_after="3"), max_wait_s=1)
    with pytest.raises(ServiceUnavailable, match="HTTP 429"):
        embedder.query("a")
    assert len(server.requests) == 1


def test_a_service_that_stays_broken_is_given_up(play: Play) -> None:
    embedder, server = play(refusal(500, "out of memory"), max_retries=1)
    with pytest.raises(ServiceUnavailable, match="HTTP 500: out of memory") as caught:
        embedder.query("a")
    assert caught.value.retryable and len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "API_KEY"), (404, "MODEL"), (413, "BATCH_SIZE"), (422, "too long"), (307, "too long")]
)
def test_a_refusal_is_not_tried_again(play: Play, status: int, hint: str) -> None:
    embedder, server = play(refusal(status, "no", location="http://127.0.0.1:9/"))
    with pytest.raises(ServiceRejected) as caught:
        embedder.query("a")
    assert f"HTTP {status}" in caught.value.message and hint in caught.value.hint
    assert len(server.requests) == 1


def test_silence_is_not_tried_again(play: Play) -> None:
    embedder, server = play(Scripted("{}", delay_s=1), read_timeout_s=0.1)
    with pytest.raises(ServiceUnavailable, match="silent"):
        embedder.query("a")
    assert len(server.requests) == 1


def test_a_broken_connection_is_tried_again(play: Play) -> None:
    embedder, _ = play(Scripted("{", cut=True), rows([1, 0]))
    assert embedder.query("a").tolist() == [1, 0]


def test_nobody_there() -> None:
    settings = EmbedderSettings(base_url="http://127.0.0.1:9", model="m", backoff_s=0)
    with pytest.raises(ServiceUnavailable, match="can't be reached"):
        HttpEmbedder(settings).query("a")


@pytest.mark.parametrize(
    "scripted",
    [refusal(401, f"bad key {KEY}"), refusal(500, f"proxy says {KEY}"), Scripted(f"Bearer {KEY}", 400), Scripted(KEY)],
)
def test_no_error_holds_the_key(play: Play, scripted: Scripted) -> None:
    embedder, _ = play(scripted, max_retries=0)
    with pytest.raises(QuaereError) as caught:
        embedder.query("a")
    assert KEY not in f"{caught.value.message} {caught.value.hint} {caught.value!r}"


def test_a_password_in_the_address_is_in_no_error() -> None:
    settings = EmbedderSettings(base_url=f"http://me:{KEY}@127.0.0.1:9/v1?key={KEY}", model="m", max_retries=0)
    with pytest.raises(QuaereError) as caught:
        HttpEmbedder(settings).query("a")
    assert KEY not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"base_url": ""}, "BASE_URL"),
        ({"base_url": "127.0.0.1:80"}, "BASE_URL"),
        ({"model": ""}, "MODEL"),
        ({"api_key": SecretStr("sk-ä")}, "API_KEY"),
    ],
)
def test_settings_that_can_not_work_are_refused_at_once(changed: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "model": "m"}
    with pytest.raises(InvalidInput, match=f"QUAERE_EMBEDDER__{words}"):
        HttpEmbedder(EmbedderSettings(**(given | changed)))
