"""Embeddings as rows of the ledger: a dense one is its float32 numbers, a sparse one is packed into such a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.ports import Embedder, SparseVector, Vectors


def fingerprints(embedder: Embedder) -> tuple[str, ...]:
    """Under which its rows are kept: the dense ones, and the sparse ones of an embedder that gives both."""
    return (embedder.fingerprint, embedder.sparse.fingerprint) if embedder.sparse else (embedder.fingerprint,)


def packed(sparse: SparseVector) -> Vectors:
    """(2 * nnz,) float32: the int32 indices, bit for bit, then the weights."""
    indices, weights = sparse
    return np.concatenate([np.asarray(indices, np.int32).view(np.float32), np.asarray(weights, np.float32)])


def unpacked(row: Vectors) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    half = len(row) // 2
    return row[:half].view(np.int32), row[half:]


def is_sparse(row: Vectors) -> bool:
    """Whether it can have been packed: pairs, with indices from 0 and finite weights above 0."""
    indices, weights = unpacked(row)
    return len(row) % 2 == 0 and bool((indices >= 0).all() and np.isfinite(weights).all() and (weights > 0).all())
