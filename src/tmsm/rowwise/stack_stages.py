"""Stages of stacked equations: local coordinates, their polynomials, weights and equations of a chunk of rows.

`stack_functions` has the row functions that they are made of, `tmsm.matching.stacked` the fields.
"""

from __future__ import annotations

import numpy as np

from tmsm.foundation.compiled import STAGE, compiled
from tmsm.rowwise.stack_functions import coordinate_row, cube_rows, gradient_row, square_rows, stream_row
from tmsm.rowwise.stages import saturating_stage

__all__ = [
    "coordinate_stage",
    "cross_stage",
    "dot_stage",
    "gradient_stage",
    "monomial_stage",
    "polynomial_room",
    "stream_stage",
    "weigh_stage",
    "weight_stage",
]

# Those of two coordinates up to the highest degree.
_MONOMIALS = 10


@compiled(nogil=True)
def polynomial_room(size):  # type: ignore[no-untyped-def]
    """What the next two stages fill, for chunks of so many rows."""
    u, bends, slopes, products = np.empty((2, size)), np.empty((2, size)), np.empty((2, 3, size)), np.empty((3, size))
    h, h1 = np.empty((_MONOMIALS, size)), np.empty((_MONOMIALS, size))
    h2, laplacian = np.empty((_MONOMIALS, size)), np.empty((_MONOMIALS, size))
    return u, bends, slopes, products, h, h1, h2, laplacian


@compiled(**STAGE)
def coordinate_stage(X, start, m, center, axes, u, slopes, bends, products):  # type: ignore[no-untyped-def]
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


@compiled(**STAGE)
def monomial_stage(m, count, u, bends, products, h, h1, h2, laplacian):  # type: ignore[no-untyped-def]
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


@compiled(**STAGE)
def weight_stage(d, start, m, scales, g, slope):  # type: ignore[no-untyped-def]
    """Values of g = 1 − exp(−d/scale) and of its derivative for each scale, shapes (q, ·)."""
    for k in range(len(scales)):
        saturating_stage(d[start:], m, scales[k], g[k], slope[k])


@compiled(**STAGE)
def dot_stage(slopes, V, m, out):  # type: ignore[no-untyped-def]
    """⟨∇u_j, v⟩ for j = 1, 2, shape (2, ·)."""
    for j in range(2):
        p, q, r, dot = slopes[j, 0], slopes[j, 1], slopes[j, 2], out[j]
        for i in range(m):
            dot[i] = p[i] * V[0, i] + q[i] * V[1, i] + r[i] * V[2, i]


@compiled(**STAGE)
def gradient_stage(m, g, slope, h1, h2, laplacian, along, across, e):  # type: ignore[no-untyped-def]
    """Put g ⟨∇h, ψ⟩ + g Δh + ⟨∇g, ∇h⟩ into e."""
    a, b, p, q = along[0], along[1], across[0], across[1]
    for i in range(m):
        e[i] = gradient_row(g[i], slope[i], h1[i], h2[i], laplacian[i], a[i], b[i], p[i], q[i])


@compiled(**STAGE)
def stream_stage(m, g, slope, h, h1, h2, turned, side, e):  # type: ignore[no-untyped-def]
    """Put −⟨g ∇h + h ∇g, Jψ⟩ into e."""
    a, b = turned[0], turned[1]
    for i in range(m):
        e[i] = stream_row(g[i], slope[i], h[i], h1[i], h2[i], a[i], b[i], side[i])


@compiled(**STAGE)
def weigh_stage(m, s, g, slope, sg, ss):  # type: ignore[no-untyped-def]
    """Both times the weights of the rows."""
    for i in range(m):
        sg[i], ss[i] = s[i] * g[i], s[i] * slope[i]


@compiled(**STAGE)
def cross_stage(X, start, V, first, m, out):  # type: ignore[no-untyped-def]
    """Put x × v into out, for columns of V from a first one on."""
    for i in range(m):
        x, y, z = X[0, start + i], X[1, start + i], X[2, start + i]
        p, q, r = V[0, first + i], V[1, first + i], V[2, first + i]
        out[0, i], out[1, i], out[2, i] = y * r - z * q, z * p - x * r, x * q - y * p
