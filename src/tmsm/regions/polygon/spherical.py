"""Polygons on the sphere S² with great-circle edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.foundation.errors import CrossingError, InvalidInputError
from tmsm.foundation.filters import Filter
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import as_float_array, check_number, check_option, check_unit_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold, Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz, xyz_to_lonlat
from tmsm.manifolds.lonlat import EARTH_RADIUS_KM
from tmsm.regions.borders import Constrained, RowBorder
from tmsm.regions.constraint_sets import convex_constraints
from tmsm.regions.landmarks import Landmarks, ring_landmarks
from tmsm.regions.polygon.files import file_polygons
from tmsm.regions.polygon.geojson import (
    continuous_polygons,
    geojson_polygons,
    geometry_polygons,
    groups_to_geojson,
    polygons_to_rings,
)
from tmsm.regions.polygon.longitudes import point_of_large_polygons
from tmsm.regions.polygon.outlines import (
    check_rings,
    collapse_rings,
    dissolve,
    left_area,
    own_edges,
    ring_neighbours,
    signed_areas,
    split_lonlat_rings,
    stacked,
)
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

if TYPE_CHECKING:
    from tmsm.regions.polygon.arcs import ArcTree

__all__ = ["SphericalPolygon", "plot_rings", "polygon_of_outline"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class SphericalPolygon(Region):
    """The inside of closed rings on S² whose sides are arcs of great circles.

    A ring inside another ring is a hole, and a ring inside the hole is an island again. Sides that two rings share are
    no border. A ring on a sphere has two sides: the region is the smaller one, unless ``inside`` says otherwise.

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
        point = None if inside is None else check_unit_vector(inside, "inside")
        # A large border takes seconds, in five steps.
        for _ in with_progress(self._built(rings, point), 5, "building the border"):
            pass

    def _built(self, rings: Any, point: FloatArray | None) -> Iterator[None]:
        checked = _as_rings(_as_list(rings))
        yield
        given, tree = _with_touching_vertices(checked)
        yield
        oriented = dissolve(_orient(given))
        if not oriented:
            raise InvalidInputError("The rings cancel each other: nothing is left inside.")
        yield
        object.__setattr__(self, "rings", tuple(frozen_array(ring) for ring in oriented))
        unchanged = len(given) == len(oriented) and all(a is b for a, b in zip(given, oriented, strict=True))
        self.__dict__["_tree"] = _settled(tree if unchanged else _tree_of(oriented), oriented)
        yield
        flip = _check_rings(self) > 2.0 * np.pi * (1.0 + 1e-12)
        if point is not None:
            d = float(self.signed_distance(point[None, :])[0][0])
            if abs(d) < 1e-12:
                raise InvalidInputError("inside lies on the border: it does not tell the two sides apart.")
            flip = d < 0.0
        if flip:
            self._turn_round()
        yield

    def _turn_round(self) -> None:
        """Make the other side the inside."""
        lengths = np.array([len(ring) for ring in self.rings])
        offset, length = np.repeat(np.cumsum(lengths) - lengths, lengths), np.repeat(lengths, lengths)
        # From vertex k to k + 1 becomes from the one numbered m − 2 − k to the next, both modulo m.
        numbers = offset + (length - 2 - (np.arange(len(offset)) - offset)) % length
        object.__setattr__(self, "rings", tuple(frozen_array(ring[::-1]) for ring in self.rings))
        self.__dict__["_tree"] = self._tree.reversed(numbers)

    @staticmethod
    def from_lonlat(
        rings: Sequence[ArrayLike], *, tolerance: float, inside: ArrayLike | None = None
    ) -> SphericalPolygon:
        """From rings in degrees whose sides are straight in longitude and latitude.

        Parameters
        ----------
        rings
            Arrays (m, 2) of longitude and latitude; longitudes are continuous along each ring.
        tolerance
            Largest distance in radians between a straight side and the arcs of great circles that replace it.
        inside
            A point inside, shape (3,); by default the smaller side is inside.
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
            A point inside, shape (3,). By default the inside is that of a flat map in longitude and latitude. With
            sides of great circles, and for a ring around a pole, it is the smaller side.
        edges
            "lonlat": sides are straight in longitude and latitude, as in GeoJSON; "geodesic": sides are arcs of great
            circles.
        tolerance
            Largest distance, in metres on the Earth, between a straight side and the arcs that replace it.

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

        Parameters
        ----------
        geometry
            The polygons.
        inside, edges, tolerance
            As in `from_geojson`.
        """
        return _from_polygons(geometry_polygons(geometry), inside, edges, tolerance)

    @staticmethod
    def from_file(
        path: str | Path,
        where: str | Filter | None = None,
        *,
        inside: ArrayLike | None = None,
        edges: str = "lonlat",
        tolerance: float = 100.0,
    ) -> SphericalPolygon:
        """From a file: GeoJSON, WKT text in degrees, or any that geopandas reads (GeoPackage, shapefile, FlatGeobuf).

        Parameters
        ----------
        path
            The file; its ending says what it holds.
        where
            Which features to take, as a condition on their properties or columns: ``ADMIN = "Nepal"``, ``POP_EST > 1e6
            and CONTINENT in ("Asia", "Africa")``, ``not [a name with blanks] = null``. By default all.
        inside, edges, tolerance
            As in `from_geojson`.

        Examples
        --------
        >>> import json, pathlib, tempfile, tmsm
        >>> def square(name, west):
        ...     ring = [[west, 0], [west + 10, 0], [west + 10, 10], [west, 10], [west, 0]]
        ...     geometry = {"type": "Polygon", "coordinates": [ring]}
        ...     return {"type": "Feature", "properties": {"name": name}, "geometry": geometry}
        >>> world = {"type": "FeatureCollection", "features": [square("A", 0), square("B", 50)]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "world.geojson"
        ...     _ = path.write_text(json.dumps(world))
        ...     region = tmsm.SphericalPolygon.from_file(path, where="name = 'B'")
        >>> region.contains(tmsm.lonlat_to_xyz([5, 55], [5, 5]))
        array([False,  True])
        """
        polygons, kept = file_polygons(path, where)
        return _from_polygons(polygons, kept if inside is None else inside, edges, tolerance)

    def to_geojson(self) -> dict[str, Any]:
        """A GeoJSON MultiPolygon of the rings; read it back with ``edges="geodesic"``.

        GeoJSON cannot say which side of a ring is inside. So a point inside is written as a member "inside", which
        `from_geojson` reads.
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

    def to_arguments(self) -> dict[str, Any]:
        return {"rings": self.rings, "inside": self._point_inside()}

    @property
    def manifold(self) -> Manifold:
        return Sphere(2)

    @property
    def is_costly(self) -> bool:
        return True

    @property
    def area(self) -> float:
        """Area in steradians."""
        return left_area(signed_areas(self.rings))

    @property
    def perimeter(self) -> float:
        """Length of the border in radians."""
        return float(sum(Sphere(2).geodesic_distance(ring, np.roll(ring, -1, axis=0)).sum() for ring in self.rings))

    @cached_property
    def _tree(self) -> ArcTree:
        return _settled(_tree_of(self.rings), self.rings)

    @cached_property
    def _short_tree(self) -> ArcTree:
        """The same border in arcs of at most a tenth of a radian: their projections are nearly straight."""
        return _tree_of([_shortened(ring, 0.1) for ring in self.rings])  # only distances are asked of it

    @property
    def row_border(self) -> RowBorder | None:
        tree = self._tree
        return RowBorder("arcs", tree=(tree.boxes, tree.arcs, tree.first))

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        d, gradient = self._tree.query(X)
        return zero_on_border(d), gradient

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        return self._short_tree.query_projected(X, axis)

    @cached_property
    def landmarks(self) -> Landmarks:
        return ring_landmarks(self.rings)

    @cached_property
    def constraints(self) -> Constrained | None:
        if len(self.rings) > 1:
            return None
        # The inside is on the left of each edge: normals a × b, which (a − b) × (a + b) gives without losing digits.
        ring = self.rings[0]
        following = np.roll(ring, -1, axis=0)
        normals = np.cross(ring - following, ring + following)
        return convex_constraints(self.manifold, ring, normals, np.zeros(len(ring)))

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


def polygon_of_outline(rings: Sequence[FloatArray]) -> SphericalPolygon:
    """The polygon of rings that have the inside on their left and vertices in common at most: they are not turned."""
    polygon = object.__new__(SphericalPolygon)
    object.__setattr__(polygon, "rings", tuple(frozen_array(ring) for ring in rings))
    _check_rings(polygon)
    return polygon


def _from_polygons(
    polygons: list[list[FloatArray]], inside: ArrayLike | None, edges: str, tolerance: float
) -> SphericalPolygon:
    check_option(edges, ["lonlat", "geodesic"], "edges")
    tolerance = check_number(tolerance, "tolerance", above=0.0) / (1000.0 * EARTH_RADIUS_KM)
    polygons = continuous_polygons(polygons, edges)
    if inside is None and edges == "lonlat":
        point = point_of_large_polygons(polygons)
        inside = None if point is None else lonlat_to_xyz(*point)
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
    areas = signed_areas(rings)
    outer, holes = np.flatnonzero(areas > 0.0).tolist(), np.flatnonzero(areas <= 0.0).tolist()
    if not outer:
        outer, holes = holes, outer
    groups = [[rings[k]] for k in outer]
    if not holes:
        return groups
    smallest, owner = np.full(len(holes), np.inf), np.zeros(len(holes), dtype=np.int64)
    beside = np.array([_middle(rings[k]) for k in holes])
    for group, near in _points_near([rings[k] for k in outer], beside):
        ring, area = groups[group][0], abs(areas[outer[group]])
        closer = near[smallest[near] > area]
        if closer.size:
            # The smaller of its two sides is on the left of a ring with a positive area.
            left = _settled(_tree_of([ring]), [ring]).query(beside[closer])[0] > 0.0
            inside = closer[left == (areas[outer[group]] > 0.0)]
            smallest[inside], owner[inside] = area, group
    for k, group in zip(holes, owner.tolist(), strict=True):
        groups[group].append(rings[k])
    return groups


def _points_near(rings: Sequence[FloatArray], points: FloatArray) -> Iterator[tuple[int, Any]]:
    """Number of each ring and of the points that may lie on its smaller side, where there are any."""
    from scipy.spatial import KDTree

    # A ring lies in a cap about its mean; outside of that cap all points are on the same side of it.
    vertices, lengths = stacked(rings)
    offsets = np.cumsum(lengths) - lengths
    middles = np.add.reduceat(vertices, offsets) / lengths[:, None]
    length = np.linalg.norm(middles, axis=1)
    middles /= np.maximum(length, 1e-300)[:, None]
    cosine = np.minimum.reduceat((vertices * np.repeat(middles, lengths, axis=0)).sum(axis=1), offsets)
    small = (length > 1e-6) & (cosine > 0.0)
    reach = np.where(small, np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0)) + 1e-6, 3.0)
    for k, found in enumerate(KDTree(points).query_ball_point(middles, reach)):
        if found:
            yield k, np.array(found)


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


def _as_rings(listed: list[Any]) -> list[FloatArray]:
    arrays = []
    for k, ring in enumerate(listed):
        name = f"Ring {k}"
        array = as_float_array(ring, name)
        if array.ndim != 2 or array.shape[1] != 3:
            raise InvalidInputError(
                f"{name} must have shape (m, 3), unit vectors; got {array.shape}. "
                "Longitude and latitude in degrees become unit vectors with lonlat_to_xyz."
            )
        arrays.append(array)
    points = np.vstack(arrays)
    if len(points) == 0 or not Sphere(2).settle(points)[0]:
        for k, array in enumerate(arrays):
            Sphere(2).check_points(array, f"Ring {k}")
    return check_rings(np.split(points, np.cumsum([len(array) for array in arrays])[:-1]))


def _tree_of(rings: Sequence[FloatArray]) -> ArcTree:
    from tmsm.regions.polygon.arcs import ArcTree

    starts, lengths = stacked(rings)
    return ArcTree.build(starts, *ring_neighbours(lengths))


def _settled(tree: ArcTree, rings: Sequence[FloatArray]) -> ArcTree:
    return tree.settle(ring_neighbours([len(ring) for ring in rings])[1])


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


def _with_touching_vertices(rings: list[FloatArray]) -> tuple[list[FloatArray], ArcTree]:
    """Put vertices that lie on an edge of another ring (or of their own) into that edge; the tree of the result.

    Edges that overlap in part then have whole edges in common, which can be cancelled.
    """
    tree = _tree_of(rings)
    for _ in range(3):
        edge, vertex = tree.touches()
        if edge.size == 0:
            break
        starts, lengths = stacked(rings)
        order = np.lexsort([np.linalg.norm(starts[vertex] - starts[edge], axis=1), edge])
        edge, vertex = edge[order], vertex[order]
        ring = np.searchsorted(np.cumsum(lengths), edge, "right")
        points = np.insert(starts, edge + 1, starts[vertex], axis=0)
        rings = collapse_rings(points, lengths + np.bincount(ring, minlength=len(lengths)))
        tree = _tree_of(rings)
    return rings, tree


def _orient(rings: list[FloatArray]) -> list[FloatArray]:
    """Turn rings so that, by the even–odd rule, one side of all of them is on their left."""
    if len(rings) == 1:
        return rings
    # Both sides of an edge that two rings share are alike: look beside one that a ring has to itself.
    beside = _beside(rings, own_edges(rings))
    # Of how many other rings each point is on the left: far from a ring that is so if its left is the larger side.
    larger = (signed_areas(rings) < 0.0).astype(np.int64)
    count = larger.sum() - larger
    for k, near in _points_near(rings, beside):
        others = near[near != k]
        if others.size:
            count[others] += (_tree_of([rings[k]]).query(beside[others])[0] > 0.0) - larger[k]
    odd = count % 2 == 1
    if odd.all():  # the same, the other way round
        return rings
    return [ring[::-1] if turn else ring for ring, turn in zip(rings, odd, strict=True)]


def _beside(rings: list[FloatArray], own: BoolArray) -> FloatArray:
    """A point just to the left of the middle of the longest arc that each ring has to itself, shape (k, 3)."""
    starts, lengths = stacked(rings)
    ends = starts[ring_neighbours(lengths)[1]]
    longest = _first_largest(np.where(own, np.linalg.norm(ends - starts, axis=1), -1.0), lengths)
    a, b = starts[longest], ends[longest]
    step = 1e-4 * np.linalg.norm(b - a, axis=1)[:, None]
    normal = np.cross(a - b, a + b)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    points: FloatArray = (a + b) / np.linalg.norm(a + b, axis=1)[:, None] + step * normal
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points


def _first_largest(values: FloatArray, lengths: Any) -> Any:
    """For each ring of these lengths, the number of the first of its largest values, counted through all."""
    offsets = np.cumsum(lengths) - lengths
    largest = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, offsets), lengths))
    return largest[np.searchsorted(largest, offsets)]


def _middle(ring: FloatArray) -> FloatArray:
    """The middle of the longest arc."""
    ends = np.roll(ring, -1, axis=0)
    k = int(np.argmax(np.linalg.norm(ends - ring, axis=1)))
    middle: FloatArray = ring[k] + ends[k]
    middle /= np.linalg.norm(middle)
    return middle


def _check_rings(polygon: SphericalPolygon) -> float:
    """Raise where a ring has no area or arcs cross; the area to the left of all rings."""
    starts, lengths = stacked(polygon.rings)
    steps = np.linalg.norm(starts[ring_neighbours(lengths)[1]] - starts, axis=1)
    perimeters = np.add.reduceat(steps, np.cumsum(lengths) - lengths)
    areas = signed_areas(polygon.rings)
    empty = np.abs(areas) <= 1e-12 * perimeters**2
    if empty.any():
        raise InvalidInputError(f"Ring {int(np.argmax(empty))} has no area.")
    found = polygon._tree.crossing()
    if found is None:
        return left_area(areas)
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
