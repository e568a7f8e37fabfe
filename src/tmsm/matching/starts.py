"""Where searches for the best θ of a density begin."""

from __future__ import annotations

from functools import singledispatch

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.matching.equations import Equations
from tmsm.matching.mixture_starts import mixture_starts
from tmsm.models.mixture import Mixture
from tmsm.models.nonlinear import NonlinearModel

__all__ = ["starts_of"]


@singledispatch
def starts_of(model: NonlinearModel, equations: Equations, rows: Rows) -> list[FloatArray]:
    """Some θ, shape (p,) each, the most promising first; families whose starts need the equations register theirs."""
    return model.starts(rows.sample().X)


starts_of.register(Mixture, mixture_starts)
