"""Made-up libraries of any size, and what a search of them costs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eval import latency, lexical, recall, synthetic


def test_words_are_many_and_the_common_ones_are_short() -> None:
    words = [synthetic.word(rank) for rank in range(5000)]
    assert len(set(words)) == 5000 and len(words[0]) <= 3 < len(words[-1])
    first, second = (" ".join(synthetic.texts(50, seed=seed)).split() for seed in (0, 1))
    assert first != second and first == " ".join(synthetic.texts(50)).split()
    assert first.count(synthetic.word(0)) > first.count(synthetic.word(20)) > 0


def test_vectors_lie_nearer_in_a_document_than_in_a_topic_than_in_a_library() -> None:
    passages, asked = synthetic.clustered(4000, 5)
    assert passages.shape == (4000, synthetic.DIMENSION) and asked.shape == (5, synthetic.DIMENSION)
    assert np.linalg.norm(passages, axis=1) == pytest.approx(1, abs=1e-5)
    same, other = passages[0] @ passages[1:100].T, passages[0] @ passages[100:].T
    assert same.min() > 0.9 > other.max() and other.mean() == pytest.approx(0.76, abs=0.08)
    free, _ = synthetic.uniform(1000, 1)
    assert abs(float((free[0] @ free[1:].T).mean())) < 0.02


def test_latent_terms_are_as_common_as_the_models() -> None:
    counts = np.zeros(synthetic.LATENT)
    for terms, weights in synthetic.latent(200):
        assert len(terms) == len(weights) <= 256 and (np.diff(terms) > 0).all() and (weights > 0).all()
        counts[terms] += 1
    often = np.sort(counts)[::-1] / 200
    assert often[0] > 0.8 and 0.3 < often[100] < 0.5 and 0.08 < often[400] < 0.25


def test_exact_search_recall_and_times() -> None:
    passages = np.eye(5, dtype=np.float32)
    assert set(recall.exact(passages, np.array([0.1, 0.9, 0, 0.5, 0], dtype=np.float32), 2)) == {1, 3}
    assert recall.recall([{1, 2}, {3}], [{1, 4}, {3, 5}]) == 0.5
    results, times = recall.timed(lambda n: n * 2, [1, 2, 3])
    assert results == [2, 4, 6] and 0 <= times["median_ms"] <= times["p95_ms"]


def test_a_small_library_is_filled_opened_and_asked(tmp_path: Path) -> None:
    assert set(latency.built(tmp_path, 250)) == {"ledger", "chroma"}
    found = latency.measured(tmp_path, 250, 20, None)
    assert found["dense"]["recall_at_10"] == 1 and found["chroma_graph"]["recall_at_10"] >= 0.98
    for channel in ("dense", "chroma_graph", "bm25", "sparse", "hybrid"):
        assert 0 < found[channel]["median_ms"] <= found[channel]["p95_ms"]
    assert set(found["open_s"]) == set(found["memory_mb"]) == {"dense", "bm25", "sparse"}


def test_every_channel_finds_the_chunk_that_a_question_is_about(tmp_path: Path) -> None:
    latency.built(tmp_path, 300)
    asked = latency.questions(300, 10)
    searching = latency.opened(tmp_path, asked)
    for one in asked:
        first = searching.search.search(one.text, top_k=3).passages[0]
        assert set(one.text.split()) <= set(first.best_child.split())
        assert {hit.channel for hit in first.channels} == {"dense", "bm25", "sparse"}


def test_chromas_settings_are_measured_on_the_index_they_were_set_on() -> None:
    rows = list(recall.measured("uniform", 3000, 4, 20, [1, 800]))
    assert rows[0]["data"] == "uniform" and "exact" in rows[0]
    few, many = rows[1:]
    assert (few["ef_search"], many["ef_search"]) == (1, 800) and few["recall_at_10"] < many["recall_at_10"]


def test_one_object_comes_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["latency", "--sizes", "120", "--queries", "5", "--scripted"])
    latency.main()
    (size,) = json.loads(capsys.readouterr().out)["sizes"]
    assert size["chunks"] == 120 and size["disk_mb"] > 0 and "hybrid_with_embedder" not in size


def test_lexical_indexes_are_measured_side_by_side() -> None:
    rows = [lexical.measured(name, 60) for name in lexical.INDEXES]
    assert [row["index"] for row in rows] == ["postings", "bm25s", "rank_bm25"]
    assert all(row["chunks"] == 60 and row["median_ms"] > 0 for row in rows)
