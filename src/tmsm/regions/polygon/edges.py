"""Nearest edge of a polygon in the plane and the side on which a point lies, by an exact tree of boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms
from tmsm.foundation.compiled import compiled
from tmsm.foundation.threads import in_threads
from tmsm.numerics.box_trees import build_tree
from tmsm.regions.polygon.trees import EDGES_IN_A_LEAF, nearest_leaf, overlapping_edges

__all__ = ["EdgeTree"]

# What is kept of an edge: the first column of each entry; the start and the vector along the edge have two.
START, ALONG, START_SIDE, END_SIDE, END_HEIGHT = 0, 2, 4, 5, 6
# Squared distances, or cross products over lengths, that differ by this share differ by no more than rounding.
_ROUNDING = 1e-12
# The side of the ring on which a point lies: left, right, or not to be told from the nearest edge.
_LEFT, _RIGHT, _UNKNOWN = 1.0, -1.0, 2.0


@dataclass(frozen=True)
class EdgeTree:
    """The edges of a ring in the plane, sorted into a balanced binary tree of boxes.

    Attributes
    ----------
    edges
        For each edge: its start, the vector to its end, and on which side of the ring the points lie that have its
        start or its end for their nearest (1 left, −1 right, 0 as the edge says, 2 unknown), and the height
        of its end, shape (m, 7).
    orientation
        1 where the inside is on the left, else −1.
    """

    boxes: FloatArray
    edges: FloatArray
    first: Any
    order: Any
    orientation: float

    @staticmethod
    def build(vertices: FloatArray) -> EdgeTree:
        """From the vertices of a ring, shape (m, 2)."""
        ends = np.roll(vertices, -1, axis=0)
        along = ends - vertices
        corner = _corner_sides(np.roll(along, 1, axis=0), along)
        edges = np.column_stack([vertices, along, corner, np.roll(corner, -1), ends[:, 1]])
        low, high = np.zeros((2, len(vertices), 3))
        low[:, :2], high[:, :2] = np.minimum(vertices, ends), np.maximum(vertices, ends)
        boxes, first, order = build_tree(low, high, EDGES_IN_A_LEAF)
        return EdgeTree(boxes, np.ascontiguousarray(edges[order]), first, order, _orientation(vertices))

    def query(self, X: FloatArray) -> tuple[FloatArray, Any, BoolArray, BoolArray]:
        """The vector from the nearest border point (n, 2), its edge, whether it is a vertex, and whether X is inside.

        Of edges that are equally near the one with the lowest number counts.
        """
        rows = np.ascontiguousarray(X)
        n = len(rows)
        offset, edge = np.empty((n, 2)), np.empty(n, dtype=np.int64)
        at_vertex, inside = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)

        def part(piece: slice) -> None:
            found = offset[piece], edge[piece], at_vertex[piece], inside[piece]
            _query(self.boxes, self.edges, self.first, self.order, self.orientation, rows[piece], *found)

        in_threads(part, n)
        return offset, edge, at_vertex, inside

    def crossing(self) -> tuple[int, int] | None:
        """The first two edges without a common vertex that meet, if any do."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(place))
        i, j = _crossing(self.boxes, self.edges, self.first, self.order, place)
        return None if i < 0 else (int(i), int(j))


def _orientation(vertices: FloatArray) -> float:
    following = np.roll(vertices, -1, axis=0)
    # Twice the signed area, about the first vertex so that far coordinates lose no digits.
    a, b = vertices - vertices[0], following - vertices[0]
    return 1.0 if float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()) > 0.0 else -1.0


def _corner_sides(before: FloatArray, after: FloatArray) -> FloatArray:
    """The side of the points that have a vertex for their nearest: right of a left turn, left of a right turn.

    At a turn of less than a right angle either edge tells the side, and more safely.
    """
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    sharp = (before * after).sum(axis=1) <= 0.0
    needle = np.abs(turn) <= _ROUNDING * row_norms(before) * row_norms(after)
    return np.where(sharp, np.where(needle, _UNKNOWN, np.where(turn > 0.0, _RIGHT, _LEFT)), 0.0)


@compiled(nogil=True)
def _query(boxes, edges, first, order, orientation, X, offset, edge, at_vertex, inside):  # type: ignore[no-untyped-def]
    leaves = len(first) - 1
    stack = np.empty(64, dtype=np.int64)
    bounds = np.empty(64)
    near = np.empty(len(order), dtype=np.int64)
    window = np.zeros(6)
    for row in range(len(X)):
        x, y = X[row, 0], X[row, 1]
        best, limit, number, agreed = np.inf, np.inf, -1, _UNKNOWN
        stack[0], bounds[0] = 0, 0.0
        top = 1
        while True:
            leaf, top = nearest_leaf(boxes, leaves, stack, bounds, top, limit, x, y, 0.0, False)
            if leaf < 0:
                break
            for i in range(first[leaf], first[leaf + 1]):
                u, v = x - edges[i, START], y - edges[i, START + 1]
                ex, ey = edges[i, ALONG], edges[i, ALONG + 1]
                along = min(max((u * ex + v * ey) / (ex * ex + ey * ey), 0.0), 1.0)
                p, q = u - along * ex, v - along * ey
                squared = p * p + q * q
                if squared > limit:
                    continue
                side = edges[i, START_SIDE] if along == 0.0 else (edges[i, END_SIDE] if along == 1.0 else 0.0)
                if side == 0.0:
                    cross = ex * q - ey * p
                    side = _LEFT if cross > 0.0 else (_RIGHT if cross < 0.0 else _UNKNOWN)
                # The edges of a needle are equally near, but for rounding, and contradict each other.
                if squared * (1.0 + _ROUNDING) < best:
                    agreed = side
                elif side != agreed:
                    agreed = _UNKNOWN
                if squared < best or (squared == best and order[i] < number):
                    best, number = squared, order[i]
                    limit = squared * (1.0 + _ROUNDING) + 1e-300
                    offset[row, 0], offset[row, 1] = p, q
                    at_vertex[row] = along == 0.0 or along == 1.0
        edge[row] = number
        if agreed != _UNKNOWN:
            inside[row] = agreed == orientation
            continue
        # A ray to the right crosses the edges that it meets (half-open, so that a vertex counts once).
        odd = False
        window[0], window[1], window[3], window[4] = x, y, np.inf, y
        for i in near[: overlapping_edges(boxes, first, window, stack, near)]:
            ax, ay, ex, ey = edges[i, START], edges[i, START + 1], edges[i, ALONG], edges[i, ALONG + 1]
            if (ay > y) != (edges[i, END_HEIGHT] > y) and x < ax + (y - ay) * (ex / ey):
                odd = not odd
        inside[row] = odd


@compiled()
def _turn(ax, ay, bx, by, cx, cy):  # type: ignore[no-untyped-def]
    value = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return 0 if value == 0.0 else int(math.copysign(1.0, value))


@compiled()
def _crossing(boxes, edges, first, order, place):  # type: ignore[no-untyped-def]
    """The lowest edge that meets a later one, and the lowest of those; (−1, −1) if none does."""
    m = len(edges)
    near = np.empty(m, dtype=np.int64)
    stack = np.empty(64, dtype=np.int64)
    window = np.zeros(6)
    for i in range(m):
        ax, ay = edges[place[i], START], edges[place[i], START + 1]
        bx, by = edges[place[(i + 1) % m], START], edges[place[(i + 1) % m], START + 1]
        window[0], window[1], window[3], window[4] = min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
        found = m
        for k in near[: overlapping_edges(boxes, first, window, stack, near)]:
            j = order[k]
            if j < i + 2 or j >= found or (i == 0 and j == m - 1):
                continue
            cx, cy = edges[k, START], edges[k, START + 1]
            dx, dy = edges[place[(j + 1) % m], START], edges[place[(j + 1) % m], START + 1]
            if min(ax, bx) > max(cx, dx) or min(cx, dx) > max(ax, bx):
                continue
            if min(ay, by) > max(cy, dy) or min(cy, dy) > max(ay, by):
                continue
            if (
                _turn(ax, ay, bx, by, cx, cy) * _turn(ax, ay, bx, by, dx, dy) <= 0
                and _turn(cx, cy, dx, dy, ax, ay) * _turn(cx, cy, dx, dy, bx, by) <= 0
            ):
                found = j
        if found < m:
            return i, found
    return -1, -1
