"""The likelihood under truncation: −log p averaged over the rows, by nodes inside the region.

    f(θ) = log ∫ e(x) exp(θ·(t(x) − t̄)) dx,   ∇f = E t − t̄,   Hess f = Cov t,

t̄ the mean of the rows and e a known exposure.  Centred at t̄ the exponents are small where the rows
are, so no digits are lost at high concentration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tmsm.arrays import FloatArray, weighted_gram
from tmsm.errors import EstimationError, TooManyNodesError
from tmsm.models.base import Model
from tmsm.models.integration import Plan, plan_nodes
from tmsm.moments import LogExposure, StatisticSums, exposure_values
from tmsm.quadrature import has_nodes
from tmsm.regions.base import Region

__all__ = ["RegionLikelihood", "WholeLikelihood", "likelihood_near"]

# The nodes are refined until they move the estimate by less than this share of its standard error.
_ERROR_SHARE = 0.05
# Nodes made for a θ serve all within this share of its length.
_NEAR = 0.1
# Random nodes add their variance to the estimate's, which is then stated: a tenth of a standard error adds 0.5 %.
_DRAW_ERROR_SHARE = 0.1
_MAX_DRAWS = 1_000_000
_MAX_DRAW_NUMBERS = 20_000_000


@dataclass(frozen=True)
class WholeLikelihood:
    """f where nothing was cut off, from the model's own normalising constant.

    Attributes
    ----------
    model
        The family, in the form that was computed with.
    mean
        t̄, shape (p,).
    row
        Any row, shape (1, D).
    """

    model: Model
    mean: FloatArray
    row: FloatArray

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(θ), its gradient (p,) and Hessian (p, p)."""
        model, D = self.model, self.row.shape[1]
        # log kernel = θ·t + a constant, found at any row.
        value = model.log_normaliser(theta, D) - float(model.log_kernel(self.row, theta)[0])
        value += float((model.statistics(self.row)[0] - self.mean) @ theta)
        expected, covariance = model.expectation(theta, D)
        return value, expected - self.mean, covariance


@dataclass(frozen=True)
class RegionLikelihood:
    """f at any θ near the one that its nodes were made for.

    Attributes
    ----------
    statistics
        t − t̄ at the nodes, shape (m, p).
    log_weights
        Shape (m,), exposure included.
    error_share
        What the nodes' error moves the estimate by, in standard errors.
    extra_variance
        What random nodes add to 1/n in the covariance; zero for a grid.
    cell
        How fine the grid is; None for random nodes.
    """

    statistics: FloatArray
    log_weights: FloatArray
    error_share: float = 0.0
    extra_variance: float = 0.0
    cell: int | None = None

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(θ), its gradient (p,) and Hessian (p, p)."""
        exponents = self.statistics @ theta
        exponents += self.log_weights
        top = float(exponents.max())
        q = np.exp(np.subtract(exponents, top, out=exponents), out=exponents)
        total = float(q.sum())
        q /= total
        gradient = q @ self.statistics
        hessian = weighted_gram(self.statistics, q) - np.outer(gradient, gradient)
        return top + float(np.log(total)), gradient, hessian

    @property
    def description(self) -> str:
        """The nodes and their error, in words."""
        kind = "quadrature nodes" if self.cell is not None else "Monte Carlo nodes"
        share = 100.0 * self.error_share
        size = "below 0.01" if share < 0.01 else f"{share:.2g}"
        return f"{len(self.log_weights):,} {kind}; their error is {size} % of the standard error"

    def suits(self, model: Model, region: Region, theta: FloatArray, made_for: FloatArray, sample: FloatArray) -> bool:
        """Whether nodes that were made for one θ serve another as well."""
        if self.cell is None:
            return self.effective_nodes(theta) >= 0.5 * self.effective_nodes(made_for)
        if np.linalg.norm(theta - made_for) <= _NEAR * np.linalg.norm(made_for):
            return True
        return plan_nodes(model, region, theta, sample).grid.cell <= self.cell

    def effective_nodes(self, theta: FloatArray) -> float:
        """For random nodes: how many equally weighted ones they are worth at θ."""
        exponents = self.statistics @ theta + self.log_weights
        q = np.exp(exponents - exponents.max())
        return float(q.sum() ** 2 / (q @ q))


def likelihood_near(
    model: Model,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    sample: FloatArray,
    log_exposure: LogExposure | None = None,
    random_state: Any = 0,
) -> RegionLikelihood:
    """The likelihood with nodes that suit densities near θ and the number of rows."""
    if has_nodes(region):
        return _by_quadrature(model, region, theta, sums, sample, log_exposure)
    return _by_draws(model, region, theta, sums, log_exposure, random_state)


def _by_quadrature(
    model: Model,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    sample: FloatArray,
    log_exposure: LogExposure | None,
) -> RegionLikelihood:
    tangent = model.constraint(region.manifold.embedding_dim).tangent(theta)
    plan = plan_nodes(model, region, theta, sample).affordable
    coarse = _on_grid(model, plan, sums.mean, log_exposure)
    while True:
        finer, last = plan.finer, False
        if finer is None:
            return coarse
        try:
            fine = _on_grid(model, finer, sums.mean, log_exposure)
        except TooManyNodesError:
            if coarse.error_share > 0.0:
                return coarse
            # The finest nodes there can be; what the step to them changed tells their error.
            coarse, fine, last = _on_grid(model, plan.coarser, sums.mean, log_exposure), coarse, True
        _, before, _ = coarse(theta)
        _, after, hessian = fine(theta)
        # How far the change moves θ̂, in standard errors: sqrt(n Δᵀ Cov⁻¹ Δ) along the family.
        change = tangent.T @ (after - before)
        moved = np.linalg.lstsq(tangent.T @ hessian @ tangent, change)[0]
        share = float(np.sqrt(max(sums.effective_n * float(change @ moved), 0.0)))
        fine = replace(fine, error_share=share)
        if share <= _ERROR_SHARE or last:
            return fine
        plan, coarse = finer, fine


def _on_grid(model: Model, plan: Plan, mean: FloatArray, log_exposure: LogExposure | None) -> RegionLikelihood:
    nodes = plan.nodes()
    log_weights = nodes.log_weights
    if log_exposure is not None:
        log_weights = log_weights + exposure_values(log_exposure, nodes.X)
    return RegionLikelihood(model.statistics(nodes.X) - mean, log_weights, cell=plan.grid.cell)


def _by_draws(
    model: Model,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    log_exposure: LogExposure | None,
    random_state: Any,
) -> RegionLikelihood:
    """Nodes drawn from the density at θ inside the region (Geyer and Thompson 1992)."""
    D = region.manifold.embedding_dim
    wanted = sums.effective_n / _DRAW_ERROR_SHARE**2
    n = int(min(max(wanted, 50_000), _MAX_DRAWS, _MAX_DRAW_NUMBERS // theta.size))
    try:
        X = model.sample(n, region, random_state=random_state, **model.parameters(theta, D))
    except EstimationError as error:
        raise EstimationError(f"No Monte Carlo nodes near the estimate of score matching: {error}") from None
    statistics = model.statistics(X) - sums.mean
    log_weights = -(statistics @ theta)
    if log_exposure is not None:
        log_weights += exposure_values(log_exposure, X)
    likelihood = RegionLikelihood(statistics, log_weights)
    effective = likelihood.effective_nodes(theta)
    return replace(likelihood, error_share=float(np.sqrt(sums.effective_n / effective)), extra_variance=1.0 / effective)
