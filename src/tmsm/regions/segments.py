"""Nearest edge of a polygon in the plane and its inside, compiled when first used."""

import math

import numpy as np

from tmsm.regions.compiled import compiled

__all__ = ["crossing_edges", "nearest_edges"]


@compiled(nogil=True)
def nearest_edges(vertices, X):  # type: ignore[no-untyped-def]
    """For each row: the vector from the nearest border point, its edge, whether at a vertex, and the side."""
    n, m = len(X), len(vertices)
    offset = np.empty((n, 2))
    edge = np.zeros(n, dtype=np.int64)
    at_vertex = np.zeros(n, dtype=np.bool_)
    inside = np.zeros(n, dtype=np.bool_)
    for row in range(n):
        x, y = X[row, 0], X[row, 1]
        best = np.inf
        odd = False
        for k in range(m):
            ax, ay = vertices[k, 0], vertices[k, 1]
            bx, by = vertices[(k + 1) % m, 0], vertices[(k + 1) % m, 1]
            ex, ey = bx - ax, by - ay
            u, v = x - ax, y - ay
            along = min(max((u * ex + v * ey) / (ex * ex + ey * ey), 0.0), 1.0)
            p, q = u - along * ex, v - along * ey
            squared = p * p + q * q
            if squared < best:
                best = squared
                offset[row, 0], offset[row, 1] = p, q
                edge[row] = k
                at_vertex[row] = along == 0.0 or along == 1.0
            # A ray to the right crosses the edge (half-open, so that a vertex counts once).
            if (ay > y) != (by > y) and x < ax + v * (ex / ey):
                odd = not odd
        inside[row] = odd
    return offset, edge, at_vertex, inside


@compiled()
def _turn(ax, ay, bx, by, cx, cy):  # type: ignore[no-untyped-def]
    value = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return 0 if value == 0.0 else int(math.copysign(1.0, value))


@compiled()
def crossing_edges(vertices):  # type: ignore[no-untyped-def]
    """Two edges without a common vertex that meet, or (−1, −1)."""
    m = len(vertices)
    for i in range(m):
        ax, ay = vertices[i, 0], vertices[i, 1]
        bx, by = vertices[(i + 1) % m, 0], vertices[(i + 1) % m, 1]
        for j in range(i + 2, m if i > 0 else m - 1):
            cx, cy = vertices[j, 0], vertices[j, 1]
            dx, dy = vertices[(j + 1) % m, 0], vertices[(j + 1) % m, 1]
            if min(ax, bx) > max(cx, dx) or min(cx, dx) > max(ax, bx):
                continue
            if min(ay, by) > max(cy, dy) or min(cy, dy) > max(ay, by):
                continue
            if (
                _turn(ax, ay, bx, by, cx, cy) * _turn(ax, ay, bx, by, dx, dy) <= 0
                and _turn(cx, cy, dx, dy, ax, ay) * _turn(cx, cy, dx, dy, bx, by) <= 0
            ):
                return i, j
    return -1, -1
