"""What a region is: the observed part of a manifold, known by the signed distance to its border.

And what can be made of regions: ~region, region & region, region | region.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_option
from tmsm.foundation.values import ValueObject
from tmsm.manifolds import Manifold
from tmsm.regions.borders import AxisAligned, Constrained, RowBorder, SmoothBorder
from tmsm.regions.constraint_sets import joined_constraints, opposite_constraint
from tmsm.regions.landmarks import Landmarks

__all__ = [
    "METRICS",
    "Complement",
    "Intersection",
    "Region",
    "RegionOfParts",
    "Union",
    "around",
    "best_axis",
    "multiplied",
]

METRICS = ("geodesic", "chordal", "projected")


class Region(ValueObject, ABC):
    """An open part of a manifold.

    A subclass gives `manifold` and `signed_distance`; everything else follows. In the methods X are points, shape (n,
    D), that have been checked; ``metric`` is that of the distance, ``axis`` the coordinate that a projected distance
    drops, ``tolerance`` a distance, and ``cell`` and ``leaf`` are the largest sizes of cells inside and at the border.
    """

    has_border: bool = True
    # It may be large: on its way to other processes it is sent once, whatever it is part of.
    travels_alone = True

    @property
    def as_given(self) -> Region:
        """The region before a border for rounded rows was taken half a step in; the region itself where none was."""
        return self

    def rounded_to(self, steps: FloatArray) -> Region | None:
        """The same region for rows that were rounded to a grid; None where its border cannot lie along one.

        ``steps`` are those of `Grid`: of longitude and latitude in degrees, or of the columns.
        """
        return None

    @property
    def shows_steps(self) -> bool:
        """Whether the steps that the region was `rounded_to` stand in its own constructor, not in that of its parts."""
        return True

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
    def measures_distance(self) -> bool:
        """Whether `signed_distance` is a length; if not, it only has the sign of one and is zero on the border.

        As a weight both are valid.  Lengths that people read, and cells of a grid, take those of `clearance`.
        """
        return True

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Signed distance to the border (n,), its gradient (n, D), and where no border is nearer than a radius (n,).

        Where `signed_distance` is not a length, this one is, as well as it is known next to the border.
        """
        d, gradient = self.signed_distance(X)
        return d, gradient, np.abs(d) >= radius

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
    def why_no_axes(self) -> str:
        """The reason why ``axes`` is None, as part of a sentence."""
        return f"which {type(self).__name__} does not have"

    @property
    def constraints(self) -> Constrained | None:
        """The region as the set where a few smooth functions are positive; None where it is not known as such."""
        return self if isinstance(self, Constrained) else None

    @property
    def row_border(self) -> RowBorder | None:
        """The border as compiled loops over rows on S² take it; None where there is no such form of it."""
        return None

    @property
    def product_parts(self) -> tuple[Region, ...]:
        """The regions of which this is the product; none where it is no product."""
        return ()

    @property
    def sides(self) -> tuple[Region, ...]:
        """Regions of dimension one, one for each coordinate, whose product is this region; none where it is no box."""
        return ()

    @property
    def is_costly(self) -> bool:
        """Whether distances to the border take so long that they are worth keeping."""
        return False

    @property
    def has_exact_nodes(self) -> bool:
        """Whether `exact_nodes` gives a rule, so that integrals need no chart of the manifold."""
        return False

    def exact_nodes(self, cell: int, leaf: int) -> tuple[FloatArray, FloatArray] | None:
        """Points (m, D) and areas (m,) of a quadrature rule that knows the border; None where there is none.

        ``cell`` and ``leaf`` say how fine, as those of `tmsm.measure.nodes.Grid` do.  A rule that would need too many
        points raises `TooManyNodesError`.
        """
        return None

    @property
    def lifted_from(self) -> Region | None:
        """A region of a manifold below, if this one is all that lies above it and distances are half of those below.

        Then `lift` says what lies above.
        """
        return None

    def lift(self, X: FloatArray, cell: int, leaf: int) -> tuple[FloatArray, float]:
        """Evenly spaced points above each point below, shape (m, k, D), and the area of each for a unit area below."""
        raise NotImplementedError

    @property
    def frames(self) -> frozenset[str]:
        """Names of the frames that its parts are known to be in; empty where nothing is known."""
        return frozenset()

    @property
    def border_curves(self) -> list[FloatArray] | None:
        """The border as closed chains of points, each of shape (m, D); None where it is not made of such."""
        return None

    def border_edges(self, tolerance: float) -> list[FloatArray] | None:
        """Closed chains (m, D) whose edges, arcs of great circles or straight lines, follow the border that closely."""
        return self.border_curves

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
            self.check_chordal()
            d, slope = self.manifold.chord(d)
            return d, gradient * slope[:, None]
        if metric == "projected":
            sign = np.where(d > 0.0, 1.0, -1.0)
            flat_d, flat = self.projected_distance(X, best_axis(self, X) if axis is None else axis)
            return np.sign(d) * flat_d, self.manifold.project_tangent(X, flat) * sign[:, None]
        return d, gradient

    def check_chordal(self) -> None:
        """Raise where there is no straight-line distance to the border."""
        if not self.measures_distance:
            raise InvalidInputError(
                f"{type(self).__name__} does not know the distance to its border, so it has no metric 'chordal'. "
                "Use 'geodesic': a function that is zero on the border."
            )

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
        """Whether each row of X lies inside, shape (n,); a point on the border does not.

        Parameters
        ----------
        X
            Points, shape (n, D).
        """
        return self.signed_distance(self.manifold.check_points(X))[0] > 0.0

    def surroundings(self, inner: float, outer: float) -> Region:
        """The points outside the region whose distance to it lies between two numbers.

        Parameters
        ----------
        inner, outer
            The two distances in the unit of the manifold: radians on a sphere.
        """
        return around(self, inner, outer)

    def __bool__(self) -> bool:
        raise InvalidTypeError("A region is neither true nor false: combine regions with &, | and ~, not and, or, not.")

    def __invert__(self) -> Region:
        return Complement(self)

    def __and__(self, other: Region) -> Region:
        return intersection(self, _as_region(other))

    def __or__(self, other: Region) -> Region:
        return union(self, _as_region(other))

    def __mul__(self, other: Region) -> Region:
        return multiplied(self, _as_region(other))


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


@final
@dataclass(frozen=True, eq=False, repr=False)
class Complement(Region):
    """The rest of the manifold, ``~region``: the same border with the opposite sign of the distance.

    Parameters
    ----------
    region
        The region that is left out.
    """

    region: Region

    def __post_init__(self) -> None:
        if self.region.as_given is not self.region:
            raise InvalidInputError(
                "A region for rounded rows has no complement: next to its border a row may come from either side. "
                "For a hole, take the complement of a region without 'rounded' that is half a step larger."
            )

    @property
    def manifold(self) -> Manifold:
        return self.region.manifold

    @property
    def distance_slack(self) -> float:
        return self.region.distance_slack

    @property
    def frames(self) -> frozenset[str]:
        return self.region.frames

    @property
    def is_costly(self) -> bool:
        return self.region.is_costly

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return self.region.border_curves

    def border_edges(self, tolerance: float) -> list[FloatArray] | None:
        return self.region.border_edges(tolerance)

    @property
    def landmarks(self) -> Landmarks:
        return self.region.landmarks

    @property
    def smooth_border(self) -> SmoothBorder | None:
        border = self.region.smooth_border
        reach = None if border is None else border.reach_outside
        return None if border is None or reach is None else _OtherSide(border, reach)

    @property
    def constraints(self) -> Constrained | None:
        return opposite_constraint(self.region.constraints)

    @property
    def measures_distance(self) -> bool:
        return self.region.measures_distance

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        d, gradient = self.region.signed_distance(X)
        return -d, -gradient

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        d, gradient, clear = self.region.clearance(X, radius)
        return -d, -gradient, clear

    def distance_in(self, X: FloatArray, metric: str, axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        d, gradient = self.region.distance_in(X, metric, axis)
        return -d, -gradient

    def __invert__(self) -> Region:
        return self.region


@dataclass(frozen=True)
class _OtherSide(SmoothBorder):
    """A smooth border seen from outside."""

    border: SmoothBorder
    outer_reach: float

    @property
    def reach(self) -> float:
        return self.outer_reach

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        d, gradient, laplacian = self.border.smooth_distance(X)
        return -d, -gradient, -laplacian


class RegionOfParts(Region):
    """What is made of several regions: what one of them says of itself holds of the whole."""

    parts: tuple[Region, ...]

    @property
    def shows_steps(self) -> bool:
        return False

    @property
    def distance_slack(self) -> float:
        return max(part.distance_slack for part in self.parts)

    @property
    def measures_distance(self) -> bool:
        return all(part.measures_distance for part in self.parts)

    @property
    def frames(self) -> frozenset[str]:
        return frozenset().union(*(part.frames for part in self.parts))

    @property
    def is_costly(self) -> bool:
        return any(part.is_costly for part in self.parts)


class _Combination(RegionOfParts):
    """Several regions of one manifold; one of their distances is taken at each row."""

    def __post_init__(self) -> None:
        flat: list[Region] = []
        for part in self.parts:
            flat.extend(part.parts if isinstance(part, type(self)) else (part,))
        for part in flat[1:]:
            if part.manifold != flat[0].manifold:
                raise InvalidInputError(
                    f"Regions must lie on one manifold to be combined; got {flat[0].manifold} and {part.manifold}."
                )
        object.__setattr__(self, "parts", tuple(flat))
        if len(self.frames) > 1:
            raise InvalidInputError(
                f"Regions must be in one frame to be combined; got {' and '.join(sorted(self.frames))}."
            )

    @property
    def manifold(self) -> Manifold:
        return self.parts[0].manifold

    @property
    def as_given(self) -> Region:
        given = tuple(part.as_given for part in self.parts)
        if all(a is b for a, b in zip(given, self.parts, strict=True)):
            return self
        return replace(self, parts=given)  # type: ignore[type-var]

    def rounded_to(self, steps: FloatArray) -> Region | None:
        rounded = [part.rounded_to(steps) for part in self.parts]
        if all(part is None for part in rounded):
            return None
        parts = tuple(part if new is None else new for part, new in zip(self.parts, rounded, strict=True))
        return replace(self, parts=parts)  # type: ignore[type-var]

    @cached_property
    def landmarks(self) -> Landmarks:
        return Landmarks.joined([part.landmarks for part in self.parts])

    @property
    def _corners(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = zip(*(part.bounds for part in self.parts), strict=True)
        return np.array(lower), np.array(upper)

    @abstractmethod
    def _takes_over(self, candidate: FloatArray, current: FloatArray) -> BoolArray:
        """Which rows take the candidate's distance instead of the current one."""

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.distance_in(X, "geodesic")

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        if self.measures_distance:
            return super().clearance(X, radius)
        found = [part.clearance(X, radius) for part in self.parts]
        d, gradient, _ = found[0]
        for other, other_gradient, _ in found[1:]:
            better = self._takes_over(other, d)
            d = np.where(better, other, d)
            gradient = np.where(better[:, None], other_gradient, gradient)
        # No border is near where no part has one there, or where a part that decides alone is far from its own.
        alone = [clear & self._takes_over(own, np.zeros_like(own)) for own, _, clear in found]
        return d, gradient, np.all([clear for *_, clear in found], axis=0) | np.any(alone, axis=0)

    def distance_in(self, X: FloatArray, metric: str, axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        if metric == "projected" and axis is None:
            axis = best_axis(self, X)
        d, gradient = self.parts[0].distance_in(X, metric, axis)
        for part in self.parts[1:]:
            other, other_gradient = part.distance_in(X, metric, axis)
            better = self._takes_over(other, d)
            d = np.where(better, other, d)
            gradient = np.where(better[:, None], other_gradient, gradient)
        return d, gradient


@final
@dataclass(frozen=True, eq=False, repr=False)
class Intersection(_Combination):
    """What lies inside every part, ``a & b``.

    Inside, the distance is exact: the least of the distances of the parts. Outside, it is a lower bound.

    Parameters
    ----------
    parts
        The regions.
    """

    parts: tuple[Region, ...]

    def _takes_over(self, candidate: FloatArray, current: FloatArray) -> BoolArray:
        return candidate < current

    @property
    def constraints(self) -> Constrained | None:
        return joined_constraints([part.constraints for part in self.parts])

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._corners
        return lower.max(axis=0), upper.min(axis=0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Union(_Combination):
    """What lies inside at least one part, ``a | b``.

    Outside, the distance is exact. Inside, the largest of the distances of the parts is a lower bound. It is zero on
    the border and 1-Lipschitz, so that it is a valid weight. Where parts touch without overlapping, it is also zero
    along the line between them: dissolve such parts into one region first.

    Parameters
    ----------
    parts
        The regions.
    """

    parts: tuple[Region, ...]

    def _takes_over(self, candidate: FloatArray, current: FloatArray) -> BoolArray:
        return candidate > current

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._corners
        return lower.min(axis=0), upper.max(axis=0)


def intersection(a: Region, b: Region) -> Region:
    """``a & b``; the whole manifold takes nothing away."""
    both = Intersection((a, b))  # checks that they lie on one manifold
    if not a.has_border:
        return b
    return both if b.has_border else a


def union(a: Region, b: Region) -> Region:
    """``a | b``; the whole manifold leaves nothing out."""
    either = Union((a, b))
    if not a.has_border:
        return a
    return either if b.has_border else b


@singledispatch
def multiplied(first: Region, second: Region) -> Region:
    """``first * second``; the module of products registers it."""
    raise NotImplementedError


@singledispatch
def around(region: Region, inner: float, outer: float) -> Region:
    """``region.surroundings(inner, outer)``; the module of surroundings registers it."""
    raise NotImplementedError
