"""The density of a series: exp(θ·t) inside a region, with the error of its logarithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.manifolds.frames import Frame
from tmsm.maps.nodes import even_plan, plan_for
from tmsm.maps.parts import common_part
from tmsm.maps.region_density import Level, RegionDensity
from tmsm.maps.series import Series
from tmsm.maps.shares import Share
from tmsm.measure.cell_draws import draw_by_cells
from tmsm.measure.draws import draw_inside
from tmsm.measure.integrals import Plan, log_sum
from tmsm.measure.nodes import Nodes
from tmsm.regions import Region

__all__ = ["SeriesDensity"]

# Statistics are computed for so many points at a time.
_BLOCK = 20_000
# Nodes for levels of the density: so many times twenty.
_LEVELS = 2500
# Where there are no charts, and no nodes: uniform draws that are looked at.
_DRAWS, _MOST_DRAWS = 2**16, 2**24
# A bound of the density among so many draws is taken to be higher by this in its logarithm.
_ROOM = 1.0


@final
@dataclass(frozen=True, eq=False)
class SeriesDensity(RegionDensity):
    """exp(θ·t(x)) over its integral.

    Attributes
    ----------
    region, frame
        Where it lives, and what directions stand for.
    series, theta
        The functions t and their coefficients, shape (p,).
    covariance
        Of the coefficients, with what the ridge adds for the bias, shape (p, p).
    plan
        The nodes on which it is integrated; None where the region has none.
    """

    region: Region
    frame: Frame
    series: Series
    theta: FloatArray
    covariance: FloatArray
    plan: Plan | None

    def kernel(self, X: FloatArray) -> FloatArray:
        """θ·t, shape (n,)."""
        return self.series.log_kernel(X, self.theta)

    def _in_blocks(self, X: FloatArray, of: Callable[[FloatArray], FloatArray]) -> FloatArray:
        blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
        return np.concatenate([np.empty(0), *(of(self.series.statistics(block)) for block in blocks)])

    @property
    def nodes(self) -> Nodes:
        """Points with areas that stand for the region; an error where it has none."""
        if self.plan is None:
            raise InvalidInputError(
                f"There is no quadrature over this region of {self.region.manifold!r}: a map by score matching is "
                "known there up to a constant."
            )
        return self.plan.nodes()

    @cached_property
    def _on_nodes(self) -> tuple[FloatArray, FloatArray, float, FloatArray]:
        """The kernel at the nodes (m,), their probabilities (m,), the log of the integral, and the mean of t (p,)."""
        nodes = self.nodes
        kernel = self.kernel(nodes.X)
        total = log_sum(kernel + nodes.log_weights)
        q = np.exp(kernel + nodes.log_weights - total)
        return kernel, q, total, self._mean(nodes, q)

    def _mean(self, nodes: Nodes, q: FloatArray) -> FloatArray:
        total = np.zeros(self.series.size)
        for start in range(0, len(q), _BLOCK):
            own = slice(start, start + _BLOCK)
            total += q[own] @ self.series.statistics(nodes.X[own])
        return total

    @property
    def errors_have_bias(self) -> bool:
        return True

    @property
    def log_integral(self) -> float:
        """Logarithm of ∫ exp(θ·t) over the region."""
        return self._on_nodes[2]

    @cached_property
    def area(self) -> float:
        return float(np.exp(self.nodes.log_weights).sum())

    def log_density(self, X: FloatArray) -> FloatArray:
        return self.kernel(X) - self.log_integral

    def log_errors(self, X: FloatArray) -> FloatArray:
        mean = self._on_nodes[3]

        def errors(t: FloatArray) -> FloatArray:
            centred = t - mean
            return np.asarray(np.sqrt(np.maximum(((centred @ self.covariance) * centred).sum(axis=1), 0.0)))

        return self._in_blocks(X, errors)

    def share_in(self, part: Region) -> Share:
        own = common_part(self.region, part)
        if own == self.region:
            return Share(1.0, 0.0)
        try:
            plan = even_plan(own, 1)
        except EstimationError:  # they have nothing in common
            return Share(0.0, 0.0)
        nodes = plan_for(self.kernel, plan).nodes()
        log_weights = self.kernel(nodes.X) + nodes.log_weights
        inside = log_sum(log_weights)
        share = float(np.exp(min(inside - self.log_integral, 0.0)))
        # ∇ log share = E_part t − E t
        slope = self._mean(nodes, np.exp(log_weights - inside)) - self._on_nodes[3]
        variance = float(slope @ self.covariance @ slope)
        return Share(share, share * float(np.sqrt(max(variance, 0.0))))

    def level_of(self, share: float) -> Level:
        kernel, areas = self._many_levels
        q = np.exp(kernel - kernel[0]) * areas
        q /= q.sum()
        # Half of a node counts at its own level.
        level = float(np.interp(share, np.cumsum(q) - 0.5 * q, kernel))
        covered = np.cumsum(areas) - 0.5 * areas
        return Level(level - self.log_integral, float(np.interp(-level, -kernel, covered)))

    @cached_property
    def _many_levels(self) -> tuple[FloatArray, FloatArray]:
        """The kernel, from the highest on, at more nodes than an integral needs, and their areas."""
        nodes = plan_for(self.kernel, even_plan(self.region, _LEVELS)).nodes()
        kernel = self.kernel(nodes.X)
        order = np.argsort(-kernel)
        return kernel[order], np.exp(nodes.log_weights)[order]

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        manifold = self.region.manifold
        window = None if self.plan is None else self.plan.grid.window
        if manifold.dim <= 3 and (manifold.is_closed or window is not None):
            chart = manifold.charts(window)
            if chart is not None:
                return draw_by_cells(self.kernel, self.region, window, n, rng)
        return self._draw_by_rejection(n, rng)

    def _draw_by_rejection(self, n: int, rng: np.random.Generator) -> FloatArray:
        """From uniform draws, on a closed manifold or in the box round the region."""
        manifold = self.region.manifold
        low, high = self.region.bounds

        def uniform(count: int) -> FloatArray:
            if manifold.is_closed:
                return manifold.uniform(count, rng)
            return rng.uniform(low, high, (count, len(low)))

        if not manifold.is_closed and not (manifold.is_flat and np.isfinite([low, high]).all()):
            raise InvalidInputError(f"There are no uniform draws in {self.region!r} to make a sample from.")
        some = draw_inside(uniform, 4096, self.region)
        bound = float(self.kernel(some).max()) + _ROOM
        kept, have, drawn = [some[:0]], 0, 0
        while have < n:
            X = draw_inside(uniform, _DRAWS, self.region)
            excess = self.kernel(X) - bound
            if (excess > 0.0).any():
                bound += float(excess.max()) + _ROOM
                kept, have = [some[:0]], 0
            else:
                kept.append(X[np.log(rng.uniform(size=len(X))) < excess])
                have += len(kept[-1])
            drawn += _DRAWS
            if drawn >= _MOST_DRAWS and have < n:
                raise EstimationError(
                    f"Only {have} of {drawn:,} uniform draws were accepted: the density is too concentrated to be "
                    "drawn from in this dimension."
                )
        return np.concatenate(kept)[:n]
