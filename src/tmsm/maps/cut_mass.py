"""How much of a bell-shaped kernel lies inside a region.

The mass of exp(−κ r²/2) within a distance ρ of its centre is F(ρ), known exactly on S² and in the plane.  By Stokes'
theorem what a region leaves out of a kernel whose centre is inside is an integral along the border,

    outside = (1/2π) ∮ (1 − F(r)) dφ,

φ the direction and r the distance in which the centre sees the border.  Along an edge whose great circle, or line, has
the distance h, with s the way along it from the nearest point,

    1 − F = exp(−κ (1 − cos h cos s)),   dφ/ds = sin h/(sin²h cos²s + sin²s),

where for an edge close to the centre dφ/ds is a narrow peak: the value at s = 0 is split off, whose integral is the
angle under which the edge is seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import compiled
from tmsm.foundation.threads import in_threads
from tmsm.numerics.box_trees import build_tree
from tmsm.regions import Region
from tmsm.regions.polygon.trees import overlapping_edges

__all__ = ["BorderEdges", "inside_masses", "roughly_inside"]

# An edge is not longer than this, so that a box round it fits closely.
_LONGEST = 0.05
# Where a kernel has fallen below e^−16 the border does not matter.
_REACH = 5.7
_LEAF = 4
_ROWS_PER_THREAD = 200
# Where the border is not made of edges: so many draws of each kernel are looked at.
_DRAWS, _DRAW_BLOCK = 512, 2**20
# One Gauss rule takes a piece of an edge so many widths long at most, and no longer than it is away from the centre; a
# rule of two points takes what is short in comparison.
_PIECE, _SHORT = 1.5, 0.3
_GAUSS = tuple(map(tuple, np.polynomial.legendre.leggauss(6)))
_TWO = math.sqrt(1.0 / 3.0)
# Points next to the border that tell on which side the inside is.
_ASKED = 32
# Edges follow a curved border to this share of the narrowest width.
_TOLERANCE = 1e-5


@final
@dataclass(frozen=True, eq=False)
class BorderEdges:
    """The edges of a border, start and end in R³ (m, 6), in a tree of boxes; a plane has z = 0."""

    edges: FloatArray
    boxes: FloatArray
    first: Any
    is_flat: bool
    sign: float

    @classmethod
    def of(cls, region: Region, narrowest: float) -> BorderEdges | None:
        """Of a region on S² or in the plane; None where its border is not made of edges."""
        manifold = region.manifold
        if not (manifold.has_longitudes or (manifold.is_flat and manifold.dim == 2)):
            return None
        chains = region.border_edges(_TOLERANCE * narrowest)
        if chains is None:
            return None
        pairs = [_halved(np.hstack([ring, np.roll(ring, -1, axis=0)]), manifold.has_longitudes) for ring in chains]
        edges = np.vstack(pairs)
        if not manifold.has_longitudes:
            flat = np.zeros((len(edges), 6))
            flat[:, [0, 1, 3, 4]] = edges
            edges = flat
        a, b = edges[:, :3], edges[:, 3:]
        # An arc bulges from its chord.
        bulge = 0.2 * ((a - b) ** 2).sum(axis=1)[:, None] if manifold.has_longitudes else 0.0
        boxes, first, order = build_tree(np.minimum(a, b) - bulge, np.maximum(a, b) + bulge, _LEAF)
        return cls(np.ascontiguousarray(edges[order]), boxes, first, not manifold.has_longitudes, 1.0)

    def turned(self, X: FloatArray, kappa: FloatArray) -> BorderEdges:
        """The same edges, run through so that the inside, where points X are, lies to the left."""
        found = self.outside(X, kappa)
        largest = found[np.argmax(np.abs(found))] if len(found) else 0.0
        return self if largest >= 0.0 else BorderEdges(self.edges, self.boxes, self.first, self.is_flat, -self.sign)

    def outside(self, X: FloatArray, kappa: FloatArray) -> FloatArray:
        """(1/2π) ∮ (1 − F) dφ for kernels at points X (n, D), shape (n,)."""
        rows = np.zeros((len(X), 3))
        rows[:, : X.shape[1]] = X
        out = np.empty(len(rows))

        def part(piece: slice) -> None:
            _outside(self.edges, self.boxes, self.first, self.is_flat, rows[piece], kappa[piece], out[piece])

        in_threads(part, len(rows), _ROWS_PER_THREAD)
        return self.sign * out


def _halved(edges: FloatArray, on_sphere: bool) -> FloatArray:
    """Edges (m, 2 D) with long ones cut in halves."""
    while on_sphere:
        a, b = edges[:, :3], edges[:, 3:]
        long = ((a - b) ** 2).sum(axis=1) > _LONGEST**2
        if not long.any():
            break
        middle = a[long] + b[long]
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        first, second = np.hstack([a[long], middle]), np.hstack([middle, b[long]])
        edges = np.vstack([edges[~long], first, second])
    return edges


def roughly_inside(depth: FloatArray, kappa: FloatArray) -> FloatArray:
    """Shares of kernels inside a straight border at distances (n,), shape (n,)."""
    from scipy.special import ndtr

    return np.asarray(ndtr(depth * np.sqrt(kappa)))


def inside_masses(
    region: Region, X: FloatArray, kappa: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, bool]:
    """Shares of kernels at points X (n, D), inside or outside, that lie inside the region; and whether they are exact.

    Where they are not, each comes from 512 draws.
    """
    depth = region.clearance(np.asfortranarray(X))[0]
    inside = np.where(depth > 0.0, 1.0, 0.0)
    # A slack of the distance may hide a part of the border that is nearer.
    near = np.abs(depth) - region.distance_slack < _REACH / np.sqrt(kappa)
    if not near.any() or not region.has_border:
        return inside, True
    edges = BorderEdges.of(region, float(1.0 / np.sqrt(kappa[near].max())))
    if edges is not None:
        within = near & (depth > 0.0)
        # Without a point inside it cannot be told on which side that is.
        nearest = np.flatnonzero(within)[np.argsort((depth**2 * kappa)[within])[:_ASKED]]
        edges = edges.turned(X[nearest], kappa[nearest]) if len(nearest) else None
    if edges is not None:
        inside[near] -= edges.outside(X[near], kappa[near])
        return np.clip(inside, 0.0, 1.0), True
    places = np.flatnonzero(near)
    for start in range(0, len(places), _DRAW_BLOCK // _DRAWS):
        own = places[start : start + _DRAW_BLOCK // _DRAWS]
        centres = np.repeat(X[own], _DRAWS, axis=0)
        draws = region.manifold.bell_draws(centres, np.repeat(kappa[own], _DRAWS), rng)
        within = region.signed_distance(np.asfortranarray(draws))[0] > 0.0
        inside[own] = within.reshape(-1, _DRAWS).mean(axis=1)
    return inside, False


@compiled(nogil=True)
def _outside(edges, boxes, first, is_flat, X, kappa, out):  # type: ignore[no-untyped-def]
    nodes, weights = _GAUSS
    window, stack, found = np.empty(6), np.empty(64, dtype=np.int64), np.empty(len(edges), dtype=np.int64)
    for row in range(len(X)):
        x, width = X[row], 1.0 / math.sqrt(kappa[row])
        reach = _REACH * width
        for j in range(3):
            window[j], window[3 + j] = x[j] - reach, x[j] + reach
        count = overlapping_edges(boxes, first, window, stack, found)
        total, turn = 0.0, 0.0
        for k in range(count):
            edge = edges[found[k]]
            if is_flat:
                h, start, end = _flat_edge(x, edge)
            else:
                h, start, end = _arc(x, edge)
            start, end = max(start, -reach), min(end, reach)
            if not end > start or h == 0.0:
                continue
            # 1 − F at the nearest point of the line, and the angle under which the edge is seen.
            if is_flat:
                height = math.exp(-0.5 * kappa[row] * h * h)
                angle = math.atan2(end, abs(h)) - math.atan2(start, abs(h))
            else:
                height = math.exp(-2.0 * kappa[row] * math.sin(0.5 * h) ** 2)
                sine = abs(math.sin(h))
                angle = math.atan2(math.sin(end), sine * math.cos(end)) - math.atan2(
                    math.sin(start), sine * math.cos(start)
                )
            part, s0 = 0.0, start
            while s0 < end:
                # Pieces grow with the distance from the nearest point, as wide as the peak of dφ/ds there.
                away = abs(h) + (s0 if s0 > 0.0 else -0.5 * s0)
                step = min(end - s0, _PIECE * width, away)
                half, middle = 0.5 * step, s0 + 0.5 * step
                short = step <= _SHORT * min(width, away)
                for i in range(2 if short else len(nodes)):
                    s = middle + half * ((2 * i - 1) * _TWO if short else nodes[i])
                    weight = half if short else half * weights[i]
                    if is_flat:
                        change = math.expm1(-0.5 * kappa[row] * s * s)
                        slope = abs(h) / (h * h + s * s)
                    else:
                        change = math.expm1(-2.0 * kappa[row] * math.cos(h) * math.sin(0.5 * s) ** 2)
                        slope = sine / (sine * sine * math.cos(s) ** 2 + math.sin(s) ** 2)
                    part += weight * change * slope
                s0 = end if s0 + step >= end else s0 + step
            sign = 1.0 if h > 0.0 else -1.0
            total += sign * height * (angle + part)
            turn += sign * angle
        if not is_flat:
            # On a sphere 1 − F = (exp(−κ (1 − cos r)) − e^(−2κ))/(1 − e^(−2κ)).
            rest = math.exp(-2.0 * kappa[row])
            total = (total - rest * turn) / (1.0 - rest)
        out[row] = total / (2.0 * math.pi)


@compiled(inline="always")
def _flat_edge(x, edge):  # type: ignore[no-untyped-def]
    """Distance of a line, positive to its left, and where an edge starts and ends along it from the nearest point."""
    u, v = edge[3] - edge[0], edge[4] - edge[1]
    length = math.sqrt(u * u + v * v)
    u, v = u / length, v / length
    px, py = edge[0] - x[0], edge[1] - x[1]
    start = px * u + py * v
    return u * -py + v * px, start, start + length


@compiled(inline="always")
def _arc(x, edge):  # type: ignore[no-untyped-def]
    """Distance of a great circle, positive to its left, and where an arc starts and ends along it."""
    # The normal (a − b) × (a + b) keeps its digits on short arcs.
    u0, u1, u2 = edge[0] - edge[3], edge[1] - edge[4], edge[2] - edge[5]
    v0, v1, v2 = edge[0] + edge[3], edge[1] + edge[4], edge[2] + edge[5]
    n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    length = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n0, n1, n2 = n0 / length, n1 / length, n2 / length
    # From a point of the arc, so that a point next to it keeps its distance.
    height = n0 * (x[0] - edge[0]) + n1 * (x[1] - edge[1]) + n2 * (x[2] - edge[2])
    h = math.asin(max(min(height, 1.0), -1.0))
    # The nearest point of the circle, and the direction n × f along it.
    f0, f1, f2 = x[0] - height * n0, x[1] - height * n1, x[2] - height * n2
    size = math.sqrt(f0 * f0 + f1 * f1 + f2 * f2)
    if size == 0.0:
        return h, 0.0, 0.0
    f0, f1, f2 = f0 / size, f1 / size, f2 / size
    t0, t1, t2 = n1 * f2 - n2 * f1, n2 * f0 - n0 * f2, n0 * f1 - n1 * f0
    start = math.atan2(edge[0] * t0 + edge[1] * t1 + edge[2] * t2, edge[0] * f0 + edge[1] * f1 + edge[2] * f2)
    end = math.atan2(edge[3] * t0 + edge[4] * t1 + edge[5] * t2, edge[3] * f0 + edge[4] * f1 + edge[5] * f2)
    if end < start:  # across the point opposite to the nearest
        end += 2.0 * math.pi
    return h, start, end
