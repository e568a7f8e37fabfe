"""Sums over many rows of products of coordinates, compiled when first used.

Functions of degree two are linear in the products m_ij = u_i v_j + u_j v_i, i ≤ j, of which there are D(D+1)/2.  A few
hundred rows at a time, these stay where they are fastest to reach, and no array of all rows is made of them.
"""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import STAGE, compiled

__all__ = ["contracted_products", "product_gram", "product_sum"]

# Rows at a time.
_CHUNK = 512


def product_gram(U: FloatArray, V: FloatArray, weight: FloatArray | float) -> FloatArray:
    """Σ over rows of weight m mᵀ, shape (K, K), m the products of the rows of U and V (n, D).

    With `weight` a number the rows count alike.
    """
    weights = weight if isinstance(weight, np.ndarray) else np.empty(0)
    total: FloatArray = _gram(_columns(U), _columns(V), weights)
    return total if isinstance(weight, np.ndarray) else total * weight


def contracted_products(pairs: list[tuple[FloatArray, FloatArray]], coefficients: FloatArray) -> FloatArray:
    """The products of all pairs of rows (n, D), added up, times coefficients (K, p): shape (n, p), column-major."""
    n, D = pairs[0][0].shape
    products = np.empty((D * (D + 1) // 2, n))
    for k, (u, v) in enumerate(pairs):
        _products(_columns(u), _columns(v), products, k > 0)
    out: FloatArray = coefficients.T @ products
    return out.T


def product_sum(
    terms: list[tuple[FloatArray, FloatArray, FloatArray | float]], weight: FloatArray | None
) -> FloatArray:
    """Σ over rows and terms (U, V, c) of weight c (u vᵀ + v uᵀ)/2, shape (D, D)."""
    D = terms[0][0].shape[1]
    total = np.zeros((D, D))
    for U, V, c in terms:
        factor = c if weight is None else c * weight
        weights = factor if isinstance(factor, np.ndarray) else np.empty(0)
        moment = _moment(_columns(U), _columns(V), weights, U is V)
        total += moment if isinstance(factor, np.ndarray) else moment * factor
    return 0.5 * (total + total.T)


def _columns(X: FloatArray) -> FloatArray:
    """The coordinates as rows, each contiguous, shape (D, n); blocks are kept so."""
    return np.ascontiguousarray(X.T)


@compiled(**STAGE)
def _fill(u, v, w, z, out):  # type: ignore[no-untyped-def]
    """The sums u v + w z, row by row."""
    for r in range(out.size):
        out[r] = u[r] * v[r] + w[r] * z[r]


@compiled(**STAGE)
def _add(u, v, w, z, out):  # type: ignore[no-untyped-def]
    for r in range(out.size):
        out[r] += u[r] * v[r] + w[r] * z[r]


@compiled(**STAGE)
def _scale(w, u, out):  # type: ignore[no-untyped-def]
    for r in range(out.size):
        out[r] = w[r] * u[r]


@compiled(**STAGE)
def _four_dots(u, a, b, c, d):  # type: ignore[no-untyped-def]
    """Dot products of u with a, b, c and d: each number of u is read once for all four."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for r in range(u.size):
        first += u[r] * a[r]
        second += u[r] * b[r]
        third += u[r] * c[r]
        fourth += u[r] * d[r]
    return first, second, third, fourth


@compiled(**STAGE)
def _gram(U, V, weights):  # type: ignore[no-untyped-def]
    D, n = U.shape
    K = D * (D + 1) // 2
    total = np.zeros((K + 3, K + 3))
    m, scaled = np.zeros((K + 3, _CHUNK)), np.empty(_CHUNK)
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        size = end - start
        k = 0
        for i in range(D):
            for j in range(i, D):
                _fill(U[i][start:end], V[j][start:end], U[j][start:end], V[i][start:end], m[k][:size])
                k += 1
        for a in range(K):
            left = m[a][:size]
            if weights.size:
                _scale(weights[start:end], left, scaled[:size])
                left = scaled[:size]
            for b in range(0, a + 1, 4):
                dots = _four_dots(left, m[b][:size], m[b + 1][:size], m[b + 2][:size], m[b + 3][:size])
                for c in range(4):
                    total[a, b + c] += dots[c]
    for a in range(K):
        for b in range(a):
            total[b, a] = total[a, b]
    return total[:K, :K].copy()


@compiled(**STAGE)
def _moment(U, V, weights, symmetric):  # type: ignore[no-untyped-def]
    D, n = U.shape
    total = np.zeros((D, D + 3))
    padded, scaled = np.zeros((D + 3, _CHUNK)), np.empty(_CHUNK)
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        size = end - start
        for i in range(D):
            padded[i][:size] = V[i][start:end]
        for i in range(D):
            left = U[i][start:end]
            if weights.size:
                _scale(weights[start:end], left, scaled[:size])
                left = scaled[:size]
            for j in range(0, i + 1 if symmetric else D, 4):
                dots = _four_dots(
                    left, padded[j][:size], padded[j + 1][:size], padded[j + 2][:size], padded[j + 3][:size]
                )
                for c in range(4):
                    total[i, j + c] += dots[c]
    if symmetric:
        for i in range(D):
            for j in range(i):
                total[j, i] = total[i, j]
    return total[:, :D].copy()


@compiled(**STAGE)
def _products(U, V, out, add):  # type: ignore[no-untyped-def]
    D, n = U.shape
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        k = 0
        for i in range(D):
            for j in range(i, D):
                u, v, w, z = U[i][start:end], V[j][start:end], U[j][start:end], V[i][start:end]
                if add:
                    _add(u, v, w, z, out[k][start:end])
                else:
                    _fill(u, v, w, z, out[k][start:end])
                k += 1
