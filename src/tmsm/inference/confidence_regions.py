"""The set of centres that the data do not reject: a confidence region that holds far from the data, too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.progress import with_progress
from tmsm.inference.delta import critical_square, tangent_spread
from tmsm.inference.discrepancy import Discrepancy, QuadraticDiscrepancy
from tmsm.inference.profile import farthest_within, profile_of
from tmsm.manifolds import Manifold
from tmsm.models.base import Model
from tmsm.models.parameters import Field

__all__ = ["ConfidenceRegion"]

_RAYS, _FEW_RAYS = 180, 48
# In flat space a region that reaches so many Wald distances has no end.
_ENDLESS = 1e3


@final
@dataclass(frozen=True)
class ConfidenceRegion:
    """All values of a parameter that the data do not reject; `confidence_region` of an estimator makes it.

    A value belongs to it if the best fit with this value is within the critical distance of the best fit. Far from the
    data the region may be long and one-sided, or the whole manifold.

    Attributes
    ----------
    field
        The parameter: a direction on a sphere, or a mean in flat space.
    level
        Confidence level.
    estimate
        Its estimate, shape (D,).
    discrepancy
        How much worse another θ fits than θ̂.
    model, manifold
        The family, and the manifold of the parameter.
    square
        The critical squared distance.
    error_df
        Degrees of freedom of the errors; None for the normal distribution.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 0.5)
    >>> truth = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 6.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> found = tmsm.ScoreMatching(model, region).fit(X).confidence_region("mean_direction")
    >>> found.everywhere, found.contains([truth["mean_direction"]]).tolist(), len(found.rings)
    (False, [True], 1)
    """

    field: Field
    level: float
    estimate: FloatArray
    discrepancy: Discrepancy
    model: Model
    manifold: Manifold
    square: float
    error_df: float | None

    @classmethod
    def of(
        cls,
        discrepancy: Discrepancy,
        model: Model,
        field: Field,
        manifold: Manifold,
        level: float,
        error_df: float | None,
    ) -> ConfidenceRegion:
        """The region of a field that the model has slices of."""
        estimate = np.asarray(model.parameters(discrepancy.theta)[field.name], dtype=np.float64)
        if model.slice(field.name, estimate) is None:
            raise InvalidInputError(
                f"There is no confidence region of the {field.title}: confidence_interval() gives its interval."
            )
        square = critical_square(manifold.dim, level, error_df)
        return cls(field, level, estimate, discrepancy, model, manifold, square, error_df)

    def __repr__(self) -> str:
        extent = "everywhere" if self.everywhere else f"up to {self._reach(self.half_axes[0])} from the estimate"
        return f"<{100 * self.level:g} % confidence region of the {self.field.name}: {extent}>"

    def contains(self, points: Any) -> Any:
        """Which points belong to the region, shape (n,).

        Parameters
        ----------
        points
            Shape (n, D).
        """
        X = self.manifold.check_points(points)
        if self.everywhere:
            return np.ones(len(X), dtype=bool)
        return np.array([self.distance(x) <= self.square for x in X], dtype=bool)

    def distance(self, point: FloatArray) -> float:
        """How badly a value fits, in squared standard errors: the profile of the discrepancy.

        Parameters
        ----------
        point
            A value of the parameter, shape (D,).
        """
        value, _ = profile_of(self.discrepancy, self.model, self.field.name, point)
        return value * self.discrepancy.units(*self._interest(point))

    @cached_property
    def everywhere(self) -> bool:
        """Whether no value is rejected, for example if the rows do not reject a uniform density."""
        if not self.manifold.is_closed:
            return False
        if self._may_be_uniform():
            return True
        return all(self.distance(x) <= self.square for x in self._corners())

    def _may_be_uniform(self) -> bool:
        """Whether θ = 0, which belongs to every direction, is within the distance for all parameters together."""
        zero = np.zeros_like(self.discrepancy.theta)
        here = self.model.slice(self.field.name, self.estimate)
        if here is None or np.linalg.norm(here.point(zero).theta) > 0.0:
            return False  # something is known, and no density of the family is uniform
        n_free = self.model.constraint.n_free
        square = critical_square(n_free, self.level, self.error_df)
        jacobian = np.eye(zero.size)
        return self.discrepancy(zero)[0] * self.discrepancy.units(jacobian, -self.discrepancy.theta) <= square

    @cached_property
    def half_axes(self) -> FloatArray:
        """How far the region reaches along the main axes of the error, to the farther side, (D−1,) or (d,).

        In radians on a sphere, where π is the other side; infinite where it has no end.
        """
        if self.everywhere:
            return np.full(self.manifold.dim, self.manifold.diameter)
        spread, axes = self._axes
        reach = [
            max(self._shoot(sign * axis, size) for sign in (1.0, -1.0))
            for size, axis in zip(spread, axes.T, strict=True)
        ]
        return np.sort(np.array(reach))[::-1]

    @property
    def bounded(self) -> bool:
        """Whether the region ends on every side."""
        return bool(self.half_axes[0] < self._limit)

    @cached_property
    def rings(self) -> list[FloatArray]:
        """The region's border as closed chains of points, (m, D) each; on S² and in the plane.

        It is the border as seen from the estimate.  There is none where the region is everywhere or has no end.
        """
        if self.manifold.dim != 2:
            raise InvalidInputError(
                f"A region has a border to draw in two dimensions only; this one lies on {self.manifold!r}. "
                "Its method contains() works everywhere."
            )
        if self.everywhere:
            return []
        spread, axes = self._axes
        n = _RAYS if isinstance(self.discrepancy, QuadraticDiscrepancy) else _FEW_RAYS
        ring = []
        for turn in with_progress(np.linspace(0.0, 2.0 * np.pi, n, endpoint=False), n, "confidence region"):
            # Rays evenly spread over the ellipse of the delta method.
            towards = axes @ (spread * np.array([np.cos(turn), np.sin(turn)]))
            size = float(np.linalg.norm(towards))
            reach = self._shoot(towards / size, size)
            if reach >= self._limit and not self.manifold.is_closed:
                return []
            ring.append(self._at(towards / size, reach))
        return [np.array(ring)]

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Half-axes of the delta method's ellipse at this level, longest first, and their directions (D, dim)."""
        jacobian, _ = self._interest(self.estimate)
        covariance = self.discrepancy.covariance_of(jacobian)
        values, vectors = tangent_spread(covariance, self.manifold.dim)
        sizes = np.sqrt(self.square * np.maximum(values, 1e-300))
        return (np.minimum(sizes, 0.5 * self.manifold.diameter) if self.manifold.is_closed else sizes), vectors

    @property
    def _limit(self) -> float:
        """How far rays are followed."""
        if self.manifold.is_closed:
            return self.manifold.diameter * (0.5 if self.field.is_axis else 1.0)
        return min(_ENDLESS * float(self._axes[0][0]), self.manifold.horizon)

    def _at(self, towards: FloatArray, distance: float) -> FloatArray:
        end: FloatArray = self.manifold.exponential(self.estimate[None, :], distance * towards[None, :])[0]
        return end

    def _shoot(self, towards: FloatArray, guess: float) -> float:
        return farthest_within(lambda t: self.distance(self._at(towards, t)), guess, self.square, self._limit)

    def _corners(self) -> list[FloatArray]:
        _, axes = self._axes
        angles = (0.25, 0.5, 0.75, 1.0) if not self.field.is_axis else (0.25, 0.5)
        return [
            self._at(sign * axis, a * self.manifold.diameter)
            for a in reversed(angles)
            for axis in axes.T
            for sign in (1.0, -1.0)
        ]

    def _interest(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivative of the parameter at the estimate (D, p), and the way to a point (D,), both as tangents."""
        jacobian = self.model.parameter_jacobian(self.discrepancy.theta)[self.field.name]
        if not self.manifold.is_embedded:
            jacobian = self.manifold.tangent_of(np.broadcast_to(self.estimate, jacobian.T.shape), jacobian.T).T
        away = self.manifold.tangent_of(self.estimate[None, :], (point - self.estimate)[None, :])[0]
        if not np.linalg.norm(away) > 0.0:
            away = np.linalg.eigh(jacobian @ jacobian.T)[1][:, -1]
        return jacobian, away

    def _reach(self, distance: float) -> str:
        return self.manifold.distance_unit.text(distance)
