"""From edges to closed rings of unit vectors: splitting, cancelling seams, chaining, orienting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.coordinates import lonlat_to_xyz

__all__ = [
    "ROOM",
    "chain",
    "chain_edges",
    "check_ring",
    "check_rings",
    "collapse",
    "collapse_rings",
    "dissolve",
    "height_above_arcs",
    "left_area",
    "open_ring",
    "own_edges",
    "ring_neighbours",
    "signed_areas",
    "split_lonlat_rings",
    "stacked",
    "vertex_numbers",
]


IntArray = np.ndarray[tuple[int, ...], np.dtype[np.integer[Any]]]

# Three places along an edge do not show the very worst one: leave a little room below the tolerance.
ROOM = 0.97

# Vertices closer than this are one: rounding in lon/lat to unit vectors is a thousand times smaller.
_SAME = 1e-12

# Directions to measure areas from; some one of them is far from the antipodes of a ring's vertices.
_REFERENCES = np.array(
    [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], dtype=float
)
_REFERENCES /= np.linalg.norm(_REFERENCES, axis=1)[:, None]

# No axis, meridian or parallel has this direction: along it only vertices that coincide are next to each other.
_SKEW = np.array([0.43718, 0.61803, 0.65344])


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
    lonlat, lengths = stacked(rings)
    ends = lonlat[ring_neighbours(lengths)[1]]
    last = np.cumsum(lengths) - 1
    ends[last, 0] -= np.round((ends[last, 0] - lonlat[last, 0]) / 360.0) * 360.0  # a ring round a pole
    pieces, points = _split_edges(lonlat, ends, tolerance)
    return collapse_rings(points, np.add.reduceat(pieces, last + 1 - lengths))


def _split_edges(lonlat: FloatArray, following: FloatArray, tolerance: float) -> tuple[IntArray, FloatArray]:
    """Number of arcs for each edge (m,), and the starts of all of them."""
    # No piece longer than 45°, so that its arc is the short one.  Then: halving an edge quarters its
    # distance to the arc, so take so many pieces, and check.
    pieces = np.maximum(np.ceil(np.abs(following - lonlat).max(axis=1) / 45.0), 1).astype(np.int64)
    # Most edges of a detailed border are shorter than that asks for: they need not be tried.
    todo = np.flatnonzero((pieces > 1) | (_largest_gap(lonlat, following) > ROOM * tolerance))
    while todo.size:
        start, step = lonlat[todo], (following[todo] - lonlat[todo]) / pieces[todo, None]
        worst = np.zeros(todo.size)
        for where in (0.0, 0.5, 1.0):  # the bulge depends on the latitude: first, middle and last piece
            offset = np.floor(where * (pieces[todo] - 1))[:, None]
            a, b = (lonlat_to_xyz(*_wrapped(start + (offset + k) * step)) for k in (0.0, 1.0))
            for k in (0.25, 0.5, 0.75):
                x = lonlat_to_xyz(*_wrapped(start + (offset + k) * step))
                worst = np.maximum(worst, height_above_arcs(x, a, b))
        worst /= ROOM * tolerance
        factor = np.where(worst > 1.0, np.maximum(np.ceil(np.sqrt(worst)), 2), 1).astype(np.int64)
        pieces[todo] *= factor
        todo = todo[factor > 1]
    repeated = np.repeat(np.arange(len(lonlat)), pieces)
    position = np.arange(repeated.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share = (position / pieces[repeated])[:, None]
    return pieces, lonlat_to_xyz(*_wrapped(lonlat[repeated] + share * (following - lonlat)[repeated]))


def height_above_arcs(X: FloatArray, starts: FloatArray, ends: FloatArray) -> FloatArray:
    """Sine of the distance of each row of X to the great circle through two points; zero if they are one, (m,)."""
    normal = np.cross(starts - ends, starts + ends)
    length = np.linalg.norm(normal, axis=1)
    height = np.abs((X * normal).sum(axis=1)) / np.where(length > 0.0, length, 1.0)
    return np.where(length > 0.0, height, 0.0)


def _largest_gap(lonlat: FloatArray, following: FloatArray) -> FloatArray:
    """More than the distance in radians between edges shorter than a tenth and their arcs, shape (m,).

    Along an edge at constant speed (λ', φ') the acceleration beside the great circle is at most |λ'|²/2 + 2|λ'φ'|, and
    what moves so from one end to the other is off by at most an eighth of that in the plane, hardly more on a sphere.
    """
    east, north = np.abs(np.radians(following - lonlat)).T
    gap: FloatArray = np.where(np.hypot(east, north) < 0.1, 0.14 * (0.5 * east**2 + 2.0 * east * north), np.inf)
    return gap


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
    points, lengths = stacked(rings)
    a = vertex_numbers(points)
    b = a[ring_neighbours(lengths)[1]]
    own: BoolArray = a != b
    # An edge that occurs twice has an end that does.
    visits = np.bincount(a)
    again = np.flatnonzero((visits[a] > 1) | (visits[b] > 1))
    pair = np.minimum(a, b)[again] * visits.size + np.maximum(a, b)[again]
    _, edge, times = np.unique(pair, return_inverse=True, return_counts=True)
    own[again] &= times[edge] % 2 == 1
    return own


def chain(starts: FloatArray, ends: FloatArray) -> list[FloatArray]:
    """Closed rings from edges, shape (m, 3) each, that match up end to end.

    Edges are followed from start to end where possible; those that do not match up are turned.
    """
    numbers = vertex_numbers(np.vstack([starts, ends]))
    chained = chain_edges(numbers[: len(starts)], numbers[len(starts) :])
    return [np.where(ahead[:, None], starts[edges], ends[edges]) for edges, ahead in chained]


def chain_edges(start: IntArray, end: IntArray) -> list[tuple[IntArray, BoolArray]]:
    """Edges between numbered vertices, ring by ring in order, and whether each is followed from its start."""
    a, b = start.tolist(), end.tolist()
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
        edges, ahead, here, goal = [first], [True], b[first], a[first]
        while here != goal:
            options = [k for k in at_vertex[here] if not used[k]]
            if not options:
                break  # a loose end: not a ring
            k = next((k for k in options if a[k] == here), options[0])
            used[k] = True
            edges.append(k)
            ahead.append(a[k] == here)
            here = b[k] if a[k] == here else a[k]
        if here == goal and len(edges) > 2:
            rings.append((np.array(edges), np.array(ahead)))
    return rings


def stacked(rings: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """The vertices of all rings, one after the other, and how many each ring has."""
    return np.vstack(list(rings)), np.array([len(ring) for ring in rings], dtype=np.int64)


def ring_neighbours(lengths: Any) -> tuple[IntArray, IntArray]:
    """The vertices before and after each in its ring, all of them counted through rings of these lengths, (m,) each."""
    lengths = np.asarray(lengths)
    last = np.cumsum(lengths) - 1
    index = np.arange(last[-1] + 1)
    previous, following = index - 1, index + 1
    previous[last + 1 - lengths], following[last] = last, last + 1 - lengths
    return previous, following


def vertex_numbers(points: FloatArray) -> IntArray:
    """Number vertices (m, 3) so that those that coincide, to rounding, have one number."""
    along = points @ _SKEW
    order = np.argsort(along)
    begins = np.diff(along[order], prepend=-np.inf) > 2.0 * _SAME
    numbers = np.empty(len(points), dtype=np.int64)
    numbers[order] = np.cumsum(begins) - 1
    apart = np.abs(points - points[order[begins]][numbers]).max(axis=1) > 0.5 * _SAME
    if apart.any():
        # Some are next to each other along the line but not in space.
        mixed = np.zeros(len(points), dtype=bool)
        mixed[numbers[apart]] = True
        close = np.flatnonzero(mixed[numbers])
        numbers[close] = len(points) + _close_groups(points[close])
    return numbers


def _close_groups(points: FloatArray) -> IntArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import KDTree

    pairs = KDTree(points).query_pairs(_SAME, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(points), len(points)))
    groups: IntArray = connected_components(links, directed=False)[1]
    return groups


def signed_areas(rings: Sequence[FloatArray]) -> FloatArray:
    """Area to the left of each closed ring of great-circle arcs, in steradians, modulo 4π, in (−2π, 2π]."""
    a, lengths = stacked(rings)
    offsets = np.cumsum(lengths) - lengths
    # Triangles (reference, a, b) are ill-defined where a vertex is antipodal to the reference.
    farthest, choice = np.full(len(lengths), -np.inf), np.zeros(len(lengths), dtype=np.int64)
    for k, direction in enumerate(_REFERENCES):
        least = np.minimum.reduceat(a @ direction, offsets)
        choice[least > farthest] = k
        farthest = np.maximum(farthest, least)
    b = a[ring_neighbours(lengths)[1]]
    reference = np.repeat(_REFERENCES[choice], lengths, axis=0) if len(lengths) > 1 else _REFERENCES[choice]
    volume = (np.cross(a - reference, b - a) * reference).sum(axis=1)
    excess = 2.0 * np.arctan2(volume, 1.0 + ((a + b) * reference).sum(axis=1) + (a * b).sum(axis=1))
    area = np.add.reduceat(excess, offsets)
    return area - 4.0 * np.pi * np.ceil((area - 2.0 * np.pi) / (4.0 * np.pi))


def left_area(areas: FloatArray) -> float:
    """Area of the region to the left of all rings, in steradians, in [0, 4π), from that to the left of each."""
    return float(areas.sum() % (4.0 * np.pi))


def collapse(ring: FloatArray) -> FloatArray:
    """Drop vertices that coincide with the one before: a run along a pole is one point."""
    return collapse_rings(ring, [len(ring)])[0]


def collapse_rings(points: FloatArray, lengths: Any) -> list[FloatArray]:
    """Rings of these lengths from the vertices of all of them, each without those that coincide with the one before."""
    kept = np.linalg.norm(points - points[ring_neighbours(lengths)[0]], axis=1) > _SAME
    offsets = np.cumsum(lengths) - lengths
    return np.split(points[kept], np.cumsum(np.add.reduceat(kept, offsets, dtype=np.int64))[:-1])


def open_ring(ring: FloatArray, name: str, same: float = 0.0) -> FloatArray:
    """A ring without its closing vertex: at least three distinct vertices, none repeated in a row.

    Vertices no farther apart than ``same`` in any coordinate are one.
    """
    if len(ring) > 1 and np.abs(ring[0] - ring[-1]).max() <= same:
        ring = ring[:-1]
    distinct = _distinct_up_to_three(ring)
    if distinct < 3:
        raise InvalidInputError(f"{name} has {distinct} distinct vertices; a ring needs at least three.")
    repeated = np.abs(np.roll(ring, -1, axis=0) - ring).max(axis=1) <= same
    if repeated.any():
        raise InvalidInputError(f"{name} repeats vertex {int(np.argmax(repeated))}; drop one of the two.")
    return ring


def _distinct_up_to_three(ring: FloatArray) -> int:
    """How many of the vertices differ, if it is less than three."""
    left, found = ring, 0
    while len(left) and found < 3:
        left, found = left[(left != left[0]).any(axis=1)], found + 1
    return found


def check_rings(rings: Sequence[FloatArray]) -> list[FloatArray]:
    """`check_ring` for "Ring 0" and so on: all at once, and one by one only where something is wrong."""
    points, lengths = stacked(rings)
    if lengths.min() >= 3:
        offsets = np.cumsum(lengths) - lengths
        closed = np.abs(points[offsets] - points[offsets + lengths - 1]).max(axis=1) <= _SAME
        kept = np.ones(len(points), dtype=bool)
        kept[(offsets + lengths - 1)[closed]] = False
        points, lengths = points[kept], lengths - closed
        _, following = ring_neighbours(lengths)
        step = np.abs(points[following] - points).max(axis=1)
        turned_back = (points[following[following]] == points).all(axis=1)
        # Three in a row that differ: then the ring has three, and its neighbours are neither one nor antipodal.
        if lengths.min() >= 3 and step.min() > _SAME and step.max() < 1.0 and not turned_back.any():
            return np.split(points, np.cumsum(lengths)[:-1])
    return [check_ring(ring, f"Ring {k}") for k, ring in enumerate(rings)]


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
