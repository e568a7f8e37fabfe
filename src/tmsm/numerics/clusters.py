"""Clusters of rows by Lloyd's algorithm: where searches for the components of a mixture begin."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray

__all__ = ["clusters", "nearest"]

_MAX_ROUNDS = 50


def nearest(X: FloatArray, centres: FloatArray) -> IntArray:
    """The centre (k, D) that is nearest to each row, shape (n,)."""
    # ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖²
    return np.asarray(np.argmin((centres**2).sum(axis=1) - 2.0 * (X @ centres.T), axis=1))


def clusters(X: FloatArray, k: int, seed: int) -> FloatArray:
    """Centres (k, D) of k clusters of rows, from first centres that are drawn far apart (k-means++)."""
    rng = np.random.default_rng(seed)
    centres = X[rng.integers(len(X), size=1)]
    while len(centres) < k:
        away = ((X[:, None, :] - centres) ** 2).sum(axis=2).min(axis=1)
        total = float(away.sum())
        chosen = rng.choice(len(X), p=away / total) if total > 0.0 else rng.integers(len(X))
        centres = np.vstack([centres, X[chosen]])
    for _ in range(_MAX_ROUNDS):
        labels = nearest(X, centres)
        numbers = np.bincount(labels, minlength=k)
        sums = np.stack([np.bincount(labels, weights=column, minlength=k) for column in X.T], axis=1)
        moved = np.where(numbers[:, None] > 0, sums / np.maximum(numbers, 1)[:, None], centres)
        if np.allclose(moved, centres, rtol=0.0, atol=1e-10):
            break
        centres = moved
    return centres
