"""What lies around a region: the points outside it at a distance between two numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_number
from tmsm.manifolds import Manifold
from tmsm.regions.landmarks import Landmarks
from tmsm.regions.product import ProductRegion
from tmsm.regions.region import Complement, Intersection, Region, Union, around
from tmsm.regions.rounding import zero_on_border

__all__ = ["Surroundings"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Surroundings(Region):
    """The points outside a region whose distance to it is between two numbers; `Region.surroundings` makes it.

    Parameters
    ----------
    region
        The region that they surround.
    inner, outer
        Distances in the unit of the manifold: radians on a sphere, where 250 km on the Earth are 250/6371.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> ring = tmsm.Cap([0.0, 0.0, 1.0], 0.5).surroundings(0.1, 0.3)
    >>> angle = np.array([0.4, 0.55, 0.7, 0.9])
    >>> ring.contains(np.column_stack([np.sin(angle), np.zeros(4), np.cos(angle)]))
    array([False, False,  True, False])
    """

    region: Region
    inner: float
    outer: float

    def __init__(self, region: Region, inner: float, outer: float) -> None:
        if not isinstance(region, Region):
            raise InvalidTypeError(f"Surroundings are those of a region; got {type(region).__name__}.")
        region = region.as_given  # of rounded rows: the border as it is
        if not region.has_border:
            raise InvalidInputError("Nothing lies outside of a whole manifold: it has no surroundings.")
        if not _knows_distance(region, inside=False):
            raise InvalidInputError(
                f"{type(region).__name__} does not know how far points outside are from it, so that it has no "
                "surroundings. Take a region that does, such as a cap, a box, a polygon or a union of them."
            )
        inner = check_number(inner, "inner", at_least=0.0)
        outer = check_number(outer, "outer", above=0.0)
        if not inner < outer:
            raise InvalidInputError(f"inner must be below outer; got {inner:.6g} and {outer:.6g}.")
        if region.manifold.is_closed and inner >= region.manifold.diameter:
            raise InvalidInputError(
                f"No point of {region.manifold!r} is farther than {region.manifold.diameter:.4g} from any other; inner "
                f"is {inner:.6g}. Distances on a sphere are in radians: divide kilometres by 6371, or degrees by 57.3."
            )
        for name, value in (("region", region), ("inner", inner), ("outer", outer)):
            object.__setattr__(self, name, value)

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
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.manifold.grown_box(*self.region.bounds, self.outer)

    @property
    def landmarks(self) -> Landmarks:
        # Seen from the distance `inner`, small parts are as large as that.
        parts = self.region.landmarks
        return Landmarks(parts.centers, parts.radii + self.inner, np.maximum(parts.sizes, self.inner))

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The lesser of the ways to both borders.

        That to the outer one is a lower bound: where the region surrounds a bay, the way outwards may be longer.
        """
        d, gradient = self.region.signed_distance(X)
        nearer_inner = -2.0 * d < self.inner + self.outer
        away = np.where(nearer_inner, -d - self.inner, self.outer + d)
        zero_on_border(away, self.outer + float(np.abs(X).max(initial=0.0)))
        return away, np.where(nearer_inner[:, None], -gradient, gradient)


def _knows_distance(region: Region, *, inside: bool) -> bool:
    """Whether the distance on one side is that to the border, and no bound of it."""
    if isinstance(region, Complement):
        return _knows_distance(region.region, inside=not inside)
    if isinstance(region, Intersection | Union | ProductRegion):
        known = all(_knows_distance(part, inside=inside) for part in region.parts if part.has_border)
        return known and not isinstance(region, Union if inside else Intersection)
    if isinstance(region, Surroundings):
        return False
    if region.lifted_from is not None:
        return _knows_distance(region.lifted_from, inside=inside)
    return region.measures_distance


@around.register(Region)
def _surroundings(region: Region, inner: Any, outer: Any) -> Region:
    return Surroundings(region, inner, outer)
