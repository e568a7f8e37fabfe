"""The mixtures whose background has a given share: what the interval of a share that may be zero is profiled over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.models.constraints import Constraint
from tmsm.numerics.newton import Point

__all__ = ["ShareSet"]

# Log of the integral of all clusters, at θ without the level of the background, with gradient and Hessian.
LogMass = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]


@final
@dataclass(frozen=True)
class ShareSet(Constraint):
    """{θ : the entry ``index`` is log_odds + log ∫ clusters − log_mass}, the other entries free.

    Attributes
    ----------
    size, index
        Of θ, and where the level of the background lies in it.
    log_odds
        log(π_0/(1 − π_0)) of its share.
    log_mass
        Logarithm of the integral of exp(log b).
    clusters
        Log ∫ of the clusters.
    """

    size: int
    index: int
    log_odds: float
    log_mass: float
    clusters: LogMass

    @property
    def n_free(self) -> int:
        return self.size - 1

    def point(self, theta: FloatArray) -> Point:
        return self.at(np.delete(theta, self.index))

    def at(self, others: FloatArray) -> _SharePoint:
        """The point with these other entries."""
        try:
            value, slope, bend = self.clusters(others)
        except EstimationError:  # no such clusters: the objective is infinite there
            value, slope, bend = np.nan, np.zeros(others.size), np.zeros((others.size, others.size))
        level = self.log_odds + value - self.log_mass
        return _SharePoint(self, np.insert(others, self.index, level), slope, bend)


@final
@dataclass(frozen=True)
class _SharePoint(Point):
    allowed: ShareSet
    theta: FloatArray
    slope: FloatArray
    curvature: FloatArray

    @property
    def jacobian(self) -> FloatArray:
        found: FloatArray = np.insert(np.eye(self.slope.size), self.allowed.index, self.slope, axis=0)
        return found

    def bend(self, covector: FloatArray) -> FloatArray:
        return self.curvature * float(covector[self.allowed.index])

    def moved(self, step: FloatArray) -> Point:
        return self.allowed.at(np.delete(self.theta, self.allowed.index) + step)
