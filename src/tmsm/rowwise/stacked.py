"""Stacked equations on S² for log p = θ·x with saturating weights, by compiled loops.

A row's equation is ⟨V, θ⟩ + div V with a tangent vector V (`tmsm.matching.stacked` has the fields), so that its A_i
is V itself.  Polynomials of u₁, u₂ up to degree three are tabulated for a chunk of rows at a time.
"""

from __future__ import annotations

import numpy as np

from tmsm.foundation.compiled import LOOP, STAGE, compiled
from tmsm.rowwise.kinds import FIELDS
from tmsm.rowwise.stack_functions import statistic_row
from tmsm.rowwise.stack_stages import (
    coordinate_stage,
    cross_stage,
    dot_stage,
    gradient_stage,
    monomial_stage,
    polynomial_room,
    stream_stage,
    weigh_stage,
    weight_stage,
)

__all__ = ["stack_residuals", "stack_sums"]

_STATISTICS, _GRADIENTS = FIELDS.index("statistics"), FIELDS.index("gradients")
# Rows of a chunk: the tables of its polynomials stay in a near cache.
_CHUNK = 128


@compiled(**STAGE)
def _statistic_rows(X, G, start, m, theta, g, slope, E, row):  # type: ignore[no-untyped-def]
    """Put g (ψ − 2x) + ∇g into three rows of E."""
    x, y, z = X[0], X[1], X[2]
    for j in range(3):
        own, normal, p, e = X[j], G[j], theta[j], E[row + j]
        for i in range(m):
            k = start + i
            along = theta[0] * x[k] + theta[1] * y[k] + theta[2] * z[k]
            e[k] = statistic_row(own[k], along, 2.0, p, g[i], slope[i] * normal[k])


@compiled(**LOOP)
def stack_residuals(X, d, G, center, axes, scales, parts, theta, E):  # type: ignore[no-untyped-def]
    """Put e_i(θ) of rows, given by columns (3, n), into E (m, n)."""
    n = X.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, slopes, products, h, h1, h2, laplacian = polynomial_room(_CHUNK)
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    along, across, turned = np.empty((2, _CHUNK)), np.empty((2, _CHUNK)), np.empty((2, _CHUNK))
    side, fixed, spun = np.empty(_CHUNK), np.empty((3, _CHUNK)), np.empty((3, _CHUNK))
    for j in range(3):
        fixed[j] = theta[j]
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        weight_stage(d, start, m, scales, g, slope)
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            coordinate_stage(X, start, m, center, axes, u, slopes, bends, products)
            monomial_stage(m, count, u, bends, products, h, h1, h2, laplacian)
            dot_stage(slopes, fixed, m, along)
            dot_stage(slopes, G[:, here], m, across)
            # Jψ = x × θ
            for i in range(m):
                x, y, z = X[0, start + i], X[1, start + i], X[2, start + i]
                spun[0, i] = y * theta[2] - z * theta[1]
                spun[1, i] = z * theta[0] - x * theta[2]
                spun[2, i] = x * theta[1] - y * theta[0]
                side[i] = spun[0, i] * G[0, start + i] + spun[1, i] * G[1, start + i] + spun[2, i] * G[2, start + i]
            dot_stage(slopes, spun, m, turned)
        row = 0
        for k in range(len(parts)):
            kind, q, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
            if kind == _STATISTICS:
                _statistic_rows(X, G, start, m, theta, g[q], slope[q], E, row)
                row += 3
                continue
            for j in range(first, last):
                e = E[row, here]
                if kind == _GRADIENTS:
                    gradient_stage(m, g[q], slope[q], h1[j], h2[j], laplacian[j], along, across, e)
                else:
                    stream_stage(m, g[q], slope[q], h[j], h1[j], h2[j], turned, side, e)
                row += 1


@compiled(**STAGE)
def _add_statistics(X, G, start, m, g, slope, A, b):  # type: ignore[no-untyped-def]
    """Add the sums of g P and of ∇g − 2 g x."""
    total = 0.0
    for i in range(m):
        total += g[i]
    for j in range(3):
        own, normal = X[j], G[j]
        p = q = r = f = 0.0
        for i in range(m):
            k = start + i
            gx = g[i] * own[k]
            p += gx * X[0, k]
            q += gx * X[1, k]
            r += gx * X[2, k]
            f += slope[i] * normal[k] - 2.0 * gx
        A[j, 0] -= p
        A[j, 1] -= q
        A[j, 2] -= r
        A[j, j] += total
        b[j] += f


@compiled(**STAGE)
def _add_gradient(m, g, slope, h1, h2, laplacian, slopes, across, A):  # type: ignore[no-untyped-def]
    """Add the sums of g ∇h to a row of A, and return that of g Δh + ⟨∇g, ∇h⟩."""
    p = q = r = f = 0.0
    U, V, a, b = slopes[0], slopes[1], across[0], across[1]
    for i in range(m):
        s, t = g[i] * h1[i], g[i] * h2[i]
        p += s * U[0, i] + t * V[0, i]
        q += s * U[1, i] + t * V[1, i]
        r += s * U[2, i] + t * V[2, i]
        f += g[i] * laplacian[i] + slope[i] * (h1[i] * a[i] + h2[i] * b[i])
    A[0] += p
    A[1] += q
    A[2] += r
    return f


@compiled(**STAGE)
def _add_stream(m, g, slope, h, h1, h2, spun, side, A):  # type: ignore[no-untyped-def]
    """Add the sums of J(g ∇h + h ∇g) to a row of A."""
    p = q = r = 0.0
    U, V = spun[0], spun[1]
    for i in range(m):
        s, t, c = g[i] * h1[i], g[i] * h2[i], slope[i] * h[i]
        p += s * U[0, i] + t * V[0, i] + c * side[0, i]
        q += s * U[1, i] + t * V[1, i] + c * side[1, i]
        r += s * U[2, i] + t * V[2, i] + c * side[2, i]
    A[0] += p
    A[1] += q
    A[2] += r


@compiled(**LOOP)
def stack_sums(X, d, G, center, axes, scales, parts, weight, A, b):  # type: ignore[no-untyped-def]
    """Add Σ w A_i to A (m, 3) and Σ w b_i to b (m,); ``weight`` is empty where all count alike."""
    n = X.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, slopes, products, h, h1, h2, laplacian = polynomial_room(_CHUNK)
    spun = np.empty((2, 3, _CHUNK))
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    across, side, s = np.empty((2, _CHUNK)), np.empty((3, _CHUNK)), np.ones(_CHUNK)
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        weight_stage(d, start, m, scales, g, slope)
        if len(weight):
            s[:m] = weight[here]
        for q in range(len(scales)):
            weigh_stage(m, s, g[q], slope[q], g[q], slope[q])
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            coordinate_stage(X, start, m, center, axes, u, slopes, bends, products)
            monomial_stage(m, count, u, bends, products, h, h1, h2, laplacian)
            dot_stage(slopes, G[:, here], m, across)
            cross_stage(X, start, slopes[0], 0, m, spun[0])
            cross_stage(X, start, slopes[1], 0, m, spun[1])
            cross_stage(X, start, G, start, m, side)
        row = 0
        for k in range(len(parts)):
            kind, q, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
            if kind == _STATISTICS:
                _add_statistics(X, G, start, m, g[q], slope[q], A[row : row + 3], b[row : row + 3])
                row += 3
                continue
            for j in range(first, last):
                if kind == _GRADIENTS:
                    b[row] += _add_gradient(m, g[q], slope[q], h1[j], h2[j], laplacian[j], slopes, across, A[row])
                else:
                    _add_stream(m, g[q], slope[q], h[j], h1[j], h2[j], spun, side, A[row])
                row += 1
