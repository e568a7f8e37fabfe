"""Whether the rows could come from the model at all, judged without its normalising constant.

Under the model E[A_i θ + b_i] = 0 holds for more equations than there are parameters.  Those combinations of them that
do not feel an error of θ̂, to first order, are compared with their spread.  For an estimate from these very equations it
is the over-identification test of Sargan and Hansen; any other estimate may be put in its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.combination import independent_equations
from tmsm.equations import EquationSpec, sum_equations, sum_residuals
from tmsm.errors import EstimationError
from tmsm.influence import Influence
from tmsm.models.base import Model
from tmsm.moments import LogExposure, MomentSpec, row_residuals
from tmsm.polynomials import LocalPolynomials
from tmsm.rows import Rows
from tmsm.weights import Combined, Constant, Distance

__all__ = ["Criterion", "GoodnessOfFit", "equation_spec", "information_criterion", "over_identification"]

# The test's size needs more rows for each squared equation than the estimate does, and three levels are enough.
_ROWS_PER_SQUARE = 40
_MAX_LEVEL = 3
_MIN_ROWS_PER_EQUATION = 8


class GoodnessOfFit(NamedTuple):
    """A χ² statistic, its degrees of freedom and the probability of a larger one under the model."""

    statistic: float
    df: int
    p_value: float


def equation_spec(
    model: Model, rows: Rows, sample: FloatArray, weight: Combined, log_exposure: LogExposure | None
) -> EquationSpec:
    """The equations of a combined weight whose scale and level are fixed, for rows like the sample's."""
    manifold = rows.region.manifold
    polynomials = LocalPolynomials.of(manifold, sample)
    return EquationSpec(model, weight, polynomials, log_exposure, rows.region.has_border)


def over_identification(
    model: Model, rows: Rows, theta: FloatArray, log_exposure: LogExposure | None = None
) -> GoodnessOfFit | None:
    """Test the model at an estimate θ; None where there are too few rows, or no equation to spare."""
    from scipy.special import chdtrc

    region = rows.region
    constraint = model.constraint(region.manifold.embedding_dim)
    if region.has_border:
        sample = rows.sample()
        try:
            weight = Combined().resolve(region, sample)
        except EstimationError:  # more than half of the rows on the border
            return None
        assert isinstance(weight, Combined)
        weight = weight.with_level(region.manifold, constraint.n_free, len(rows), _ROWS_PER_SQUARE)
        weight = replace(weight, level=min(weight.level or 1, _MAX_LEVEL))
    else:
        sample, weight = rows.sample(), Combined(_MAX_LEVEL, scale=1.0)
    spec = equation_spec(model, rows, sample, weight, log_exposure)
    sums = sum_equations(spec, rows)
    if sums is None:
        return None
    tangent = constraint.tangent(theta)
    reduction = spec.reduction(tangent)
    if sums.n < _MIN_ROWS_PER_EQUATION * len(reduction):
        return None
    residuals = sum_residuals(spec, rows, theta)
    covariance = reduction @ residuals.covariance @ reduction.T
    kept = independent_equations(covariance)
    covariance = covariance[np.ix_(kept, kept)]
    mean, slope = (reduction @ residuals.mean)[kept], (reduction @ sums.A @ tangent)[kept]
    # In units of each equation's spread: combinations N with N A T = 0 do not feel an error of θ along the family.
    scale = 1.0 / np.sqrt(np.diag(covariance))
    df = len(kept) - constraint.n_free
    if df < 1:
        return None
    slope = slope * scale[:, None]
    slope /= np.linalg.norm(slope, axis=0)
    free = np.linalg.svd(slope.T)[2][constraint.n_free :]
    spread = free @ (covariance * np.outer(scale, scale)) @ free.T
    values = free @ (mean * scale)
    statistic = float(values @ np.linalg.solve(spread, values))
    return GoodnessOfFit(statistic, df, float(chdtrc(df, statistic)))


@dataclass(frozen=True)
class Criterion:
    """An estimate of the objective J on new rows.

    Attributes
    ----------
    value
        J at the estimate plus the optimism of having been fitted to the same rows: lower is better.
    optimism
        That correction.
    row_values
        Each row's part of J, shape (n,).
    """

    value: float
    optimism: float
    row_values: FloatArray


def information_criterion(
    model: Model, rows: Rows, theta: FloatArray, influence: Influence, log_exposure: LogExposure | None
) -> Criterion:
    """J with the plain geodesic weight, corrected for optimism (Matsuda, Uehara and Hyvärinen 2021).

    The row's part of J is ρ_i(θ) = θᵀA_iθ + 2b_iᵀθ with slope 2 e_i, so fitting lowers the mean of ρ by
    −2 Σ w² e_i·ψ_i / (Σw)² in expectation, ψ_i the influence of the row on θ̂; with the same weight for fit and
    comparison that is 2 tr(A⁻¹ cov e)/n.
    """
    spec = MomentSpec(model, Distance("geodesic") if rows.region.has_border else Constant(), log_exposure)
    e = row_residuals(spec, rows, theta)
    values = (e + row_residuals(spec, rows, np.zeros_like(theta))) @ theta
    w = np.concatenate(list(rows.map(lambda block: block.weights())))
    w = w / w.sum()
    optimism = -2.0 * float(w**2 @ np.einsum("ij,ij->i", e, influence.of(rows)))
    return Criterion(float(w @ values) + optimism, optimism, values)
