"""Stacked equations become an estimate: generalised method of moments in two steps, and a correction of its bias.

1.  θ₀ from the first weight alone; T the tangent of the family there.
2.  θ₁ minimises f̄ᵀ S⁻¹ f̄ over the family, f̄ = A θ + b the stacked means (along T) and S their covariance at θ₀.
3.  A and S again, from rows tilted so that f̄ = 0: L = Aᵀ S⁻¹ hardly depends on the noise in f̄, which step 2's does,
and L (A θ + b) = 0 along the family gives θ̂.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.arrays import BoolArray, FloatArray
from tmsm.equations import EquationSpec, EquationSums, sum_residuals, tilt_equations
from tmsm.errors import EstimationError
from tmsm.models.constraints import Constraint
from tmsm.rows import Rows
from tmsm.solve import Solution, solve, solve_near

__all__ = ["Combination", "combine", "independent_equations"]

# Each part's own covariance is made so much larger: keeps parts that nearly depend on each other from cancelling, and
# does not depend on the coordinates or units in which a part is written.
_RIDGE = 1e-3
# An equation is left out if the ones before it explain all but this share of its variance.
_INDEPENDENT = 1e-6
_MAX_STEPS = 20


@dataclass(frozen=True)
class Combination:
    """What the stacked equations gave.

    Attributes
    ----------
    solution
        θ̂, the tangent and curvature of the quadratic form there.
    covariance
        Of θ̂, shape (p, p).
    influence
        θ̂ − θ ≈ the mean of influence @ e_i, shape (p, m).
    criterion
        f̄ᵀ Ω⁻¹ f̄ at θ̂, Ω the covariance of one row's equations.
    n_equations
        Number of independent ones.
    sums
        n, A and b.
    """

    solution: Solution
    covariance: FloatArray
    influence: FloatArray
    criterion: float
    n_equations: int
    sums: EquationSums


def combine(spec: EquationSpec, rows: Rows, constraint: Constraint, sums: EquationSums) -> Combination:
    """Combine the equations of rows; ``sums`` are those of `sum_equations`."""
    p = spec.n_statistics
    first = solve(constraint, sums.A[:p], sums.b[:p])
    reduction = spec.reduction(constraint.tangent(first.theta))
    residuals = sum_residuals(spec, rows, first.theta)
    kept = independent_equations(reduction @ residuals.covariance @ reduction.T)
    reduction, part = reduction[kept], spec.part_numbers(constraint.n_free)[kept]
    if len(kept) < constraint.n_free:
        raise EstimationError("The rows determine fewer equations than there are parameters: use more distinct rows.")
    A, b = reduction @ sums.A, reduction @ sums.b

    def weigh(covariance: FloatArray) -> FloatArray:
        return _inverse(reduction @ covariance @ reduction.T, part[:, None] == part[None, :])

    effective = sums.weight_sum**2 / residuals.weight_squares
    weights = weigh(residuals.covariance)
    near = solve_near(constraint, A.T @ weights @ A / effective, A.T @ weights @ b / effective, first.theta)
    multiplier = weights @ (A @ near.theta + b)
    # Leverage in the space of the influences, which has as many dimensions as parameters.
    to_influence = constraint.tangent(near.theta).T @ A.T @ weights @ reduction
    gram = to_influence @ residuals.covariance @ to_influence.T
    metric = to_influence.T @ _solve_scaled(gram, to_influence)
    tilted = tilt_equations(
        spec, rows, near.theta, sums.A @ near.theta + sums.b, reduction.T @ multiplier, metric, sums.weight_sum
    )
    weights = weigh(tilted.squares)
    L = (reduction @ tilted.equations.A).T @ weights
    theta = near.theta
    if not constraint.on_border(theta):
        theta = _root(constraint, theta, L @ A, L @ b)
    tangent = constraint.tangent(theta)
    covariance = reduction @ tilted.plain @ reduction.T / sums.weight_sum**2
    influence = -tangent @ _solve_scaled(tangent.T @ L @ A @ tangent, tangent.T @ L)
    spread = influence @ covariance @ influence.T
    mean = A @ theta + b
    return Combination(
        Solution(
            theta, near.tangent, near.curvature, near.condition, f"Several weights, combined. {near.status}".strip()
        ),
        0.5 * (spread + spread.T),
        influence @ reduction,
        float(mean @ _solve_scaled(covariance, mean)) / effective,
        len(kept),
        sums,
    )


def _root(constraint: Constraint, theta: FloatArray, slope: FloatArray, offset: FloatArray) -> FloatArray:
    """θ near the given one at which Jᵀ (slope θ + offset) = 0 along the family, by Gauss–Newton."""
    point = constraint.point(theta)
    for _ in range(_MAX_STEPS):
        J = point.jacobian
        step = -_solve_scaled(J.T @ slope @ J, J.T @ (slope @ point.theta + offset))
        moved = point.moved(step)
        if not (np.isfinite(moved.theta).all() and constraint.allows(moved.theta)):
            return point.theta
        done = np.linalg.norm(moved.theta - point.theta) <= 1e-10 * np.linalg.norm(moved.theta)
        point = moved
        if done:
            break
    return point.theta


def independent_equations(covariance: FloatArray) -> list[int]:
    """Which equations, in order, the ones before them do not determine."""
    scale = _unit_scale(covariance)
    correlation = covariance * np.outer(scale, scale)
    kept: list[int] = []
    factor = np.zeros((0, 0))  # of the kept ones' correlation, lower triangular
    for j in range(len(correlation)):
        if not correlation[j, j] > 0.5:
            continue  # an equation that is zero
        row = np.linalg.solve(factor, correlation[kept, j]) if kept else np.zeros(0)
        left = correlation[j, j] - float(row @ row)
        if left > _INDEPENDENT:
            grown = np.zeros((len(kept) + 1, len(kept) + 1))
            grown[:-1, :-1], grown[-1, :-1], grown[-1, -1] = factor, row, np.sqrt(left)
            factor = grown
            kept.append(j)
    return kept


def _inverse(covariance: FloatArray, same_part: BoolArray) -> FloatArray:
    """Inverse after a thousandth was added to the blocks of equations that belong to the same part."""
    scale = _unit_scale(covariance)
    correlation = covariance * np.outer(scale, scale)
    inverse: FloatArray = np.linalg.inv(correlation * (1.0 + _RIDGE * same_part))
    return inverse * np.outer(scale, scale)


def _unit_scale(covariance: FloatArray) -> FloatArray:
    diagonal = np.diag(covariance)
    scale: FloatArray = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
    return scale


def _solve_scaled(matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve a nearly symmetric system whose unknowns may have very different units."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    factor = scale[:, None] if rhs.ndim == 2 else scale
    found: FloatArray = factor * np.linalg.solve(matrix * np.outer(scale, scale), factor * rhs)
    return found
