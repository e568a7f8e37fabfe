"""A caution, not a test to report: whether the rows look like the family at all.

Under the model E[A_i θ + b_i] = 0 holds for the statistics of every wider family too.  Combinations of
these equations that do not feel the estimated θ, to first order, are compared with their spread.
"""

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.models.wider import wider_family
from tmsm.moments import MomentSpec, accumulate, row_residuals
from tmsm.rows import Rows

__all__ = ["misfit_caution"]

_MIN_ROWS = 100
_SUSPICIOUS = 1e-6


def misfit_caution(spec: MomentSpec, rows: Rows, theta: FloatArray) -> str | None:
    """One sentence if rows, some thousands at most, could hardly come from the family at θ; else None."""
    p_value = misfit_p_value(spec, rows, theta)
    if p_value is None or p_value > _SUSPICIOUS:
        return None
    return (
        f"The rows do not look like {type(spec.model).__name__} inside this region (p = {p_value:.0e}): they may be "
        "bimodal, axial or of another shape, or the border may be wrong. Compare with a wider family "
        "(FisherBingham, Bingham), and look at a map."
    )


def misfit_p_value(spec: MomentSpec, rows: Rows, theta: FloatArray) -> float | None:
    """p-value of the equations of the wider family at θ; None where there are none, or too few rows."""
    from scipy.special import chdtrc

    D = rows.region.manifold.embedding_dim
    found = wider_family(spec.model, D)
    if found is None or len(rows) < _MIN_ROWS:
        return None
    wider, embed = found
    wide = MomentSpec(wider, spec.weight, spec.log_exposure)
    moments = accumulate(wide, rows)
    if moments is None or moments.n < _MIN_ROWS:
        return None
    residuals = row_residuals(wide, rows, embed @ theta)
    tangent = embed @ spec.model.constraint(D).tangent(theta)
    # Combinations N with Nᵀ A T = 0: an error of θ along the family does not move them.
    free = np.linalg.svd((moments.A @ tangent).T)[2][tangent.shape[1] :]
    values = residuals @ free.T
    mean, covariance = values.mean(axis=0), np.cov(values.T).reshape(len(free), len(free))
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    if not np.linalg.cond(correlation) < 1e10:
        return None
    statistic = len(values) * float((mean / scale) @ np.linalg.solve(correlation, mean / scale))
    return float(chdtrc(len(free), statistic))
