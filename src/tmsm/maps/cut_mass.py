"""How much of a bell-shaped kernel lies inside a region.

In a box of flat space this is a product of normal integrals.  Elsewhere, the mass of exp(−κ r²/2) within a distance of
its centre is F, known exactly on S² and in the plane.  By Stokes' theorem the mass inside a region R is an integral
along its border, which has the inside on its left,

    mass = [centre ∈ R] − (1/2π) ∮ (1 − F) dφ,

φ the direction in which the centre sees the border.  Along an edge whose line, or great circle, has the distance h,
with s the way along it from the nearest point, dφ/ds is a narrow peak where the edge passes close to the centre.  The
value of the rest at s = 0 is split off, whose integral is known.

In the plane this is the angle under which the edge is seen, dφ/ds = h/(h² + s²), with 1 − F = exp(−κ (h² + s²)/2).

On S², with v = 1 − cos r = 2 sin²(h/2) + 2 cos h sin²(s/2) and u = 2 − v,

    1 − F = (exp(−κ v) − exp(−2κ))/(1 − exp(−2κ)),   dφ/ds = sin h/(u v).

It has a second peak, where the edge passes the point opposite to the centre, and there 1 − F is zero: (1 − F)/u is
smooth.  So for every κ ≥ 0

    (1 − F) dφ/ds = g(v) sin h/(2v),   g = 2 (1 − F)/u,

where g falls from one to 2κ/(exp(2κ) − 1), and is one for κ = 0, the uniform kernel.  What is split off is half of the
area between the edge and the opposite point: ∫ sin h/(2v) ds = arctan(cot(h/2) tan(s/2)), which grows through s = π.
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
from tmsm.regions import Box, Region
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
# Edges that tell on which side the inside is, and how far beside them that is asked, in their lengths.
_ASKED, _BESIDE = 64, (0.1, 1e-3, 1e-5)
# Edges follow a curved border to this share of the narrowest width.
_TOLERANCE = 1e-5
# A mass that is so far from what a mass can be is computed by draws.
_WRONG = 1e-4
# Centres closer to the border than this share of the width are moved by as much: on a corner dφ has no value.
_ON_BORDER, _MOVED = 1e-6, 3e-6
# Closer than this share an edge that follows the border may be on the other side of the centre.
_BESIDE_EDGE = 1e-4


@final
@dataclass(frozen=True, eq=False)
class BorderEdges:
    """The edges of a border, start and end in R³ (m, 6), the inside on their left, in a tree of boxes.

    A plane has z = 0.
    """

    edges: FloatArray
    boxes: FloatArray
    first: Any
    is_flat: bool

    @classmethod
    def of(cls, region: Region, narrowest: float) -> BorderEdges | None:
        """Of a region on S² or in the plane; None where its border is not made of edges."""
        manifold = region.manifold
        if not (manifold.has_longitudes or (manifold.is_flat and manifold.dim == 2)):
            return None
        chains = region.border_edges(_TOLERANCE * narrowest)
        if chains is None:
            return None
        on_sphere = manifold.has_longitudes
        edges = np.vstack([_halved(np.hstack([ring, np.roll(ring, -1, axis=0)]), on_sphere) for ring in chains])
        side = _side(region, edges)
        if side == 0:
            return None
        D = manifold.embedding_dim
        a, b = np.zeros((len(edges), 3)), np.zeros((len(edges), 3))
        a[:, :D], b[:, :D] = (edges[:, :D], edges[:, D:]) if side > 0 else (edges[:, D:], edges[:, :D])
        # An arc bulges from its chord.
        bulge = 0.2 * ((a - b) ** 2).sum(axis=1)[:, None] if on_sphere else 0.0
        boxes, first, order = build_tree(np.minimum(a, b) - bulge, np.maximum(a, b) + bulge, _LEAF)
        return cls(np.ascontiguousarray(np.hstack([a, b])[order]), boxes, first, not on_sphere)

    def integrals(self, X: FloatArray, kappa: FloatArray) -> FloatArray:
        """(1/2π) ∮ (1 − F) dφ for kernels at points X (n, D), shape (n,)."""
        rows = np.zeros((len(X), 3))
        rows[:, : X.shape[1]] = X
        out = np.empty(len(rows))

        def part(piece: slice) -> None:
            _integrals(self.edges, self.boxes, self.first, self.is_flat, rows[piece], kappa[piece], out[piece])

        in_threads(part, len(rows), _ROWS_PER_THREAD)
        return out


def _side(region: Region, edges: FloatArray) -> int:
    """On which side of edges (m, 2 D) the inside is: 1 for the left, −1 for the right, 0 where that cannot be told."""
    D = edges.shape[1] // 2
    lengths = ((edges[:, :D] - edges[:, D:]) ** 2).sum(axis=1)
    longest = edges[np.argsort(-lengths)[:_ASKED]]
    a, b = longest[:, :D], longest[:, D:]
    # a × b has the length of the arc.
    left = np.cross(a, b) if D == 3 else np.column_stack([a[:, 1] - b[:, 1], b[:, 0] - a[:, 0]])
    middle = 0.5 * (a + b)
    for share in _BESIDE:
        sides = [middle + share * left, middle - share * left]
        if D == 3:
            sides = [one / np.linalg.norm(one, axis=1)[:, None] for one in sides]
        inside = [region.clearance(np.asfortranarray(one))[0] > 0.0 for one in sides]
        votes = int(np.count_nonzero(inside[0] & ~inside[1])) - int(np.count_nonzero(inside[1] & ~inside[0]))
        if votes:
            return 1 if votes > 0 else -1
    return 0


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

    In a box they are products of normal integrals.  Where they are not exact, each comes from 512 draws.
    """
    if isinstance(region, Box):
        from scipy.special import ndtr

        low, high = region.bounds
        root = np.sqrt(kappa)[:, None]
        return np.asarray((ndtr((high - X) * root) - ndtr((low - X) * root)).prod(axis=1)), True
    depth = region.clearance(np.asfortranarray(X))[0]
    inside = np.where(depth > 0.0, 1.0, 0.0)
    # A slack of the distance may hide a part of the border that is nearer.
    near = np.abs(depth) - region.distance_slack < _reach(region, kappa)
    if not near.any() or not region.has_border:
        return inside, True
    places = np.flatnonzero(near)
    edges = BorderEdges.of(region, float(1.0 / np.sqrt(max(kappa[near].max(), 1e-300))))
    if edges is not None:
        found = _along_border(region, edges, X[near], kappa[near], depth[near])
        inside[near] = np.clip(found, 0.0, 1.0)
        places = places[~((found > -_WRONG) & (found < 1.0 + _WRONG))]
    for start in range(0, len(places), _DRAW_BLOCK // _DRAWS):
        own = places[start : start + _DRAW_BLOCK // _DRAWS]
        centres = np.repeat(X[own], _DRAWS, axis=0)
        draws = region.manifold.bell_draws(centres, np.repeat(kappa[own], _DRAWS), rng)
        within = region.signed_distance(np.asfortranarray(draws))[0] > 0.0
        inside[own] = within.reshape(-1, _DRAWS).mean(axis=1)
    return inside, len(places) == 0


def _along_border(
    region: Region, edges: BorderEdges, X: FloatArray, kappa: FloatArray, depth: FloatArray
) -> FloatArray:
    """Masses by the integral along the border, shape (n,)."""
    width = 1.0 / np.sqrt(np.maximum(kappa, 1.0 if region.manifold.is_closed else 1e-300))
    share = np.abs(depth) / width
    on_border = np.flatnonzero(share < _ON_BORDER)
    if len(on_border):
        X, depth = X.copy(), depth.copy()
        # In any direction, which no edge has by chance.
        aside = np.random.default_rng(0).standard_normal((len(on_border), X.shape[1]))
        aside = region.manifold.project_tangent(X[on_border], aside)
        aside *= (_MOVED * width[on_border] / np.linalg.norm(aside, axis=1))[:, None]
        X[on_border] = region.manifold.exponential(X[on_border], aside)
        depth[on_border] = region.clearance(np.asfortranarray(X[on_border]))[0]
    found: FloatArray = np.where(depth > 0.0, 1.0, 0.0) - edges.integrals(X, kappa)
    beside = share < _BESIDE_EDGE
    found[beside & (found < -0.5)] += 1.0
    found[beside & (found > 1.5)] -= 1.0
    return found


def _reach(region: Region, kappa: FloatArray) -> FloatArray:
    """How far away the border matters to kernels: a chord as a geodesic distance on spheres, shape of κ."""
    reach = _REACH / np.sqrt(np.maximum(kappa, 1e-300))
    if region.manifold.is_flat:
        return reach
    # A chord of two goes all the way round, in each factor of a product.
    around = np.hypot(reach, np.pi * np.sqrt(len(region.manifold.factors)))
    return np.asarray(np.where(reach < 2.0, 2.0 * np.arcsin(0.5 * np.minimum(reach, 2.0)), around))


@compiled(nogil=True)
def _integrals(edges, boxes, first, is_flat, X, kappa, out):  # type: ignore[no-untyped-def]
    nodes, weights = _GAUSS
    window, stack, found = np.empty(6), np.empty(64, dtype=np.int64), np.empty(len(edges), dtype=np.int64)
    for row in range(len(X)):
        x, k = X[row], kappa[row]
        width = 1.0 / math.sqrt(max(k, 1e-300))
        reach = _REACH * width
        for j in range(3):
            window[j], window[3 + j] = x[j] - reach, x[j] + reach
        total = 0.0
        for j in range(overlapping_edges(boxes, first, window, stack, found)):
            edge = edges[found[j]]
            if is_flat:
                h, start, end = _flat_edge(x, edge)
            else:
                h, start, end = _arc(x, edge)
            limit = reach
            if not is_flat:
                # Where cos h cos s falls below cos r.
                cosine = math.cos(h)
                bound = (1.0 - 0.5 * reach * reach) / max(cosine, 1e-300)
                limit = math.acos(min(bound, 1.0)) if bound > -1.0 else np.inf
            start, end = max(start, -limit), min(end, limit)
            if not end > start or h == 0.0:
                continue
            aside = abs(h)
            if is_flat:
                at_foot = math.exp(-0.5 * k * h * h)
                known = math.atan2(end, aside) - math.atan2(start, aside)
            else:
                slope = 0.5 * math.sin(aside)
                at_foot = _rest(2.0 * math.sin(0.5 * h) ** 2, k)
                p, q = math.cos(0.5 * h), math.sin(0.5 * aside)
                known = math.atan2(p * math.sin(0.5 * end), q * math.cos(0.5 * end))
                known -= math.atan2(p * math.sin(0.5 * start), q * math.cos(0.5 * start))
            part, s0 = 0.0, start
            while s0 < end:
                # Pieces grow with the distance from the nearest point, as wide as the peak there.
                away = aside + (s0 if s0 > 0.0 else -0.5 * s0)
                step = min(end - s0, _PIECE * width, away)
                half, middle = 0.5 * step, s0 + 0.5 * step
                short = step <= _SHORT * min(width, away)
                for i in range(2 if short else len(nodes)):
                    s = middle + half * ((2 * i - 1) * _TWO if short else nodes[i])
                    weight = half if short else half * weights[i]
                    if is_flat:
                        square = h * h + s * s
                        part += weight * (math.exp(-0.5 * k * square) - at_foot) * aside / square
                    else:
                        v = 2.0 * math.sin(0.5 * h) ** 2 + 2.0 * cosine * math.sin(0.5 * s) ** 2
                        part += weight * (_rest(v, k) - at_foot) * slope / v
                s0 = end if s0 + step >= end else s0 + step
            total += (1.0 if h > 0.0 else -1.0) * (at_foot * known + part)
        out[row] = total / (2.0 * math.pi)


@compiled(inline="always")
def _rest(v, k):  # type: ignore[no-untyped-def]
    """The rest 2 (1 − F)/(2 − v), one at v = 0."""
    if k < 1e-12:
        return 1.0
    u = max(2.0 - v, 0.0)
    bent = -math.expm1(-k * u) / u if k * u > 1e-12 else k
    return 2.0 * math.exp(-k * v) * bent / -math.expm1(-2.0 * k)


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
    if size < 1e-12:  # all points of the circle are as near
        f0, f1, f2, size = edge[0], edge[1], edge[2], 1.0
    f0, f1, f2 = f0 / size, f1 / size, f2 / size
    t0, t1, t2 = n1 * f2 - n2 * f1, n2 * f0 - n0 * f2, n0 * f1 - n1 * f0
    start = math.atan2(edge[0] * t0 + edge[1] * t1 + edge[2] * t2, edge[0] * f0 + edge[1] * f1 + edge[2] * f2)
    end = math.atan2(edge[3] * t0 + edge[4] * t1 + edge[5] * t2, edge[3] * f0 + edge[4] * f1 + edge[5] * f2)
    if end < start:  # across the point opposite to the nearest
        end += 2.0 * math.pi
    return h, start, end
