"""Regions of highest density: the smallest area that holds a share of the mass, as rings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.optional import load_package
from tmsm.manifolds.frames import Frame, readable_length
from tmsm.manifolds.lonlat import point_at
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.windows import flat_window, lonlat_window
from tmsm.regions.polygon.flattened import cut_at_antimeridian, flat_polygons

__all__ = ["HighestDensityRegion"]

# Along the longer side of a window.
_GRID = 400
# Log densities that differ by less are equal, and of what is equal so many draws show how far a part of it reaches.
_EQUAL, _DRAWS = 1e-9, 4000
# A curved border becomes arcs to this tolerance in radians: 60 m on the Earth.
_TOLERANCE = 1e-5


@final
@dataclass(frozen=True, eq=False)
class HighestDensityRegion:
    """The smallest part of the region that holds a share of the mass; `highest_density_region` of a map makes it.

    Attributes
    ----------
    share
        Share of the mass.
    log_density
        The log density on its border; inside the log density is higher.
    area
        Its area: steradians on S², squares of the unit in the plane.
    density
        The density of the map.
    """

    share: float
    log_density: float
    area: float
    density: RegionDensity

    def __repr__(self) -> str:
        return f"<{100.0 * self.share:g} % region of highest density: {self.area_text}>"

    @property
    def area_text(self) -> str:
        """The area with its unit: square kilometres on the Earth, square degrees elsewhere on S²."""
        return self.area_in(self.density.frame)

    def area_in(self, frame: Frame) -> str:
        """The same where directions on S² stand for something else."""
        if not self.density.region.manifold.has_longitudes:
            return readable_length(self.area)
        unit = frame.unit
        area = readable_length(self.area * unit.scale**2)
        return f"{area} km²" if unit.name == "km" else f"{area} square degrees"

    def contains(self, X: Any) -> BoolArray:
        """Which points belong to it, shape (n,).

        Parameters
        ----------
        X
            Points, shape (n, D).
        """
        region = self.density.region
        rows = region.manifold.check_points(X)
        inside = np.asarray(region.signed_distance(np.asfortranarray(rows))[0] > 0.0)
        inside[inside] = self._height(rows[inside]) >= 0.0
        return inside

    def _height(self, X: FloatArray) -> FloatArray:
        """The log density over the level at points (n, D) of the region, shape (n,).

        Where the density is even at the level, as a uniform one is, any part of what is even would do: it is what lies
        next to one place, with the mass that is missing.
        """
        height = self.density.log_density(X) - self.log_density
        even = np.abs(height) < _EQUAL
        if even.any():
            centre, radius = self._even_part
            away = np.linalg.norm(self.density.region.manifold.functions(X[even]) - centre, axis=1)
            height[even] = _EQUAL * (radius - away)
        return height

    @cached_property
    def _even_part(self) -> tuple[FloatArray, float]:
        """A place where the density is at the level, and how far from it such places belong to the region."""
        draws = self.density.draw(_DRAWS, np.random.default_rng(0))
        height = self.density.log_density(draws) - self.log_density
        even = self.density.region.manifold.functions(draws[np.abs(height) < _EQUAL])
        if len(even) == 0:
            return np.zeros(1), np.inf
        wanted = (self.share - float((height >= _EQUAL).mean())) * len(draws) / len(even)
        away = np.linalg.norm(even - even[0], axis=1)
        return even[0], float(np.quantile(away, min(max(wanted, 0.0), 1.0)))

    @cached_property
    def polygons(self) -> list[list[list[list[float]]]]:
        """Coordinates of a MultiPolygon: in degrees on S², cut at the antimeridian, or those of the plane."""
        return _coordinates(self._shape)

    @property
    def rings(self) -> list[FloatArray]:
        """All closed chains of points, outer ones and holes, each of shape (m, D), the last point not repeated."""
        found = []
        for polygon in self.polygons:
            for ring in polygon:
                flat = np.array(ring[:-1])
                found.append(point_at(*flat.T) if self.density.region.manifold.has_longitudes else flat)
        return found

    @cached_property
    def _shape(self) -> Any:
        import shapely

        region = self.density.region
        manifold = region.manifold
        if manifold.has_longitudes:
            x, y = lonlat_window(region, _GRID)
            grid = point_at(*(one.ravel() for one in np.meshgrid(x, y)))
        elif manifold.is_flat and manifold.dim == 2:
            x, y = flat_window(region, _GRID)
            grid = np.stack([one.ravel() for one in np.meshgrid(x, y)], axis=1)
        else:
            raise InvalidInputError(
                f"Rings are drawn on S² and in the plane, not on {manifold!r}; contains() works everywhere."
            )
        values = self._height(grid).reshape(len(y), len(x))
        edges = region.border_edges(_TOLERANCE) if region.has_border else None
        if region.has_border and edges is None:
            # Where the border is not made of curves, where its distance is zero on the grid.
            d = region.clearance(np.asfortranarray(grid))[0].reshape(values.shape)
            step = np.hypot(x[1] - x[0], y[1] - y[0]) * (np.pi / 180.0 if manifold.has_longitudes else 1.0)
            values = np.minimum(values, d / step)
        shape = _above(x, y, values)
        if manifold.has_longitudes:
            shape = cut_at_antimeridian(shape)
        if edges is not None:
            shape = shapely.intersection(shape, _border_shape(edges, region.contains, manifold.has_longitudes))
        parts = [one for one in shapely.get_parts([shape]) if one.geom_type == "Polygon"]
        return shapely.MultiPolygon([part for one in parts for part in shapely.get_parts([one])])


def _above(x: FloatArray, y: FloatArray, values: FloatArray) -> Any:
    """Where values on a grid are positive, as a shape."""
    import shapely

    contourpy = load_package("contourpy", "A region of highest density as rings", "plot")
    top = float(np.nanmax(values))
    if not top > 0.0:
        return shapely.MultiPolygon()
    found = contourpy.contour_generator(x, y, values, fill_type=contourpy.FillType.OuterOffset).filled(0.0, top + 1.0)
    shapes = []
    for points, offsets in zip(*found, strict=True):
        rings = [points[a:b] for a, b in pairwise(offsets)]
        shapes.append(shapely.make_valid(shapely.Polygon(rings[0], rings[1:])))
    return shapely.union_all(shapes)


def _border_shape(chains: Sequence[FloatArray], contains: Callable[[Any], BoolArray], on_sphere: bool) -> Any:
    import shapely

    if on_sphere:
        polygons = flat_polygons(chains, contains)
        return shapely.MultiPolygon([(one[0], one[1:]) for one in polygons])
    shape = shapely.Polygon(chains[0])
    for chain in chains[1:]:
        shape = shapely.symmetric_difference(shape, shapely.Polygon(chain))
    inside = shape.representative_point()
    if contains(np.array([[inside.x, inside.y]]))[0]:
        return shape
    return shapely.difference(shapely.box(*_huge(chains)), shape)


def _huge(chains: Sequence[FloatArray]) -> tuple[float, ...]:
    low, high = np.vstack(chains).min(axis=0), np.vstack(chains).max(axis=0)
    far = 1e3 * (high - low)
    return (*(low - far).tolist(), *(high + far).tolist())


def _coordinates(shape: Any) -> list[list[list[list[float]]]]:
    from shapely.geometry.polygon import orient

    turned = [orient(one, 1.0) for one in shape.geoms if one.area > 0.0]
    return [[np.asarray(ring.coords).tolist() for ring in (one.exterior, *one.interiors)] for one in turned]
