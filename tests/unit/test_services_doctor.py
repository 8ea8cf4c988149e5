"""The doctor says what is wrong with a service of embeddings or of reranking, and which one is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from core.errors import InvalidInput
from core.llm.doctor import EndpointReport
from core.settings import EmbedderSettings, RerankSettings, load_settings
from quaere.providers import embedder_of, reranking_of
from retrieval.doctor import examine_services
from retrieval.embed_http import HttpEmbedder
from retrieval.rerank import Reranking
from tests.support.scripted_endpoint import KEY, LLMServer, Request, Scripted, raw, refusal


def related(text: str, other: str) -> float:
    return len(set(text.lower().split()) & set(other.lower().split()))


def service(request: Request) -> Scripted:
    """Embeddings by two words, and TEI's /rerank by words in common."""
    if request.path.endswith("/embeddings"):
        vectors = [["tide" in text, "nest" in text, 0.1] for text in request.body["input"]]
        return raw({"data": [{"index": n, "embedding": [*map(float, v)]} for n, v in enumerate(vectors)]})
    if "texts" not in request.body:
        return refusal(422, "missing field `texts`")
    query = request.body["query"]
    return raw([{"index": n, "score": related(query, text)} for n, text in enumerate(request.body["texts"])])


def backwards(request: Request) -> Scripted:
    if request.path.endswith("/embeddings"):
        vectors = [[1.0, -1.0 if "gauge was read" in text else 1.0] for text in request.body["input"]]
        vectors = [[1.0, 1.0] if "?" in text else v for text, v in zip(request.body["input"], vectors, strict=True)]
        return raw({"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]})
    return raw({"results": [{"index": n, "relevance_score": -n} for n in range(len(request.body["documents"]))]})


def examined(script: Any) -> list[EndpointReport]:
    with LLMServer(script) as server:
        common: dict[str, Any] = {"base_url": server.url, "api_key": SecretStr(KEY), "max_retries": 0}
        reports = list(
            examine_services(
                EmbedderSettings(provider="http", model="e", **common),
                RerankSettings(provider="http", model="r", **common),
            )
        )
    assert not any(KEY in report.model_dump_json() for report in reports)
    return reports


def test_services_that_work() -> None:
    embed, rerank = examined(service)

    assert (embed.roles, embed.model, rerank.roles, rerank.model) == (("embed",), "e", ("rerank",), "r")
    assert [check.state for report in (embed, rerank) for check in report.checks] == ["ok"] * 5
    assert "3 dimensions" in embed.checks[0].found
    assert "TEI" in rerank.checks[0].found and "20 passages in" in rerank.checks[2].found


def test_services_that_answer_and_are_no_use() -> None:
    embed, rerank = examined(backwards)

    assert [check.what for report in (embed, rerank) for check in report.checks if check.state == "look"] == [
        "similarity",
        "order",
    ]
    assert embed.works and "QUERY_PREFIX" in embed.checks[1].advice


def test_services_that_do_not_work() -> None:
    for report in examined([refusal(401, f"bad key {KEY}")]):
        assert not report.works
        assert "API_KEY" in report.checks[0].advice


def test_what_is_not_behind_http_is_not_asked() -> None:
    assert list(examine_services(EmbedderSettings(), RerankSettings())) == []


# --- from the environment to the provider


def test_providers_are_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with LLMServer(service) as server:
        for section in ("EMBEDDER", "RERANK"):
            for name, value in {"PROVIDER": "http", "BASE_URL": server.url, "MODEL": "m"}.items():
                monkeypatch.setenv(f"QUAERE_{section}__{name}", value)
        monkeypatch.setenv("QUAERE_RERANK__BUDGET_MS", "5000")
        settings = load_settings(library=tmp_path)
        embedder, reranking = embedder_of(settings.embedder), reranking_of(settings.rerank, None)

        assert isinstance(embedder, HttpEmbedder) and embedder.fingerprint == "http/m/3"
        assert isinstance(reranking, Reranking) and reranking.fingerprint == "http/m/512"
        assert reranking.rank("the tide", ["nests", "the tide is high"]).order == (1, 0)


def test_a_provider_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUAERE_RERANK__PROVIDER", "magic")
    with pytest.raises(InvalidInput, match=r"rerank\.provider"):
        load_settings()
