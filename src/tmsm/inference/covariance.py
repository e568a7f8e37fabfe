"""From a solution to the covariance of its estimate."""

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.inference.influence import Influence
from tmsm.matching.equations import residual_squares
from tmsm.matching.moments import StatisticSums
from tmsm.matching.pilot import StatisticSquares
from tmsm.matching.solve import Solution
from tmsm.numerics.scaling import condition_number, solve_scaled

__all__ = [
    "inverse_information",
    "likelihood_covariance",
    "likelihood_covariance_once",
    "moment_influence",
    "sandwich_covariance",
]


def sandwich_covariance(solution: Solution, residual_squares: FloatArray, weight_sum: float) -> FloatArray:
    """Cov(θ̂) = T H⁻¹ Tᵀ S T H⁻¹ Tᵀ, shape (p, p).

    S = Σ w² e eᵀ / (Σw)² with e_i = A_i θ̂ + b_i, T the tangent of the family at θ̂ and H the
    curvature of the objective along it; for a linear family this is A⁻¹ cov(e) A⁻¹ / n.
    """
    influence = moment_influence(solution)
    covariance = influence @ (residual_squares / weight_sum**2) @ influence.T
    return 0.5 * (covariance + covariance.T)


def moment_influence(solution: Solution) -> FloatArray:
    """−T H⁻¹ Tᵀ, shape (p, p): θ̂ − θ is the mean of its product with e_i, to first order."""
    T = solution.tangent
    influence: FloatArray = -T @ solve_scaled(solution.curvature, T.T)
    return influence


def inverse_information(information: FloatArray, tangent: FloatArray, n: float) -> FloatArray:
    """T (Tᵀ I T)⁻¹ Tᵀ / n: covariance of a maximum likelihood estimate on a (curved) family."""
    along = tangent.T @ information @ tangent
    if not condition_number(along) < 1e14:
        raise EstimationError(
            "The Fisher information at the estimate is singular: the rows do not determine every parameter. "
            "Use more rows, or fix what is known."
        )
    covariance = tangent @ solve_scaled(along, tangent.T) / n
    return 0.5 * (covariance + covariance.T)


def likelihood_covariance(influence: Influence, rows: Rows, sums: StatisticSums) -> FloatArray:
    """Cov(θ̂), shape (p, p): the inverse information, or with unequal weights the sandwich Σ w² ψψᵀ / (Σw)².

    Weights may depend on x, as the inverse of a probability of being in the table does.  The inverse
    information times Σw²/(Σw)² would be right only for weights that do not.
    """
    if rows.source.equally_weighted:
        return -influence.matrix / sums.effective_n
    return influence.weighted_squares(rows, sums.weight_sum)


def likelihood_covariance_once(
    influence: Influence, kept: Rows, sums: StatisticSums, squares: StatisticSquares, away: FloatArray
) -> FloatArray:
    """The same of rows that were read once, from sums of squares of their statistics about a point.

    ``away``, shape (p,), is how far the expected statistics are from it.  What leverages change is seen on the kept
    rows.
    """
    if squares.equally_weighted:
        return -influence.matrix / sums.effective_n
    M, W = influence.matrix, sums.weight_sum
    X, weight = kept.source.table()
    alone = Rows.of_kept(kept.region, X, weight, None, kept.on_border, kept.frame)
    w = np.ones(len(X)) if weight is None else weight
    share = sums.weight_squares / float(w @ w)
    still = M @ residual_squares(influence.equations, alone, influence.theta) @ M.T / W**2
    whole = M @ squares.residual_squares(away, sums.weight_squares) @ M.T / W**2
    covariance: FloatArray = whole + share * (influence.weighted_squares(alone, W) - still)
    return 0.5 * (covariance + covariance.T)
