"""The border as the rows of one block see it."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.regions.borders import ConstraintFrame
from tmsm.regions.product import ProductRegion
from tmsm.regions.region import Region

__all__ = ["BorderView"]


class BorderView:
    """The border as seen from the rows of one block. Each distance is computed once, when it is needed.

    Parameters
    ----------
    region
        The region.
    X
        Points inside it, shape (n, D).
    """

    def __init__(self, region: Region, X: FloatArray) -> None:
        self.region = region
        self.X = X
        self._distances: dict[tuple[str, int | None], tuple[FloatArray, FloatArray]] = {}
        self._laplacian: FloatArray | None = None
        self._parts: tuple[BorderView, ...] | None = None
        self._frame: ConstraintFrame | None = None

    def __getstate__(self) -> dict[str, object]:
        # A frame holds functions of these very rows, and is made again where it is needed.
        return {**self.__dict__, "_frame": None}

    @property
    def constraint_frame(self) -> ConstraintFrame:
        """The functions of a region that is known by such."""
        if self._frame is None:
            constraints = self.region.constraints
            assert constraints is not None, "only such regions are asked"
            self._frame = constraints.constraint_frame(self.X)
        return self._frame

    @property
    def parts(self) -> tuple[BorderView, ...]:
        """Of a product of regions: the border of each part, as seen from the rows' columns in its factor."""
        if self._parts is None:
            region = self.region
            assert isinstance(region, ProductRegion), "only products have parts"
            self._parts = tuple(BorderView(part, self.X[:, own]) for part, own in region.pieces())
        return self._parts

    def distance(self, metric: str = "geodesic", axis: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Signed distance (n,) and tangent gradient (n, D).

        Parameters
        ----------
        metric
            "geodesic", "chordal" or "projected".
        axis
            The coordinate that the projected distance drops.
        """
        key = (metric, axis)
        if key not in self._distances:
            self._distances[key] = self._computed(metric, axis)
        return self._distances[key]

    def depth(self) -> FloatArray:
        """The geodesic distance alone, shape (n,), where a gradient would be more work."""
        if isinstance(self.region, ProductRegion) and ("geodesic", None) not in self._distances:
            return self.region.joined_depth([part.depth() for part in self.parts])
        return self.distance()[0]

    def _computed(self, metric: str, axis: int | None) -> tuple[FloatArray, FloatArray]:
        if metric == "chordal" and self.region.has_border:
            self.region.check_chordal()
            d, gradient = self.distance()
            d, slope = self.region.manifold.chord(d)
            return d, gradient * slope[:, None]
        if metric != "geodesic":
            return self.region.distance_in(self.X, metric, axis)
        if isinstance(self.region, ProductRegion):
            return self.region.joined([part.distance() for part in self.parts])
        smooth = self.region.smooth_border
        if smooth is None:
            return self.region.signed_distance(self.X)
        d, gradient, self._laplacian = smooth.smooth_distance(self.X)
        return d, gradient

    @property
    def laplacian(self) -> FloatArray:
        """Laplace–Beltrami operator of the geodesic distance, shape (n,), for a smooth border."""
        self.distance()
        if self._laplacian is None:
            raise InvalidInputError(f"The distance to the border of {self.region!r} has no Laplacian everywhere.")
        return self._laplacian

    def where(self, chosen: BoolArray | IntArray | slice) -> BorderView:
        """The same for the rows that are ``chosen``, with the geodesic distance where it is known."""
        view = BorderView(self.region, np.asfortranarray(self.X[chosen]))
        known = self._distances.get(("geodesic", None))
        if known is not None:
            view._distances["geodesic", None] = known[0][chosen], np.asfortranarray(known[1][chosen])
            view._laplacian = None if self._laplacian is None else self._laplacian[chosen]
        if self._parts is not None:
            view._parts = tuple(part.where(chosen) for part in self._parts)
        return view
