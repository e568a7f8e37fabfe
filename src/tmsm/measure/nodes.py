"""Quadrature inside regions: nodes that are built once for each region and shared by all fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, TooManyNodesError
from tmsm.foundation.shared import shelf_of
from tmsm.manifolds import Curve, SolidChart, Window
from tmsm.measure.cells import Doubts, Prune, TreeNodes, tree_nodes
from tmsm.measure.products import MAX_PRODUCT_DIM, combined_nodes, parts_of
from tmsm.measure.solids import solid_nodes
from tmsm.regions import ProductRegion, Region

__all__ = ["MAX_NODES", "Grid", "Nodes", "build_nodes", "has_nodes"]

MAX_NODES = 1_500_000
# So many grids, and nodes in all, are kept for one region: a few levels of a few densities.
_KEPT, _KEPT_NODES = 12, 3 * MAX_NODES
# A curve is cut into so many pieces, each of which is halved so often where the border may be.
_PIECES, _HALVINGS = 4096, 20


@dataclass(frozen=True)
class Nodes:
    """Points inside a region that stand for its area.

    Attributes
    ----------
    X
        Shape (m, D).
    log_weights
        Logarithms of the areas, shape (m,).
    n_inside
        How many cells lay inside as a whole: few if the grid is too coarse for the region.
    doubts
        Areas along the border that the nodes may have wrong.
    """

    X: FloatArray
    log_weights: FloatArray
    n_inside: int
    doubts: Doubts


@dataclass(frozen=True)
class Grid:
    """How fine: cells of side 2^−cell, on the border divided ``leaf`` times more; flat regions in a window.

    In a window the side is that share of the window.  The parts of a product have ``cells`` of their own.
    """

    cell: int
    leaf: int
    window: Window | None = None
    cells: tuple[int, ...] = ()

    def of_part(self, k: int, columns: slice) -> Grid:
        """The grid of part k of a product, whose coordinates are in some columns."""
        window = None if self.window is None else (self.window[0][columns], self.window[1][columns])
        return Grid(self.cells[k] if self.cells else self.cell, self.leaf, window)


def has_nodes(region: Region) -> bool:
    """Whether the region has a rule of its own, or its manifold charts of a dimension that is low enough for a grid."""
    if region.has_exact_nodes:
        return True
    if region.lifted_from is not None:
        return has_nodes(region.lifted_from)
    if region.product_parts:
        return region.manifold.dim <= MAX_PRODUCT_DIM and all(map(has_nodes, region.product_parts))
    manifold = region.manifold
    if manifold.dim > 3:
        return False
    everywhere = ((-1.0,) * manifold.embedding_dim, (1.0,) * manifold.embedding_dim)
    return manifold.charts(None if manifold.is_closed else everywhere) is not None


def build_nodes(region: Region, grid: Grid, prune: Prune | None = None) -> Nodes:
    """Nodes inside the region; kept and shared unless they are pruned to where one density has its mass."""
    if prune is not None:
        return _build(region, grid, prune)
    return shelf_of(region).take(
        grid, lambda: _build(region, grid, None), lambda nodes: len(nodes.X), at_most=_KEPT, size_at_most=_KEPT_NODES
    )


def _build(region: Region, grid: Grid, prune: Prune | None) -> Nodes:
    exact = region.exact_nodes(grid.cell, grid.leaf) if prune is None else None
    if exact is not None:
        found = _without_doubt(*exact)
    elif region.lifted_from is not None:
        found = _lifted_nodes(region, region.lifted_from, grid)
    elif (parts := parts_of(region)) is not None:
        found = _product_nodes(parts, grid)
    else:
        chart = region.manifold.charts(grid.window)
        if isinstance(chart, Curve):
            found = _curve_nodes(region, chart, grid)
        elif chart is not None:
            depth = max(grid.cell + round(np.log2(chart.side)), 0)  # the faces of a cube have side 2
            if isinstance(chart, SolidChart):
                found = solid_nodes(region, chart, depth, depth + grid.leaf, prune, MAX_NODES)
            else:
                found = tree_nodes(region, chart, depth, depth + grid.leaf, prune, MAX_NODES)
        else:
            raise InvalidInputError(
                f"{region.manifold!r} has no charts to integrate in, so that there is no quadrature over {region!r}."
            )
    with np.errstate(divide="ignore"):
        return Nodes(found.X, np.log(found.weights), found.n_inside, found.doubts)


def _without_doubt(X: FloatArray, weights: FloatArray) -> TreeNodes:
    """Nodes of a rule that knows the border exactly."""
    return TreeNodes(X, weights, 1 << 30, Doubts.joined([], X.shape[1]))


def _lifted_nodes(region: Region, below: Region, grid: Grid) -> TreeNodes:
    """The nodes of the region below, each with evenly spaced points above it."""
    # Distances above are half of those below.
    nodes = build_nodes(below, replace(grid, cell=grid.cell - 1))
    if len(nodes.X) * region.lift(nodes.X[:1], grid.cell, grid.leaf)[0].shape[1] > MAX_NODES:
        raise TooManyNodesError(
            f"More than {MAX_NODES:,} nodes would be needed: the density is too concentrated for quadrature. "
            "ScoreMatching needs none."
        )
    X, share = region.lift(nodes.X, grid.cell, grid.leaf)
    doubts = nodes.doubts
    places = region.lift(doubts.X, grid.cell, grid.leaf)[0]
    k, D = X.shape[1:]
    # Doubts above one point are all alike: √k times as large, their squares add up to the square of their sum.
    of_doubts = [np.repeat(factor * share * area, k) for factor, area in
                 ((1.0, doubts.bias), (np.sqrt(k), doubts.spread), (1.0, doubts.blind))]  # fmt: skip
    weights = np.repeat(share * np.exp(nodes.log_weights), k)
    return TreeNodes(X.reshape(-1, D), weights, nodes.n_inside, Doubts(places.reshape(-1, D), *of_doubts))


def _product_nodes(region: ProductRegion, grid: Grid) -> TreeNodes:
    parts = [build_nodes(part, grid.of_part(k, own)) for k, (part, own) in enumerate(region.pieces())]
    if np.prod([float(len(nodes.X)) for nodes in parts]) > MAX_NODES:
        raise TooManyNodesError(
            f"More than {MAX_NODES:,} nodes would be needed over a product of regions: the density is too concentrated "
            "for quadrature. ScoreMatching needs none."
        )
    return combined_nodes([(nodes.X, np.exp(nodes.log_weights), nodes.n_inside, nodes.doubts) for nodes in parts])


def _curve_nodes(region: Region, curve: Curve, grid: Grid) -> TreeNodes:
    """Intervals of a curve inside the region, each with a composite Gauss rule."""
    low, high, points = curve.low, curve.high, curve.points
    side = curve.unit * 2.0**-grid.cell
    ends = _interval_ends(region, points, low, high)
    x, w = np.polynomial.legendre.leggauss(8)
    nodes, weights = [np.empty(0)], [np.empty(0)]
    for start, end in ends.reshape(-1, 2):
        pieces = np.linspace(start, end, int(np.ceil((end - start) / side)) + 1 + grid.leaf)
        half = 0.5 * np.diff(pieces)
        nodes.append((0.5 * (pieces[1:] + pieces[:-1])[:, None] + half[:, None] * x).ravel())
        weights.append((half[:, None] * w).ravel())
    found = _without_doubt(points(np.concatenate(nodes)), np.concatenate(weights))
    # The place of an end is rounded.
    rounding = np.full(len(ends), 8.0 * np.finfo(float).eps * max(abs(low), abs(high)))
    return replace(found, doubts=Doubts(points(ends), 0.0 * rounding, 0.0 * rounding, rounding))


def _interval_ends(region: Region, points: Callable[[FloatArray], FloatArray], low: float, high: float) -> FloatArray:
    """Starts and ends, in turn, of the intervals of a curve inside the region, shape (2k,).

    The distance to the border shows which pieces of the curve have none; the others are halved, so that
    no interval of more than a billionth of the curve is missed.
    """
    middle = low + (high - low) * (np.arange(_PIECES) + 0.5) / _PIECES
    half = 0.5 * (high - low) / _PIECES
    places, states = [np.empty(0)], [np.empty(0, dtype=bool)]
    for level in range(_HALVINGS + 1):
        d, _, clear = region.clearance(points(middle), half)
        known = clear | (level == _HALVINGS)
        places.append(middle[known])
        states.append(d[known] > 0.0)
        half *= 0.5
        middle = (middle[~known][:, None] + np.array([-half, half])).ravel()
    s, inside = np.concatenate(places), np.concatenate(states)
    order = np.argsort(s)
    s, inside = s[order], inside[order]
    changes = np.flatnonzero(inside[1:] != inside[:-1])
    a, b, sign = s[changes], s[changes + 1], inside[changes]
    for _ in range(60):  # bisection, all ends at once
        between = 0.5 * (a + b)
        same = (region.signed_distance(points(between))[0] > 0.0) == sign if len(between) else sign
        a, b = np.where(same, between, a), np.where(same, b, between)
    return np.concatenate([[low] if inside[0] else [], 0.5 * (a + b), [high] if inside[-1] else []])
