"""Quadrature nodes inside any region of a surface: a tree of square cells, cut along the border.

Cells live in the charts of a manifold, in which the border is nearly straight.  A cell that the distance
to the border shows to be inside gets a Gauss rule.  One that the border may cross is divided, and at
the smallest size cut along the tangent of the border at its nearest point.  Where the region has parts that
are smaller than that, cells are divided further, and so are cells in which one cut does not tell the whole story.

What the cuts leave open is kept with the nodes: the border's distance from the ends of a cut shows how far it
bends away, and cells that are only sampled count with a share of their area.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmsm.foundation.arrays import FloatArray, row_dots, row_norms, safe_divide
from tmsm.foundation.errors import TooManyNodesError
from tmsm.manifolds.charts import SurfaceChart
from tmsm.regions import Region

__all__ = ["Doubts", "Prune", "TreeNodes", "tree_nodes"]

# Points along one side of a cell that is inside: fewer in the smaller ones next to the border.
_ORDERS = (5, 4, 3, 2)
# How often a cell that one cut does not describe is divided before it is sampled.
_TRIES = 3
# Where neighbours see borders that are so many radii of a cell apart, the border has a corner.
_CORNER = 0.25
# How far beyond a seam to look, as a share of the cell.
_SEAM = 1e-6
# No cell is divided more often: its points would differ by rounding only.
_DEEPEST = 44
# So many cells of a size in which the border bends most are looked at closely; of the others as many stand for all.
_BENDS = 2048

# Points (n, D) of the surface and a radius ↦ value at the points, and a bound of it within the radius.
Prune = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]
# What is so many logarithms below the largest value does not count.
_NEGLIGIBLE = 36.0


@dataclass(frozen=True)
class Doubts:
    """Areas that the cuts may have wrong, at points of the border's cells.

    Attributes
    ----------
    X
        Where, shape (k, D).
    bias
        By how much the inside is larger than counted, as the border's bend suggests, shape (k,).
    spread
        How far off this may be, independently in each place, shape (k,).
    blind
        Area in which parts thinner than the samples may be hidden, all alike, shape (k,).
    """

    X: FloatArray
    bias: FloatArray
    spread: FloatArray
    blind: FloatArray

    @staticmethod
    def joined(parts: list[Doubts], D: int) -> Doubts:
        """All of them."""
        none = Doubts(np.empty((0, D)), np.empty(0), np.empty(0), np.empty(0))
        fields = zip(*((p.X, p.bias, p.spread, p.blind) for p in [none, *parts]), strict=True)
        return Doubts(*(np.concatenate(field) for field in fields))


@dataclass(frozen=True)
class _Cells:
    """Squares of one size: face, centre (u, v), half a side, and how often each may still be divided for its cut."""

    face: NDArray[np.intp]
    u: FloatArray
    v: FloatArray
    half: float
    tries: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.u)

    def where(self, mask: NDArray[np.bool_]) -> _Cells:
        return _Cells(self.face[mask], self.u[mask], self.v[mask], self.half, self.tries[mask])

    def divided(self, parts: int) -> _Cells:
        """Each cell in parts × parts, those of one cell next to each other."""
        offset = self.half * (2.0 * np.arange(parts) + 1.0 - parts) / parts
        return self.spread(offset, offset, self.half / parts)

    def spread(self, du: FloatArray, dv: FloatArray, half: float) -> _Cells:
        """The grid of offsets du × dv round every centre."""
        a, b = (grid.ravel() for grid in np.meshgrid(du, dv, indexing="ij"))
        u, v = self.u[:, None] + a, self.v[:, None] + b
        return _Cells(np.repeat(self.face, a.size), u.ravel(), v.ravel(), half, np.repeat(self.tries, a.size))

    def retried(self) -> _Cells:
        """The same cells with one try less."""
        return _Cells(self.face, self.u, self.v, self.half, self.tries - 1)


@dataclass(frozen=True)
class TreeNodes:
    """Nodes (m, D) inside a region, their weights (m,), how many cells lay inside as a whole, and what is in doubt."""

    X: FloatArray
    weights: FloatArray
    n_inside: int
    doubts: Doubts


def tree_nodes(
    region: Region, chart: SurfaceChart, depth: int, leaf_depth: int, prune: Prune | None = None, limit: int = 1_500_000
) -> TreeNodes:
    """Nodes of a grid whose cells are divided ``depth`` times inside and ``leaf_depth`` times on the border.

    Cells on the border of small parts are divided until their sides are 2^(2 + depth − leaf_depth) of the part's size.
    More nodes than ``limit`` are an error.
    """
    nodes: list[tuple[FloatArray, FloatArray]] = []
    doubts: list[Doubts] = []
    middle = chart.low + 0.5 * chart.side
    border = _Cells(
        np.arange(chart.faces),
        np.full(chart.faces, middle),
        np.full(chart.faces, middle),
        0.5 * chart.side,
        np.full(chart.faces, _TRIES),
    )
    inside = border.where(np.zeros(chart.faces, dtype=bool))
    landmarks, share = region.landmarks, 2.0 ** (leaf_depth - depth - 2)
    top, n_inside, n_nodes, level = -np.inf, 0, 0, 0
    while level <= leaf_depth or len(border):
        X = chart.points(border.face, border.u, border.v)
        radius = chart.radius(border.half)
        d, inward, clear = region.clearance(X, radius + region.distance_slack)
        crossed = ~clear
        inside = _joined(inside, border.where(clear & (d > 0.0)))
        if prune is not None:
            values, bounds = prune(X, radius)
            inner, inner_bounds = prune(chart.points(inside.face, inside.u, inside.v), radius)
            top = max(top, np.max(values[d > 0.0], initial=-np.inf), np.max(inner, initial=-np.inf))
            crossed &= bounds >= top - _NEGLIGIBLE
            inside = inside.where(inner_bounds >= top - _NEGLIGIBLE)
        order = _ORDERS[min(max(level - depth, 0), len(_ORDERS) - 1)]
        if n_nodes + order**2 * len(inside) + len(border) > limit:
            raise TooManyNodesError(_too_many(region, limit))
        if level >= depth:
            n_inside += len(inside)
            nodes.append(_gauss(chart, inside, order))
            n_nodes += len(nodes[-1][1])
            inside = inside.where(np.zeros(len(inside), dtype=bool))
        if level >= leaf_depth:
            # A cell that is being divided for its cut is small enough for its part already.
            small = border.tries == _TRIES
            if level < _DEEPEST and len(landmarks):
                small[small] = landmarks.touched(X[small], radius, np.sqrt(2.0) * radius * share)
            else:
                small[:] = False
            ready = crossed & ~small
            if level - depth >= len(_ORDERS):
                order = 1  # cells so small that their parts need one node only
            cut = _Cut(region, chart, border.where(ready), X[ready], d[ready], inward[ready])
            bend = _disagreement(chart, X, d, inward)[ready]
            again = ~cut.sound & (cut.cells.tries > 0) & (region.distance_slack == 0.0) & (level < _DEEPEST)
            found, open_ = cut.nodes(order, again, bend)
            nodes += found
            doubts += open_
            n_nodes += sum(len(weights) for _, weights in found)
            border = _joined(border.where(crossed & small), cut.cells.where(again).retried()).divided(2)
        else:
            border = border.where(crossed).divided(2)
        inside = inside.divided(2)
        level += 1
    X, weights = (np.concatenate(parts) for parts in zip(*nodes, strict=True))
    return TreeNodes(X, weights, n_inside, Doubts.joined(doubts, X.shape[1]))


def _disagreement(chart: SurfaceChart, X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
    """How far the border that one cell sees is from that of the three others of its four, shape (n,)."""
    normal, offset = chart.tangent(X, d, inward)
    largest = np.zeros(len(d))
    place = np.arange(len(d))
    for other in (1, 2, 3):
        neighbour = place ^ other  # cells that were divided together lie next to each other
        np.maximum(largest, np.abs(row_dots(normal, X[neighbour]) + offset - d[neighbour]), out=largest)
    return largest


def _too_many(region: Region, limit: int) -> str:
    parts = len(region.landmarks)
    many = f" The region has {parts:,} parts: merge or drop the smallest." if parts > 500 else ""
    return (
        f"More than {limit:,} nodes would be needed: the density is too concentrated, or has its mass too "
        f"thinly along the border, or the border is too detailed for quadrature.{many} ScoreMatching needs none."
    )


def _joined(first: _Cells, second: _Cells) -> _Cells:
    if len(first) == 0:
        return second
    return _Cells(
        np.concatenate([first.face, second.face]),
        np.concatenate([first.u, second.u]),
        np.concatenate([first.v, second.v]),
        first.half,
        np.concatenate([first.tries, second.tries]),
    )


def _gauss(chart: SurfaceChart, cells: _Cells, order: int) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(order)
    spread = cells.spread(cells.half * x, cells.half * x, 0.0)
    weights = np.tile(np.outer(w, w).ravel() * cells.half**2, len(cells)) * chart.density(
        spread.face, spread.u, spread.v
    )
    return chart.points(spread.face, spread.u, spread.v), weights


class _Cut:
    """The smallest cells on the border, each cut along the border's tangent at the point nearest to its centre.

    A cut is sound where the centroids of both parts lie on the sides that it says.  Where both lie on one side, and so
    does what is just beyond the nearest point, parts of the region touch along a seam, which is no border.
    Elsewhere (corners, thin parts, bare border points) the cell is divided once more or sampled.
    """

    def __init__(
        self, region: Region, chart: SurfaceChart, cells: _Cells, X: FloatArray, d: FloatArray, inward: FloatArray
    ) -> None:
        self.region, self.chart, self.cells = region, chart, cells
        self.area, self.u, self.v, self.spread, self.ends = _cut_squares(
            cells, chart.line(cells.face, cells.u, cells.v, X, d, inward)
        )
        across = region.manifold.velocity(X, inward)
        self.foot = X - d[:, None] * across
        whole = (2.0 * cells.half) ** 2
        rest = whole - self.area
        tiny = 1e-9 * whole
        self.full, self.kept = rest <= tiny, self.area > tiny
        with np.errstate(divide="ignore", invalid="ignore"):
            other = [(whole * c - self.area * part) / rest for c, part in ((cells.u, self.u), (cells.v, self.v))]
        inner = self._is_inside(self.u, self.v, self.kept)
        outer = self._is_inside(other[0], other[1], ~self.full)
        self.sound = (inner == self.kept) & ~outer
        self.seam = np.zeros(len(cells), dtype=bool)
        if region.distance_slack > 0.0:
            self.sound[:] = False
            return
        maybe = np.flatnonzero(self.kept & ~self.full & (inner == outer) & (inner == (d > 0.0)))
        if maybe.size:
            step = _SEAM * chart.radius(cells.half) * np.where(inner[maybe], -1.0, 1.0)
            beyond = self.foot[maybe] + step[:, None] * across[maybe]
            self.seam[maybe] = (region.signed_distance(beyond)[0] > 0.0) == inner[maybe]
        self.sound |= self.seam
        self.full |= self.seam & inner
        self.kept &= ~self.seam | inner

    def _is_inside(self, u: FloatArray, v: FloatArray, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        out = np.zeros(len(u), dtype=bool)
        points = self.chart.points(self.cells.face[mask], u[mask], v[mask])
        out[mask] = self.region.signed_distance(points)[0] > 0.0
        return out

    def nodes(
        self, order: int, left: NDArray[np.bool_], bend: FloatArray
    ) -> tuple[list[tuple[FloatArray, FloatArray]], list[Doubts]]:
        """The part inside each cell, as one node at its centroid or four about it; but for cells that are left.

        ``bend`` tells in which cells the border is least straight, shape (n,).
        """
        chart, cells = self.chart, self.cells
        simple = self.sound & self.kept & ~self.full
        nodes = [_gauss(chart, cells.where(self.sound & self.full), max(order, 2))]
        doubts = [
            *self._doubtful(np.flatnonzero(simple), bend),
            self._clipped(cells.where(self.sound & (bend > _CORNER * chart.radius(cells.half)))),
            self._hidden_in(cells.where(self.seam)),
        ]
        # Four nodes at √2 standard deviations along the principal axes have the mean and the covariance of the part.
        offsets = np.zeros((1, 2, len(cells))) if order == 1 else np.concatenate([self.spread, -self.spread])
        for offset in offsets:
            a, b = self.u[simple] + offset[0, simple], self.v[simple] + offset[1, simple]
            area = self.area[simple] / len(offsets)
            nodes.append((chart.points(cells.face[simple], a, b), area * chart.density(cells.face[simple], a, b)))
        unsound = cells.where(~self.sound & ~left)
        if len(unsound):
            # Cells that could not be divided before have as many samples as those that were.
            side = 2 if self.region.distance_slack == 0.0 else 2**_TRIES
            sample = unsound.divided(side)
            points = chart.points(sample.face, sample.u, sample.v)
            within = self.region.signed_distance(points)[0] > 0.0
            weights = (2.0 * sample.half) ** 2 * chart.density(sample.face, sample.u, sample.v)
            nodes.append((points[within], weights[within]))
            doubts.append(self._unseen(unsound, within.reshape(len(unsound), -1).mean(axis=1), side))
        return nodes, doubts

    def _doubtful(self, rows: NDArray[np.intp], bend: FloatArray) -> list[Doubts]:
        if len(rows) <= 2 * _BENDS:
            return [self._bends(rows, 1.0)]
        order = np.argpartition(bend[rows], len(rows) - _BENDS)
        most, others = rows[order[-_BENDS:]], np.sort(rows[order[:-_BENDS]])
        sample = others[:: -(-len(others) // _BENDS)]
        return [self._bends(most, 1.0), self._bends(sample, len(others) / len(sample))]

    def _bends(self, rows: NDArray[np.intp], count: float) -> Doubts:
        """How far the border is from the ends of its tangent: d there grows to k s²/2 and leaves out k s³/6.

        Each row stands for ``count`` cells.
        """
        face, foot = self.cells.face[rows], self.foot[rows]
        first, second = (self.chart.points(face, *end[rows].T) for end in self.ends)
        d1, d2 = (self.region.clearance(end)[0] for end in (first, second))
        first, second = (self.chart.straight(foot, end) for end in (first, second))
        length = row_norms(second - first)
        along = safe_divide(second - first, length)
        s1, s2 = (row_dots(end, along) for end in (first, second))
        bias = (d2 * s2 - d1 * s1) / 3.0
        # A border that bends all at once, in a corner, leaves out d s/2.
        spread = 0.5 * length * np.maximum(np.abs(d1), np.abs(d2))
        points = self.chart.points(face, self.u[rows], self.v[rows])
        return Doubts(points, bias * count, spread * np.sqrt(count), np.zeros(len(rows)))

    def _clipped(self, corners: _Cells) -> Doubts:
        """Near a corner of the border its other side may cut off a corner of the cell: (√2 − 1)²/4 of it at most."""
        area = 0.05 * (2.0 * corners.half) ** 2 * self.chart.density(corners.face, corners.u, corners.v)
        nothing = np.zeros(len(corners))
        return Doubts(self.chart.points(corners.face, corners.u, corners.v), nothing, area, nothing)

    def _hidden_in(self, seams: _Cells) -> Doubts:
        """A strait narrower than the step across a seam would not be seen."""
        area = _SEAM * (2.0 * seams.half) ** 2 * self.chart.density(seams.face, seams.u, seams.v)
        nothing = np.zeros(len(seams))
        return Doubts(self.chart.points(seams.face, seams.u, seams.v), nothing, nothing, area)

    def _unseen(self, cells: _Cells, share: FloatArray, side: int) -> Doubts:
        """Sampled cells: in mixed ones the samples err at random, in others something thin may be hidden."""
        area = (2.0 * cells.half) ** 2 * self.chart.density(cells.face, cells.u, cells.v) / side
        mixed = (share > 0.0) & (share < 1.0)
        points = self.chart.points(cells.face, cells.u, cells.v)
        return Doubts(points, np.zeros(len(cells)), np.where(mixed, area, 0.0), np.where(mixed, 0.0, area))


def _cut_squares(
    cells: _Cells, line: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Area, centroid (u, v), spread of the part of each square where a + bu + cv > 0, and the ends of the cut.

    The spread is √2 standard deviations along the two principal axes, shape (2, 2, n): axis, coordinate, square.
    The ends have shape (n, 2).
    By Green's theorem: the sum over the sides, each cut to its part inside, and the cut itself.  All is
    relative to the square's centre, in units of half a side.
    """
    at_centre = line[:, 0] + line[:, 1] * cells.u + line[:, 2] * cells.v
    across = line[:, 1:] * cells.half
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    values = at_centre[:, None] + across @ corners.T  # (n, 4)
    n = len(cells)
    area, moment, second = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 3))
    entry, leave = np.zeros((n, 2)), np.zeros((n, 2))

    def add(start: FloatArray, end: FloatArray) -> None:
        cross = start[:, 0] * end[:, 1] - start[:, 1] * end[:, 0]
        area[:] += 0.5 * cross
        moment[:] += (start + end) * (cross / 6.0)[:, None]
        both = start + end
        for k, (i, j) in enumerate(((0, 0), (0, 1), (1, 1))):
            products = both[:, i] * both[:, j] + start[:, i] * start[:, j] + end[:, i] * end[:, j]
            second[:, k] += products * cross / 24.0

    for k in range(4):
        a, b = values[:, k], values[:, (k + 1) % 4]
        start, end = (np.broadcast_to(corners[m % 4], (n, 2)).copy() for m in (k, k + 1))
        crossing = (a > 0.0) != (b > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(crossing, a / (a - b), 0.0)
        meeting = start + share[:, None] * (end - start)
        into, out = crossing & (b > 0.0), crossing & (a > 0.0)
        entry[into], leave[out] = meeting[into], meeting[out]
        start[into], end[out] = meeting[into], meeting[out]
        outside = ~(crossing | (a > 0.0))
        end[outside] = start[outside]
        add(start, end)
    add(leave, entry)  # the cut closes the part; where there is none, both are zero
    size = np.maximum(area, 1e-300)[:, None]
    centroid = np.where(area[:, None] > 0.0, moment / size, 0.0)
    second = np.where(area[:, None] > 0.0, second / size, 0.0)
    xx, xy, yy = (second - np.column_stack([centroid[:, 0] ** 2, centroid.prod(axis=1), centroid[:, 1] ** 2])).T
    values, vectors = np.linalg.eigh(np.stack([xx, xy, xy, yy], axis=1).reshape(-1, 2, 2))
    spread = vectors * np.sqrt(2.0 * np.maximum(values, 0.0))[:, None, :] * cells.half  # (n, coordinate, axis)
    centroid = centroid * cells.half
    middle = np.column_stack([cells.u, cells.v])
    ends = middle + cells.half * entry, middle + cells.half * leave
    return area * cells.half**2, cells.u + centroid[:, 0], cells.v + centroid[:, 1], spread.transpose(2, 1, 0), ends
