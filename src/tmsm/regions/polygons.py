"""Polygons on the sphere S² with great-circle edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tmsm.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.coordinates import xyz_to_lonlat
from tmsm.errors import CrossingError, InvalidInputError
from tmsm.manifolds import Manifold, Sphere
from tmsm.regions.base import Region
from tmsm.regions.geojson import geojson_polygons, geometry_polygons, groups_to_geojson, polygons_to_rings
from tmsm.regions.landmarks import Landmarks, ring_landmarks
from tmsm.regions.outlines import (
    EARTH_RADIUS_KM,
    check_ring,
    collapse,
    dissolve,
    left_area,
    own_edges,
    signed_area,
    split_lonlat_rings,
)
from tmsm.validation import as_float_array, check_number, check_option, check_unit_vector
from tmsm.values import frozen_array

if TYPE_CHECKING:
    from tmsm.regions.arcs import ArcTree

__all__ = ["SphericalPolygon"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class SphericalPolygon(Region):
    """The inside of rings of great-circle arcs on S².

    A ring inside another is its hole, one inside that an island again.  Edges that two rings share
    are no border.  A ring on a sphere has two sides: the whole region is the smaller one, unless
    ``inside`` says otherwise.

    Parameters
    ----------
    rings
        Unit vectors, one array of shape (m, 3) for each ring, either way round, closed or not.
    inside
        A point inside, shape (3,); by default the smaller of the two sides is inside.

    Examples
    --------
    >>> import tmsm
    >>> octant = tmsm.SphericalPolygon([[[1, 0, 0], [0, 1, 0], [0, 0, 1]]])
    >>> octant.contains(tmsm.lonlat_to_xyz([45, -45], [30, 30]))
    array([ True, False])
    >>> round(octant.area / 3.141592653589793, 12)
    0.5
    """

    rings: tuple[FloatArray, ...]

    def __init__(self, rings: Sequence[ArrayLike], inside: ArrayLike | None = None) -> None:
        given = _with_touching_vertices([_as_ring(ring, k) for k, ring in enumerate(_as_list(rings))])
        oriented = dissolve(_orient(given))
        if not oriented:
            raise InvalidInputError("The rings cancel each other: nothing is left inside.")
        point = None if inside is None else check_unit_vector(inside, "inside")
        object.__setattr__(self, "rings", tuple(frozen_array(ring) for ring in oriented))
        _check_crossings(self)
        flip = self.area > 2.0 * np.pi * (1.0 + 1e-12)
        if point is not None:
            d = float(self.signed_distance(point[None, :])[0][0])
            if abs(d) < 1e-12:
                raise InvalidInputError("inside lies on the border: it does not tell the two sides apart.")
            flip = d < 0.0
        if flip:
            object.__setattr__(self, "rings", tuple(frozen_array(ring[::-1]) for ring in oriented))
            self.__dict__.pop("_tree", None)

    @staticmethod
    def from_lonlat(
        rings: Sequence[ArrayLike], *, tolerance: float, inside: ArrayLike | None = None
    ) -> SphericalPolygon:
        """From rings in degrees, (m, 2), whose edges are straight in longitude/latitude.

        ``tolerance`` is in radians; longitudes are continuous along each ring.
        """
        arrays = [np.asarray(ring, dtype=np.float64) for ring in rings]
        return SphericalPolygon(split_lonlat_rings(arrays, tolerance), inside)

    @staticmethod
    def from_geojson(
        source: Any, *, inside: ArrayLike | None = None, edges: str = "lonlat", tolerance: float = 100.0
    ) -> SphericalPolygon:
        """From GeoJSON: a path, text or a mapping with polygons in it, at any depth.

        Parameters
        ----------
        source
            A Polygon, MultiPolygon, Feature, FeatureCollection or GeometryCollection.
        inside
            A point inside, shape (3,); by default the smaller side is inside.
        edges
            "lonlat": straight in longitude/latitude, as GeoJSON's are; "geodesic": great-circle arcs.
        tolerance
            Largest distance in metres on the Earth between a straight edge and its arcs.

        Examples
        --------
        >>> import tmsm
        >>> tmsm.SphericalPolygon.from_geojson(
        ...     {"type": "Polygon", "coordinates": [[[-100, 30], [-80, 30], [-80, 49], [-100, 49]]]}
        ... ).contains(tmsm.lonlat_to_xyz([-90, -90], [48.9, 49.1]))
        array([ True, False])
        """
        polygons, kept = geojson_polygons(source)
        return _from_polygons(polygons, kept if inside is None else inside, edges, tolerance)

    @staticmethod
    def from_geometry(
        geometry: Any, *, inside: ArrayLike | None = None, edges: str = "lonlat", tolerance: float = 100.0
    ) -> SphericalPolygon:
        """From a shapely geometry in degrees, a GeoSeries or a GeoDataFrame in any known CRS.

        Parameters are those of `from_geojson`.
        """
        return _from_polygons(geometry_polygons(geometry), inside, edges, tolerance)

    def to_geojson(self) -> dict[str, Any]:
        """A GeoJSON MultiPolygon of the rings; read it back with ``edges="geodesic"``.

        GeoJSON cannot say which side of a ring is meant, so a point inside is kept with it, as a member
        "inside" that `from_geojson` knows.
        """
        return groups_to_geojson(_with_their_holes(self.rings), self._point_inside())

    def _point_inside(self) -> FloatArray:
        middle = _middle(self.rings[0])
        _, inward = self.signed_distance(middle[None, :])
        for step in 2.0 ** -np.arange(1, 40):
            candidate = np.cos(step) * middle + np.sin(step) * inward[0]
            if self.signed_distance(candidate[None, :])[0][0] > 1e-9:
                break
        return np.asarray(candidate)

    def __repr__(self) -> str:
        vertices = sum(len(ring) for ring in self.rings)
        km2 = self.area * EARTH_RADIUS_KM**2
        return (
            f"SphericalPolygon(<{len(self.rings)} ring{'s' * (len(self.rings) > 1)}, {vertices:,} vertices>, "
            f"area={self.area:.6g} sr ({km2:,.0f} km² on the Earth), perimeter={self.perimeter:.6g} rad)"
        )

    @property
    def manifold(self) -> Manifold:
        return Sphere(2)

    @property
    def area(self) -> float:
        """Area in steradians."""
        return left_area(self.rings)

    @property
    def perimeter(self) -> float:
        """Length of the border in radians."""
        return float(sum(Sphere(2).geodesic_distance(ring, np.roll(ring, -1, axis=0)).sum() for ring in self.rings))

    @cached_property
    def _tree(self) -> ArcTree:
        return _tree_of(self.rings)

    @cached_property
    def _short_tree(self) -> ArcTree:
        """The same border in arcs of at most a tenth of a radian: their projections are nearly straight."""
        return _tree_of([_shortened(ring, 0.1) for ring in self.rings])

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._tree.query(X)

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        return self._short_tree.query_projected(X, axis)

    @cached_property
    def landmarks(self) -> Landmarks:
        return ring_landmarks(self.rings)

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return list(self.rings)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the border in longitude and latitude; returns the axes.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        **style
            Passed to ``ax.plot``.
        """
        return plot_rings(self.rings, ax, **style)


def _from_polygons(
    polygons: list[list[FloatArray]], inside: ArrayLike | None, edges: str, tolerance: float
) -> SphericalPolygon:
    check_option(edges, ["lonlat", "geodesic"], "edges")
    tolerance = check_number(tolerance, "tolerance", above=0.0) / (1000.0 * EARTH_RADIUS_KM)
    # Edges closer together than the tolerance may cross once they are arcs: then be more exact.
    for attempt in range(4):
        try:
            return SphericalPolygon(polygons_to_rings(polygons, edges, tolerance / 16**attempt), inside)
        except CrossingError:
            if edges == "geodesic" or attempt == 3:
                raise
    raise AssertionError("the last attempt returns or raises")


def plot_rings(rings: Sequence[FloatArray], ax: Any, **style: Any) -> Any:
    """Rings in longitude and latitude, broken where they cross the antimeridian."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots()[1]
        ax.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)")
    for ring in rings:
        lon, lat = xyz_to_lonlat(np.vstack([ring, ring[:1]]))
        jump = np.flatnonzero(np.abs(np.diff(lon)) > 180.0) + 1
        ax.plot(np.insert(lon, jump, np.nan), np.insert(lat, jump, np.nan), **{"color": "black", "lw": 1.0, **style})
    return ax


def _with_their_holes(rings: Sequence[FloatArray]) -> list[list[FloatArray]]:
    """Each outer ring, followed by the holes of which it is the smallest ring around."""
    outer = [ring for ring in rings if signed_area(ring) > 0.0]
    holes = [ring for ring in rings if signed_area(ring) <= 0.0]
    if not outer:
        outer, holes = holes, outer
    groups = [[ring] for ring in outer]
    areas = [abs(signed_area(ring)) for ring in outer]
    regions = [SphericalPolygon([ring]) for ring in outer]
    for hole in holes:
        around = [k for k, region in enumerate(regions) if region.contains(hole[:1])[0]]
        groups[min(around, key=lambda k: areas[k]) if around else 0].append(hole)
    return groups


def _as_list(rings: Any) -> list[Any]:
    if isinstance(rings, np.ndarray) and rings.ndim == 2:
        return [rings]
    try:
        listed = list(rings)
    except TypeError:
        raise InvalidInputError(
            f"rings must be a list of arrays of unit vectors; got {type(rings).__name__}."
        ) from None
    if not listed:
        raise InvalidInputError("rings is empty: there is no border.")
    if np.ndim(listed[0]) == 1:
        return [listed]
    return listed


def _as_ring(ring: Any, k: int) -> FloatArray:
    name = f"Ring {k}"
    array = as_float_array(ring, name)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInputError(
            f"{name} must have shape (m, 3), unit vectors; got {array.shape}. "
            "Longitude and latitude in degrees become unit vectors with lonlat_to_xyz."
        )
    points = np.array(Sphere(2).check_points(array, name))
    Sphere(2).settle(points)
    return check_ring(points, name)


def _tree_of(rings: Sequence[FloatArray], *, settle: bool = True) -> ArcTree:
    from tmsm.regions.arcs import ArcTree

    ends = np.vstack([np.roll(ring, -1, axis=0) for ring in rings])
    index = np.arange(len(ends))
    offsets = np.concatenate([[0], np.cumsum([len(ring) for ring in rings])])
    parts = [index[a:b] for a, b in pairwise(offsets)]
    previous = np.concatenate([np.roll(part, 1) for part in parts])
    following = np.concatenate([np.roll(part, -1) for part in parts])
    return ArcTree.build(np.vstack(list(rings)), ends, previous, following, settle=settle)


def _shortened(ring: FloatArray, longest: float) -> FloatArray:
    ends = np.roll(ring, -1, axis=0)
    angle = Sphere(2).geodesic_distance(ring, ends)
    pieces = np.maximum(np.ceil(angle / longest), 1).astype(np.int64)
    edge = np.repeat(np.arange(len(ring)), pieces)
    share = (np.arange(edge.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[edge]
    a, b, w = ring[edge], ends[edge], angle[edge]
    points: FloatArray = (np.sin((1 - share) * w)[:, None] * a + np.sin(share * w)[:, None] * b) / np.sin(w)[:, None]
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points


def _with_touching_vertices(rings: list[FloatArray]) -> list[FloatArray]:
    """Put vertices that lie on an edge of another ring (or of their own) into that edge.

    Edges that overlap in part then have whole edges in common, which can be cancelled.
    """
    for _ in range(3):
        edge, vertex = _tree_of(rings, settle=False).touches()
        if edge.size == 0:
            break
        starts = np.vstack(rings)
        on_edge: dict[int, list[int]] = defaultdict(list)
        for e, v in zip(edge.tolist(), vertex.tolist(), strict=True):
            on_edge[e].append(v)
        pieces = [starts[e][None] for e in range(len(starts))]
        for e, vertices in on_edge.items():
            points = starts[vertices]
            order = np.argsort(np.linalg.norm(points - starts[e], axis=1))
            pieces[e] = np.vstack([pieces[e], points[order]])
        offsets = np.cumsum([0, *(len(ring) for ring in rings)])
        filled = [collapse(np.vstack(pieces[a:b])) for a, b in pairwise(offsets)]
        rings = filled
    return rings


def _orient(rings: list[FloatArray]) -> list[FloatArray]:
    """Turn rings so that, by the even–odd rule, one side of all of them is on their left."""
    if len(rings) == 1:
        return rings
    # Both sides of an edge that two rings share are alike: look beside one that a ring has to itself.
    own = np.split(own_edges(rings), np.cumsum([len(ring) for ring in rings])[:-1])
    beside = np.array([_beside(ring, mask) for ring, mask in zip(rings, own, strict=True)])
    left = np.zeros((len(rings), len(rings)), dtype=bool)
    for k, ring in enumerate(rings):
        # Outside the cap that a ring fits into, all points are on the same side of it.
        middle = ring.mean(axis=0)
        reach = float((ring @ middle).min())
        near = beside @ middle >= reach - 1e-9 if reach > 0.0 else np.ones(len(rings), dtype=bool)
        near[k] = False
        left[k] = signed_area(ring) < 0.0
        if near.any():
            left[k, near] = _tree_of([ring], settle=False).query(beside[near])[0] > 0.0
    np.fill_diagonal(left, False)
    odd = left.sum(axis=0) % 2 == 1
    return [ring[::-1] if turn else ring for ring, turn in zip(rings, odd, strict=True)]


def _beside(ring: FloatArray, own: BoolArray) -> FloatArray:
    """A point just to the left of the middle of the longest arc that the ring has to itself."""
    ends = np.roll(ring, -1, axis=0)
    k = int(np.argmax(np.where(own, np.linalg.norm(ends - ring, axis=1), -1.0)))
    a, b = ring[k], ends[k]
    step = 1e-4 * float(np.linalg.norm(b - a))
    normal = np.cross(a - b, a + b)
    point: FloatArray = (a + b) / np.linalg.norm(a + b) + step * normal / np.linalg.norm(normal)
    point /= np.linalg.norm(point)
    return point


def _middle(ring: FloatArray) -> FloatArray:
    """The middle of the longest arc."""
    ends = np.roll(ring, -1, axis=0)
    k = int(np.argmax(np.linalg.norm(ends - ring, axis=1)))
    middle: FloatArray = ring[k] + ends[k]
    middle /= np.linalg.norm(middle)
    return middle


def _check_crossings(polygon: SphericalPolygon) -> None:
    for k, ring in enumerate(polygon.rings):
        length = np.linalg.norm(np.roll(ring, -1, axis=0) - ring, axis=1).sum()
        if abs(signed_area(ring)) <= 1e-12 * length**2:
            raise InvalidInputError(f"Ring {k} has no area.")
    found = polygon._tree.crossing()
    if found is None:
        return
    offsets = np.cumsum([0, *(len(ring) for ring in polygon.rings)])
    (ring_a, vertex_a), (ring_b, vertex_b) = (
        (k := int(np.searchsorted(offsets, e, "right")) - 1, e - int(offsets[k])) for e in found
    )
    if ring_a == ring_b:
        raise CrossingError(
            f"Ring {ring_a} crosses itself: the edges after vertices {vertex_a} and {vertex_b} meet. "
            "Check the order of its vertices."
        )
    raise CrossingError(
        f"Rings {ring_a} and {ring_b} cross: the edge after vertex {vertex_a} of the one meets the edge after vertex "
        f"{vertex_b} of the other. Dissolve overlapping parts first."
    )
