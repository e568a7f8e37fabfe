"""What a region is: the observed part of a manifold, known by the signed distance to its border."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tmsm.arrays import BoolArray, FloatArray, row_norms
from tmsm.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.regions.landmarks import Landmarks
from tmsm.validation import check_count, check_option
from tmsm.values import ValueObject

__all__ = ["METRICS", "AxisAligned", "AxisFrame", "BorderView", "Region", "SmoothBorder", "best_axis"]

METRICS = ("geodesic", "chordal", "projected")


class Region(ValueObject, ABC):
    """An open part of a manifold.

    A subclass gives `manifold` and `signed_distance`; everything else follows.  Rows handed to
    `signed_distance` and `projected_distance` have already been checked.
    """

    has_border: bool = True

    @property
    def as_given(self) -> Region:
        """The region before a border for rounded rows was taken half a step in; the region itself where none was."""
        return self

    def rounded_to(self, steps: FloatArray) -> Region | None:
        """The same region for rows that were rounded to a grid; None where its border cannot lie along one.

        ``steps`` are those of `Grid`: of longitude and latitude in degrees, or of the columns.
        """
        return None

    def left_out(self, X: FloatArray) -> BoolArray:
        """Which rows rounding explains: outside, but not beyond the border `as_given`, shape (n,)."""
        given = self.as_given
        if given is self:
            return np.zeros(len(X), dtype=bool)
        return (self.signed_distance(X)[0] <= 0.0) & (given.signed_distance(X)[0] >= 0.0)

    @property
    def distance_slack(self) -> float:
        """How much larger than the true distance to the border the given one may be: zero if it is exact."""
        return 0.0

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Corners, shape (D,), of a box of the embedding space that holds the region; infinite where unknown."""
        D = self.manifold.embedding_dim
        return np.full(D, -np.inf), np.full(D, np.inf)

    @property
    def smooth_border(self) -> SmoothBorder | None:
        """The border as one whose distance is smooth next to it; None where it may have corners."""
        return self if isinstance(self, SmoothBorder) else None

    @property
    def axes(self) -> AxisAligned | None:
        """The border as faces across orthogonal axes; None where it is not made of such."""
        return self if isinstance(self, AxisAligned) else None

    @property
    def border_curves(self) -> list[FloatArray] | None:
        """The border as closed chains of points, each of shape (m, D); None where it is not made of such."""
        return None

    @property
    def landmarks(self) -> Landmarks:
        """Where the parts of the border are and how small: a grid of cells must be fine enough there."""
        return Landmarks.none(self.manifold.embedding_dim)

    @property
    @abstractmethod
    def manifold(self) -> Manifold:
        """The manifold of which this is a part."""

    @abstractmethod
    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Geodesic distance to the border, positive inside, and its tangent gradient.

        Returns shapes (n,) and (n, D).  Where two border points are nearest, any of their
        gradients will do, and their mean is better where rounded rows may lie by the hundred, as halfway
        between two sides of a box; where there is none (the centre of a cap) the gradient is zero.
        A distance that is rounding noise is zero (`zero_on_border`), so that a point on the border
        is outside, and outside the complement too.
        """

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        """Distance to the border in the plane without coordinate ``axis``, and its gradient there.

        Unsigned, shapes (n,) and (n, D); the gradient's entry ``axis`` is zero.
        """
        raise InvalidInputError(
            f"The projected distance is not defined for {type(self).__name__}. Use 'geodesic' or 'chordal' instead."
        )

    def distance_in(self, X: FloatArray, metric: str, axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        """`border_distance` without its checks."""
        d, gradient = self.signed_distance(X)
        if metric == "chordal":
            d, slope = self.manifold.chord(d)
            return d, gradient * slope[:, None]
        if metric == "projected":
            sign = np.where(d > 0.0, 1.0, -1.0)
            flat_d, flat = self.projected_distance(X, best_axis(self, X) if axis is None else axis)
            return np.sign(d) * flat_d, self.manifold.project_tangent(X, flat) * sign[:, None]
        return d, gradient

    def border_distance(
        self, X: Any, metric: str = "geodesic", axis: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Signed distance to the border and its tangent gradient.

        Parameters
        ----------
        X
            Points, shape (n, D).
        metric
            "geodesic"; "chordal", the straight line through the embedding space; or "projected",
            the distance in the plane that is left when one coordinate is dropped.
        axis
            The coordinate that "projected" drops; by default the one that flattens least.

        Returns
        -------
        d : shape (n,), positive inside, negative outside, zero on the border.
        gradient : shape (n, D), tangent.
        """
        metric = check_option(metric, METRICS, "metric")
        if axis is not None:
            axis = check_count(axis, "axis", at_least=0)
            if axis >= self.manifold.embedding_dim:
                raise InvalidInputError(
                    f"axis must be below {self.manifold.embedding_dim}, the number of coordinates; got {axis}."
                )
        return self.distance_in(self.manifold.check_points(X), metric, axis)

    def contains(self, X: Any) -> BoolArray:
        """Whether each row of X lies inside, shape (n,); a point on the border does not."""
        return self.signed_distance(self.manifold.check_points(X))[0] > 0.0

    def __bool__(self) -> bool:
        raise InvalidTypeError("A region is neither true nor false: combine regions with &, | and ~, not and, or, not.")

    def __invert__(self) -> Region:
        from tmsm.regions.combinations import Complement

        return Complement(self)

    def __and__(self, other: Region) -> Region:
        from tmsm.regions.combinations import intersection

        return intersection(self, _as_region(other))

    def __or__(self, other: Region) -> Region:
        from tmsm.regions.combinations import union

        return union(self, _as_region(other))


class SmoothBorder(ABC):
    """A region whose distance to the border has no kink closer than ``reach``.

    Normal-only weights need it.
    """

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest distance up to which d is smooth; infinity if it is everywhere."""

    @property
    def reach_outside(self) -> float | None:
        """The same on the other side of the border; None where that side is not known to be smooth."""
        return None

    @abstractmethod
    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`signed_distance` and with it the distance's Laplace–Beltrami operator, shape (n,).

        Finite everywhere, so that a weight that vanishes where the distance has a kink removes it.
        """

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.smooth_distance(X)[:2]


@dataclass(frozen=True)
class AxisFrame:
    """Orthonormal axes u_j at n rows, and how far the faces across them are.

    Attributes
    ----------
    directions
        u_j, shape (n, D) each.
    distances
        Distance to the nearer face along each axis, shape (n, k); infinite where there is none.
    signs
        Derivative of that distance along its axis, ±1, shape (n, k); zero halfway between two faces.
    turning
        Where axes turn from point to point: (i, j) -> the part along u_j of div(u_i) u_i + ∇_{u_i} u_i, shape (n,).
        Empty for straight axes.
    """

    directions: tuple[FloatArray, ...]
    distances: FloatArray
    signs: FloatArray
    turning: Mapping[tuple[int, int], FloatArray] = field(default_factory=dict)


class AxisAligned(ABC):
    """A border of faces across orthogonal axes; componentwise weights need it."""

    @abstractmethod
    def axis_frame(self, X: FloatArray) -> AxisFrame:
        """The axes at the rows of X, shape (n, D)."""


class BorderView:
    """The border as seen from the rows of one block; each distance is computed once, on demand."""

    def __init__(self, region: Region, X: FloatArray) -> None:
        self.region = region
        self.X = X
        self._distances: dict[tuple[str, int | None], tuple[FloatArray, FloatArray]] = {}
        self._laplacian: FloatArray | None = None

    def distance(self, metric: str = "geodesic", axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Signed distance (n,) and tangent gradient (n, D)."""
        key = (metric, axis)
        if key not in self._distances:
            smooth = self.region.smooth_border if metric == "geodesic" else None
            if smooth is not None:
                d, gradient, self._laplacian = smooth.smooth_distance(self.X)
                self._distances[key] = d, gradient
            else:
                self._distances[key] = self.region.distance_in(self.X, metric, axis)
        return self._distances[key]

    @property
    def laplacian(self) -> FloatArray:
        """Laplace–Beltrami operator of the geodesic distance, shape (n,), for a smooth border."""
        self.distance()
        assert self._laplacian is not None, "only regions with a smooth border have one"
        return self._laplacian


def best_axis(region: Region, X: FloatArray) -> int:
    """The coordinate to drop so that the projected distance keeps most of its slope on X.

    Dropping a coordinate flattens the sphere where that coordinate is small: the distance then
    grows like d² from the border, and most of the information is lost.
    """
    slopes = [
        float(row_norms(region.distance_in(X, "projected", axis)[1]).mean())
        for axis in range(region.manifold.embedding_dim)
    ]
    return int(np.argmax(np.round(slopes, 9)))


def _as_region(other: object) -> Region:
    if not isinstance(other, Region):
        raise InvalidTypeError(f"Regions combine with regions; got {type(other).__name__}.")
    return other
