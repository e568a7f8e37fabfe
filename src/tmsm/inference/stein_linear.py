"""A Stein test in linear time: the kernel is replaced by its projection on some of the rows, the inducing points.

With y_1 … y_m the inducing points, K_YY = LLᵀ the kernel between them and φ(x) = L⁻¹ k(Y, x), the kernel φ(x)·φ(x′) is
that part of k(x, x′) that functions k(·, y_l) can express (Nyström).  Its Stein features are finitely many,

    f_jl(x) = φ_l u_j + g (P∇φ_l)_j,

and the statistic is n |mean f|².  Under the model √n mean f is normal to first order, with the covariance of f + B φ_i
(the mean slope B of f in θ times the influence of a row), so that the statistic is a sum of squared normal variables
weighted with the eigenvalues of that covariance.  As L⁻¹ acts on sums only, rows contribute their plain k(·, y_l).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.groups import GroupSums
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.inference.influence import Influence
from tmsm.inference.stein_rows import SteinRows
from tmsm.numerics.squared_normals import share_reaching

__all__ = ["GroupsInside", "InducingPoints", "linear_test"]

# Inducing points are added until this share of the kernel is missing, or there are so many of them or of features.
_MISSING, _MOST_POINTS, _MOST_FEATURES = 1e-4, 100, 1000
# They are some of so many rows, spread evenly.
_CANDIDATES = 4096
# Numbers in the features of one piece of a block, and in those of the rows or groups that are kept: 32 MB.
_PIECE_NUMBERS, _KEPT_NUMBERS = 2**19, 2**22
# However few rows carry the features, so much of the spread of the statistic is left.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class InducingPoints:
    """Inducing points of a Gaussian kernel.

    Attributes
    ----------
    center
        An origin among the rows, shape (E,): far from it differences would lose their digits.
    points
        Less the origin, shape (m, E).
    bandwidth
        Width of the kernel.
    root
        L⁻¹, shape (m, m).
    """

    center: FloatArray
    points: FloatArray
    bandwidth: float
    root: FloatArray

    @staticmethod
    def among(X: FloatArray, bandwidth: float) -> InducingPoints:
        """Choose some of the points X (n, E): always the one whose kernel the others express worst."""
        n, E = X.shape
        center = X.mean(axis=0)
        X = (X - center)[:: max(1, n // _CANDIDATES)]
        most = min(len(X), _MOST_POINTS, max(1, _MOST_FEATURES // E))
        L, rest = np.zeros((len(X), most)), np.ones(len(X))
        chosen: list[int] = []
        row = int(np.argmin(np.einsum("ij,ij->i", X, X)))
        # A Cholesky factor of the kernel, with pivots: `rest` is the diagonal that is left.
        while len(chosen) < most and rest.mean() > _MISSING:
            j = len(chosen)
            away = X - X[row]
            column = np.exp(-0.5 / bandwidth**2 * np.einsum("ij,ij->i", away, away)) - L[:, :j] @ L[row, :j]
            L[:, j] = column / np.sqrt(rest[row])
            rest = np.maximum(rest - L[:, j] ** 2, 0.0)
            chosen.append(row)
            row = int(np.argmax(rest))
        return InducingPoints(center, X[chosen], bandwidth, np.linalg.inv(L[chosen, : len(chosen)]))

    def kernel(self, X: FloatArray) -> FloatArray:
        """k(x, y_l) at points (n, E), shape (n, m)."""
        X, Y, scale = X - self.center, self.points, self.bandwidth**-2
        exponent = scale * (X @ Y.T)
        exponent -= 0.5 * scale * np.einsum("ij,ij->i", X, X)[:, None]
        exponent -= 0.5 * scale * np.einsum("ij,ij->i", Y, Y)
        return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent)

    def features(self, rows: SteinRows, kernel: FloatArray) -> FloatArray:
        """The Stein features of the plain functions k(·, y_l), shape (n, E, m)."""
        # ∇_x k = −(x − y) k/ℓ², so that f_jl = k (u_j − g (Px)_j/ℓ² + g (Py)_j/ℓ²)
        turned = rows.P * (rows.g * self.bandwidth**-2)[:, None, None]
        here = rows.u - np.einsum("ijd,id->ij", turned, rows.X - self.center)
        affine = np.concatenate([here[:, :, None], turned], axis=2).reshape(-1, 1 + self.points.shape[1])
        found = affine @ np.vstack([np.ones(len(self.points)), self.points.T])
        found = found.reshape(*rows.u.shape, -1)
        found *= kernel[:, None, :]
        return found

    def whiten(self, sums: FloatArray) -> FloatArray:
        """From features of k(·, y_l), along the last axis, to those of φ_l."""
        return sums @ self.root.T


def linear_test(
    of_block: Callable[[Block], SteinRows],
    influence: Influence,
    rows: Rows,
    inside: GroupsInside | None,
    points: InducingPoints,
) -> tuple[float, float]:
    """The statistic and the probability to reach it under the model, from one pass over the rows."""
    E, m = points.points.shape[1], len(points.points)
    p = len(influence.matrix)
    d = E * m
    # Rows outside, which are none of the blocks', stay zero and add nothing.
    units = _Units(len(rows) if inside is None else inside.count, d + p, inside)

    def block_sums(block: Block) -> _Sums:
        at, psi, total = of_block(block), influence.of_block(block), None
        size = max(1, _PIECE_NUMBERS // (d + p))
        for start in range(0, len(psi), size):
            piece = slice(start, start + size)
            codes = None if block.groups is None else block.groups[piece]
            part = _piece_sums(at[piece], psi[piece], points, units, codes)
            total = part if total is None else total + part
        assert total is not None, "a block has rows"
        return total

    sums = None
    for part in rows.map(block_sums):  # in the order of the rows, which units keep
        sums = part if sums is None else sums + part
    assert sums is not None, "there are rows inside"
    mean = points.whiten(sums.f.reshape(E, m))
    statistic = float((mean**2).sum()) / sums.n
    # f + B φ, for the features of k(·, y_l) first.
    correction = np.hstack([np.eye(d), sums.slope.reshape(d, p) / sums.n])
    products = sums.products if inside is None else units.products()
    covariance = correction @ products @ correction.T
    half = points.whiten(covariance.reshape(d, E, m)).reshape(d, d)
    whole = points.whiten(half.T.reshape(d, E, m)).reshape(d, d)
    weights = np.maximum(np.linalg.eigvalsh(0.5 * (whole + whole.T)), 0.0) / sums.n
    squares = (points.whiten((units.totals @ correction.T).reshape(-1, E, m)) ** 2).sum(axis=(1, 2))
    own = units.count * float((squares**2).mean()) / sums.n**2
    return statistic, _share_reaching(weights, own, statistic)


def _share_reaching(weights: FloatArray, own: float, statistic: float) -> float:
    """P(Σ λ z² ≥ statistic), with the spread of the sum that is left when no unit is compared with itself.

    Σ λ² is the mean of ⟨f_i, f_j⟩² over all pairs of units.  The part of those with themselves, ``own``, varies less in
    the statistic than in the normal limit.  Where few units carry much of the features it is most of the mean.
    """
    total = float(weights.sum())
    if total == 0.0:
        return 1.0
    share = 1.0 - own / float(weights @ weights)
    return share_reaching(weights, total + (statistic - total) / np.sqrt(max(share, _LEAST_SHARE)))


@dataclass(frozen=True)
class _Sums:
    """Over n rows: Σ f (E m), Σ ∂f/∂θ (E m, p), and Σ (f, φ)(f, φ)ᵀ where rows stand alone, (E m + p, E m + p)."""

    n: int
    f: FloatArray
    slope: FloatArray
    products: FloatArray

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.n + other.n, self.f + other.f, self.slope + other.slope, self.products + other.products)


def _piece_sums(
    rows: SteinRows, psi: FloatArray, points: InducingPoints, units: _Units, codes: IntArray | None
) -> _Sums:
    n, E, p = rows.slope.shape
    kernel = points.kernel(rows.X)
    f = points.features(rows, kernel).reshape(n, -1)
    # Σ_i k(x_i, y_l) ∂u_j/∂θ
    slope = (kernel.T @ rows.slope.reshape(n, -1)).reshape(-1, E, p).transpose(1, 0, 2).reshape(-1, p)
    both = np.concatenate([f, psi], axis=1)
    units.add(codes, both)
    return _Sums(n, f.sum(axis=0), slope, both.T @ both if codes is None else np.zeros(()))


@dataclass(frozen=True)
class GroupsInside:
    """The groups that have rows inside, ``count`` of them, and the ``number`` among these of every group."""

    number: IntArray
    count: int

    @staticmethod
    def of(rows: Rows) -> GroupsInside:
        """Of rows that come in groups."""
        assert rows.groups is not None
        present = np.zeros(rows.groups.count, dtype=bool)
        for block in rows.map(lambda block: block):
            present[block.groups] = True
        return GroupsInside(np.cumsum(present) - 1, int(present.sum()))


@final
class _Units:
    """What is independent, rows or the sums over groups: all of them, or one of every ``step`` in a bounded memory."""

    def __init__(self, count: int, width: int, groups: GroupsInside | None) -> None:
        self.count = count
        self._step = -(-count * width // _KEPT_NUMBERS)
        self._groups = groups
        self._sums = GroupSums(-(-count // self._step), width)
        self._seen = 0

    @property
    def totals(self) -> FloatArray:
        """Those that are kept, shape (k, width)."""
        return self._sums.totals

    def add(self, codes: IntArray | None, values: FloatArray) -> None:
        """Add rows (n, width) with their group numbers (n,), or the next rows that stand alone."""
        if codes is None or self._groups is None:
            number = np.arange(self._seen, self._seen + len(values))
            self._seen += len(values)
        else:
            number = self._groups.number[codes]
        chosen = number % self._step == 0
        if self._groups is None:
            self._sums.totals[number[chosen] // self._step] = values[chosen]
        elif chosen.any():
            self._sums.add(number[chosen] // self._step, values[chosen])

    def products(self) -> FloatArray:
        """Σ s sᵀ over the sums s of all groups, (width, width)."""
        products: FloatArray = self.totals.T @ self.totals * (self.count / len(self.totals))
        return products
