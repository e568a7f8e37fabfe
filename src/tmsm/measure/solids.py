"""Quadrature nodes inside any region of a manifold of dimension three: a tree of cubic cells, cut along the border.

Cells live in the charts of a manifold.  A cell that the distance to the border shows to be inside gets a Gauss rule.
One that the border may cross is divided, and at the smallest size cut along a plane.  The plane is first the border's
tangent at its nearest point.  Then the distance to the border at four points of the cut shows how the border bends
away, and the plane is moved and tilted so that the part inside has the right volume and mean: what is left is of
fourth order in the cell's side.  Cells in which one plane is not enough, as along an edge of the border, are divided
further.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray, row_dots
from tmsm.foundation.errors import TooManyNodesError
from tmsm.manifolds import SolidChart
from tmsm.measure.cells import Doubts, Prune, TreeNodes
from tmsm.measure.half_cubes import CutCubes, cut_cubes
from tmsm.regions import Region

__all__ = ["SOLID_CHANGE", "SOLID_FLOOR", "SOLID_HEAVY", "SOLID_WIDTHS", "coarsest_cell", "solid_nodes"]

# Cells are so many widths of the density across, and where its exponent is so close to the largest it changes in one by
# at most so much.
SOLID_WIDTHS, SOLID_HEAVY, SOLID_CHANGE = 2.5, 3.0, 6.0
# What the rule inside such cells leaves of a normal density, for any place of the cells, is below this.
SOLID_FLOOR = 5e-7
# Points along one side of a cell that is inside, fewer in smaller ones.
_ORDERS = (6, 4, 3, 2)
# Where a density that is pruned is so many logarithms below its top, one order less is enough, and again.
_BELOW = (-np.inf, 9.0, 16.0, np.inf)
# All cubes of a chart together are divided into so many cells at least.
_COARSEST = 64
# How often a cell that one plane does not describe is divided before it is cut nevertheless, in eight.
_TRIES = 3
# One plane does not describe a border that is farther from it than such a share of half a side.
_BEND = 0.15
# Nor one that turns within a cell by more than the angle of this cosine: it has an edge.
_TURN = 0.9
# A border that bends evenly is at a corner of the cell at most so many times as far from the plane as on the cut.
_BENDS_AT_CORNER = 5.0
# What is in doubt at a cut: such a share of its area times the square of the border's distance over half a side.
_BENT_SHARE = 2.0
# In cells that no plane describes: such a share of their volume.
_EDGE_SHARE = 0.05
# Parts of a cube of side two that are smaller are rounding.
_TINY = 1e-7
# How far beyond a seam to look, as a share of the cell.
_SEAM = 1e-6
# Samples along the side of a cell on a border of which only the sides are known.
_SAMPLES = 4
# No cell is divided more often: its points would differ by rounding only.
_DEEPEST = 44
# What is so many logarithms below the largest value does not count.
_NEGLIGIBLE = 25.0
_CORNERS = 0.999 * np.array(list(product((-1.0, 1.0), repeat=3)))


@dataclass(frozen=True)
class _Cubes:
    """Cubes of one size: face, centre (n, 3), half a side, and how often each may still be divided for its cut."""

    face: IntArray
    s: FloatArray
    half: float
    tries: IntArray

    def __len__(self) -> int:
        return len(self.face)

    def where(self, mask: BoolArray) -> _Cubes:
        return _Cubes(self.face[mask], self.s[mask], self.half, self.tries[mask])

    def joined(self, other: _Cubes) -> _Cubes:
        face, tries = (np.concatenate(pair) for pair in ((self.face, other.face), (self.tries, other.tries)))
        return _Cubes(face, np.concatenate([self.s, other.s]), self.half, tries)

    def divided(self, parts: int = 2) -> _Cubes:
        offset = self.half * (2.0 * np.arange(parts) + 1.0 - parts) / parts
        return self.spread(_grid(offset), self.half / parts)

    def spread(self, offsets: FloatArray, half: float) -> _Cubes:
        """Cubes at offsets (k, 3) round every centre."""
        k = len(offsets)
        s = (self.s[:, None, :] + offsets).reshape(-1, 3)
        return _Cubes(np.repeat(self.face, k), s, half, np.repeat(self.tries, k))

    def retried(self) -> _Cubes:
        return _Cubes(self.face, self.s, self.half, self.tries - 1)


def coarsest_cell(chart: SolidChart) -> int:
    """The cell of the coarsest `Grid` that is of use."""
    depth = int(np.ceil(np.log2(_COARSEST / chart.faces) / 3.0))
    return depth - round(float(np.log2(chart.side)))


def solid_nodes(
    region: Region, chart: SolidChart, depth: int, leaf_depth: int, prune: Prune | None = None, limit: int = 1_500_000
) -> TreeNodes:
    """Nodes of a grid whose cells are divided ``depth`` times inside and ``leaf_depth`` times on the border.

    ``prune`` bounds a density within a distance in the coordinates of the chart.
    Parts of the region smaller than the cells on the border have smaller ones.  More nodes than ``limit`` are an error.
    """
    nodes: list[tuple[FloatArray, FloatArray]] = []
    doubts: list[Doubts] = []
    faces = np.arange(chart.faces)
    middle = np.full((chart.faces, 3), chart.low + 0.5 * chart.side)
    border = _Cubes(faces, middle, 0.5 * chart.side, np.full(chart.faces, _TRIES))
    inside = border.where(np.zeros(chart.faces, dtype=bool))
    landmarks, share = region.landmarks, 2.0 ** (leaf_depth - depth - 2)
    top, n_inside, n_nodes, level = -np.inf, 0, 0, 0
    while level <= leaf_depth or len(border):
        X = chart.points(border.face, border.s)
        radius = chart.radius(border.half)
        d, inward, clear = region.clearance(X, radius + region.distance_slack)
        crossed = ~clear
        inside = inside.joined(border.where(clear & (d > 0.0)))
        if prune is not None:
            reach = float(np.sqrt(3.0)) * border.half
            values, bounds = prune(X, reach)
            inner, inner_bounds = prune(chart.points(inside.face, inside.s), reach)
            top = max(top, np.max(values[d > 0.0], initial=-np.inf), np.max(inner, initial=-np.inf))
            crossed &= bounds >= top - _NEGLIGIBLE
            kept = inner_bounds >= top - _NEGLIGIBLE
            inside, inner_bounds = inside.where(kept), inner_bounds[kept]
            below = top - inner_bounds
        else:
            below = np.zeros(len(inside))
        place = max(level - depth, 0)
        groups = [
            (inside.where((low <= below) & (below < high)), _ORDERS[min(place + less, len(_ORDERS) - 1)])
            for less, (low, high) in enumerate(pairwise(_BELOW))
        ]
        if n_nodes + sum(order**3 * len(cells) for cells, order in groups) + 8 * np.count_nonzero(crossed) > limit:
            raise TooManyNodesError(
                f"More than {limit:,} nodes would be needed: the density is too concentrated, or the border too large "
                "or too detailed, for quadrature in dimension three. ScoreMatching needs none."
            )
        if level >= depth:
            n_inside += len(inside)
            nodes += [_gauss(chart, cells, order) for cells, order in groups]
            n_nodes += sum(order**3 * len(cells) for cells, order in groups)
            inside = inside.where(np.zeros(len(inside), dtype=bool))
        if level >= leaf_depth:
            # A cell that is being divided for its cut is small enough for its part already.
            small = border.tries == _TRIES
            if level < _DEEPEST and len(landmarks):
                small[small] = landmarks.touched(X[small], radius, np.sqrt(2.0) * radius * share)
            else:
                small[:] = False
            ready = crossed & ~small
            leaves = _Leaves(region, chart, border.where(ready), X[ready], d[ready], inward[ready])
            again = ~leaves.sound & (leaves.cells.tries > 0) & (region.distance_slack == 0.0) & (level < _DEEPEST)
            found, open_ = leaves.nodes(again, groups[0][1])
            n_inside += leaves.n_whole
            nodes += found
            doubts += open_
            n_nodes += sum(len(weights) for _, weights in found)
            border = border.where(crossed & small).joined(leaves.cells.where(again).retried()).divided()
        else:
            border = border.where(crossed).divided()
        inside = inside.divided()
        level += 1
    X, weights = (np.concatenate(parts) for parts in zip(*nodes, strict=True))
    return TreeNodes(X, weights, n_inside, Doubts.joined(doubts, X.shape[1]))


def _grid(x: FloatArray) -> FloatArray:
    """All (x_i, x_j, x_k), shape (m³, 3)."""
    return np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=3).reshape(-1, 3)


def _gauss(chart: SolidChart, cells: _Cubes, order: int) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(order)
    spread = cells.spread(_grid(cells.half * x), 0.0)
    weights = np.tile(_grid(cells.half * w).prod(axis=1), len(cells))
    return chart.points(spread.face, spread.s), weights * chart.density(spread.face, spread.s)


def _planes(chart: SolidChart, cells: _Cubes, X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
    """The border as a plane in units of half a side about each centre, shape (n, 4)."""
    form = chart.plane(cells.face, cells.s, X, d, inward)
    form[:, 1:] *= cells.half
    return form


class _Leaves:
    """The smallest cells on the border, each cut along a plane that is fitted to it.

    A cut is sound where the border is close to it and the corners of the cell lie on the sides that it says.  Where all
    lie on one side, and so does what is just beyond the nearest point, parts of the region touch along a seam,
    which is no border.
    """

    def __init__(
        self, region: Region, chart: SolidChart, cells: _Cubes, X: FloatArray, d: FloatArray, inward: FloatArray
    ) -> None:
        self.region, self.chart, self.cells = region, chart, cells
        self.sound = np.zeros(len(cells), dtype=bool)
        self.seam = self.sound.copy()
        self.n_whole = 0
        if region.distance_slack > 0.0 or len(cells) == 0:
            return
        self.cut, self.bend = self._fitted(cut_cubes(_planes(chart, cells, X, d, inward)), inward)
        inner = self._is_inside(_CORNERS)  # (n, 8)
        form = np.column_stack([self.cut.form[:, 0], self.cut.original(self.cut.form[:, 1:])])
        values = form[:, :1] + form[:, 1:] @ _CORNERS.T
        with np.errstate(invalid="ignore"):
            margin = (_BENDS_AT_CORNER * self.bend + 1e-9) * self.cut.form[:, 3]
        wrong = (inner != (values > 0.0)) & (np.abs(values) > margin[:, None])
        self.sound = (self.bend <= _BEND) & ~wrong.any(axis=1)
        maybe = np.flatnonzero(~self.sound & (inner == (d > 0.0)[:, None]).all(axis=1))
        if maybe.size:
            across = region.manifold.velocity(X[maybe], inward[maybe])
            step = _SEAM * chart.radius(cells.half) * np.where(d[maybe] > 0.0, 1.0, -1.0)
            there = region.clearance(X[maybe] - (d[maybe] + step)[:, None] * across)[0]
            # Beyond a foot that is off the border, as next to a sharp edge, the border is not that close.
            self.seam[maybe] = (there * step > 0.0) & (np.abs(there) <= 10.0 * np.abs(step))
        self.sound |= self.seam
        self.filled = np.where(self.seam, d > 0.0, self.cut.volume >= 8.0 - _TINY)
        self.n_whole = int(np.count_nonzero(self.sound & self.filled))

    def _fitted(self, cut: CutCubes, inward: FloatArray) -> tuple[CutCubes, FloatArray]:
        """The cuts moved onto the border, and how far it was from them at most, over half a side; infinite at edges."""
        touched = np.flatnonzero(cut.area > 1e-9)
        offsets, turned = np.zeros((4, len(self.cells))), np.zeros(len(self.cells), dtype=bool)
        if touched.size:
            for k, s in enumerate(cut.on_cut()):
                d, normal, _ = self.region.clearance(self._points(cut.original(s), touched))
                offsets[k, touched] = d
                turned[touched] |= row_dots(normal, inward[touched]) < _TURN
        bend = np.abs(offsets).max(axis=0) / np.maximum(cut.form[:, 3], 1e-300)
        bend[turned] = np.inf
        offsets[:, bend > _BEND] = 0.0
        return cut.bent(offsets), bend

    def _points(self, s: FloatArray, rows: IntArray | BoolArray) -> FloatArray:
        """Points of some cells at coordinates about their centres in units of half a side, shape (n, 3) for all."""
        return self.chart.points(self.cells.face[rows], self._coordinates(s)[rows])

    def _coordinates(self, s: FloatArray) -> FloatArray:
        return self.cells.s + self.cells.half * s

    def _is_inside(self, offsets: FloatArray) -> BoolArray:
        places = self.cells.spread(self.cells.half * offsets, 0.0)
        d = self.region.signed_distance(self.chart.points(places.face, places.s))[0]
        return (d > 0.0).reshape(len(self.cells), len(offsets))

    def nodes(self, left: BoolArray, order: int) -> tuple[list[tuple[FloatArray, FloatArray]], list[Doubts]]:
        """The part inside each cell; but for cells that are left.  ``order`` is that of whole cells of this size."""
        if len(self.cells) == 0:
            return [], []
        if self.region.distance_slack > 0.0:
            return self._sampled()
        whole, simple = self.sound & self.filled, self.sound & ~self.filled & ~self.seam & (self.cut.volume > _TINY)
        nodes = [_gauss(self.chart, self.cells.where(whole), order)]
        nodes += _on_parts(self.chart, self.cells, self.cut, simple, self.cut.nodes())
        doubts = [
            self._bent(np.flatnonzero(simple & (self.cut.area > 1e-9))),
            self._hidden_in(self.cells.where(self.seam)),
        ]
        edges = self.cells.where(~self.sound & ~left)
        if len(edges):
            parts = edges.divided()
            X = self.chart.points(parts.face, parts.s)
            cut = cut_cubes(_planes(self.chart, parts, X, *self.region.clearance(X)[:2]))
            nodes += _on_parts(self.chart, parts, cut, cut.volume > _TINY, [cut.original(cut.mean)])
            doubts.append(self._at_edges(edges))
        return nodes, doubts

    def _volume(self, cells: _Cubes) -> FloatArray:
        return (2.0 * cells.half) ** 3 * self.chart.density(cells.face, cells.s)

    def _bent(self, rows: IntArray) -> Doubts:
        """What a fitted plane leaves open is of second order in how far the border was from the first one."""
        cut = self.cut
        height = -(cut.form[:, 0] + (cut.form[:, 1:3] * cut.middle).sum(axis=1)) / np.maximum(cut.form[:, 3], 1e-300)
        s = self._coordinates(cut.original(np.column_stack([cut.middle, height])))[rows]
        face, half = self.cells.face[rows], self.cells.half
        spread = _BENT_SHARE * (cut.area * self.bend**2)[rows] * half**3 * self.chart.density(face, s)
        nothing = np.zeros(len(rows))
        return Doubts(self.chart.points(face, s), nothing, spread, nothing)

    def _at_edges(self, edges: _Cubes) -> Doubts:
        """Along an edge that lies along the grid all cells are wrong alike."""
        area = _EDGE_SHARE * self._volume(edges)
        nothing = np.zeros(len(edges))
        return Doubts(self.chart.points(edges.face, edges.s), nothing, nothing, area)

    def _hidden_in(self, seams: _Cubes) -> Doubts:
        """A strait narrower than the step across a seam would not be seen."""
        nothing = np.zeros(len(seams))
        return Doubts(self.chart.points(seams.face, seams.s), nothing, nothing, _SEAM * self._volume(seams))

    def _sampled(self) -> tuple[list[tuple[FloatArray, FloatArray]], list[Doubts]]:
        """Cells of which only the sides of points are known: in mixed ones the samples err at random."""
        chart, sample = self.chart, self.cells.divided(_SAMPLES)
        points = chart.points(sample.face, sample.s)
        within = self.region.signed_distance(points)[0] > 0.0
        share = within.reshape(len(self.cells), -1).mean(axis=1)
        mixed = (share > 0.0) & (share < 1.0)
        open_ = self._volume(self.cells) / _SAMPLES
        places, nothing = chart.points(self.cells.face, self.cells.s), np.zeros(len(self.cells))
        doubts = Doubts(places, nothing, np.where(mixed, open_, 0.0), np.where(mixed, 0.0, open_ / _SAMPLES))
        return [(points[within], self._volume(sample)[within])], [doubts]


def _on_parts(
    chart: SolidChart, cells: _Cubes, cut: CutCubes, rows: BoolArray, places: list[FloatArray]
) -> list[tuple[FloatArray, FloatArray]]:
    """The parts of some cut cells as nodes of equal volume, at places about their centres in units of half a side."""
    face, volume = cells.face[rows], cut.volume[rows] * cells.half**3 / len(places)
    found = []
    for place in places:
        s = cells.s[rows] + cells.half * place[rows]
        found.append((chart.points(face, s), volume * chart.density(face, s)))
    return found
