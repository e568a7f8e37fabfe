"""~region, region & region, region | region; and the whole manifold."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from tmsm.arrays import BoolArray, FloatArray
from tmsm.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold
from tmsm.regions.base import Region, SmoothBorder, best_axis
from tmsm.regions.landmarks import Landmarks

__all__ = ["Complement", "Everywhere", "Intersection", "Union", "intersection", "union"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Everywhere(Region):
    """A whole manifold: nothing was cut off, there is no border.

    Parameters
    ----------
    manifold
        The manifold.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Everywhere(tmsm.Sphere(2)).contains([[0.0, 0.0, 1.0]])
    array([ True])
    """

    space: Manifold

    has_border = False

    def __init__(self, manifold: Manifold) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"Everywhere needs a manifold, such as Sphere(2); got {type(manifold).__name__}.")
        object.__setattr__(self, "space", manifold)

    def __repr__(self) -> str:
        return f"Everywhere(manifold={self.space!r})"

    @property
    def manifold(self) -> Manifold:
        return self.space

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.full(len(X), np.inf), np.zeros_like(X)

    def distance_in(self, X: FloatArray, metric: str, axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        return self.signed_distance(X)

    def __invert__(self) -> Region:
        raise InvalidInputError("The complement of Everywhere is empty: nothing can be observed there.")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Complement(Region):
    """What a region leaves out; same border, opposite sign."""

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
    def border_curves(self) -> list[FloatArray] | None:
        return self.region.border_curves

    @property
    def landmarks(self) -> Landmarks:
        return self.region.landmarks

    @property
    def smooth_border(self) -> SmoothBorder | None:
        border = self.region.smooth_border
        reach = None if border is None else border.reach_outside
        return None if border is None or reach is None else _OtherSide(border, reach)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        d, gradient = self.region.signed_distance(X)
        return -d, -gradient

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


class _Combination(Region):
    """Several regions of one manifold; one of their distances is taken at each row."""

    parts: tuple[Region, ...]

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

    @property
    def distance_slack(self) -> float:
        return max(part.distance_slack for part in self.parts)

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
    """What lies inside every part.

    Inside, the least of the parts' distances is the exact distance to the border; outside it is a
    lower bound in size.
    """

    parts: tuple[Region, ...]

    def _takes_over(self, candidate: FloatArray, current: FloatArray) -> BoolArray:
        return candidate < current

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = self._corners
        return lower.max(axis=0), upper.min(axis=0)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Union(_Combination):
    """What lies inside at least one part.

    Outside, the distance is exact; inside, the largest of the parts' distances is a lower bound:
    zero on the border and 1-Lipschitz, so a valid weight.  Where parts touch without overlapping it
    is zero along their seam too; dissolve such parts into one region first.
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
