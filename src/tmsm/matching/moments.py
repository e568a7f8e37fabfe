"""(A, b, n) of one weight: additive, so that data are read in parts, and streams.

Everything here is a sum over rows, so two parts of a data set are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.errors import InvalidInputError
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equations import LinearSums
from tmsm.matching.one_weight import OneWeight, WeightTerms
from tmsm.matching.row_sums import feature_rows, loops_for, sums_by_loops
from tmsm.models.base import LinearModel

__all__ = ["MAX_FEATURE_STATISTICS", "Features", "Moments", "StatisticSums", "accumulate", "sum_statistics"]

# The second moments of (A_i, b_i) have about p⁴/4 entries: 53,000 at p = 20, 5 million at p = 65.
MAX_FEATURE_STATISTICS = 20


@dataclass(frozen=True)
class Features:
    """Second moments of (A_i, r_i), r_i = A_i θ₀ + b_i: what errors need without a second pass.

    The residual at another θ is A_i (θ − θ₀) + r_i; with θ₀ close to the estimate no digits cancel.
    """

    reference: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, terms: WeightTerms, w: FloatArray | None, reference: FloatArray) -> Features:
        """Of one block about a reference θ₀."""
        return cls(reference, weighted_gram(feature_rows(terms, reference), None if w is None else w**2))

    def __add__(self, other: Features) -> Features:
        if not np.array_equal(self.reference, other.reference):
            raise InvalidInputError("Features about different references cannot be added.")
        return Features(self.reference, self.squares + other.squares)

    def residual_squares(self, theta: FloatArray) -> FloatArray:
        """Σ w² e eᵀ with e_i = A_i θ + b_i, shape (p, p)."""
        p = theta.size
        change = theta - self.reference
        i, j = np.triu_indices(p)
        # e = L f: row i of A_i (θ − θ₀) collects the upper-triangle entries (i, j) and (j, i).
        L = np.zeros((p, i.size + p))
        k = np.arange(i.size)
        L[i, k] += change[j]
        off = i != j
        L[j[off], k[off]] += change[i[off]]
        L[:, i.size :] = np.eye(p)
        return L @ self.squares @ L.T


@dataclass(frozen=True)
class Moments(LinearSums):
    """Additive sums over rows; A and b are their means.

    Attributes
    ----------
    n
        Number of rows.
    weight_sum, weight_squares
        Sums of the sample weights and of their squares (n without weights).
    A_sum, b_sum
        Weighted sums of A_i (p, p) and b_i (p,).
    farthest
        Largest distance of a row to the border.
    equations
        What they are moments of; only moments of the same can be added.
    features
        Second moments for the errors of a stream; None where they were not asked for.
    """

    equations: OneWeight | WithCovariates
    features: Features | None = None

    def __add__(self, other: LinearSums) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.equations is not other.equations and self.equations != other.equations:
            raise InvalidInputError(
                "Moments of different models, weights or exposures cannot be added. "
                "Fix the scale of the weight (weight=fit.weight_), or use partial_fit."
            )
        features = None
        if self.features is not None and other.features is not None:
            features = self.features + other.features
        return Moments(*_fields(super().__add__(other)), self.equations, features)


def accumulate(
    equations: OneWeight | WithCovariates, rows: Rows, *, reference: FloatArray | None = None
) -> Moments | None:
    """Sum the moments of all rows inside the region; None if there are none.

    With a ``reference`` θ₀, shape (p,), also the features about it.
    """
    program = loops_for(equations, rows)
    if program is not None:
        assert isinstance(equations, OneWeight), "others have no loops"
        found = sums_by_loops(program, equations, rows, reference)
        if found is None:
            return None
        looped = None if reference is None else Features(reference, found.feature_squares)
        sums = found.n, found.weight_sum, found.weight_squares, found.A_sum, found.b_sum, found.farthest
        return Moments(*sums, equations, looped)

    def block_moments(block: Block) -> Moments:
        terms, w = equations.terms(block), block.sample_weight
        features = None
        if reference is not None:
            assert isinstance(terms, WeightTerms), "a stream has no covariates"
            features = Features.of(terms, w, reference)
        return Moments(*_fields(LinearSums.of(terms, block, w)), equations, features)

    return rows.total(block_moments)


def _fields(sums: LinearSums) -> tuple[int, float, float, FloatArray, FloatArray, float]:
    return sums.n, sums.weight_sum, sums.weight_squares, sums.A_sum, sums.b_sum, sums.farthest


@dataclass(frozen=True)
class StatisticSums:
    """Sums over rows of w, w² and w t: all that a likelihood needs from the data."""

    n: int
    weight_sum: float
    weight_squares: float
    total: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The weighted mean of t, shape (p,)."""
        return self.total / self.weight_sum

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw², the number of equally weighted rows that are worth as much."""
        return self.weight_sum**2 / self.weight_squares

    def __add__(self, other: StatisticSums) -> StatisticSums:
        return StatisticSums(
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.total + other.total,
        )


def sum_statistics(model: LinearModel, rows: Rows) -> StatisticSums | None:
    """Sum the statistics of all rows inside the region; None if there are none."""

    def block_sums(block: Block) -> StatisticSums:
        t, w = model.statistics(block.X), block.sample_weight
        if w is None:
            return StatisticSums(len(t), float(len(t)), float(len(t)), t.sum(axis=0))
        return StatisticSums(len(t), float(w.sum()), float(w @ w), w @ t)

    return rows.total(block_sums)
