"""How far the differences that stand for the gradient of a known exposure may move an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.text import readable
from tmsm.inference.influence import Influence
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equations import Equations, row_residuals
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.robust import Robust
from tmsm.matching.stacked import Stacked
from tmsm.matching.turning import Turning

__all__ = ["exposure_cautions", "exposure_shift"]

_ROWS = 2048
# In standard errors.
_MATTERS = 0.1


def exposure_shift(influence: Influence, covariance: FloatArray, rows: Rows) -> float | None:
    """How far θ̂ moves when the steps of the differences are doubled, in standard errors; None without differences.

    From some rows: the mean of what each of them would move, and the error of that mean.
    """
    solved = influence.equations
    equations = solved.inner if isinstance(solved, Robust) else solved
    if not isinstance(equations, OneWeight | Stacked | WithCovariates | Turning) or equations.exposure is None:
        return None
    coarser = equations.exposure.with_coarser_differences
    if coarser is None:
        return None
    some = rows.spread(_ROWS)
    other: Equations
    if isinstance(equations, WithCovariates | Turning):
        other = equations.with_exposure(coarser)
    else:
        other = replace(equations, exposure=coarser)
    change = row_residuals(solved.alike(other), some, influence.theta)
    change -= row_residuals(solved, some, influence.theta)
    moved = change @ influence.matrix.T
    mean, variance = moved.mean(axis=0), np.atleast_2d(np.cov(moved.T, bias=True)) / len(moved)
    # Along the family: elsewhere the covariance is zero.
    inverse = np.linalg.pinv(covariance, hermitian=True)
    return float(np.sqrt(max(mean @ inverse @ mean + np.trace(inverse @ variance), 0.0)))


def exposure_cautions(influence: Influence, covariance: FloatArray | None, rows: Rows) -> list[str]:
    """A sentence where the error of the differences could matter."""
    shift = None if covariance is None else exposure_shift(influence, covariance, rows)
    if shift is None or shift <= _MATTERS:
        return []
    return [
        "The gradient of log_exposure is taken from differences of its values, and their error could move the estimate "
        f"by {readable(shift)} standard errors: return (values, gradients), or values that are smooth."
    ]
