"""Exact draws from a smooth density inside a region: rejection from a density that is constant in cells of a chart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.manifolds import Curve, SolidChart, Window
from tmsm.manifolds.charts import SurfaceChart
from tmsm.regions import Region

__all__ = ["draw_by_cells"]

# Cells along a side of a chart, by the number of coordinates, and how often they are divided further where they must.
_CELLS = {1: 4096, 2: 64, 3: 16}
_MOST_CELLS, _DEEPEST, _FEWEST_INSIDE = 200_000, 40, 32
# Cells in which the log density changes by more are divided, unless they are so far below the highest.
_CHANGE, _FAR_BELOW = 1.0, 30.0
# Between the points that are looked at in a cell the density may be higher by this share of its bend, and a little.
_BEND, _ROOM = 0.25, 0.02
_BLOCK = 2**16
_MAX_ROUNDS = 50
_MAX_BLOCKS = 2000


@dataclass(frozen=True)
class _Cells:
    """Cells of a chart: face (k,), centre (k, d) and half a side (k,)."""

    face: Any
    centre: FloatArray
    half: FloatArray

    def where(self, chosen: BoolArray) -> _Cells:
        return _Cells(self.face[chosen], self.centre[chosen], self.half[chosen])

    def divided(self) -> _Cells:
        corners = np.array(list(product((-0.5, 0.5), repeat=self.centre.shape[1])))
        k = len(corners)
        centre = self.centre[:, None, :] + corners * self.half[:, None, None]
        return _Cells(np.repeat(self.face, k), centre.reshape(-1, self.centre.shape[1]), np.repeat(0.5 * self.half, k))


class _Coordinates:
    """A chart of any dimension in one form: points and log area from a face and coordinates (n, d)."""

    def __init__(self, chart: SolidChart | SurfaceChart | Curve) -> None:
        self.chart = chart
        if isinstance(chart, Curve):
            self.dim, self.faces, self.low, self.side = 1, 1, chart.low, chart.high - chart.low
        else:
            self.dim = 3 if isinstance(chart, SolidChart) else 2
            self.faces, self.low, self.side = chart.faces, chart.low, chart.side

    def points(self, face: Any, s: FloatArray) -> FloatArray:
        if isinstance(self.chart, Curve):
            return self.chart.points(s[:, 0])
        if isinstance(self.chart, SolidChart):
            return self.chart.points(face, s)
        return self.chart.points(face, s[:, 0], s[:, 1])

    def log_area(self, face: Any, s: FloatArray) -> FloatArray:
        if isinstance(self.chart, Curve):
            return np.zeros(len(s))
        density = (
            self.chart.density(face, s)
            if isinstance(self.chart, SolidChart)
            else self.chart.density(face, s[:, 0], s[:, 1])
        )
        with np.errstate(divide="ignore"):
            return np.log(density)

    def radius(self, half: float) -> float:
        return half if isinstance(self.chart, Curve) else self.chart.radius(half)


def draw_by_cells(
    log_density: Callable[[FloatArray], FloatArray],
    region: Region,
    window: Window | None,
    n: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Exactly n draws, shape (n, D), on a manifold that has charts.

    Parameters
    ----------
    log_density
        Its logarithm up to a constant at points (m, D), smooth.
    region
        Where it is not zero.
    window
        Where the chart is, on a manifold without end.
    n
        How many.
    rng
        Where randomness comes from.
    """
    chart = region.manifold.charts(window)
    assert chart is not None, "only regions with charts are drawn from so"
    at = _Coordinates(chart)

    def log_target(face: Any, s: FloatArray) -> FloatArray:
        return log_density(at.points(face, s)) + at.log_area(face, s)

    cells, top = _cells(at, region, log_target)
    # Beyond the border the density may go on to any height.
    bounds = np.minimum(_bounds(cells, log_target), top + 2.0 * _CHANGE)
    for _ in range(_MAX_ROUNDS):
        found = _rejected(at, region, log_target, cells, bounds, n, rng)
        if found is not None:
            return found
    raise EstimationError("The density changes too fast between the cells of a grid to be drawn from.")


def _cells(
    at: _Coordinates, region: Region, log_target: Callable[[Any, FloatArray], FloatArray]
) -> tuple[_Cells, float]:
    """Cells that may hold a part of the region, finer where the density is high and changes, and its top inside."""
    count = _CELLS[at.dim]
    half = 0.5 * at.side / count
    each = at.low + half * (2.0 * np.arange(count) + 1.0)
    grid = np.stack([one.ravel() for one in np.meshgrid(*at.dim * [each], indexing="ij")], axis=1)
    face = np.repeat(np.arange(at.faces), len(grid))
    cells = _Cells(face, np.tile(grid, (at.faces, 1)), np.full(len(face), half))
    done: list[_Cells] = []
    top, n_inside = -np.inf, 0
    for depth in range(_DEEPEST):
        radius = at.radius(float(cells.half[0])) if len(cells.half) else 0.0
        X = at.points(cells.face, cells.centre)
        d, _, clear = region.clearance(X, radius + region.distance_slack)
        cells = cells.where(~clear | (d > 0.0))
        if len(cells.half) == 0:
            break
        values = _looked_at(cells, log_target)
        within = _looked_at(cells, lambda face, s: _inside(region, at.points(face, s))) > 0.0
        highest = np.where(within, values, -np.inf).max(axis=1)
        top = max(top, float(highest.max()))
        # Cells that the border crosses are divided a few times, and until some lie inside, so that few draws are lost.
        n_inside += int(np.count_nonzero(clear & (d > 0.0)))
        crossed = ~clear[~clear | (d > 0.0)] & ((depth < 3) | (n_inside < _FEWEST_INSIDE))
        changing = (np.ptp(values, axis=1) > _CHANGE) & (highest > top - _FAR_BELOW)
        coarse = changing | (crossed & ((highest > top - _FAR_BELOW) | ~within.any(axis=1)))
        room = len(cells.half) + sum(len(one.half) for one in done) + coarse.sum() * 2**at.dim < _MOST_CELLS
        if depth == _DEEPEST - 1 or not coarse.any() or not room:
            done.append(cells)
            break
        done.append(cells.where(~coarse))
        cells = cells.where(coarse).divided()
    if not done:
        raise EstimationError("No part of the region was found to draw from: it has almost no area.")
    fields = ("face", "centre", "half")
    return _Cells(*(np.concatenate([getattr(one, name) for one in done]) for name in fields)), top


def _inside(region: Region, X: FloatArray) -> FloatArray:
    return region.signed_distance(np.asfortranarray(X))[0]


def _looked_at(cells: _Cells, log_target: Callable[[Any, FloatArray], FloatArray]) -> FloatArray:
    """The log density at the corners, edges and centre of each cell, shape (k, 3^d)."""
    offsets = np.array(list(product((-1.0, 0.0, 1.0), repeat=cells.centre.shape[1])))
    values = [log_target(cells.face, cells.centre + cells.half[:, None] * (1.0 - 1e-12) * one) for one in offsets]
    return np.stack(values, axis=1)


def _bounds(cells: _Cells, log_target: Callable[[Any, FloatArray], FloatArray]) -> FloatArray:
    """A bound of the log density in each cell, shape (k,)."""
    values = _looked_at(cells, log_target)
    d = cells.centre.shape[1]
    cube = values.reshape(len(values), *d * [3])
    bends = [np.abs(np.diff(cube, 2, axis=1 + k)).reshape(len(values), -1).max(axis=1) for k in range(d)]
    return np.asarray(values.max(axis=1) + _BEND * np.sum(bends, axis=0) + _ROOM)


def _rejected(
    at: _Coordinates,
    region: Region,
    log_target: Callable[[Any, FloatArray], FloatArray],
    cells: _Cells,
    bounds: FloatArray,
    n: int,
    rng: np.random.Generator,
) -> FloatArray | None:
    """N draws; None where a bound was too low, which is then raised."""
    log_mass = bounds + at.dim * np.log(2.0 * cells.half)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    kept, have = [np.empty((0, region.manifold.embedding_dim))], 0
    for _ in range(_MAX_BLOCKS):
        if have >= n:
            return np.concatenate(kept)[:n]
        k = rng.choice(len(mass), size=_BLOCK if have else min(_BLOCK, 2 * n + 64), p=mass)
        s = cells.centre[k] + cells.half[k, None] * rng.uniform(-1.0, 1.0, (len(k), at.dim))
        excess = log_target(cells.face[k], s) - bounds[k]
        if (excess > 0.0).any():
            np.maximum.at(bounds, k, bounds[k] + excess + _ROOM)
            return None
        accepted = np.log(rng.uniform(size=len(k))) < excess
        X = at.points(cells.face[k[accepted]], s[accepted])
        if len(X):
            X = X[region.signed_distance(np.asfortranarray(X))[0] > 0.0]
        kept.append(X)
        have += len(X)
    raise EstimationError(f"Fewer than {n:,} of {_MAX_BLOCKS * _BLOCK:,} draws fell inside the region.")
