"""The paper's border: a bare set of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tmsm.arrays import BoolArray, FloatArray, row_norms, safe_divide
from tmsm.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import Euclidean, Manifold, Sphere
from tmsm.regions.base import Region
from tmsm.regions.rounding import zero_on_border
from tmsm.validation import as_float_array, as_rows
from tmsm.values import frozen_array

if TYPE_CHECKING:
    from scipy.spatial import KDTree

__all__ = ["BorderPoints"]

_CHUNK = 65536


@final
@dataclass(frozen=True, eq=False, repr=False)
class BorderPoints(Region):
    """A border known only through points on it; the nearest one stands for the border.

    Between two points of the border the distance is too large: on the border it is a quarter of
    the gap on average instead of zero.  The weight does not vanish there, and the estimate is
    biased as if the border were so much further out than the rows go.  ``status_`` of a fit says
    so where it matters.  Where the border's course is known, use a region with edges, such as
    `SphericalPolygon` with the same points in order.

    Parameters
    ----------
    points
        Points on the border, shape (m, D).
    contains
        Tells the inside: a function of X (n, D) that returns (n,) booleans.  Without it every
        point counts as inside.
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
            width = rows.shape[1]
            on_sphere = width > 1 and bool(Sphere(width - 1).contains(rows).all())
            manifold = Sphere(width - 1) if on_sphere else Euclidean(width)
        manifold.check_points(rows, "points")
        object.__setattr__(self, "points", frozen_array(rows))
        object.__setattr__(self, "inside_rule", contains)
        object.__setattr__(self, "space", manifold)

    def __repr__(self) -> str:
        return f"BorderPoints(<{len(self.points)} points>, contains={self.inside_rule!r}, manifold={self.space!r})"

    @property
    def manifold(self) -> Manifold:
        return self.space

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree

        return KDTree(self.points)

    @cached_property
    def _scale(self) -> float:
        return 1.0 if isinstance(self.space, Sphere) else float(np.abs(self.points).max())

    @cached_property
    def _flat_trees(self) -> dict[int, KDTree]:
        return {}

    @cached_property
    def _gaps(self) -> FloatArray:
        """Distance from each point of the border to the second nearest other one, shape (m,)."""
        k = min(3, len(self.points))
        return np.asarray(self._tree.query(self.points, k=k)[0]).reshape(len(self.points), -1)[:, -1]

    @property
    def distance_slack(self) -> float:
        """The widest gap between a point of the border and the second nearest other one."""
        return float(self._gaps.max())

    @property
    def spacing(self) -> float:
        """The gap between neighbouring points in which a place on the border lies, on average."""
        return float(self._gaps @ self._gaps / max(float(self._gaps.sum()), 1e-300))

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
        # The nearest point along the manifold is also the nearest through the embedding space.
        nearest = self.points[_nearest(self._tree, X)]
        d = zero_on_border(self.manifold.geodesic_distance(X, nearest), self._scale)
        away = -self.manifold.project_tangent(X, nearest - X)
        sign = np.where(self._inside(X), 1.0, -1.0)
        return sign * d, safe_divide(away, row_norms(away)) * sign[:, None]

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        from scipy.spatial import KDTree

        shadow = np.delete(self.points, axis, axis=1)
        if axis not in self._flat_trees:
            self._flat_trees[axis] = KDTree(shadow)
        flat = np.delete(X, axis, axis=1)
        offset = flat - shadow[_nearest(self._flat_trees[axis], flat)]
        d = row_norms(offset)
        return d, np.insert(safe_divide(offset, d), axis, 0.0, axis=1)


def _nearest(tree: KDTree, X: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    index = np.empty(len(X), dtype=np.intp)
    for start in range(0, len(X), _CHUNK):
        rows = slice(start, start + _CHUNK)
        index[rows] = tree.query(X[rows])[1]
    return index
