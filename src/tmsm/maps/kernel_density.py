"""A density of kernels, each cut at the border and made whole again inside it, on a uniform background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError
from tmsm.manifolds.frames import Frame
from tmsm.maps.cut_mass import inside_masses
from tmsm.maps.kernel_sums import KernelTree
from tmsm.maps.nodes import even_plan
from tmsm.maps.parts import common_part
from tmsm.maps.region_density import Level, RegionDensity
from tmsm.maps.shares import Share
from tmsm.measure.cell_draws import draw_by_cells
from tmsm.regions import Region

__all__ = ["KernelDensity"]

# Draws by which levels are found.
_DRAWS = 40_000
_MAX_ROUNDS = 10_000


@final
@dataclass(frozen=True, eq=False)
class KernelDensity(RegionDensity):
    """(1 − background) Σ w_j K_j + background/area.

    Attributes
    ----------
    region, frame
        Where it lives, and what directions stand for.
    X
        Centres, shape (n, D).
    weight
        Shares of the kernels, with sum one, shape (n,).
    kappa
        Concentrations 1/h² of the kernels, shape (n,).
    inside
        How much of each lies inside the border, shape (n,).
    background
        Share of the uniform background.
    groups
        Which rows belong together, shape (n,), or None.
    region_area
        Area of the region; infinite where it has no end or none is known.
    """

    region: Region
    frame: Frame
    X: FloatArray
    weight: FloatArray
    kappa: FloatArray
    inside: FloatArray
    background: float
    groups: IntArray | None
    region_area: float

    @property
    def area(self) -> float:
        return self.region_area

    @cached_property
    def _tree(self) -> KernelTree:
        return KernelTree.of(self.region.manifold.functions(self.X))

    @cached_property
    def _heights(self) -> FloatArray:
        """Logarithms of w_j times the height of each kernel, shape (n,)."""
        with np.errstate(divide="ignore"):
            log_weight = np.log(self.weight)
        return log_weight - self.region.manifold.log_bell_mass(self.kappa) - np.log(self.inside)

    def _log_kernels(self, X: FloatArray) -> FloatArray:
        return self._tree.log_sums(self.region.manifold.functions(X), self._heights, self.kappa)

    def _log_even(self) -> float:
        return float(np.log(self.background) - np.log(self.area)) if self.background > 0.0 else -np.inf

    def log_density(self, X: FloatArray) -> FloatArray:
        return np.asarray(np.logaddexp(np.log1p(-self.background) + self._log_kernels(X), self._log_even()))

    def log_errors(self, X: FloatArray) -> FloatArray:
        Y = self.region.manifold.functions(X)
        kernels, whole = self._log_kernels(X), self.log_density(X)
        totals = self._independent_weights
        # Relative to their sum m: Σ (A_g − W_g m)² over independent parts g, A_g of the sum and W_g of the weight.
        squares = self._tree.squares(Y, self._heights, self.kappa, self.groups, kernels)
        if (totals == totals[0]).all():
            products: FloatArray | float = totals[0]
        else:
            own = totals if self.groups is None else totals[self.groups]
            products = np.exp(self._tree.log_sums(Y, self._heights + np.log(own), self.kappa) - kernels)
        squared = float(totals @ totals)
        b = self.background
        share = np.exp(np.log1p(-b) + kernels - whole)
        variance = share**2 * np.maximum(squares - 2.0 * products + squared, 0.0)
        if b > 0.0:
            # The share of the background is known as well as that of independent rows.
            apart = np.exp(self._log_even() - whole) - np.exp(kernels - whole)
            variance += apart**2 * b * (1.0 - b) * squared
        return np.asarray(np.sqrt(variance))

    @cached_property
    def _independent_weights(self) -> FloatArray:
        """Weights of what is independent, with sum one: of rows, or of groups where there are any."""
        return self.weight if self.groups is None else np.bincount(self.groups, self.weight).astype(np.float64)

    def share_in(self, part: Region) -> Share:
        own = common_part(self.region, part)
        if own == self.region:
            return Share(1.0, 0.0)
        within = inside_masses(own, self.X, self.kappa, np.random.default_rng(0))[0] / self.inside
        mean = float(self.weight @ within)
        parts: FloatArray = self.weight * (within - mean)
        if self.groups is not None:
            parts = np.bincount(self.groups, parts).astype(np.float64)
        even = self._area_of(own) / self.area if self.background > 0.0 else 0.0
        value = (1.0 - self.background) * mean + self.background * even
        return Share(value, (1.0 - self.background) * float(np.sqrt(parts @ parts)))

    def _area_of(self, part: Region) -> float:
        try:
            return float(np.exp(even_plan(part, 1).nodes().log_weights).sum())
        except EstimationError:
            return 0.0

    def level_of(self, share: float) -> Level:
        values = self._levels
        level = float(np.quantile(values, 1.0 - share))
        # E[1{p > t}/p] is the area above t; on a plateau any part of it will do for what is missing.
        above = values > level
        missing = max(share - float(above.mean()), 0.0)
        return Level(level, float(np.where(above, np.exp(-values), 0.0).mean()) + missing * float(np.exp(-level)))

    @cached_property
    def _levels(self) -> FloatArray:
        return self.log_density(self.draw(_DRAWS, np.random.default_rng(0)))

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        even = int(rng.binomial(n, self.background)) if self.background > 0.0 else 0
        chosen = rng.choice(len(self.X), size=n - even, p=self.weight)
        out, todo = self.X[chosen].copy(), np.arange(n - even)
        for _ in range(_MAX_ROUNDS):
            if len(todo) == 0:
                break
            own = chosen[todo]
            draws = self.region.manifold.bell_draws(self.X[own], self.kappa[own], rng)
            within = self.region.signed_distance(np.asfortranarray(draws))[0] > 0.0
            out[todo[within]] = draws[within]
            todo = todo[~within]
        else:
            raise EstimationError("Some kernels have almost nothing of their mass inside the region to draw from.")
        if even:
            plan = even_plan(self.region, 1)
            out = np.vstack([out, draw_by_cells(_nothing, self.region, plan.grid.window, even, rng)])
        return np.asarray(rng.permutation(out))


def _nothing(X: FloatArray) -> FloatArray:
    return np.zeros(len(X))
