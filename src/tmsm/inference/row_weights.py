"""How much each row counts in a robust fit."""

from __future__ import annotations

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.inference.fit import Fit
from tmsm.matching.robust import Robust

__all__ = ["robust_weights", "weightless_rows"]


def robust_weights(fit: Fit) -> FloatArray | None:
    """The weight of each row of the sample of the kept rows, with mean one, shape (n,); None of other fits."""
    equations = fit.influence.equations
    return equations.row_weights(fit.kept.sample().X, fit.theta) if isinstance(equations, Robust) else None


def weightless_rows(fit: Fit) -> BoolArray | None:
    """Which of them have nearly no weight, shape (n,)."""
    equations = fit.influence.equations
    return equations.leaves_out(fit.kept.sample().X, fit.theta) if isinstance(equations, Robust) else None
