"""Which functions a series has: splines round knots in a small region, harmonics on a large one, cosines in a box.

All of them have a free part, the polynomials of degree two, and a ridge on the rest that is a measure of the third
derivative squared, whose zeros are just the free part: for harmonics of degree l on S² it is
l(l+1)(l(l+1)−2)(l(l+1)−6)/720, one at degree three; for splines their own norm, which on a line is ∫|f‴|²/240 in units
of the region's size, and in the plane that of a derivative between the third and the fourth, over all of it and not the
region alone; for cosines the sixth power of their frequency.  The constants differ: a ridge of one basis is not that of
another.
"""

from __future__ import annotations

from math import comb

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, row_dots
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.maps.functions import Cosines, Harmonics, Polynomials, SideBySide, Splines
from tmsm.maps.series import Series

__all__ = ["BASES", "MAX_DEGREE", "number_of_functions", "series_of"]

BASES = ("auto", "bumps", "series")
MAX_DEGREE = 40
# In more dimensions than two no more functions than this.
_MOST_FUNCTIONS = 400
# With more quadratic polynomials than this, linear ones are free and the ridge is that of the second derivative.
_MOST_FREE = 70
# Polynomials that hardly differ from others among the nodes are left out: to this share.
_SAME = 1e-5
# Directions in which the splines' matrix is rounding noise.
_NOISE = 1e-10
# A box of cosines is larger than the region by this share on each side: at its edges they are flat.
_ROOM = 0.1


def number_of_functions(degree: int, dim: int) -> int:
    """How many functions a degree stands for: on a surface as many as there are harmonics, (degree + 1)²."""
    if dim <= 2:
        return 2 * degree + 1 if dim == 1 else (degree + 1) ** 2
    return int(min((degree + 1) ** dim, _MOST_FUNCTIONS))


def series_of(kind: str, manifold: Manifold, X: FloatArray, weights: FloatArray, degree: int) -> Series:
    """The series of a kind, "bumps" or "series", for a region.

    Parameters
    ----------
    kind
        "bumps" anywhere; "series" on S² and in flat space up to dimension three.
    manifold
        Where the region lies.
    X, weights
        Points of the region, (m, D), that stand for areas (m,).
    degree
        How fine.
    """
    if kind == "bumps":
        return _bumps(manifold, X, weights, degree)
    if manifold.has_longitudes:
        return _harmonics(manifold, X, weights, degree)
    if manifold.is_flat and manifold.dim <= 3:
        return _cosines(manifold, X, weights, degree)
    raise InvalidInputError(
        f"basis='series' is for the sphere S² and for flat space up to dimension three, not for {manifold!r}: use "
        "'bumps'."
    )


def _bumps(manifold: Manifold, X: FloatArray, weights: FloatArray, degree: int) -> Series:
    origin, scale = _scaled(manifold, X, weights)
    Y = (manifold.functions(X) - origin) / scale
    quadratic = comb(Y.shape[1] + 2, 2) <= _MOST_FREE and degree > 1
    polynomials = Polynomials(Y.shape[1], 2 if quadratic else 1)
    free = _independent(polynomials.values(Y), weights)
    count = number_of_functions(degree, manifold.dim) - 1 - free.shape[1]
    words = f"polynomials of degree {polynomials.degree}"
    if count <= 0:
        return Series(manifold, polynomials, origin, scale, free, free.shape[1], words)
    # As many knots more as conditions are put on their coefficients.
    knots = Y[spread_out(Y, count + 1 + free.shape[1])]
    splines = Splines(knots, 5 if quadratic else 3)
    bound = np.linalg.qr(np.column_stack([np.ones(len(knots)), polynomials.values(knots) @ free]), mode="complete")[0]
    across = bound[:, 1 + free.shape[1] :]
    values, vectors = np.linalg.eigh(across.T @ splines.values(knots) @ across)
    kept = values > _NOISE * values.max(initial=0.0)
    rest = across @ (vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1]
    functions = SideBySide([polynomials, splines])
    return Series(
        manifold, functions, origin, scale, _blocks(free, rest), free.shape[1],
        f"{rest.shape[1]} bumps on {words}",
    )  # fmt: skip


def _harmonics(manifold: Manifold, X: FloatArray, weights: FloatArray, degree: int) -> Series:
    harmonics = Harmonics(degree)
    n_free = min(harmonics.size, 8)
    free = _independent(harmonics.values(X)[:, :n_free], weights)
    k = harmonics.degrees[n_free:] * (harmonics.degrees[n_free:] + 1.0)
    ridge = k * (k - 2.0) * (k - 6.0) / 720.0  # one at degree three
    nothing, one = np.zeros(3), np.ones(3)
    return Series(
        manifold, harmonics, nothing, one, _blocks(free, np.diag(ridge**-0.5)), free.shape[1],
        f"spherical harmonics of degree {degree}",
    )  # fmt: skip


def _cosines(manifold: Manifold, X: FloatArray, weights: FloatArray, degree: int) -> Series:
    origin, scale = _scaled(manifold, X, weights)
    Y = (X - origin) / scale
    room = _ROOM * np.ptp(Y, axis=0)
    low, high = Y.min(axis=0) - room, Y.max(axis=0) + room
    # As many of the orders as number_of_functions says lie in a part of a ball.
    quarter = {1: 1.0, 2: 4.0 / np.pi, 3: 6.0 / np.pi}[manifold.dim] ** (1.0 / manifold.dim)
    wanted = number_of_functions(degree, manifold.dim) ** (1.0 / manifold.dim)
    cosines = Cosines(low, high - low, max(int(wanted * quarter), 1))
    polynomials = Polynomials(manifold.dim)
    free = _independent(polynomials.values(Y), weights)
    ridge = row_dots(cosines.frequencies, cosines.frequencies) ** 3
    return Series(
        manifold, SideBySide([polynomials, cosines]), origin, scale, _blocks(free, np.diag(ridge**-0.5)),
        free.shape[1], f"{cosines.size} cosines on polynomials of degree 2",
    )  # fmt: skip


def _scaled(manifold: Manifold, X: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The middle of the region in the functions of its manifold, and its size in each factor, shape (E,) each."""
    Y, share = manifold.functions(X), weights / weights.sum()
    origin: FloatArray = share @ Y
    variance = share @ (Y - origin) ** 2
    scale, start = np.empty(len(origin)), 0
    for factor in manifold.factors:
        own = slice(start, start + factor.n_functions)
        scale[own] = np.sqrt(variance[own].sum())
        start = own.stop
    return origin, np.where(scale > 0.0, scale, 1.0)


def _independent(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The matrix that makes functions (m, q) uncorrelated with variance one over the region, (q, p)."""
    root = np.sqrt(weights / weights.sum())
    centred = (values - root**2 @ values) * root[:, None]
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > _SAME * sizes.max(initial=0.0)
    return np.asarray((axes[kept] / sizes[kept, None]).T)


def _blocks(free: FloatArray, rest: FloatArray) -> FloatArray:
    out = np.zeros((free.shape[0] + rest.shape[0], free.shape[1] + rest.shape[1]))
    out[: free.shape[0], : free.shape[1]] = free
    out[free.shape[0] :, free.shape[1] :] = rest
    return out


def spread_out(Y: FloatArray, count: int) -> IntArray:
    """The numbers of so many points (m, E) that lie far from each other: each the farthest from those before it."""
    first = int(np.argmin(((Y - Y.mean(axis=0)) ** 2).sum(axis=1)))
    chosen, squares = [first], np.full(len(Y), np.inf)
    for _ in range(min(count, len(Y)) - 1):
        away = Y - Y[chosen[-1]]
        np.minimum(squares, row_dots(away, away), out=squares)
        if not squares.max() > 0.0:
            break
        chosen.append(int(np.argmax(squares)))
    return np.array(chosen)
