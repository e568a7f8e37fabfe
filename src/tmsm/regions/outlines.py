"""From edges to closed rings of unit vectors: splitting, cancelling seams, chaining, orienting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.arrays import BoolArray, FloatArray
from tmsm.coordinates import lonlat_to_xyz
from tmsm.errors import InvalidInputError

__all__ = [
    "EARTH_RADIUS_KM",
    "chain",
    "check_ring",
    "collapse",
    "dissolve",
    "left_area",
    "open_ring",
    "own_edges",
    "signed_area",
    "split_lonlat_rings",
    "vertex_numbers",
]

EARTH_RADIUS_KM = 6371.0088

IntArray = np.ndarray[tuple[int, ...], np.dtype[np.integer[Any]]]

# Vertices closer than this are one: rounding in lon/lat to unit vectors is a thousand times smaller.
_SAME = 1e-12

# Directions to measure areas from; some one of them is far from the antipodes of a ring's vertices.
_REFERENCES = np.array(
    [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], dtype=float
)
_REFERENCES /= np.linalg.norm(_REFERENCES, axis=1)[:, None]


def split_lonlat_rings(rings: Sequence[FloatArray], tolerance: float) -> list[FloatArray]:
    """Unit vectors along rings whose edges are straight in longitude/latitude.

    Parameters
    ----------
    rings
        Vertices in degrees, shape (m, 2) each, not closed, longitudes continuous along a ring.
    tolerance
        Largest distance in radians between an edge and the arcs that stand for it.

    Returns
    -------
    Unit vectors, shape (k, 3) for each ring; vertices that coincide with the one before (along a pole)
    are dropped.
    """
    following = []
    for ring in rings:
        ends = np.roll(ring, -1, axis=0)
        ends[-1, 0] -= np.round((ends[-1, 0] - ring[-1, 0]) / 360.0) * 360.0  # a ring round a pole
        following.append(ends)
    pieces, points = _split_edges(np.vstack(list(rings)), np.vstack(following), tolerance)
    lengths = [len(ring) for ring in rings]
    counts = np.add.reduceat(pieces, np.cumsum([0, *lengths[:-1]]))
    return [collapse(part) for part in np.split(points, np.cumsum(counts)[:-1])]


def _split_edges(lonlat: FloatArray, following: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Number of arcs for each edge (m,), and the starts of all of them."""
    # No piece longer than 45°, so that its arc is the short one.  Then: halving an edge quarters its
    # distance to the arc, so take so many pieces, and check.
    pieces = np.maximum(np.ceil(np.abs(following - lonlat).max(axis=1) / 45.0), 1).astype(np.int64)
    todo = np.arange(len(lonlat))
    while todo.size:
        start, step = lonlat[todo], (following[todo] - lonlat[todo]) / pieces[todo, None]
        worst = np.zeros(todo.size)
        for where in (0.0, 0.5, 1.0):  # the bulge depends on the latitude: first, middle and last piece
            offset = np.floor(where * (pieces[todo] - 1))[:, None]
            a, b = (lonlat_to_xyz(*_wrapped(start + (offset + k) * step)) for k in (0.0, 1.0))
            for k in (0.25, 0.5, 0.75):
                x = lonlat_to_xyz(*_wrapped(start + (offset + k) * step))
                normal = np.cross(a - b, a + b)
                length = np.linalg.norm(normal, axis=1)
                height = np.abs((x * normal).sum(axis=1)) / np.where(length > 0.0, length, 1.0)
                worst = np.maximum(worst, np.where(length > 0.0, height, 0.0))
        # Three places do not show the very worst one: leave a little room.
        worst /= 0.97 * tolerance
        factor = np.where(worst > 1.0, np.maximum(np.ceil(np.sqrt(worst)), 2), 1).astype(np.int64)
        pieces[todo] *= factor
        todo = todo[factor > 1]
    repeated = np.repeat(np.arange(len(lonlat)), pieces)
    position = np.arange(repeated.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = (position / pieces[repeated])[:, None]
    return pieces, lonlat_to_xyz(*_wrapped(lonlat[repeated] + share * (following - lonlat)[repeated]))


def _wrapped(lonlat: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.remainder(lonlat[:, 0] + 180.0, 360.0) - 180.0, np.clip(lonlat[:, 1], -90.0, 90.0)


def dissolve(rings: Sequence[FloatArray]) -> list[FloatArray]:
    """Drop edges that occur twice (a seam between touching parts, or a cut), and chain the rest.

    Rings without such an edge come back as they are.
    """
    kept = own_edges(rings)
    if kept.all():
        return list(rings)
    starts = np.vstack(list(rings))
    ends = np.vstack([np.roll(ring, -1, axis=0) for ring in rings])
    return chain(starts[kept], ends[kept])


def own_edges(rings: Sequence[FloatArray]) -> BoolArray:
    """Which edges, counted through all rings, are border: those that occur an odd number of times."""
    a, b = vertex_numbers(np.vstack(list(rings)), np.vstack([np.roll(ring, -1, axis=0) for ring in rings]))
    _, edge, times = np.unique(
        np.sort(np.column_stack([a, b]), axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return np.asarray((times[edge.ravel()] % 2 == 1) & (a != b))


def chain(starts: FloatArray, ends: FloatArray) -> list[FloatArray]:
    """Closed rings from edges, shape (m, 3) each, that match up end to end.

    Edges are followed from start to end where possible; those that do not match up are turned.
    """
    a, b = (ids.tolist() for ids in vertex_numbers(starts, ends))
    at_vertex: dict[int, list[int]] = defaultdict(list)
    for k, (u, v) in enumerate(zip(a, b, strict=True)):
        at_vertex[u].append(k)
        at_vertex[v].append(k)
    used = [False] * len(a)
    rings = []
    for first in range(len(a)):
        if used[first]:
            continue
        used[first] = True
        points, here, goal = [starts[first]], b[first], a[first]
        while here != goal:
            options = [k for k in at_vertex[here] if not used[k]]
            if not options:
                break  # a loose end: not a ring
            k = next((k for k in options if a[k] == here), options[0])
            used[k] = True
            points.append(starts[k] if a[k] == here else ends[k])
            here = b[k] if a[k] == here else a[k]
        if here == goal and len(points) > 2:
            rings.append(np.array(points))
    return rings


def vertex_numbers(starts: FloatArray, ends: FloatArray) -> tuple[IntArray, IntArray]:
    """Number the vertices of edges so that those that coincide, to rounding, have one number."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    points = np.vstack([starts, ends])
    pairs = KDTree(points).query_pairs(_SAME, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(points), len(points)))
    numbers = connected_components(links, directed=False)[1]
    return numbers[: len(starts)], numbers[len(starts) :]


def signed_area(ring: FloatArray) -> float:
    """Area to the left of a closed ring of great-circle arcs, in steradians, modulo 4π, in (−2π, 2π]."""
    # Triangles (reference, a, b) are ill-defined where a vertex is antipodal to the reference.
    reference = _REFERENCES[np.argmax((_REFERENCES @ ring.T).min(axis=1))]
    a, b = ring, np.roll(ring, -1, axis=0)
    volume = np.cross(a - reference, b - a) @ reference
    excess = 2.0 * np.arctan2(volume, 1.0 + a @ reference + b @ reference + (a * b).sum(axis=1))
    return wrapped_area(float(excess.sum()))


def wrapped_area(area: float) -> float:
    """The same area modulo 4π, in (−2π, 2π]."""
    turns = np.ceil((area - 2.0 * np.pi) / (4.0 * np.pi))
    return float(area - 4.0 * np.pi * turns)


def left_area(rings: Sequence[FloatArray]) -> float:
    """Area of the region to the left of all rings, in steradians, in [0, 4π)."""
    area = wrapped_area(sum(map(signed_area, rings)))
    return area if area >= 0.0 else area + 4.0 * np.pi


def collapse(ring: FloatArray) -> FloatArray:
    """Drop vertices that coincide with the one before: a run along a pole is one point."""
    step = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1)
    kept: FloatArray = ring[step > _SAME]
    return kept


def open_ring(ring: FloatArray, name: str, same: float = 0.0) -> FloatArray:
    """A ring without its closing vertex: at least three distinct vertices, none repeated in a row.

    Vertices no farther apart than ``same`` in any coordinate are one.
    """
    if len(ring) > 1 and np.abs(ring[0] - ring[-1]).max() <= same:
        ring = ring[:-1]
    distinct = len(ring) if len(ring) < 3 else len(np.unique(ring, axis=0))
    if distinct < 3:
        raise InvalidInputError(f"{name} has {distinct} distinct vertices; a ring needs at least three.")
    repeated = np.abs(np.roll(ring, -1, axis=0) - ring).max(axis=1) <= same
    if repeated.any():
        raise InvalidInputError(f"{name} repeats vertex {int(np.argmax(repeated))}; drop one of the two.")
    return ring


def check_ring(ring: FloatArray, name: str) -> FloatArray:
    """An `open_ring` of unit vectors with a shortest arc between neighbours."""
    ring = open_ring(ring, name, _SAME)
    antipodal = np.linalg.norm(np.roll(ring, -1, axis=0) - ring, axis=1) >= 2.0 - 1e-12
    if antipodal.any():
        raise InvalidInputError(
            f"{name} has antipodal neighbours (vertex {int(np.argmax(antipodal))} and the next): no arc between "
            "them is shortest. Put a vertex in between."
        )
    return ring
