"""Integrals of a model's density over a region: where to put nodes, how fine, and the error that is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tmsm.arrays import FloatArray, row_norms
from tmsm.cells import Prune
from tmsm.errors import EstimationError, TooManyNodesError
from tmsm.manifolds import Euclidean
from tmsm.quadrature import MAX_NODES, Grid, Nodes, Window, build_nodes, has_nodes
from tmsm.regions.base import Region

if TYPE_CHECKING:
    from tmsm.models.base import Model

__all__ = ["KernelIntegral", "LogMass", "Plan", "integrate_kernel", "log_sum", "plan_nodes"]

# Cells are at most so many widths of the density across, and its exponent changes in one by at most so much.
_WIDTHS, _CHANGE = 1.5, 4.0
# Grids finer than this are pruned to where the density has its mass, instead of being kept for the region.
_FINEST_SHARED, _FINEST_SHARED_IN_WINDOW = 5, 6
_LEAF = 3
_PRUNED_LEAF = 1
_MAX_LEAF = 10
# Grids are refined until one step changes the result by less than the first, and the nodes leave less than the
# second in doubt.
_TOLERANCE, _DOUBT_TOLERANCE = 1e-6, 1e-5
# Independent doubts along the border add up to so many times the root of their squares at most.
_SPREADS = 3.0
_DRAWS = 2**18


class LogMass(NamedTuple):
    """Logarithm of a region's probability and its error.

    Up to dimension two the error is a bound in practice; above, by draws, it is a standard error.
    """

    value: float
    error: float


@dataclass(frozen=True)
class KernelIntegral:
    """Logarithm of the integral of exp(log_kernel) over a region and an estimate of its error."""

    log_integral: float
    error: float


@dataclass(frozen=True)
class Plan:
    """Which nodes serve a density: the grid, and how to prune it if it is too fine to be kept."""

    region: Region
    grid: Grid
    prune: Prune | None

    def nodes(self) -> Nodes:
        """The nodes; shared by everyone who asks for the same."""
        return build_nodes(self.region, self.grid, self.prune)

    @property
    def finer(self) -> Plan | None:
        """One step finer next to the border; None at the finest."""
        if self.grid.leaf >= _MAX_LEAF:
            return None
        return self._with_leaf(self.grid.leaf + 1)

    @property
    def coarser(self) -> Plan:
        """One step coarser next to the border."""
        return self._with_leaf(self.grid.leaf - 1)

    @property
    def affordable(self) -> Plan:
        """The plan itself, or the finest coarser one that has not too many nodes."""
        try:
            self.nodes()
        except TooManyNodesError:
            if self.grid.leaf <= 1:
                raise
            return self.coarser.affordable
        return self

    def _with_leaf(self, leaf: int) -> Plan:
        return Plan(self.region, replace(self.grid, leaf=leaf), self.prune)


def log_sum(exponents: FloatArray) -> float:
    """Log Σ exp, without overflow."""
    top = float(exponents.max())
    return top + float(np.log(np.exp(exponents - top).sum()))


def plan_nodes(model: Model, region: Region, theta: FloatArray, X: FloatArray | None = None) -> Plan:
    """Choose nodes for densities like θ's; rows X, if given, lie where the density has its mass."""
    window = _window(model, theta, region, X)
    grid = Grid(2 if window is None else 4, 1, window)
    # Fine enough for the region's shape: some cells must lie inside as a whole.
    while True:
        nodes = build_nodes(region, grid)
        if len(nodes.X) and nodes.n_inside >= 16:
            break
        if grid.cell >= 24:
            raise EstimationError("No part of the region was found to integrate over: it has almost no area.")
        grid = Grid(grid.cell + 1, 1, window)
    # Fine enough for the density's curvature, and then for its slope where it has its mass.
    heavy = _heaviest(model, nodes, theta, X)
    curvature = _curvature(model, region, heavy, theta)
    cell = grid.cell
    for bend in (True, False):
        if bend:
            side = _WIDTHS / np.sqrt(max(curvature, 1e-300))
        else:
            slope = float(row_norms(model.log_gradient(heavy, theta)).max())
            side = _CHANGE / max(slope, 1e-300)
        if window is not None:
            side /= max(high - low for low, high in zip(*window, strict=True))
        cell = max(cell, int(np.ceil(-np.log2(min(side, 1.0)))))
        finest = max(_FINEST_SHARED if window is None else _FINEST_SHARED_IN_WINDOW, grid.cell)
        prune = _pruned_to(model, theta, 2.0 * curvature) if cell > finest else None
        if bend:
            heavy = _heaviest(model, build_nodes(region, Grid(cell, 1, window), prune), theta, X)
    return Plan(region, Grid(cell, _LEAF if prune is None else _PRUNED_LEAF, window), prune)


def _heaviest(model: Model, nodes: Nodes, theta: FloatArray, X: FloatArray | None) -> FloatArray:
    """The nodes that hold the mass of the density, and the rows."""
    exponents = model.log_kernel(nodes.X, theta) + nodes.log_weights
    heavy = nodes.X[exponents >= exponents.max() - 20.0]
    return heavy if X is None else np.vstack([heavy, X])


def integrate_kernel(model: Model, region: Region, theta: FloatArray) -> KernelIntegral:
    """Integrate exp(log_kernel) over the region: by nodes up to dimension two, by draws above.

    The error is the larger of what the last refinement changed and what the nodes themselves leave in doubt.
    """
    if not has_nodes(region):
        return _integrate_by_draws(model, region, theta)
    plan: Plan | None = plan_nodes(model, region, theta).affordable
    assert plan is not None
    before = _on_nodes(model, plan.coarser, theta).log_integral
    found = None
    while plan is not None:
        try:
            after = _on_nodes(model, plan, theta)
        except TooManyNodesError:
            break  # the result so far stands, with its error
        change = abs(after.log_integral - before)
        found, before = KernelIntegral(after.log_integral, max(change, after.error)), after.log_integral
        enough = change <= _TOLERANCE and after.error <= _DOUBT_TOLERANCE
        if enough or after.n_nodes > MAX_NODES // 4:
            break
        plan = plan.finer
    assert found is not None, "the first plan gives a result or raises"
    rounding = 1e-15 * float(np.abs(theta).sum())
    return KernelIntegral(found.log_integral, max(found.error, rounding))


class _OnNodes(NamedTuple):
    """An integral on one grid and what its nodes leave in doubt."""

    log_integral: float
    error: float
    n_nodes: int


def _on_nodes(model: Model, plan: Plan, theta: FloatArray) -> _OnNodes:
    nodes = plan.nodes()
    log_integral = log_sum(model.log_kernel(nodes.X, theta) + nodes.log_weights)
    doubts = nodes.doubts
    error = 0.0
    if len(doubts.X):
        # Density relative to the integral; far outside the region it may be large, but there nothing is in doubt.
        density = np.exp(np.minimum(model.log_kernel(doubts.X, theta) - log_integral, 700.0))
        bias, blind = float(density @ doubts.bias), float(density @ doubts.blind)
        error = abs(bias) + _SPREADS * float(np.linalg.norm(density * doubts.spread)) + blind
    return _OnNodes(log_integral, error, len(nodes.X))


def _integrate_by_draws(model: Model, region: Region, theta: FloatArray) -> KernelIntegral:
    D = region.manifold.embedding_dim
    draws = model.draw(_DRAWS, np.random.default_rng(0), **model.parameters(theta, D))
    n_inside = int(np.count_nonzero(region.signed_distance(draws)[0] > 0.0))
    if n_inside == 0:
        raise EstimationError(
            f"None of {_DRAWS:,} draws fell inside the region: it has less than {3.0 / _DRAWS:.0e} of the mass, "
            f"too little to normalise the density in {region.manifold.dim} dimensions."
        )
    share = n_inside / _DRAWS
    error = float(np.sqrt((1.0 - share) / n_inside))
    return KernelIntegral(model.log_normaliser(theta, D) + float(np.log(share)), error)


def _window(model: Model, theta: FloatArray, region: Region, X: FloatArray | None) -> Window | None:
    """A box of the plane that holds all of the density but e^−40, on rounded numbers so that fits share it."""
    if not isinstance(region.manifold, Euclidean):
        return None
    low, high = model.extent(theta, region.manifold.dim)
    # Where the mass outside the region is nearest to it, that inside is beyond the usual extent.
    distance = max(-float(region.signed_distance(0.5 * (low + high)[None, :])[0][0]), 0.0)
    low, high = low - distance, high + distance
    if X is not None:
        spread = np.ptp(X, axis=0)
        low, high = np.minimum(low, X.min(axis=0) - spread), np.maximum(high, X.max(axis=0) + spread)
    bottom, top = region.bounds
    low, high = np.maximum(low, bottom), np.minimum(high, top)
    unit = 2.0 ** np.ceil(np.log2(high - low) - 4.0)
    rounded_low = np.maximum(np.floor(low / unit) * unit, bottom)
    rounded_high = np.minimum(np.ceil(high / unit) * unit, top)
    return tuple(rounded_low.tolist()), tuple(rounded_high.tolist())


def _curvature(model: Model, region: Region, X: FloatArray, theta: FloatArray) -> float:
    """The largest |Hess log p(v, v)| at some rows, for a few tangent directions v of length one."""
    rng = np.random.default_rng(0)
    X = X[:: -(-len(X) // 256)]
    largest = 0.0
    for _ in range(4):
        V = region.manifold.project_tangent(X, rng.standard_normal(X.shape))
        V = V / np.maximum(row_norms(V), 1e-300)[:, None]
        largest = max(largest, float(np.abs(model.hessian(X, V) @ theta).max()))
    return largest


def _pruned_to(model: Model, theta: FloatArray, curvature: float) -> Prune:
    def prune(X: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
        if len(X) == 0:
            return np.empty(0), np.empty(0)
        values = model.log_kernel(X, theta)
        slope = row_norms(model.log_gradient(X, theta))
        return values, values + slope * radius + curvature * radius**2

    return prune
