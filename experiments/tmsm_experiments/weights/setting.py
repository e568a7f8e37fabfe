"""A truth inside a region where weights are tried, and what an efficient estimate would reach there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

BOUND_ROWS = 4_000_000
SEEDS = {100: 400, 300: 400, 1_000: 300, 10_000: 100, 100_000: 10}


@dataclass(frozen=True)
class Setting:
    """A truth inside a region; ``size`` names the parameter whose interval and bias are reported."""

    name: str
    model: Any
    region: Any
    params: dict[str, Any]
    size: str = "concentration"
    exact: bool = True  # whether the likelihood's integral is in reach
    weights: tuple[str, ...] = field(default=())
    seeds: dict[int, int] = field(default_factory=lambda: SEEDS)  # number of seeds for each number of rows
    draw: Callable[[int, int], np.ndarray] | None = None  # rows from their number and a seed, where the model has none
    nodes: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None  # points and log areas, instead of many draws
    profiles: bool = True  # whether intervals of all weights are profiles, or of the default alone

    def sample(self, n: int, seed: int) -> np.ndarray:
        if self.draw is not None:
            return self.draw(n, seed)
        return self.model.sample(n, self.region, random_state=seed, **self.params)

    @cached_property
    def theta(self) -> np.ndarray:
        return self.model.on(self.region.manifold).natural_parameters(**self.params)

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tangent T of the family (p, k), and mean and covariance of Tᵀt under the truth."""
        model = self.model.on(self.region.manifold)
        tangent = model.constraint.tangent(self.theta)
        if self.nodes is None:
            t = model.statistics(self.sample(BOUND_ROWS, 987_654_321)) @ tangent
            return tangent, t.mean(axis=0), np.atleast_2d(np.cov(t.T))
        X, log_areas = self.nodes()
        exponents = model.log_kernel(X, self.theta) + log_areas
        p = np.exp(exponents - exponents.max())
        t = model.statistics(X) @ tangent
        return tangent, np.average(t, axis=0, weights=p), np.atleast_2d(np.cov(t.T, aweights=p, ddof=0))

    def efficient_error(self, X: np.ndarray) -> np.ndarray:
        """I⁻¹ (mean t − E t): the error of an estimate that attains the Cramér–Rao bound on these rows, shape (p,)."""
        tangent, mean, information = self.moments
        t = self.model.on(self.region.manifold).statistics(X) @ tangent
        return tangent @ np.linalg.solve(information, t.mean(axis=0) - mean)
