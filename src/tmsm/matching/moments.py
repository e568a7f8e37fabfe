"""(A, b, n) of one weight: additive, so that data are read in parts, and streams.

Everything here is a sum over rows, so two parts of a data set are added.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.archives import write_archive
from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.encoding import encode
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.whole_files import as_path
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equation_content import encoded_setting, equations_content, same_equations
from tmsm.matching.equations import LinearSums
from tmsm.matching.one_weight import OneWeight, WeightTerms
from tmsm.matching.pilot import GroupColumns, OnePass
from tmsm.matching.row_sums import feature_rows, loops_for, sums_by_loops
from tmsm.matching.stacked import Stacked
from tmsm.models.base import LinearModel

__all__ = [
    "FORMAT",
    "MAX_FEATURE_STATISTICS",
    "VERSION",
    "Features",
    "Moments",
    "StatisticSums",
    "accumulate",
    "sum_statistics",
]

# Of files with sums.
FORMAT, VERSION = "tmsm moments", 1

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
            raise InvalidInputError(
                "Sums about different references cannot be added: their pilot estimates come from different rows. "
                "Sum all parts with the equations of one start, moments.cleared()."
            )
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
    """Sums over rows that can be added; A and b are their means.

    The parts of a data set can be summed on different machines, with the equations of one start, and added later.

    Attributes
    ----------
    n
        Number of rows.
    weight_sum, weight_squares
        Sums of the sample weights and of their squares (n without weights).
    A_sum, b_sum
        Weighted sums of A_i (p, p) and b_i (p,); of m stacked equations (m, p) and (m,).
    farthest
        Largest distance of a row to the border.
    equations
        The equations that were summed. Only sums of the same equations can be added.
    features
        Second moments for the standard errors of a stream; None if they were not wanted.
    one_pass
        What else is kept of the rows: a sample of them, and sums for combined equations, groups and a likelihood.

    Examples
    --------
    >>> import tempfile, tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(2000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    >>> start = tmsm.ScoreMatching(model, region).partial_fit(X[:500]).moments_
    >>> other = tmsm.ScoreMatching.from_moments(start.cleared()).partial_fit(X[500:]).moments_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     other.save(f"{folder}/part.npz")
    ...     both = start + tmsm.load_moments(f"{folder}/part.npz")
    >>> tmsm.ScoreMatching.from_moments(both).n_samples_
    2000
    """

    equations: OneWeight | WithCovariates | Stacked
    features: Features | None = None
    one_pass: OnePass | None = None

    def __add__(self, other: LinearSums) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if not same_equations(self.equations, other.equations):
            raise InvalidInputError(
                "Moments of different models, weights or exposures cannot be added. "
                "Fix the scale of the weight (weight=fit.weight_), or use partial_fit."
            )
        one_pass = None
        if self.one_pass is not None and other.one_pass is not None:
            one_pass = self.one_pass + other.one_pass
        features = None
        streamed = [one for one in (self.one_pass, other.one_pass) if one is not None and one.pilot is not None]
        if len(streamed) == 2 and (self.features is None) != (other.features is None):
            raise InvalidInputError(
                "Sums with and without those for standard errors cannot be added: make all with the same "
                "standard_errors."
            )
        if self.features is not None and other.features is not None:
            features = self.features + other.features
        return Moments(*_fields(super().__add__(other)), self.equations, features, one_pass)

    @property
    def group_columns(self) -> GroupColumns:
        """What is summed over each group, where rows come in groups."""
        one_pass = self.one_pass
        if one_pass is None or one_pass.pilot is None:
            return GroupColumns(0, 0, 0)
        with_errors = self.features is not None or one_pass.residuals is not None
        p = len(one_pass.pilot.theta)
        m = self.equations.n_equations if with_errors else 0
        return GroupColumns(m, p, 0 if one_pass.statistics is None else p)

    def cleared(self) -> Moments:
        """The same equations with no rows yet, to sum another part of a data set."""
        features = self.features
        if features is not None:
            features = replace(features, squares=np.zeros_like(features.squares))
        one_pass = None if self.one_pass is None else self.one_pass.cleared()
        A, b = np.zeros_like(self.A_sum), np.zeros_like(self.b_sum)
        return Moments(0, 0.0, 0.0, A, b, 0.0, self.equations, features, one_pass)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sums to a file (``.npz``), whole or not at all; `tmsm.load_moments` reads them.

        The file holds the sums, their configuration, a checksum and at most 65,536 of the rows. It holds no code. A
        ``log_exposure`` function cannot be written: give it again at loading.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        """
        write_archive(as_path(path), FORMAT, VERSION, self._content())

    def _content(self) -> dict[str, Any]:
        """All of it as JSON data with arrays."""
        one_pass, features = self.one_pass, self.features
        if one_pass is None or one_pass.choice is None:
            raise InvalidInputError("These sums have no configuration: save those of an estimator's moments_.")
        return {
            **dict(
                zip(("n", "weight_sum", "weight_squares", "A_sum", "b_sum", "farthest"), _fields(self), strict=True)
            ),
            "region": encode(one_pass.region, "region"),
            "configuration": {name: encoded_setting(name, value) for name, value in one_pass.configuration.items()},
            "equations": equations_content(self.equations, one_pass.choice, one_pass.kept.X),
            "features": None if features is None else {"reference": features.reference, "squares": features.squares},
            "one_pass": one_pass.content(),
        }


def accumulate(
    equations: OneWeight | WithCovariates, rows: Rows, *, reference: FloatArray | None = None
) -> Moments | None:
    """Sum the moments of all rows inside the region; None if there are none.

    With a ``reference`` θ₀, shape (p,), also the features about it.
    """
    program = loops_for(equations, rows, with_features=reference is not None)
    if program is not None:
        assert isinstance(equations, OneWeight), "others have no loops"
        found = sums_by_loops(program, equations, rows, reference)
        if found is None:
            return None
        looped = None if reference is None else Features(reference, found.feature_squares)
        linear = found.linear(equations.model.size)
        sums = found.n, found.weight_sum, found.weight_squares, *linear, found.farthest
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
        """(Σw)²/Σw², the number of equally weighted rows with as much information."""
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
