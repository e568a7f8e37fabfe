"""Quadrature nodes inside any region of a surface: a tree of square cells, cut along the border.

Cells live in charts in which the border is nearly straight: the six faces of a cube under central
projection, where great circles are straight lines, and a window of the plane.  A cell that the distance
to the border shows to be inside gets a Gauss rule.  One that the border may cross is divided, and at
the smallest size cut along the tangent of the border at its nearest point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from tmsm.arrays import FloatArray
from tmsm.errors import EstimationError
from tmsm.regions.base import Region

__all__ = ["Chart", "CubeChart", "PlaneChart", "Prune", "tree_nodes"]

# Points along one side of a cell that is inside: fewer in the smaller ones next to the border.
_ORDERS = (5, 4, 3, 2)
_SUBCELLS = 8

# Points (n, D) of the surface and a radius ↦ value at the points, and a bound of it within the radius.
Prune = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]
# What is so many logarithms below the largest value does not count.
_NEGLIGIBLE = 36.0


class Chart(ABC):
    """A way to write a surface in flat coordinates (u, v) on a few square faces."""

    faces: int
    low: float
    side: float

    @abstractmethod
    def points(self, face: NDArray[np.intp], u: FloatArray, v: FloatArray) -> FloatArray:
        """Points of the surface, shape (n, D)."""

    @abstractmethod
    def density(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """Area of the surface for one unit of (u, v), shape (n,)."""

    @abstractmethod
    def radius(self, half: float) -> float:
        """A distance from the centre of a cell within which all of it lies."""

    @abstractmethod
    def line(self, face: NDArray[np.intp], X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
        """(a, b, c), shape (n, 3): a + bu + cv > 0 is inside the border's tangent nearest to X."""


@final
class CubeChart(Chart):
    """S² on the faces of the cube [−1, 1]³, projected from the centre."""

    faces, low, side = 6, -1.0, 2.0

    def __init__(self) -> None:
        axes = np.eye(3)
        # The first row points to the middle of the face.
        self._frames = np.array(
            [[s * axes[k], axes[(k + 1) % 3], axes[(k + 2) % 3]] for k in range(3) for s in (1, -1)]
        )

    def points(self, face: NDArray[np.intp], u: FloatArray, v: FloatArray) -> FloatArray:
        flat = np.column_stack([np.ones_like(u), u, v])
        flat /= np.sqrt(1.0 + u * u + v * v)[:, None]
        points: FloatArray = np.einsum("nk,nkd->nd", flat, self._frames[face])
        return points

    def density(self, u: FloatArray, v: FloatArray) -> FloatArray:
        density: FloatArray = (1.0 + u * u + v * v) ** -1.5
        return density

    def radius(self, half: float) -> float:
        return float(np.sqrt(2.0) * half)

    def line(self, face: NDArray[np.intp], X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
        # At the nearest point q = cos d x − sin d ν the inward normal is cos d ν + sin d x.
        normal = np.cos(d)[:, None] * inward + np.sin(d)[:, None] * X
        line: FloatArray = np.einsum("nd,nkd->nk", normal, self._frames[face])
        return line


@final
@dataclass(frozen=True)
class PlaneChart(Chart):
    """The window between ``lower`` and ``upper`` of the plane, both of shape (2,)."""

    lower: FloatArray
    upper: FloatArray

    faces, low, side = 1, 0.0, 1.0

    def points(self, face: NDArray[np.intp], u: FloatArray, v: FloatArray) -> FloatArray:
        return self.lower + np.column_stack([u, v]) * (self.upper - self.lower)

    def density(self, u: FloatArray, v: FloatArray) -> FloatArray:
        return np.full(u.shape, float(np.prod(self.upper - self.lower)))

    def radius(self, half: float) -> float:
        return float(half * np.linalg.norm(self.upper - self.lower))

    def line(self, face: NDArray[np.intp], X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
        nearest = X - d[:, None] * inward
        offset = np.einsum("nd,nd->n", inward, self.lower - nearest)
        return np.column_stack([offset, inward * (self.upper - self.lower)])


@dataclass(frozen=True)
class _Cells:
    """Squares of one size: face, centre (u, v) and half a side."""

    face: NDArray[np.intp]
    u: FloatArray
    v: FloatArray
    half: float

    def __len__(self) -> int:
        return len(self.u)

    def where(self, mask: NDArray[np.bool_]) -> _Cells:
        return _Cells(self.face[mask], self.u[mask], self.v[mask], self.half)

    def divided(self, parts: int) -> _Cells:
        """Each cell in parts × parts, those of one cell next to each other."""
        offset = self.half * (2.0 * np.arange(parts) + 1.0 - parts) / parts
        return self.spread(offset, offset, self.half / parts)

    def spread(self, du: FloatArray, dv: FloatArray, half: float) -> _Cells:
        """The grid of offsets du × dv round every centre."""
        a, b = (grid.ravel() for grid in np.meshgrid(du, dv, indexing="ij"))
        u, v = self.u[:, None] + a, self.v[:, None] + b
        return _Cells(np.repeat(self.face, a.size), u.ravel(), v.ravel(), half)


def tree_nodes(
    region: Region, chart: Chart, depth: int, leaf_depth: int, prune: Prune | None = None, limit: int = 1_500_000
) -> tuple[FloatArray, FloatArray, int]:
    """Nodes (m, D) inside the region, their weights (m,), and how many cells were inside as a whole.

    Cells inside are divided ``depth`` times, those on the border ``leaf_depth`` times.  More nodes than
    ``limit`` are an error.
    """
    nodes: list[tuple[FloatArray, FloatArray]] = []
    middle = chart.low + 0.5 * chart.side
    border = _Cells(
        np.arange(chart.faces), np.full(chart.faces, middle), np.full(chart.faces, middle), 0.5 * chart.side
    )
    inside = border.where(np.zeros(chart.faces, dtype=bool))
    top, n_inside = -np.inf, 0
    for level in range(leaf_depth + 1):
        X = chart.points(border.face, border.u, border.v)
        d, inward = region.signed_distance(X)
        reach = chart.radius(border.half) + region.distance_slack
        crossed = np.abs(d) < reach
        inside = _joined(inside, border.where(d >= reach))
        if prune is not None:
            values, bounds = prune(X, chart.radius(border.half))
            inner, inner_bounds = prune(chart.points(inside.face, inside.u, inside.v), chart.radius(inside.half))
            top = max(top, np.max(values[d > 0.0], initial=-np.inf), np.max(inner, initial=-np.inf))
            crossed &= bounds >= top - _NEGLIGIBLE
            inside = inside.where(inner_bounds >= top - _NEGLIGIBLE)
        if _ORDERS[0] ** 2 * len(inside) + len(border) > limit:
            raise EstimationError(
                f"More than {limit:,} nodes would be needed: the density is too concentrated, or has its mass too "
                "thinly along the border, or the border is too detailed for quadrature. ScoreMatching needs none."
            )
        if level >= depth:
            n_inside += len(inside)
            order = _ORDERS[min(level - depth, len(_ORDERS) - 1)]
            nodes.append(_gauss(chart, inside, order))
            inside = inside.where(np.zeros(len(inside), dtype=bool))
        if level == leaf_depth:
            if level - depth >= len(_ORDERS):
                order = 1  # cells so small that their parts need one node only
            nodes += _cut(region, chart, border.where(crossed), X[crossed], d[crossed], inward[crossed], order)
        else:
            border, inside = border.where(crossed).divided(2), inside.divided(2)
    X, weights = (np.concatenate(parts) for parts in zip(*nodes, strict=True))
    return X, weights, n_inside


def _joined(first: _Cells, second: _Cells) -> _Cells:
    if len(first) == 0:
        return second
    return _Cells(
        np.concatenate([first.face, second.face]),
        np.concatenate([first.u, second.u]),
        np.concatenate([first.v, second.v]),
        first.half,
    )


def _gauss(chart: Chart, cells: _Cells, order: int) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(order)
    spread = cells.spread(cells.half * x, cells.half * x, 0.0)
    weights = np.tile(np.outer(w, w).ravel() * cells.half**2, len(cells)) * chart.density(spread.u, spread.v)
    return chart.points(spread.face, spread.u, spread.v), weights


def _cut(
    region: Region, chart: Chart, cells: _Cells, X: FloatArray, d: FloatArray, inward: FloatArray, order: int
) -> list[tuple[FloatArray, FloatArray]]:
    """The smallest cells on the border: the part inside, as one node at its centroid or four about it.

    Where the centroids of both parts do not lie on the sides that the cut says (corners, seams, bare
    border points), the cell is sampled instead.
    """
    line = chart.line(cells.face, X, d, inward)
    area, u, v, spread = _cut_squares(cells, line)
    whole = (2.0 * cells.half) ** 2
    rest = whole - area
    tiny = 1e-9 * whole
    full = rest <= tiny
    with np.errstate(divide="ignore", invalid="ignore"):
        other_u, other_v = (whole * cells.u - area * u) / rest, (whole * cells.v - area * v) / rest

    def is_inside(a: FloatArray, b: FloatArray, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        out = np.zeros(len(a), dtype=bool)
        out[mask] = region.signed_distance(chart.points(cells.face[mask], a[mask], b[mask]))[0] > 0.0
        return out

    kept = area > tiny
    sound = is_inside(u, v, kept) == kept
    sound &= ~is_inside(other_u, other_v, ~full)
    if region.distance_slack > 0.0:
        sound[:] = False
    simple = sound & kept & ~full
    nodes = [_gauss(chart, cells.where(sound & full), max(order, 2))]
    # Four nodes at √2 standard deviations along the principal axes have the mean and the covariance of the part.
    for offset in np.zeros((1, 2, len(u))) if order == 1 else np.concatenate([spread, -spread]):
        a, b = u[simple] + offset[0, simple], v[simple] + offset[1, simple]
        share = area[simple] * (1.0 if order == 1 else 0.25)
        nodes.append((chart.points(cells.face[simple], a, b), share * chart.density(a, b)))
    unsound = cells.where(~sound)
    if len(unsound):
        sample = unsound.divided(_SUBCELLS)
        points = chart.points(sample.face, sample.u, sample.v)
        within = region.signed_distance(points)[0] > 0.0
        weights = (2.0 * sample.half) ** 2 * chart.density(sample.u, sample.v)
        nodes.append((points[within], weights[within]))
    return nodes


def _cut_squares(cells: _Cells, line: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Area, centroid (u, v) and spread of the part of each square where a + bu + cv > 0.

    The spread is √2 standard deviations along the two principal axes, shape (2, 2, n): axis, coordinate, square.
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
    return area * cells.half**2, cells.u + centroid[:, 0], cells.v + centroid[:, 1], spread.transpose(2, 1, 0)
