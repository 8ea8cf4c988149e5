"""The extra bge with its real libraries, on small models that the tests make: equal logits, lengths, one pass."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput, LibraryError
from core.ports import Embedder, Reranker
from core.settings import EmbedderSettings, RerankSettings
from quaere.providers import embedder_of, reranking_of
from retrieval.rerank import Reranking
from tests.support import tiny_bge

pytestmark = pytest.mark.integration

QUERY = "how often was the tide gauge read ?"
LONG = "the tide gauge was read . " * 100  # 600 tokens, or more
TEXTS = (
    "the tide gauge was read every ten minutes .",
    "herons nest in tall trees near shallow water .",
    "its clock was set by radio once a day .",
    "潮位计 每十分钟 读 一次",
    "training took 7 hours .",
)
PROVIDERS = ("bge", "transformers")


@pytest.fixture(scope="module", autouse=True)
def _bge() -> None:
    tiny_bge.need_bge()


@pytest.fixture(scope="module")
def models(_bge: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_bge.cross_encoder(folder / "reranker")
    tiny_bge.cross_encoder(folder / "two labels", labels=2)
    tiny_bge.bge_m3(folder / "m3")
    tiny_bge.bge_m3(folder / "other" / "m3", seed=1)
    return folder


Load = Callable[..., Any]


@pytest.fixture(scope="module")
def reranker(models: Path) -> Load:
    loaded: dict[tuple[str, int], Reranker] = {}

    def load(provider: str, max_tokens: int = 512) -> Reranker:
        key = provider, max_tokens
        if key not in loaded:
            settings = RerankSettings(provider=provider, model=str(models / "reranker"), max_tokens=max_tokens)
            loaded[key] = reranking_of(settings, None).reranker
        return loaded[key]

    return load


@pytest.fixture(scope="module")
def m3(models: Path) -> Embedder:
    return embedder_of(EmbedderSettings(provider="bge-m3", model=str(models / "m3"), batch_size=2))


# --- cross-encoders


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (QUERY, TEXTS),
        (QUERY, TEXTS[:1]),
        (QUERY, (*TEXTS, LONG)),
        (QUERY * 100, (*TEXTS, LONG)),
        ("潮位计?", TEXTS),
    ],
    ids=["several", "one", "over-long text", "over-long question", "another script"],
)
def test_the_two_providers_give_the_same_logits(reranker: Load, query: str, texts: tuple[str, ...]) -> None:
    one, other = (reranker(provider).scores(query, texts) for provider in PROVIDERS)

    assert one.scores.dtype == other.scores.dtype == np.float32
    assert one.scores.shape == (len(texts),)
    assert np.allclose(one.scores, other.scores, atol=1e-4)
    assert one.cut == other.cut


@pytest.mark.parametrize("provider", PROVIDERS)
def test_scores_are_logits_not_probabilities(reranker: Load, provider: str) -> None:
    scores = reranker(provider).scores(QUERY, TEXTS).scores
    assert scores.min() < 0 or scores.max() > 1
    assert np.ptp(scores) > 0.01


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_candidates(reranker: Load, provider: str) -> None:
    assert len(reranker(provider).scores(QUERY, ()).scores) == 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_over_long_is_counted_to_the_token(reranker: Load, provider: str) -> None:
    limited = reranker(provider, 40)
    asked = 8  # tokens of QUERY; four more stand round the two
    texts = ["the " * n for n in (39 - asked - 4, 40 - asked - 4, 41 - asked - 4, 200)]

    assert limited.scores(QUERY, texts).cut == 2
    assert limited.scores(QUERY, texts[:2]).cut == 0
    assert limited.scores("the " * 31, texts).cut == 4  # the question is cut, and so is each pair
    assert limited.fingerprint.endswith("/40")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_cut_is_scored_by_its_beginning(reranker: Load, provider: str) -> None:
    limited = reranker(provider, 40)
    fits = "the " * 28
    assert np.allclose(*limited.scores(QUERY, [fits.strip(), fits + "herons nest in trees"]).scores, atol=1e-4)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_longer_length_than_the_model_has_is_its_own(reranker: Load, provider: str) -> None:
    assert reranker(provider, 4096).scores(QUERY, [LONG]).cut == 1
    assert reranker(provider, 4096).fingerprint.endswith(f"/{tiny_bge.POSITIONS}")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("batch_size", [1, 2, 3, 20])
def test_batches_and_lengths_change_no_score(reranker: Load, provider: str, batch_size: int) -> None:
    model = reranker(provider)
    texts = [(text + " ") * (1 + place % 4) for place, text in enumerate(TEXTS * 3)]
    alone = [float(model.scores(QUERY, [text]).scores[0]) for text in texts]
    batched, model.batch_size = model.batch_size, batch_size
    try:
        found = Reranking(model).rank(QUERY, texts)
    finally:
        model.batch_size = batched

    assert np.allclose([found.scores[place] for place in range(len(texts))], alone, atol=1e-4)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_batch_at_a_time(reranker: Load, provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = reranker(provider)
    inner = model._flag.model if provider == "bge" else model._model
    running, peak, forward = [], [], inner.forward

    def watched(*args: Any, **named: Any) -> Any:
        running.append(1)
        peak.append(len(running))
        try:
            return forward(*args, **named)
        finally:
            running.pop()

    monkeypatch.setattr(inner, "forward", watched)
    # Of several lengths: how a tokenizer pads is set on it, so that two calls at once would spoil each other's input.
    asked = [(QUERY, [f"{text} more words" * (n % 5) for text in TEXTS]) for n in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda pair: model.scores(*pair), asked))
    assert max(peak) == 1
    assert len(peak) == 40 * (2 if provider == "bge" else 1)  # FlagEmbedding's first batch is run twice
    monkeypatch.undo()
    for pair, scored in zip(asked[:5], found, strict=False):
        assert np.allclose(scored.scores, model.scores(*pair).scores, atol=1e-4)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("model", ["two labels", "m3", "not there"])
def test_what_is_no_reranker_is_refused(
    models: Path, provider: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LibraryError) as caught:
        reranking_of(RerankSettings(provider=provider, model=str(models / model)), None)
    assert "is no reranker" in caught.value.message or "can't be loaded" in caught.value.message
    assert "QUAERE_RERANK__MODEL" in caught.value.hint


# --- bge-m3


def test_dense_vectors_and_weights_are_those_of_flag_embedding(m3: Any) -> None:
    texts = [*TEXTS, LONG, "", "the the tide"]
    vectors, terms = m3.sparse.both(texts)
    said = m3._flag.encode(texts, return_sparse=True, max_length=tiny_bge.POSITIONS)

    assert vectors.dtype == np.float32 and vectors.shape == (len(texts), 64)
    assert np.allclose(vectors, said["dense_vecs"], atol=1e-4)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for (indices, weights), known in zip(terms, said["lexical_weights"], strict=True):
        assert indices.dtype == np.int32 and weights.dtype == np.float32
        assert (np.diff(indices) > 0).all() and (weights > 0).all()
        assert dict(zip(indices.tolist(), weights.tolist(), strict=True)) == pytest.approx(
            {int(token): float(weight) for token, weight in known.items()}, abs=1e-4
        )
    assert sum(len(indices) for indices, _ in terms) > 10


def test_each_is_half_of_both(m3: Any) -> None:
    vectors, terms = m3.sparse.both(TEXTS)
    assert np.allclose(m3.passages(TEXTS), vectors, atol=1e-5)
    for (indices, weights), (same, close) in zip(m3.sparse.passages(TEXTS), terms, strict=True):
        assert np.array_equal(indices, same) and np.allclose(weights, close, atol=1e-5)
    assert m3.passages([]).shape == (0, 64) and m3.sparse.both([])[1] == []


def test_batches_change_nothing(m3: Any, models: Path) -> None:
    alone = embedder_of(EmbedderSettings(provider="bge-m3", model=str(models / "m3"), batch_size=1))
    assert np.allclose(alone.passages((*TEXTS, LONG)), m3.passages((*TEXTS, LONG)), atol=1e-4)
    assert alone.fingerprint == m3.fingerprint


def passes(m3: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted, forward = [], m3._flag.model.model.forward
    monkeypatch.setattr(
        m3._flag.model.model, "forward", lambda *a, **named: (counted.append(1), forward(*a, **named))[1]
    )
    return counted


def test_dense_and_sparse_cost_one_pass_a_batch(m3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = passes(m3, monkeypatch)
    m3.sparse.both(TEXTS)
    assert len(counted) == 3  # five texts, two a batch


def test_a_question_costs_one_pass_for_both(m3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = passes(m3, monkeypatch)
    vector, (indices, _) = m3.query("where do herons nest ?"), m3.sparse.query("where do herons nest ?")
    assert len(counted) == 1
    assert np.allclose(vector, m3.passages(["where do herons nest ?"])[0], atol=1e-5)
    assert np.array_equal(indices, m3.sparse.passages(["where do herons nest ?"])[0][0])
    for n in range(40):
        m3.query(f"{n}")
    assert len(m3._questions) <= 16


def test_the_fingerprint_tells_models_apart_and_not_where_they_lie(models: Path, m3: Any) -> None:
    other = embedder_of(EmbedderSettings(provider="bge-m3", model=str(models / "other" / "m3")))
    assert m3.fingerprint.startswith("bge-m3/m3@") and m3.fingerprint.endswith("/64")
    assert other.fingerprint != m3.fingerprint
    assert len({m3.fingerprint, m3.sparse.fingerprint, other.sparse.fingerprint}) == 3


def test_a_model_without_bge_m3s_heads_is_refused(models: Path) -> None:
    with pytest.raises(LibraryError, match="has no sparse_linear"):
        embedder_of(EmbedderSettings(provider="bge-m3", model=str(models / "reranker")))


# --- none of it


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quaere.providers._installed", lambda package: False)
    for provider in PROVIDERS:
        with pytest.raises(InvalidInput, match="not installed") as caught:
            reranking_of(RerankSettings(provider=provider), None)
        assert "quaere[bge]" in caught.value.hint
    with pytest.raises(InvalidInput, match="not installed"):
        embedder_of(EmbedderSettings(provider="bge-m3"))
