"""What likelihoods under truncation share: nodes that stand for the region, and how fine they must be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, TooManyNodesError
from tmsm.matching.equations import Equations
from tmsm.measure.integrals import Plan

__all__ = ["DRAW_ERROR_SHARE", "NodeLikelihood", "ScoreEquations", "no_maximum", "number_of_draws", "refined"]

# The nodes are refined until they move the estimate by less than this share of its standard error.
_ERROR_SHARE = 0.05
# Random nodes add their variance to the estimate's, which is then stated: a tenth of a standard error adds 0.5 %.
DRAW_ERROR_SHARE = 0.1
_FEWEST_DRAWS, _MOST_DRAWS, _MOST_DRAW_NUMBERS = 50_000, 1_000_000, 20_000_000


@dataclass(frozen=True, kw_only=True)
class NodeLikelihood(ABC):
    """The mean of −log p over rows, by nodes, at any θ near the one that they were made for.

    Attributes
    ----------
    error_share
        What the nodes' error moves the estimate by, in standard errors.
    extra_variance
        What random nodes add to 1/n in the covariance; zero for a grid.
    cell
        How fine the grid is; None for random nodes.
    pruned
        Whether the grid covers only where the density that it was made for has its mass.
    made_for
        θ of the density that the nodes were made for, shape (p,).
    """

    error_share: float = 0.0
    extra_variance: float = 0.0
    cell: int | None = None
    pruned: bool = False
    made_for: FloatArray | None = None

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes."""

    @abstractmethod
    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient (p,) and Hessian (p, p)."""

    @property
    def description(self) -> str:
        """The nodes and their error, in words."""
        kind = "quadrature nodes" if self.cell is not None else "Monte Carlo nodes"
        share = 100.0 * self.error_share
        size = "below 0.01" if share < 0.01 else f"{share:.2g}"
        return f"{self.n_nodes:,} {kind}; their error is {size} % of the standard error"


class ScoreEquations(Equations):
    """e_i(θ) = E s − s(x_i), the slope of minus the log-likelihood of a row, s = ∂ log p/∂θ."""

    @property
    def n_equations(self) -> int:
        return self.n_parameters

    @property
    def is_linear(self) -> bool:
        return False

    @property
    def uses_distance(self) -> bool:
        return False

    @abstractmethod
    def expectation(self, theta: FloatArray) -> FloatArray:
        """E s under θ, up to what s leaves out, shape (p,)."""

    def expected(self, theta: FloatArray) -> FloatArray:
        """The `expectation`, kept: one pass asks for the same in every block."""
        known = self.__dict__.get("_known")
        if known is None or not np.array_equal(known[0], theta):
            known = self.__dict__["_known"] = theta.copy(), self.expectation(theta)
        expected: FloatArray = known[1]
        return expected


L = TypeVar("L", bound=NodeLikelihood)


def refined(make: Callable[[Plan], L], plan: Plan, theta: FloatArray, tangent: FloatArray, effective_n: float) -> L:
    """The likelihood by nodes that are fine enough for so many rows; ``tangent`` (p, k) is that of the family at θ."""
    coarse = make(plan)
    while True:
        finer, last = plan.finer, False
        if finer is None:
            return coarse
        try:
            fine = make(finer)
        except TooManyNodesError:
            if coarse.error_share > 0.0:
                return coarse
            # The finest nodes there can be; what the step to them changed tells their error.
            coarse, fine, last = make(plan.coarser), coarse, True
        _, before, _ = coarse(theta)
        _, after, hessian = fine(theta)
        # How far the change moves θ̂, in standard errors: sqrt(n Δᵀ Cov⁻¹ Δ) along the family.
        change = tangent.T @ (after - before)
        moved = np.linalg.lstsq(tangent.T @ hessian @ tangent, change)[0]
        share = float(np.sqrt(max(effective_n * float(change @ moved), 0.0)))
        fine = replace(fine, error_share=share)
        if share <= _ERROR_SHARE or last:
            return fine
        plan, coarse = finer, fine


def number_of_draws(effective_n: float, size: int) -> int:
    """How many random nodes so many rows and parameters ask for."""
    wanted = effective_n / DRAW_ERROR_SHARE**2
    return int(min(max(wanted, _FEWEST_DRAWS), _MOST_DRAWS, _MOST_DRAW_NUMBERS // size))


def no_maximum() -> EstimationError:
    """What to raise where a search found none."""
    return EstimationError(
        "The likelihood under truncation has no maximum that could be found: inside this region the rows "
        "do not determine every parameter. Use more rows, fix what is known, or a smaller model."
    )
