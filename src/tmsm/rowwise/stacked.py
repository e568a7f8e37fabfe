"""Stacked equations on S² for log p = θ·x with saturating weights, by compiled loops.

A row's equation is ⟨V, θ⟩ + div V with a tangent vector V (`tmsm.matching.stacked` has the fields), so that its A_i
is V itself.  Polynomials of u₁, u₂ up to degree three are tabulated for a chunk of rows at a time.
"""

from __future__ import annotations

import numpy as np

from tmsm.foundation.compiled import compiled
from tmsm.rowwise.kinds import FIELDS
from tmsm.rowwise.stack_functions import (
    coordinate_row,
    cube_rows,
    gradient_row,
    square_rows,
    statistic_row,
    stream_row,
)
from tmsm.rowwise.stages import saturating_stage

__all__ = ["stack_residuals", "stack_sums"]

_STATISTICS, _GRADIENTS = FIELDS.index("statistics"), FIELDS.index("gradients")
_MONOMIALS = 10
# Rows of a chunk: the tables of its polynomials stay in a near cache.
_CHUNK = 128
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


@compiled(**_OPTIONS)
def _coordinates(X, start, m, center, axes, u, slopes, bends, products):  # type: ignore[no-untyped-def]
    """The u_j (2, ·), their tangent gradients (2, 3, ·), Laplacians (2, ·) and the products of gradients (3, ·)."""
    x, y, z = X[0], X[1], X[2]
    for j in range(2):
        a, b, c = axes[j, 0], axes[j, 1], axes[j, 2]
        origin = a * center[0] + b * center[1] + c * center[2]
        value, bend, p, q, r = u[j], bends[j], slopes[j, 0], slopes[j, 1], slopes[j, 2]
        for i in range(m):
            k = start + i
            value[i], bend[i], p[i], q[i], r[i] = coordinate_row(x[k], y[k], z[k], a, b, c, origin)
    for k in range(3):
        left, right, product = slopes[0 if k < 2 else 1], slopes[0 if k < 1 else 1], products[k]
        for i in range(m):
            product[i] = left[0, i] * right[0, i] + left[1, i] * right[1, i] + left[2, i] * right[2, i]


@compiled(**_OPTIONS)
def _monomials(m, count, u, bends, products, h, h1, h2, laplacian):  # type: ignore[no-untyped-def]
    """Monomials of (u₁, u₂) by degree, u₁ first, with ∂/∂u₁, ∂/∂u₂ and the Laplacian."""
    s, t, ds, dt = u[0], u[1], bends[0], bends[1]
    ss, st, tt = products[0], products[1], products[2]
    for i in range(m):
        h[0, i], h1[0, i], h2[0, i], laplacian[0, i] = 1.0, 0.0, 0.0, 0.0
    if count > 1:
        for i in range(m):
            h[1, i], h1[1, i], h2[1, i], laplacian[1, i] = s[i], 1.0, 0.0, ds[i]
            h[2, i], h1[2, i], h2[2, i], laplacian[2, i] = t[i], 0.0, 1.0, dt[i]
    if count > 3:
        for i in range(m):
            a, b, c = square_rows(s[i], t[i], ds[i], dt[i], ss[i], st[i], tt[i])
            h[3, i], h1[3, i], h2[3, i], laplacian[3, i] = a
            h[4, i], h1[4, i], h2[4, i], laplacian[4, i] = b
            h[5, i], h1[5, i], h2[5, i], laplacian[5, i] = c
    if count > 6:
        for i in range(m):
            a, b, c, d = cube_rows(s[i], t[i], ds[i], dt[i], ss[i], st[i], tt[i])
            h[6, i], h1[6, i], h2[6, i], laplacian[6, i] = a
            h[7, i], h1[7, i], h2[7, i], laplacian[7, i] = b
            h[8, i], h1[8, i], h2[8, i], laplacian[8, i] = c
            h[9, i], h1[9, i], h2[9, i], laplacian[9, i] = d


@compiled(**_OPTIONS)
def _weights(d, start, m, scales, g, slope):  # type: ignore[no-untyped-def]
    """Values of g = 1 − exp(−d/scale) and of its derivative for each scale, shapes (q, ·)."""
    for k in range(len(scales)):
        saturating_stage(d[start:], m, scales[k], g[k], slope[k])


@compiled(**_OPTIONS)
def _dots(slopes, V, m, out):  # type: ignore[no-untyped-def]
    """⟨∇u_j, v⟩ for j = 1, 2, shape (2, ·)."""
    for j in range(2):
        p, q, r, dot = slopes[j, 0], slopes[j, 1], slopes[j, 2], out[j]
        for i in range(m):
            dot[i] = p[i] * V[0, i] + q[i] * V[1, i] + r[i] * V[2, i]


@compiled(**_OPTIONS)
def _statistic_rows(X, G, start, m, theta, g, slope, E, row):  # type: ignore[no-untyped-def]
    """Put g (ψ − 2x) + ∇g into three rows of E."""
    x, y, z = X[0], X[1], X[2]
    for j in range(3):
        own, normal, p, e = X[j], G[j], theta[j], E[row + j]
        for i in range(m):
            k = start + i
            along = theta[0] * x[k] + theta[1] * y[k] + theta[2] * z[k]
            e[k] = statistic_row(own[k], along, 2.0, p, g[i], slope[i] * normal[k])


@compiled(**_OPTIONS)
def _gradient_rows(m, g, slope, h1, h2, laplacian, along, across, e):  # type: ignore[no-untyped-def]
    """Put g ⟨∇h, ψ⟩ + g Δh + ⟨∇g, ∇h⟩ into e."""
    a, b, p, q = along[0], along[1], across[0], across[1]
    for i in range(m):
        e[i] = gradient_row(g[i], slope[i], h1[i], h2[i], laplacian[i], a[i], b[i], p[i], q[i])


@compiled(**_OPTIONS)
def _stream_rows(m, g, slope, h, h1, h2, turned, side, e):  # type: ignore[no-untyped-def]
    """Put −⟨g ∇h + h ∇g, Jψ⟩ into e."""
    a, b = turned[0], turned[1]
    for i in range(m):
        e[i] = stream_row(g[i], slope[i], h[i], h1[i], h2[i], a[i], b[i], side[i])


@compiled(nogil=True, error_model="numpy")
def stack_residuals(X, d, G, center, axes, scales, parts, theta, E):  # type: ignore[no-untyped-def]
    """Put e_i(θ) of rows, given by columns (3, n), into E (m, n)."""
    n = X.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, slopes = np.empty((2, _CHUNK)), np.empty((2, _CHUNK)), np.empty((2, 3, _CHUNK))
    products = np.empty((3, _CHUNK))
    h, h1 = np.empty((_MONOMIALS, _CHUNK)), np.empty((_MONOMIALS, _CHUNK))
    h2, laplacian = np.empty((_MONOMIALS, _CHUNK)), np.empty((_MONOMIALS, _CHUNK))
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    along, across, turned = np.empty((2, _CHUNK)), np.empty((2, _CHUNK)), np.empty((2, _CHUNK))
    side, fixed, spun = np.empty(_CHUNK), np.empty((3, _CHUNK)), np.empty((3, _CHUNK))
    for j in range(3):
        fixed[j] = theta[j]
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        _weights(d, start, m, scales, g, slope)
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            _coordinates(X, start, m, center, axes, u, slopes, bends, products)
            _monomials(m, count, u, bends, products, h, h1, h2, laplacian)
            _dots(slopes, fixed, m, along)
            _dots(slopes, G[:, here], m, across)
            # Jψ = x × θ
            for i in range(m):
                x, y, z = X[0, start + i], X[1, start + i], X[2, start + i]
                spun[0, i] = y * theta[2] - z * theta[1]
                spun[1, i] = z * theta[0] - x * theta[2]
                spun[2, i] = x * theta[1] - y * theta[0]
                side[i] = spun[0, i] * G[0, start + i] + spun[1, i] * G[1, start + i] + spun[2, i] * G[2, start + i]
            _dots(slopes, spun, m, turned)
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
                    _gradient_rows(m, g[q], slope[q], h1[j], h2[j], laplacian[j], along, across, e)
                else:
                    _stream_rows(m, g[q], slope[q], h[j], h1[j], h2[j], turned, side, e)
                row += 1


@compiled(**_OPTIONS)
def _weigh(m, s, g, slope, sg, ss):  # type: ignore[no-untyped-def]
    """Both times the weights of the rows."""
    for i in range(m):
        sg[i], ss[i] = s[i] * g[i], s[i] * slope[i]


@compiled(**_OPTIONS)
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


@compiled(**_OPTIONS)
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


@compiled(**_OPTIONS)
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


@compiled(**_OPTIONS)
def _turn(X, start, V, first, m, out):  # type: ignore[no-untyped-def]
    """Put x × v into out, for columns of V from a first one on."""
    for i in range(m):
        x, y, z = X[0, start + i], X[1, start + i], X[2, start + i]
        p, q, r = V[0, first + i], V[1, first + i], V[2, first + i]
        out[0, i], out[1, i], out[2, i] = y * r - z * q, z * p - x * r, x * q - y * p


@compiled(nogil=True, error_model="numpy")
def stack_sums(X, d, G, center, axes, scales, parts, weight, A, b):  # type: ignore[no-untyped-def]
    """Add Σ w A_i to A (m, 3) and Σ w b_i to b (m,); ``weight`` is empty where all count alike."""
    n = X.shape[1]
    count = max(parts[:, 3].max(), 1)
    u, bends, slopes = np.empty((2, _CHUNK)), np.empty((2, _CHUNK)), np.empty((2, 3, _CHUNK))
    products, spun = np.empty((3, _CHUNK)), np.empty((2, 3, _CHUNK))
    h, h1 = np.empty((_MONOMIALS, _CHUNK)), np.empty((_MONOMIALS, _CHUNK))
    h2, laplacian = np.empty((_MONOMIALS, _CHUNK)), np.empty((_MONOMIALS, _CHUNK))
    g, slope = np.empty((len(scales), _CHUNK)), np.empty((len(scales), _CHUNK))
    across, side, s = np.empty((2, _CHUNK)), np.empty((3, _CHUNK)), np.ones(_CHUNK)
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        here = slice(start, start + m)
        _weights(d, start, m, scales, g, slope)
        if len(weight):
            s[:m] = weight[here]
        for q in range(len(scales)):
            _weigh(m, s, g[q], slope[q], g[q], slope[q])
        if count > 1 or (parts[:, 0] != _STATISTICS).any():
            _coordinates(X, start, m, center, axes, u, slopes, bends, products)
            _monomials(m, count, u, bends, products, h, h1, h2, laplacian)
            _dots(slopes, G[:, here], m, across)
            _turn(X, start, slopes[0], 0, m, spun[0])
            _turn(X, start, slopes[1], 0, m, spun[1])
            _turn(X, start, G, start, m, side)
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
