"""Quadrature inside regions: nodes that are built once for each region and shared by all fits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.cells import CubeChart, Doubts, PlaneChart, Prune, TreeNodes, tree_nodes
from tmsm.manifolds import Sphere
from tmsm.regions.base import Region
from tmsm.regions.spherical import Cap

__all__ = ["MAX_NODES", "Grid", "Nodes", "Window", "build_nodes", "has_nodes"]

MAX_NODES = 1_500_000
# So many grids, and nodes in all, are kept for one region: a few levels of a few densities.
_KEPT, _KEPT_NODES = 12, 3 * MAX_NODES
# A curve is cut into so many pieces, each of which is halved so often where the border may be.
_PIECES, _HALVINGS = 4096, 20

Window = tuple[tuple[float, ...], tuple[float, ...]]


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

    In a window the side is that share of the window.
    """

    cell: int
    leaf: int
    window: Window | None = None


# Regions are values: equal ones share their nodes, and what is not used any more is dropped with them.
_CACHE: WeakKeyDictionary[Region, dict[Hashable, Nodes]] = WeakKeyDictionary()


def has_nodes(region: Region) -> bool:
    """Whether the region's dimension is low enough for a grid."""
    return region.manifold.dim <= 2


def build_nodes(region: Region, grid: Grid, prune: Prune | None = None) -> Nodes:
    """Nodes inside the region; kept and shared unless they are pruned to where one density has its mass."""
    if prune is not None:
        return _build(region, grid, prune)
    known = _CACHE.setdefault(region, {})
    if grid not in known:
        known[grid] = _build(region, grid, None)
        while len(known) > 1 and (len(known) > _KEPT or sum(len(nodes.X) for nodes in known.values()) > _KEPT_NODES):
            known.pop(next(iter(known)))  # the oldest
    return known[grid]


def _build(region: Region, grid: Grid, prune: Prune | None) -> Nodes:
    if region.manifold.dim == 1:
        found = _curve_nodes(region, grid)
    elif isinstance(region, Cap) and prune is None:
        found = _cap_nodes(region, grid)
    else:
        sphere = isinstance(region.manifold, Sphere)
        assert sphere or grid.window is not None, "a flat region needs a window"
        chart = CubeChart() if sphere or grid.window is None else PlaneChart(*map(np.array, grid.window))
        depth = grid.cell + int(sphere)  # the faces of the cube have side 2
        found = tree_nodes(region, chart, depth, depth + grid.leaf, prune, MAX_NODES)
    with np.errstate(divide="ignore"):
        return Nodes(found.X, np.log(found.weights), found.n_inside, found.doubts)


def _without_doubt(X: FloatArray, weights: FloatArray) -> TreeNodes:
    """Nodes of a rule that knows the border exactly."""
    return TreeNodes(X, weights, 1 << 30, Doubts.joined([], X.shape[1]))


def _cap_nodes(cap: Cap, grid: Grid) -> TreeNodes:
    """Gauss–Legendre in the height along the axis, equal steps round it: exact for polynomials."""
    share = 3.0 * 2.0**grid.cell * (1.0 + 0.1 * grid.leaf)  # nodes for each radian
    n_heights = int(np.ceil(share * cap.radius)) + 8
    n_angles = int(np.ceil(share * 2.0 * np.pi * np.sin(min(cap.radius, 0.5 * np.pi)))) + 16
    x, w = np.polynomial.legendre.leggauss(n_heights)
    # 1 − height keeps its digits on small caps.
    height = 2.0 * np.sin(0.5 * cap.radius) ** 2
    depth = height * 0.5 * (1.0 + x)
    angle = 2.0 * np.pi * (np.arange(n_angles) + 0.5) / n_angles
    across = np.linalg.svd(cap.center[None, :])[2][1:]
    rim = np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1]
    sine = np.sqrt(depth * (2.0 - depth))
    X = (1.0 - depth)[:, None, None] * cap.center + sine[:, None, None] * rim
    weights = 0.5 * w * height * (2.0 * np.pi / n_angles)
    return _without_doubt(X.reshape(-1, 3), np.repeat(weights, n_angles))


def _curve_nodes(region: Region, grid: Grid) -> TreeNodes:
    """Intervals of a circle or a line inside the region, each with a composite Gauss rule."""
    if isinstance(region.manifold, Sphere):
        low, high = 0.0, 2.0 * np.pi
        side = 2.0**-grid.cell

        def points(s: FloatArray) -> FloatArray:
            return np.column_stack([np.cos(s), np.sin(s)])

    else:
        assert grid.window is not None, "a flat region needs a window"
        low, high = grid.window[0][0], grid.window[1][0]
        side = (high - low) * 2.0**-grid.cell

        def points(s: FloatArray) -> FloatArray:
            return s[:, None]

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
        d = region.signed_distance(points(middle))[0]
        known = (np.abs(d) >= half) | (level == _HALVINGS)
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
