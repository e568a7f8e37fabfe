"""Stacked equations on S² for families of degree one and two, with saturating weights, by compiled loops.

As `stacked`, but that θ·t has another slope at every row.  Rows are given in the family's own frame, and A_i is that of
polynomial fields by ⟨V, ∇L⟩ times 1 and L, of statistics by the sums of `quadratic`.
"""

from __future__ import annotations

import numpy as np

from tmsm.foundation.compiled import LOOP, STAGE, compiled
from tmsm.rowwise.kinds import FIELDS
from tmsm.rowwise.quadratic import chart_stage, form_stage, moment_stage, product_stage, residual_stage
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

__all__ = ["form_residuals", "form_sums"]

_STATISTICS, _GRADIENTS = FIELDS.index("statistics"), FIELDS.index("gradients")
_CHUNK = 128


@compiled(**STAGE)
def _slope_stage(L, m, slopes, factors, psi):  # type: ignore[no-untyped-def]
    """Vectors with ∇(θ·t) for their tangent parts, shape (3, ·)."""
    p, q, r = L[1], L[2], L[3]
    for j in range(3):
        f, out = factors[min(j // 2, 1)], psi[j]
        a, b, c, d = f * slopes[j, 0], f * slopes[j, 1], f * slopes[j, 2], f * slopes[j, 3]
        for i in range(m):
            out[i] = a + b * p[i] + c * q[i] + d * r[i]


@compiled(**STAGE)
def _side_stage(U, V, m, hand, out):  # type: ignore[no-untyped-def]
    """⟨u, v⟩ of vectors, and u times the sign that a right angle has in the family's frame."""
    for i in range(m):
        U[0, i], U[1, i], U[2, i] = hand * U[0, i], hand * U[1, i], hand * U[2, i]
        out[i] = U[0, i] * V[0, i] + U[1, i] * V[1, i] + U[2, i] * V[2, i]


@compiled(**STAGE)
def _mixed_stage(mixing, e, m, E):  # type: ignore[no-untyped-def]
    """The residuals of the statistics from the nine numbers of a row, shape (p, ·)."""
    for k in range(len(mixing)):
        out = E[k]
        for i in range(m):
            out[i] = 0.0
        for j in range(9):
            f, own = mixing[k, j], e[j]
            if f != 0.0:
                for i in range(m):
                    out[i] += f * own[i]


@compiled(**LOOP)
def form_residuals(rows, d, center, axes, scales, parts, factors, slopes, mixing, E):  # type: ignore[no-untyped-def]
    """Put e_i of rows, points and ∇d by columns (6, n), into E (m, n), at the θ with these slopes."""
    n = rows.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, units, products, h, h1, h2, laplacian = polynomial_room(_CHUNK)
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    along, across, turned = np.empty((2, _CHUNK)), np.empty((2, _CHUNK)), np.empty((2, _CHUNK))
    side, psi, spun = np.empty(_CHUNK), np.empty((3, _CHUNK)), np.empty((3, _CHUNK))
    L, Q, k3, e = np.empty((10, _CHUNK)), np.empty((6, _CHUNK)), np.empty((3, _CHUNK)), np.empty((9, _CHUNK))
    none, one = np.zeros(_CHUNK), np.ones(_CHUNK)
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        X, G = rows[:3], rows[3:, here]
        weight_stage(d, start, m, scales, g, slope)
        chart_stage(rows[:, here], m, factors, L)
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            coordinate_stage(X, start, m, center, axes, u, units, bends, products)
            monomial_stage(m, count, u, bends, products, h, h1, h2, laplacian)
            _slope_stage(L, m, slopes, factors, psi)
            dot_stage(units, psi, m, along)
            dot_stage(units, G, m, across)
            cross_stage(X, start, psi, 0, m, spun)
            _side_stage(spun, G, m, factors[3], side)
            dot_stage(units, spun, m, turned)
        row = 0
        for k in range(len(parts)):
            kind, q, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
            if kind == _STATISTICS:
                form_stage(rows[:, here], g[q], none, slope[q], one, m, factors, Q, k3)
                residual_stage(Q, k3, L, m, slopes, e)
                _mixed_stage(mixing, e, m, E[row : row + len(mixing), here])
                row += len(mixing)
                continue
            for j in range(first, last):
                if kind == _GRADIENTS:
                    gradient_stage(m, g[q], slope[q], h1[j], h2[j], laplacian[j], along, across, E[row, here])
                else:
                    stream_stage(m, g[q], slope[q], h[j], h1[j], h2[j], turned, side, E[row, here])
                row += 1


@compiled(**STAGE)
def _gradient_field(m, g, slope, h1, h2, laplacian, units, across, V):  # type: ignore[no-untyped-def]
    """V = g ∇h, shape (3, ·), and the sum of its divergence."""
    U, W, a, b = units[0], units[1], across[0], across[1]
    p, q, r, total = V[0], V[1], V[2], 0.0
    for i in range(m):
        s, t = g[i] * h1[i], g[i] * h2[i]
        p[i], q[i], r[i] = s * U[0, i] + t * W[0, i], s * U[1, i] + t * W[1, i], s * U[2, i] + t * W[2, i]
        total += g[i] * laplacian[i] + slope[i] * (h1[i] * a[i] + h2[i] * b[i])
    return total


@compiled(**STAGE)
def _stream_field(m, g, slope, h, h1, h2, spun, side, hand, V):  # type: ignore[no-untyped-def]
    """V = J(g ∇h + h ∇g), shape (3, ·)."""
    U, W = spun[0], spun[1]
    p, q, r = V[0], V[1], V[2]
    for i in range(m):
        s, t, c = hand * g[i] * h1[i], hand * g[i] * h2[i], hand * slope[i] * h[i]
        p[i] = s * U[0, i] + t * W[0, i] + c * side[0, i]
        q[i] = s * U[1, i] + t * W[1, i] + c * side[1, i]
        r[i] = s * U[2, i] + t * W[2, i] + c * side[2, i]


@compiled(**LOOP)
def form_sums(rows, d, center, axes, scales, parts, weight, factors, statistics, fields, pushes):  # type: ignore[no-untyped-def]
    """Add, for each part with statistics, the sums of `moment_stage` to a row of ``statistics``.

    For each polynomial field Σ w V times 1 and L goes to a row of ``fields`` (·, 12), and Σ w div V to ``pushes``.
    """
    n = rows.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, units, products, h, h1, h2, laplacian = polynomial_room(_CHUNK)
    spun = np.empty((2, 3, _CHUNK))
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    across, side, s = np.empty((2, _CHUNK)), np.empty((3, _CHUNK)), np.ones(_CHUNK)
    L, Q, k3, V = np.empty((10, _CHUNK)), np.empty((6, _CHUNK)), np.empty((3, _CHUNK)), np.empty((3, _CHUNK))
    none, one, hand = np.zeros(_CHUNK), np.ones(_CHUNK), factors[3]
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        X, G = rows[:3], rows[3:]
        weight_stage(d, start, m, scales, g, slope)
        if len(weight):
            s[:m] = weight[here]
        for q in range(len(scales)):
            weigh_stage(m, s, g[q], slope[q], g[q], slope[q])
        chart_stage(rows[:, here], m, factors, L)
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            coordinate_stage(X, start, m, center, axes, u, units, bends, products)
            monomial_stage(m, count, u, bends, products, h, h1, h2, laplacian)
            dot_stage(units, G[:, here], m, across)
            cross_stage(X, start, units[0], 0, m, spun[0])
            cross_stage(X, start, units[1], 0, m, spun[1])
            cross_stage(X, start, G, start, m, side)
        field = block = 0
        for k in range(len(parts)):
            kind, q, first, last = parts[k, 0], parts[k, 1], parts[k, 2], parts[k, 3]
            if kind == _STATISTICS:
                form_stage(rows[:, here], g[q], none, slope[q], one, m, factors, Q, k3)
                moment_stage(Q, k3, L, m, statistics[block])
                block += 1
                continue
            for j in range(first, last):
                if kind == _GRADIENTS:
                    pushes[field] += _gradient_field(
                        m, g[q], slope[q], h1[j], h2[j], laplacian[j], units, across, V
                    )  # fmt: skip
                else:
                    _stream_field(m, g[q], slope[q], h[j], h1[j], h2[j], spun, side, hand, V)
                product_stage(V, L[:4], m, fields[field])
                field += 1
