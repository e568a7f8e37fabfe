"""What one row does to an estimate: θ̂ − θ ≈ Σ w_i ψ_i / Σ w_i, to first order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.arrays import FloatArray, row_dots, weighted_gram
from tmsm.equations import EquationSpec, equation_residuals
from tmsm.groups import GroupSums, require_groups
from tmsm.models.base import Model
from tmsm.moments import MomentSpec, StatisticSums, row_residuals
from tmsm.rows import Block, Rows

__all__ = [
    "EquationInfluence",
    "GroupErrors",
    "Influence",
    "LikelihoodInfluence",
    "MomentInfluence",
    "error_df",
    "group_errors",
    "small_sample_factor",
]

# Below so many rows for each parameter intervals are by Student's t.
_ROWS_FOR_T = 50.0


class Influence(ABC):
    """The influence function of a fitted estimate."""

    @abstractmethod
    def of(self, rows: Rows) -> FloatArray:
        """Influence of every row inside the region, shape (n, p)."""


@final
@dataclass(frozen=True)
class MomentInfluence(Influence):
    """Of a single weight: matrix @ (A_i θ̂ + b_i), matrix = −T H⁻¹ Tᵀ of shape (p, p)."""

    spec: MomentSpec
    theta: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        return row_residuals(self.spec, rows, self.theta) @ self.matrix.T


@final
@dataclass(frozen=True)
class EquationInfluence(Influence):
    """Of stacked equations: matrix @ (A_i θ̂ + b_i), matrix of shape (p, m)."""

    spec: EquationSpec
    theta: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        return equation_residuals(self.spec, rows, self.theta) @ self.matrix.T


@final
@dataclass(frozen=True)
class LikelihoodInfluence(Influence):
    """Of a likelihood: matrix @ (t(x_i) − E t), matrix = T (Tᵀ I T)⁻¹ Tᵀ of shape (p, p)."""

    model: Model
    mean: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        centred = rows.map(lambda block: self.model.statistics(block.X) - self.mean)
        return np.concatenate(list(centred)) @ self.matrix.T

    def covariance(self, rows: Rows, sums: StatisticSums) -> FloatArray:
        """Cov(θ̂), shape (p, p): the inverse information, or with unequal weights the sandwich Σ w² ψψᵀ / (Σw)².

        Weights may depend on x, as the inverse of a probability of being in the table does.  The inverse
        information times Σw²/(Σw)² would be right only for weights that do not.
        """
        if rows.equally_weighted:
            return self.matrix / sums.effective_n

        def squares(block: Block) -> FloatArray:
            away, share = self.model.statistics(block.X) - self.mean, block.weights() / sums.weight_sum
            # A row pulls the estimate towards itself by its leverage, which makes its residual too small.
            leverage = share * row_dots(away @ self.matrix, away)
            return weighted_gram(away, (share / np.maximum(1.0 - leverage, 0.5)) ** 2)

        total = rows.total(squares)
        assert total is not None, "there are rows inside"
        covariance = self.matrix @ total @ self.matrix.T
        return 0.5 * (covariance + covariance.T)


@final
@dataclass(frozen=True)
class GroupErrors:
    """Cluster-robust errors of an estimate.

    Attributes
    ----------
    covariance
        Of θ̂, shape (p, p).
    count
        Number of groups with rows inside the region.
    effective
        As many groups of equal size would say as much about the covariance.
    """

    covariance: FloatArray
    count: int
    effective: float


def small_sample_factor(n: float, n_free: int) -> float:
    """The factor n / (n − k) for a covariance from n independent rows, or groups, at an estimate of k parameters."""
    return n / max(n - n_free, 1.0)


def error_df(n: float, n_free: int) -> float | None:
    """Degrees of freedom of a covariance from n independent rows, None where normal quantiles do.

    n − 1 below 50 rows for each parameter; from 100 on the difference is noise, and in between it fades.
    """
    share = min(2.0 - n / (_ROWS_FOR_T * n_free), 1.0)
    return max(n - 1.0, 1.0) / share if share > 0.0 else None


def group_errors(influence: Influence, rows: Rows, n_free: int) -> GroupErrors:
    """Errors from sums of influences over groups, which are independent of each other.

    With s_g = Σ w_i ψ_i over the rows of a group, w of sum one, and π_g = Σ w_i:

        Cov(θ̂) = G*/(G* − k) (G − 1)/G Σ_g s_g s_gᵀ / (1 − π_g)²,

    the jackknife over groups with the effective number G* = (Σγ)²/Σγ² of groups for that of rows.  γ_g is what a group
    adds to the variance where rows of a group have the correlation ρ, γ_g = Σ w_i² + ρ (π_g² − Σ w_i²), ρ from the
    influences themselves (Carter, Schnepel and Steigerwald 2017 take ρ = 1).
    """
    assert rows.groups is not None
    found = list(rows.map(lambda block: (block.weights(), block.groups)))
    w = np.concatenate([weights for weights, _ in found])
    w /= w.sum()
    psi = influence.of(rows) * w[:, None]
    sums = GroupSums(rows.groups.count, psi.shape[1] + 2)
    codes = np.concatenate([codes for _, codes in found if codes is not None])
    sums.add(codes, np.column_stack([psi, w, w**2]))
    totals = sums.totals[sums.totals[:, -2] > 0.0]
    count = len(totals)
    require_groups(count)
    s, share, squares = totals[:, :-2], totals[:, -2], totals[:, -1]
    # In units in which Σ s sᵀ has eigenvalues one: how large are the rows' own squares?
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("ij,ij->j", s, s), 1e-300))
    values, vectors = np.linalg.eigh((s * scale).T @ (s * scale))
    kept = values > 1e-10 * values[-1]
    white = (scale[:, None] * vectors[:, kept]) / np.sqrt(values[kept])
    row_variance = float(np.sum((psi @ white) ** 2)) / float(squares.sum())
    pairs = float((share**2 - squares).sum())
    correlation = 0.0
    if pairs > 1e-12 * float(squares.sum()):
        correlation = min(max((kept.sum() / row_variance - float(squares.sum())) / pairs, 0.0), 1.0)
    gamma = squares + correlation * (share**2 - squares)
    effective = float(gamma.sum()) ** 2 / float(gamma @ gamma)
    apart = s / np.maximum(1.0 - share, 0.1)[:, None]
    covariance = (apart.T @ apart) * ((count - 1.0) / count * small_sample_factor(effective, n_free))
    return GroupErrors(covariance, count, effective)
