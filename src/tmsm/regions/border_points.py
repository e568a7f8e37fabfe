"""The paper's border: a bare set of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms, safe_divide
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array, as_rows
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold, Sphere, manifold_of
from tmsm.manifolds.nearest import NearestPoints
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["BorderPoints"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class BorderPoints(Region):
    """A border that is known only by points on it; the nearest point replaces the nearest place of the border.

    Between two points the distance is too large. On the border it is a quarter of the gap on average instead of zero.
    The weight is not zero there, and the estimate is biased as if the border were farther out. ``status_`` of a fit
    says so if it matters. If the order of the points is known, use a region with sides, such as `SphericalPolygon` with
    the same points.

    Parameters
    ----------
    points
        Points on the border, shape (m, D).
    contains
        Which points are inside: a function of X (n, D) that returns (n,) booleans. Without it every point counts as
        inside.
    manifold
        By default the sphere if all points have norm one, else flat space.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> lon = np.linspace(0.0, 2 * np.pi, 1000, endpoint=False)
    >>> equator = np.column_stack([np.cos(lon), np.sin(lon), 0 * lon])
    >>> north = tmsm.BorderPoints(equator, contains=lambda X: X[:, 2] > 0)
    >>> north.border_distance([[0.0, 0.6, 0.8]])[0].round(6)
    array([0.927295])
    """

    points: FloatArray
    inside_rule: Callable[[FloatArray], Any] | None
    space: Manifold

    def __init__(
        self,
        points: Any,
        contains: Callable[[FloatArray], Any] | None = None,
        manifold: Manifold | None = None,
    ) -> None:
        rows = as_float_array(as_rows(points, "points"), "points")
        if contains is not None and not callable(contains):
            raise InvalidTypeError(
                f"contains must be a function of X that returns booleans; got {type(contains).__name__}."
            )
        if manifold is not None and not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"manifold must be one, such as Sphere(2); got {type(manifold).__name__}.")
        if manifold is None:
            manifold = manifold_of(rows)
        manifold.check_points(rows, "points")
        object.__setattr__(self, "points", frozen_array(rows))
        object.__setattr__(self, "inside_rule", contains)
        object.__setattr__(self, "space", manifold)

    def __repr__(self) -> str:
        return f"BorderPoints(<{len(self.points)} points>, contains={self.inside_rule!r}, manifold={self.space!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"points": self.points, "contains": self.inside_rule, "manifold": self.space}

    @property
    def manifold(self) -> Manifold:
        return self.space

    @property
    def is_costly(self) -> bool:
        return True

    @cached_property
    def _nearest(self) -> NearestPoints:
        return self.space.nearest_points(self.points)

    @cached_property
    def _scale(self) -> float:
        return float(row_norms(self.points).max())

    @cached_property
    def _shadows(self) -> dict[int, NearestPoints]:
        return {}

    @cached_property
    def _gaps(self) -> FloatArray:
        """Distance from each point of the border to the second nearest other one, shape (m,)."""
        return self._nearest.neighbours(min(3, len(self.points)))[:, -1]

    @property
    def distance_slack(self) -> float:
        """The widest gap between a point of the border and the second nearest other one."""
        return float(self._gaps.max())

    @property
    def spacing(self) -> float:
        """The gap between neighbouring points in which a place on the border lies, on average."""
        return float(self._gaps @ self._gaps / max(float(self._gaps.sum()), 1e-300))

    @property
    def with_edges(self) -> str | None:
        """The region to use where the points are known in order; None where there is none."""
        return {Sphere(2): "SphericalPolygon", Euclidean(2): "Polygon"}.get(self.space)

    def _inside(self, X: FloatArray) -> BoolArray:
        if self.inside_rule is None:
            return np.ones(len(X), dtype=bool)
        inside = np.asarray(self.inside_rule(X))
        if inside.shape != (len(X),) or inside.dtype != np.bool_:
            raise InvalidInputError(
                f"contains must return {len(X)} booleans for {len(X)} rows; got shape {inside.shape} of {inside.dtype}."
            )
        return inside

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        nearest = self.points[self._nearest.index(X)]
        d = zero_on_border(self.manifold.geodesic_distance(X, nearest), self._scale)
        away = -self.manifold.logarithm(X, nearest)
        sign = np.where(self._inside(X), 1.0, -1.0)
        return sign * d, safe_divide(away, row_norms(away)) * sign[:, None]

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        if axis not in self._shadows:
            self._shadows[axis] = NearestPoints(np.delete(self.points, axis, axis=1), None)
        flat, shadow = np.delete(X, axis, axis=1), self._shadows[axis]
        offset = flat - shadow.points[shadow.index(flat)]
        d = row_norms(offset)
        return d, np.insert(safe_divide(offset, d), axis, 0.0, axis=1)
