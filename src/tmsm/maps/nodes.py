"""Nodes for maps: enough for the functions of a series, and fine enough for the density that was found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, TooManyNodesError
from tmsm.manifolds import Manifold
from tmsm.measure.integrals import Plan, log_sum, plan_nodes
from tmsm.regions import Region

__all__ = ["closed_extent", "even_plan", "finer_plan", "plan_for"]

# Nodes for each function of a series, and how many a likelihood is computed with at most.
_NODES_PER_FUNCTION, _MOST_NODES = 20, 150_000
# Finer nodes move the logarithm of an integral by no more than this.
_SAME = 1e-5
# Draws that show how far a closed manifold extends.
_SOME = 1024


@final
@dataclass(frozen=True)
class _Even:
    """The uniform density inside a region."""

    manifold: Manifold

    def log_kernel(self, X: FloatArray) -> FloatArray:
        return np.zeros(len(X))

    def log_gradient(self, X: FloatArray) -> FloatArray:
        return np.zeros_like(X)

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return np.zeros(len(X))

    def extent(self) -> tuple[FloatArray, FloatArray]:
        return closed_extent(self.manifold)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def log_normaliser(self) -> float:
        raise NotImplementedError

    @property
    def rounding(self) -> float:
        return 0.0


def closed_extent(manifold: Manifold) -> tuple[FloatArray, FloatArray]:
    """Corners, shape (D,), of a box that holds the closed factors of a manifold; infinite along the others."""
    D = manifold.embedding_dim
    low, high = np.full(D, -np.inf), np.full(D, np.inf)
    for factor, own in zip(manifold.factors, manifold.columns, strict=True):
        if factor.is_closed:
            with suppress(InvalidInputError):  # one that cannot be drawn from
                some = factor.uniform(_SOME, 0)
                room = 0.1 * np.ptp(some, axis=0)
                low[own], high[own] = some.min(axis=0) - room, some.max(axis=0) + room
    return low, high


def even_plan(region: Region, n_functions: int) -> Plan:
    """Nodes all over a region, so many times as many as functions are to be integrated."""
    try:
        plan = plan_nodes(_Even(region.manifold), region).affordable
    except InvalidInputError as error:
        if region.manifold.is_closed:
            raise
        raise InvalidInputError(
            "A map needs a region that ends on all sides: intersect it with one that does, such as Box(lower, upper)."
        ) from error
    while len(plan.nodes().X) < _NODES_PER_FUNCTION * n_functions:
        finer = finer_plan(plan)
        if finer is None:
            break
        plan = finer
    return plan


def plan_for(log_kernel: Callable[[FloatArray], FloatArray], plan: Plan) -> Plan:
    """The plan itself, or a finer one where the integral of a density (its logarithm at points) needs it."""
    here = _log_integral(log_kernel, plan)
    while (finer := finer_plan(plan)) is not None:
        there = _log_integral(log_kernel, finer)
        if abs(there - here) <= _SAME:
            break
        plan, here = finer, there
    return plan


def _log_integral(log_kernel: Callable[[FloatArray], FloatArray], plan: Plan) -> float:
    nodes = plan.nodes()
    return log_sum(log_kernel(nodes.X) + nodes.log_weights)


def finer_plan(plan: Plan) -> Plan | None:
    """One step finer; None where that would be too many nodes."""
    grid = replace(plan.grid, cell=plan.grid.cell + 1, cells=tuple(cell + 1 for cell in plan.grid.cells))
    finer = replace(plan, grid=grid)
    try:
        return finer if len(finer.nodes().X) <= _MOST_NODES else None
    except TooManyNodesError:
        return None
