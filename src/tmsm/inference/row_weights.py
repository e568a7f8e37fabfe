"""How much each row counts in a robust fit."""

from __future__ import annotations

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.inference.fit import Fit
from tmsm.matching.robust import Robust

__all__ = ["robust_weights", "weightless_rows"]

# A row has nearly no weight below this share of the mean weight.
_NEARLY_NONE = 0.05


def robust_weights(fit: Fit) -> FloatArray | None:
    """The weight of each row of the sample of the kept rows, with mean one, shape (n,); None of other fits."""
    equations = fit.influence.equations
    return equations.row_weights(fit.kept.sample().X, fit.theta) if isinstance(equations, Robust) else None


def weightless_rows(fit: Fit) -> BoolArray | None:
    """Which of them have nearly no weight, shape (n,)."""
    weights = robust_weights(fit)
    if weights is None:
        return None
    few: BoolArray = weights < _NEARLY_NONE
    return few
