"""What one row does to an estimate: θ̂ − θ ≈ Σ w_i ψ_i / Σ w_i, to first order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.groups import require_groups
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, row_dots, weighted_gram
from tmsm.matching.equations import Equations, row_residuals
from tmsm.numerics.scaling import whitening

__all__ = [
    "GroupErrors",
    "Influence",
    "are_unequal",
    "error_df",
    "errors_of_groups",
    "group_errors",
    "small_sample_factor",
]

# Below so many rows for each parameter intervals are by Student's t.
_ROWS_FOR_T = 50.0


@final
@dataclass(frozen=True)
class Influence:
    """The influence function of an estimate: ψ_i = matrix @ e_i(θ̂).

    Attributes
    ----------
    equations
        Those that the estimate solves.
    theta
        θ̂, shape (p,).
    matrix
        Shape (p, m): for a single weight or a likelihood −T H⁻¹ Tᵀ, H the curvature along the family's tangent T.
    """

    equations: Equations
    theta: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        """Influence of every row inside the region, shape (n, p)."""
        return row_residuals(self.equations, rows, self.theta) @ self.matrix.T

    def of_block(self, block: Block) -> FloatArray:
        """Influence of the rows of a block, shape (n, p)."""
        return self.equations.terms(block).residuals(self.theta) @ self.matrix.T

    def weighted_squares(self, rows: Rows, weight_sum: float) -> FloatArray:
        """Σ w² ψψᵀ / (Σw)², each row as if it had not been there, shape (p, p): for a likelihood."""

        def squares(block: Block) -> FloatArray:
            e, share = self.equations.terms(block).residuals(self.theta), block.weights() / weight_sum
            # A row pulls the estimate towards itself by its leverage, which makes its residual too small.
            leverage = -share * row_dots(e @ self.matrix, e)
            return weighted_gram(e, (share / np.maximum(1.0 - leverage, 0.5)) ** 2)

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

    @property
    def unequal(self) -> bool:
        """Whether groups of unequal weight make their number misleading."""
        return are_unequal(self.count, self.effective)


def are_unequal(count: int, effective: float) -> bool:
    """Whether so many groups are worth clearly fewer."""
    return effective < min(0.95 * count, count - 0.5)


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

    def block_squares(block: Block) -> tuple[FloatArray, FloatArray]:
        w = block.weights()
        psi = influence.of_block(block) * w[:, None]
        return psi.T @ psi, np.column_stack([psi, w, w**2])

    own, totals = rows.grouped_total(block_squares)
    assert own is not None, "there are rows inside"
    return errors_of_groups(totals, own, n_free)


def errors_of_groups(totals: FloatArray, own: FloatArray, n_free: int) -> GroupErrors:
    """The same from sums of w ψ, w and w² over each group, shape (G, p + 2), and Σ w² ψψᵀ over the rows (p, p)."""
    totals = totals[totals[:, -2] > 0.0]
    count = len(totals)
    require_groups(count)
    total = float(totals[:, -2].sum())
    s, share, squares, own = totals[:, :-2] / total, totals[:, -2] / total, totals[:, -1] / total**2, own / total**2
    # In units in which Σ s sᵀ has eigenvalues one: how large are the rows' own squares?
    white, values = whitening(s.T @ s)
    kept = values > 1e-10 * values[-1]
    row_variance = float(np.einsum("ij,ik,jk->", own, white[:, kept], white[:, kept])) / float(squares.sum())
    pairs = float((share**2 - squares).sum())
    correlation = 0.0
    if pairs > 1e-12 * float(squares.sum()):
        correlation = min(max((kept.sum() / row_variance - float(squares.sum())) / pairs, 0.0), 1.0)
    gamma = squares + correlation * (share**2 - squares)
    effective = float(gamma.sum()) ** 2 / float(gamma @ gamma)
    apart = s / np.maximum(1.0 - share, 0.1)[:, None]
    covariance = (apart.T @ apart) * ((count - 1.0) / count * small_sample_factor(effective, n_free))
    return GroupErrors(covariance, count, effective)
