"""Balls in flat space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots, row_norms, safe_inverse
from tmsm.foundation.validation import check_number, check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold
from tmsm.regions.borders import Constrained, ConstraintFrame, SmoothBorder
from tmsm.regions.landmarks import Landmarks
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["Ball"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Ball(SmoothBorder, Region):
    """The points of R^d closer to ``center`` than ``radius``.

    Parameters
    ----------
    center
        Shape (d,).
    radius
        Positive.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Ball([0.0, 0.0], 2.0).contains([[1.0, 1.0], [2.0, 2.0]])
    array([ True, False])
    """

    center: FloatArray
    radius: float

    def __init__(self, center: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "center", frozen_array(check_vector(center, "center")))
        object.__setattr__(self, "radius", check_number(radius, "radius", above=0.0))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(self.center.size)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.center - self.radius, self.center + self.radius

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return None if self.center.size != 2 else [self._circle(360)]

    def border_edges(self, tolerance: float) -> list[FloatArray] | None:
        # A chord over an angle of 2φ is r φ²/2 away from the circle.
        half = np.sqrt(2.0 * tolerance / self.radius)
        return None if self.center.size != 2 else [self._circle(int(np.ceil(np.pi / min(half, np.pi / 360.0))))]

    def _circle(self, n: int) -> FloatArray:
        turn = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        return self.center + self.radius * np.column_stack([np.cos(turn), np.sin(turn)])

    @property
    def landmarks(self) -> Landmarks:
        return Landmarks.ball(self.center, self.radius)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        inward = self.center - X
        rho = row_norms(inward)
        inverse = safe_inverse(rho)
        inward *= inverse[:, None]
        d = zero_on_border(self.radius - rho, self.radius + float(np.abs(self.center).max()))
        return d, inward, (1.0 - X.shape[1]) * inverse  # Δd = −(d−1)/ρ

    @property
    def constraints(self) -> Constrained | None:
        return _InsideBall(self.center, self.radius)

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def reach_outside(self) -> float | None:
        return np.inf


@dataclass(frozen=True)
class _InsideBall(Constrained):
    """h = (r² − |x − c|²)/2: ∇h = c − x, Hess h = −I."""

    center: FloatArray
    radius: float

    @property
    def n_constraints(self) -> int:
        return 1

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        inward = self.center - X
        values = 0.5 * (self.radius**2 - row_dots(inward, inward))
        return ConstraintFrame(values[:, None], (inward,), np.full((len(X), 1), -float(X.shape[1])), lambda k, V: -V)
