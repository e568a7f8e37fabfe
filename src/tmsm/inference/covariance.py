"""From a solution to the covariance of its estimate."""

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.errors import EstimationError
from tmsm.solve import Solution

__all__ = ["inverse_information", "moment_influence", "sandwich_covariance"]


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
    # Scaled to a unit diagonal, so that units do not matter.
    scale = 1.0 / np.sqrt(np.diag(solution.curvature))
    spread = scale[:, None] * np.linalg.solve(solution.curvature * np.outer(scale, scale), scale[:, None] * T.T)
    influence: FloatArray = -T @ spread
    return influence


def inverse_information(information: FloatArray, tangent: FloatArray, n: float) -> FloatArray:
    """T (Tᵀ I T)⁻¹ Tᵀ / n: covariance of a maximum likelihood estimate on a (curved) family."""
    along = tangent.T @ information @ tangent
    scale = 1.0 / np.sqrt(np.maximum(np.diag(along), 1e-300))
    along = along * np.outer(scale, scale)
    if not np.linalg.cond(along) < 1e14:
        raise EstimationError(
            "The Fisher information at the estimate is singular: the rows do not determine every parameter. "
            "Use more rows, or fix what is known."
        )
    spread = scale[:, None] * np.linalg.solve(along, scale[:, None] * tangent.T)
    covariance = tangent @ spread / n
    return 0.5 * (covariance + covariance.T)
