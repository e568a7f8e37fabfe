"""Nearest point on many great-circle arcs: an exact bounding-volume tree, compiled when first used.

Arcs are directed, with the inside on their left, so that the sign comes with the nearest point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import compiled
from tmsm.foundation.errors import CrossingError
from tmsm.foundation.threads import in_threads
from tmsm.manifolds.coordinates import xyz_to_lonlat
from tmsm.numerics.box_trees import build_tree
from tmsm.regions.polygon.outlines import vertex_numbers
from tmsm.regions.polygon.trees import EDGES_IN_A_LEAF, nearest_leaf, overlapping_edges

__all__ = ["ArcTree", "nearest_arc"]

# What is kept of an arc: the first of the three columns of each vector.
START, END, NORMAL = 0, 3, 6
AHEAD, BACK = 9, 12  # along the arc at its start, n × a, and back along it at its end, b × n
START_SIDE, END_SIDE = 15, 18
_COLUMNS = 21


@dataclass(frozen=True)
class ArcTree:
    """Arcs sorted into a balanced binary tree of boxes in R³.

    Attributes
    ----------
    boxes
        Lower and upper corners of each node, shape (2^k − 1, 6), in heap order.
    arcs
        For each arc: start a, end b, unit normal n, n × a, b × n, and the sum of the unit normals of
        the arcs that meet at a and at b, shape (m, 21); START, END, NORMAL, AHEAD, BACK, START_SIDE and
        END_SIDE are where each begins.
    """

    boxes: FloatArray
    arcs: FloatArray
    first: Any
    order: Any

    @staticmethod
    def build(starts: FloatArray, previous: Any, following: Any) -> ArcTree:
        """From the starts (m, 3) of directed arcs and the indices of the arcs before and after each, shape (m,).

        Vertices in which rings touch want `settle` before the side of a point is asked for.
        """
        low, high = _arc_boxes(starts, following)
        boxes, first, order = build_tree(low, high, EDGES_IN_A_LEAF)
        return ArcTree(boxes, _arc_columns(starts, previous, following, order), first, order)

    def query(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Signed distance (n,) and unit tangent gradient (n, 3)."""
        rows = np.ascontiguousarray(X)
        d, gradient = np.empty(len(rows)), np.empty((len(rows), 3))

        def part(piece: slice) -> None:
            _query(self.boxes, self.arcs, self.first, rows[piece], d[piece], gradient[piece])

        in_threads(part, len(rows))
        return d, gradient

    def query_projected(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        """Distance (n,) to the arcs' projections along an axis, and its gradient in that plane (n, 3)."""
        rows = np.ascontiguousarray(X)
        d, gradient = np.empty(len(rows)), np.zeros((len(rows), 3))
        # The boxes too are projected: those of a flat border have z = 0.
        p, q = (axis + 1) % 3, (axis + 2) % 3
        flat = np.zeros_like(self.boxes)
        flat[:, [0, 1, 3, 4]] = self.boxes[:, [p, q, 3 + p, 3 + q]]

        def part(piece: slice) -> None:
            _query_projected(flat, self.arcs, self.first, rows[piece], p, q, d[piece], gradient[piece])

        in_threads(part, len(rows))
        return d, gradient

    def settle(self, following: Any) -> ArcTree:
        """The same tree, with the side decided in vertices where more than two arcs meet.

        ``following`` is that of `build`.
        """
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        _settle_touching(self.arcs, place, following)
        return self

    def reversed(self, numbers: Any) -> ArcTree:
        """The tree of the same arcs the other way round; arc k gets the number ``numbers[k]``."""
        arcs = np.empty_like(self.arcs)
        for to, source in ((START, END), (END, START), (AHEAD, BACK), (BACK, AHEAD)):
            arcs[:, to : to + 3] = self.arcs[:, source : source + 3]
        for to, source in ((NORMAL, NORMAL), (START_SIDE, END_SIDE), (END_SIDE, START_SIDE)):
            arcs[:, to : to + 3] = -self.arcs[:, source : source + 3]
        return ArcTree(self.boxes, arcs, self.first, numbers[self.order])

    def touches(self) -> tuple[Any, Any]:
        """Pairs (arc, arc whose start lies in the inner part of the first), as two arrays of indices."""
        found = _touches(self.boxes, self.arcs, self.first)
        return self.order[found[:, 0]], self.order[found[:, 1]]

    def crossing(self) -> tuple[int, int] | None:
        """The indices of two arcs that cross, if any do; arcs may share an end."""
        i, j = _crossing(self.boxes, self.arcs, self.first)
        return None if i < 0 else tuple(sorted((int(self.order[i]), int(self.order[j]))))  # type: ignore[return-value]


def _settle_touching(arcs: FloatArray, place: Any, following: Any) -> None:
    """Where more than two arcs meet, decide the side by the two that bound the widest gap.

    A point that has such a vertex for its nearest lies in a gap of more than half a turn, and there is
    at most one.  Arc k stands at ``arcs[place[k]]``.
    """
    start = vertex_numbers(arcs[place, START : START + 3])
    end = start[following]
    meeting = np.bincount(start)
    if meeting.max() < 2:
        return
    outgoing_order, incoming_order = np.argsort(start, kind="stable"), np.argsort(end, kind="stable")
    for vertex in np.flatnonzero(meeting > 1):
        first, second = (
            order[np.searchsorted(ids, vertex, "left", order) : np.searchsorted(ids, vertex, "right", order)]
            for ids, order in ((start, outgoing_order), (end, incoming_order))
        )
        outgoing, incoming = place[first], place[second]
        v = arcs[outgoing[0], START : START + 3]
        directions = np.vstack([arcs[outgoing, AHEAD : AHEAD + 3], arcs[incoming, BACK : BACK + 3]])
        normals = arcs[np.concatenate([outgoing, incoming]), NORMAL : NORMAL + 3]
        east = directions[0]
        angle = np.arctan2(directions @ np.cross(v, east), directions @ east)
        order = np.argsort(angle)
        # Round the vertex the inside begins after an arc that leaves and ends at one that arrives.
        leaves = order < len(outgoing)
        if (leaves == np.roll(leaves, 1)).any():
            lon, lat = xyz_to_lonlat(v)
            raise CrossingError(
                f"Rings cross in a vertex at longitude {lon:.6g}, latitude {lat:.6g} (edges after vertex "
                f"{int(first[0])} and {int(first[1])}, counted through all rings)."
            )
        gaps = np.diff(angle[order], append=angle[order[0]] + 2 * np.pi)
        k = int(np.argmax(gaps))
        side = normals[order[k]] + normals[order[(k + 1) % len(order)]]
        arcs[outgoing, START_SIDE : START_SIDE + 3] = side
        arcs[incoming, END_SIDE : END_SIDE + 3] = side


@compiled()
def _surround(a, b, low, high):  # type: ignore[no-untyped-def]
    """Put the corners of a box around an arc into low and high."""
    # An arc bulges from its chord by the sagitta, at most.
    half = 0.25 * ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)
    bulge = half / (1.0 + math.sqrt(max(1.0 - half, 0.0))) + 1e-15
    for j in range(3):
        low[j], high[j] = min(a[j], b[j]) - bulge, max(a[j], b[j]) + bulge


@compiled()
def _arc_boxes(starts, following):  # type: ignore[no-untyped-def]
    """Lower and upper corners (m, 3) of boxes around the arcs."""
    low, high = np.empty(starts.shape), np.empty(starts.shape)
    for k in range(len(starts)):
        _surround(starts[k], starts[following[k]], low[k], high[k])
    return low, high


@compiled()
def _normal(a, b, n):  # type: ignore[no-untyped-def]
    """Put the unit normal of an arc into n."""
    # (a − b) × (a + b) = 2 a × b without the loss of digits on short arcs.
    u, v, w = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    x, y, z = a[0] + b[0], a[1] + b[1], a[2] + b[2]
    n[0], n[1], n[2] = v * z - w * y, w * x - u * z, u * y - v * x
    length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
    n /= length


@compiled()
def _arc_columns(starts, previous, following, order):  # type: ignore[no-untyped-def]
    """What a tree keeps of its arcs, in their order."""
    arcs = np.empty((len(order), _COLUMNS))
    before, after = np.empty(3), np.empty(3)
    for i in range(len(order)):
        k = order[i]
        arc, a, b = arcs[i], starts[k], starts[following[k]]
        n = arc[NORMAL : NORMAL + 3]
        _normal(a, b, n)
        _normal(starts[previous[k]], a, before)
        _normal(b, starts[following[following[k]]], after)
        for j in range(3):
            p, q = (j + 1) % 3, (j + 2) % 3
            arc[START + j], arc[END + j] = a[j], b[j]
            arc[AHEAD + j] = n[p] * a[q] - n[q] * a[p]
            arc[BACK + j] = b[p] * n[q] - b[q] * n[p]
            arc[START_SIDE + j], arc[END_SIDE + j] = before[j] + n[j], n[j] + after[j]
    return arcs


@compiled(inline="always")
def _dot(arc, column, x, y, z):  # type: ignore[no-untyped-def]
    """The scalar product of a point and one of an arc's vectors."""
    return x * arc[column] + y * arc[column + 1] + z * arc[column + 2]


@compiled(inline="always")
def _squared_distance(arc, column, x, y, z):  # type: ignore[no-untyped-def]
    """The squared distance from a point to an end of an arc."""
    return (x - arc[column]) ** 2 + (y - arc[column + 1]) ** 2 + (z - arc[column + 2]) ** 2


@compiled(inline="always")
def nearest_arc(boxes, arcs, first, x, y, z, stack, bounds):  # type: ignore[no-untyped-def]
    """Signed distance of a point to the arcs, and its unit tangent gradient; the caller owns the stack of 64 nodes."""
    leaves = len(first) - 1
    best, nearest, where = np.inf, 0, 0
    stack[0], bounds[0] = 0, 0.0
    top = 1
    while True:
        leaf, top = nearest_leaf(boxes, leaves, stack, bounds, top, best, x, y, z, False)
        if leaf < 0:
            break
        for i in range(first[leaf], first[leaf + 1]):
            arc = arcs[i]
            # Beyond the start or the end the nearest point is that end.
            if _dot(arc, AHEAD, x, y, z) < 0.0 or _dot(arc, BACK, x, y, z) < 0.0:
                to_start, to_end = _squared_distance(arc, START, x, y, z), _squared_distance(arc, END, x, y, z)
                if to_start <= to_end:
                    squared, kind = to_start, 1
                else:
                    squared, kind = to_end, 2
            else:
                height = _dot(arc, NORMAL, x, y, z)
                u, v, w = x - height * arc[NORMAL], y - height * arc[NORMAL + 1], z - height * arc[NORMAL + 2]
                length = math.sqrt(u * u + v * v + w * w)
                squared, kind = height * height + (1.0 - length) ** 2, 0
            if squared < best:
                best, nearest, where = squared, i, kind
    arc = arcs[nearest]
    if where == 0:
        # Beside the arc: d = asin(x·n), and the gradient is the tangent part of n.
        height = _dot(arc, NORMAL, x, y, z)
        u, v, w = arc[NORMAL] - height * x, arc[NORMAL + 1] - height * y, arc[NORMAL + 2] - height * z
        length = math.sqrt(u * u + v * v + w * w)
        distance = math.atan2(height, length)
    else:
        k = START if where == 1 else END
        j = START_SIDE if where == 1 else END_SIDE
        a, b, c = arc[k], arc[k + 1], arc[k + 2]
        sign = 1.0 if _dot(arc, j, x, y, z) > 0.0 else -1.0
        summed = math.sqrt((x + a) ** 2 + (y + b) ** 2 + (z + c) ** 2)
        distance = sign * 2.0 * math.atan2(math.sqrt(best), summed)
        dot = x * a + y * b + z * c
        u, v, w = sign * (x * dot - a), sign * (y * dot - b), sign * (z * dot - c)
        # Next to the vertex that difference is mostly rounding: make it tangent once more.
        dot = u * x + v * y + w * z
        u, v, w = u - dot * x, v - dot * y, w - dot * z
        length = math.sqrt(u * u + v * v + w * w)
        if length < 1e-14:  # at the vertex, or at its antipode: the mean of the two normals
            u, v, w = arc[j], arc[j + 1], arc[j + 2]
            dot = u * x + v * y + w * z
            u, v, w = u - dot * x, v - dot * y, w - dot * z
            length = math.sqrt(u * u + v * v + w * w)
    length = max(length, 1e-300)
    return distance, u / length, v / length, w / length


@compiled(nogil=True)
def _query(boxes, arcs, first, X, distance, gradient):  # type: ignore[no-untyped-def]
    stack, bounds = np.empty(64, dtype=np.int64), np.empty(64)
    for row in range(len(X)):
        found = nearest_arc(boxes, arcs, first, X[row, 0], X[row, 1], X[row, 2], stack, bounds)
        distance[row], gradient[row, 0], gradient[row, 1], gradient[row, 2] = found


@compiled(nogil=True)
def _query_projected(flat, arcs, first, X, p, q, distance, gradient):  # type: ignore[no-untyped-def]
    """In the plane of the coordinates p and q; the boxes are flat, with z = 0."""
    leaves = len(first) - 1
    stack = np.empty(64, dtype=np.int64)
    bounds = np.empty(64)
    for row in range(len(X)):
        x, y = X[row, p], X[row, q]
        best, best_u, best_v = np.inf, 0.0, 0.0
        stack[0], bounds[0] = 0, 0.0
        top = 1
        while True:
            leaf, top = nearest_leaf(flat, leaves, stack, bounds, top, best, x, y, 0.0, True)
            if leaf < 0:
                break
            for i in range(first[leaf], first[leaf + 1]):
                u, v = _foot(arcs[i], p, q, x, y)
                squared = u * u + v * v
                if squared < best:
                    best, best_u, best_v = squared, u, v
        length = math.sqrt(best)
        distance[row] = length
        if length > 0.0:
            gradient[row, p], gradient[row, q] = best_u / length, best_v / length


@compiled()
def _foot(arc, p, q, x, y):  # type: ignore[no-untyped-def]
    """From the nearest point on the projection of an arc (an ellipse's) to the point (x, y)."""
    # The arc is cos(t) a + sin(t) c with c = n × a, 0 <= t <= angle.
    bx, by, bz = arc[END], arc[END + 1], arc[END + 2]
    angle = math.atan2(_dot(arc, AHEAD, bx, by, bz), _dot(arc, START, bx, by, bz))
    ax, ay, cx, cy = arc[START + p], arc[START + q], arc[AHEAD + p], arc[AHEAD + q]
    ex, ey = arc[END + p] - ax, arc[END + q] - ay
    squared = ex * ex + ey * ey
    t = 0.5
    if squared > 0.0:
        t = ((x - ax) * ex + (y - ay) * ey) / squared
    t = min(max(t, 0.0), 1.0) * angle
    for _ in range(20):
        s, c = math.sin(t), math.cos(t)
        gx, gy = c * ax + s * cx, c * ay + s * cy  # the point
        hx, hy = -s * ax + c * cx, -s * ay + c * cy  # its velocity; its acceleration is −point
        slope = (gx - x) * hx + (gy - y) * hy
        bend = hx * hx + hy * hy - (gx - x) * gx - (gy - y) * gy
        step = -slope / bend if bend > 1e-300 else (-math.copysign(angle, slope))
        new = min(max(t + step, 0.0), angle)
        if abs(new - t) <= 1e-16:
            t = new
            break
        t = new
    s, c = math.sin(t), math.cos(t)
    u, v = x - (c * ax + s * cx), y - (c * ay + s * cy)
    # The ends, in case the search stopped at a wrong one.
    for k in (START, END):
        du, dv = x - arc[k + p], y - arc[k + q]
        if du * du + dv * dv < u * u + v * v:
            u, v = du, dv
    return u, v


@compiled()
def _crossing(boxes, arcs, first):  # type: ignore[no-untyped-def]
    near = np.empty(len(arcs), dtype=np.int64)
    stack = np.empty(64, dtype=np.int64)
    window = np.empty(6)
    for i in range(len(arcs)):
        arc = arcs[i]
        _surround(arc[START : START + 3], arc[END : END + 3], window[:3], window[3:])
        for k in near[: overlapping_edges(boxes, first, window, stack, near)]:
            if k <= i:
                continue
            other = arcs[k]
            # All four the same sign: the arcs cross; an end on the other arc gives a zero.
            s1 = -_dot(arc, NORMAL, other[START], other[START + 1], other[START + 2])
            s2 = _dot(arc, NORMAL, other[END], other[END + 1], other[END + 2])
            s3 = -_dot(other, NORMAL, arc[END], arc[END + 1], arc[END + 2])
            s4 = _dot(other, NORMAL, arc[START], arc[START + 1], arc[START + 2])
            tiny = 1e-14
            if (s1 > tiny and s2 > tiny and s3 > tiny and s4 > tiny) or (
                s1 < -tiny and s2 < -tiny and s3 < -tiny and s4 < -tiny
            ):
                return i, k
    return -1, -1


@compiled()
def _touches(boxes, arcs, first):  # type: ignore[no-untyped-def]
    near = np.empty(len(arcs), dtype=np.int64)
    stack = np.empty(64, dtype=np.int64)
    window = np.empty(6)
    found = [(0, 0)][:0]
    for i in range(len(arcs)):
        start = arcs[i, START : START + 3]
        x, y, z = start[0], start[1], start[2]
        window[:3], window[3:] = start - 1e-12, start + 1e-12
        for k in near[: overlapping_edges(boxes, first, window, stack, near)]:
            arc = arcs[k]
            height = _dot(arc, NORMAL, x, y, z)
            after_start, before_end = _dot(arc, AHEAD, x, y, z), _dot(arc, BACK, x, y, z)
            if abs(height) < 1e-12 and after_start > 1e-12 and before_end > 1e-12:
                found.append((k, i))
    out = np.empty((len(found), 2), dtype=np.int64)
    for row in range(len(found)):
        out[row, 0], out[row, 1] = found[row]
    return out
