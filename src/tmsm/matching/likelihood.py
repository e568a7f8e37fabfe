"""The likelihood under truncation: −log p averaged over the rows, by nodes inside the region.

    f(θ) = log ∫ e(x) exp(θ·(t(x) − t̄)) dx,   ∇f = E t − t̄,   Hess f = Cov t,

t̄ the mean of the rows and e a known exposure.  Centred at t̄ the exponents are small where the rows
are, so no digits are lost at high concentration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.data.rows import Block
from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError, TooManyNodesError
from tmsm.foundation.threads import single_threaded
from tmsm.matching.equations import Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.moments import StatisticSums
from tmsm.matching.node_likelihood import (
    DRAW_ERROR_SHARE,
    NodeLikelihood,
    ScoreEquations,
    no_maximum,
    number_of_draws,
    refined,
)
from tmsm.matching.solve import solve
from tmsm.measure.integrals import Plan, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.models.base import LinearModel
from tmsm.models.constraints import AffineSubspace, Constraint, minimise_over
from tmsm.models.local import LocalSet
from tmsm.models.torus_orbits import TorusOrbit
from tmsm.numerics.newton import Minimum, Objective, newton_step
from tmsm.numerics.scaling import whitening
from tmsm.regions import Region

__all__ = ["LikelihoodEquations", "Maximum", "RegionLikelihood", "Truncated", "WholeLikelihood", "likelihood_near"]

# Nodes made for a θ serve all others whose log density differs from its own by so many standard deviations at most.
_NEAR = 1.0
# Nodes are made for a θ; if the maximum turns out to lie where they do not serve, they are made again.
_MAX_ROUNDS = 6
# One Newton step is enough where it ends so many standard errors from the maximum, and where the information changed
# by no more than such a factor on the way.
_STEP_ERROR, _STEP_CHANGE = 0.1, 2.0
_LOWEST = -700.0


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

    model: LinearModel
    mean: FloatArray
    row: FloatArray

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(θ), its gradient (p,) and Hessian (p, p)."""
        model = self.model
        # log kernel = θ·t + a constant, found at any row.
        value = model.log_normaliser(theta) - float(model.log_kernel(self.row, theta)[0])
        value += float((model.statistics(self.row)[0] - self.mean) @ theta)
        expected, covariance = model.expectation(theta)
        return value, expected - self.mean, covariance


@final
@dataclass(frozen=True)
class RegionLikelihood(NodeLikelihood):
    """f of an exponential family at any θ near the one that its nodes were made for.

    Attributes
    ----------
    statistics
        t − t̄ at the nodes, shape (m, p).
    log_weights
        Shape (m,), exposure included.
    """

    statistics: FloatArray
    log_weights: FloatArray

    @property
    def n_nodes(self) -> int:
        return len(self.log_weights)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(θ), its gradient (p,) and Hessian (p, p)."""
        with single_threaded(self.statistics.size):
            exponents = self.statistics @ theta
            exponents += self.log_weights
            top = float(exponents.max())
            exponents -= top
            # Not below 1e−304: numbers that lose digits there are slow to compute with.
            q = np.exp(np.maximum(exponents, _LOWEST, out=exponents), out=exponents)
            total = float(q.sum())
            q /= total
            gradient = q @ self.statistics
            hessian = weighted_gram(self.statistics, q) - np.outer(gradient, gradient)
        return top + float(np.log(total)), gradient, hessian

    def suits(
        self, model: LinearModel, region: Region, theta: FloatArray, made_for: FloatArray, sample: FloatArray
    ) -> bool:
        """Whether nodes that were made for one θ serve another as well."""
        if self.cell is None:
            return self.effective_nodes(theta) >= 0.5 * self.effective_nodes(made_for)
        change = theta - made_for
        if all(float(change @ self(at)[2] @ change) <= _NEAR**2 for at in (theta, made_for)):
            return True
        return not self.pruned and plan_nodes(model.at(theta), region, sample).grid.cell <= self.cell

    def effective_nodes(self, theta: FloatArray) -> float:
        """For random nodes: how many equally weighted ones they are worth at θ."""
        exponents = self.statistics @ theta + self.log_weights
        q = np.exp(exponents - exponents.max())
        return float(q.sum() ** 2 / (q @ q))


@final
@dataclass(frozen=True)
class LikelihoodEquations(ScoreEquations):
    """e_i(θ) = E t − t(x_i), the slope of minus the log-likelihood of a row.

    Attributes
    ----------
    model
        The family, in the form that was computed with.
    objective
        f(θ) with its gradient E t − t̄ and its Hessian.
    mean
        t̄, shape (p,).
    """

    model: LinearModel
    objective: Objective
    mean: FloatArray

    def terms(self, block: Block) -> Terms:
        return _StatisticTerms(self, self.model.statistics(block.X))

    def expectation(self, theta: FloatArray) -> FloatArray:
        return self.objective(theta)[1] + self.mean


@dataclass(frozen=True)
class _StatisticTerms(Terms):
    equations: LikelihoodEquations
    statistics: FloatArray

    def residuals(self, theta: FloatArray) -> FloatArray:
        return self.equations.expected(theta) - self.statistics


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood is largest, the nodes that show it, and whether one Newton step was enough."""

    theta: FloatArray
    likelihood: RegionLikelihood
    one_step: bool = False

    @property
    def value(self) -> float:
        """The value of f there."""
        return self.likelihood(self.theta)[0]


@final
@dataclass(frozen=True)
class Truncated:
    """Rows of a model that was only seen inside a region, and the search for their maximum of the likelihood.

    Attributes
    ----------
    model, region, exposure
        What is fitted, and where and how the rows could be seen.
    sums, sample
        Of the rows: their statistics, and some of them, shape (m, D).
    random_state
        Of random nodes.
    """

    model: LinearModel
    region: Region
    sums: StatisticSums
    sample: FloatArray
    exposure: KnownExposure | None = None
    random_state: Any = 0

    @property
    def constraint(self) -> Constraint:
        """The set in which θ is sought."""
        return self.model.constraint

    def near(self, theta: FloatArray) -> RegionLikelihood:
        """The likelihood with nodes for θ."""
        return likelihood_near(self.model, self.region, theta, self.sums, self.sample, self.exposure, self.random_state)

    def maximum(self, start: FloatArray | None, *, one_step: bool = False) -> Maximum:
        """The maximum, from a θ and, where that does not lead there, from the naive likelihood's and a flat density.

        In θ without a constraint f is convex, and any minimum is the lowest.  On a curved set the value is compared
        with that at the naive likelihood's θ, and the search begins there again if that one is better.  With
        ``one_step`` a single Newton step is taken where it is enough.
        """
        convex = self.constraint.is_flat
        found: Maximum | None = None
        reasons: list[EstimationError] = []

        def search(theta: FloatArray, one_step: bool = False) -> Maximum | None:
            try:
                return self._from(theta, one_step)
            except EstimationError as error:
                reasons.append(error)
                return None

        if start is not None:
            found = search(start, one_step)
            if found is not None and convex:
                return found
        try:
            naive = self.model.maximise_likelihood(self.sums.mean)
        except EstimationError as error:
            reasons.append(error)
        except InvalidInputError:  # a family without a likelihood on the whole manifold
            pass
        else:
            if found is None or self._value(naive, found) < found.value:
                found = search(naive)
        if found is None and convex and self.region.manifold.is_closed:  # where a flat density exists
            found = search(self.constraint.point(np.zeros(self.model.size)).theta)
        if found is None:
            raise reasons[0] if reasons else no_maximum()
        return found

    def _value(self, theta: FloatArray, found: Maximum) -> float:
        """The value of f at another θ, by the nodes of a maximum if they serve."""
        likelihood = found.likelihood
        if not likelihood.suits(self.model, self.region, theta, found.theta, self.sample):
            if likelihood.cell is None:
                return np.inf  # values by other random nodes cannot be compared
            likelihood = self.near(theta)
        return likelihood(theta)[0]

    def _from(self, theta: FloatArray, one_step: bool) -> Maximum:
        """The maximum that a search from θ ends in."""
        for _ in range(_MAX_ROUNDS):
            likelihood = self.near(theta)
            if one_step:
                step = newton_step(likelihood, self.constraint.point(theta), self.constraint.allows)
                others = self._projected(likelihood, theta)
                lowest = min((likelihood(other)[0] for other in others), default=np.inf)
                if lowest >= step.value and self._is_enough(likelihood, theta, step):
                    return Maximum(step.point.theta, likelihood, one_step=True)
                one_step = False
            best = minimise_over(self.constraint, likelihood, [theta, *self._projected(likelihood, theta)])
            if best is None:
                break
            before, theta = theta, best.minimum.point.theta
            if likelihood.suits(self.model, self.region, theta, before, self.sample):
                return Maximum(theta, likelihood)
        raise no_maximum()

    def _projected(self, likelihood: RegionLikelihood, theta: FloatArray) -> list[FloatArray]:
        """Another start, where a curved set may have several minima: its θ nearest to the best of a linear space.

        In that space f has one minimum: all statistics of a torus, in a small region of a sphere the normal densities.
        Near means in its curvature there.
        """
        constraint = self.constraint
        if isinstance(constraint, TorusOrbit):
            basis = np.eye(theta.size)
        elif isinstance(constraint, LocalSet):
            basis = np.eye(theta.size)[:, constraint.local.normal_statistics]
        else:
            return []
        best = minimise_over(AffineSubspace(np.zeros(theta.size), basis), likelihood, [theta])
        if best is None:
            return []
        top = best.minimum.point.theta
        information = likelihood(top)[2]
        try:
            return [solve(constraint, information, -information @ top).theta]
        except EstimationError:
            return []

    def _is_enough(self, likelihood: RegionLikelihood, start: FloatArray, step: Minimum) -> bool:
        """Whether a step ended at the maximum but for a share of a standard error: it stayed where f is a quadratic."""
        if not (step.reached and self.sums.effective_n * step.decrement <= _STEP_ERROR**2):
            return False
        tangent = self.constraint.tangent(step.point.theta)
        before, after = (tangent.T @ likelihood(at)[2] @ tangent for at in (start, step.point.theta))
        white, _ = whitening(after)
        changes = np.linalg.eigvalsh(white.T @ before @ white)
        return bool(changes[0] >= 1.0 / _STEP_CHANGE and changes[-1] <= _STEP_CHANGE)


def likelihood_near(
    model: LinearModel,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    sample: FloatArray,
    exposure: KnownExposure | None = None,
    random_state: Any = 0,
) -> RegionLikelihood:
    """The likelihood with nodes that suit densities near θ and the number of rows."""
    found = None
    if has_nodes(region):
        try:
            found = _by_quadrature(model, region, theta, sums, sample, exposure)
        except TooManyNodesError:
            if region.manifold.dim <= 2:
                raise
    if found is None:
        found = _by_draws(model, region, theta, sums, exposure, random_state)
    elif found.error_share > DRAW_ERROR_SHARE and region.manifold.dim > 2:
        found = _better_by_draws(found, model, region, theta, sums, exposure, random_state)
    return replace(found, made_for=theta)


def _better_by_draws(
    found: RegionLikelihood,
    model: LinearModel,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    exposure: KnownExposure | None,
    random_state: Any,
) -> RegionLikelihood:
    """The likelihood by draws where these err less than a grid."""
    try:
        drawn = _by_draws(model, region, theta, sums, exposure, random_state)
    except (EstimationError, InvalidInputError):  # hardly any mass inside, or a family without a sampler
        return found
    return drawn if drawn.error_share < found.error_share else found


def _by_quadrature(
    model: LinearModel,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    sample: FloatArray,
    exposure: KnownExposure | None,
) -> RegionLikelihood:
    return refined(
        lambda plan: _on_grid(model, plan, sums.mean, exposure),
        plan_nodes(model.at(theta), region, sample).affordable,
        theta,
        model.constraint.tangent(theta),
        sums.effective_n,
    )


def _on_grid(model: LinearModel, plan: Plan, mean: FloatArray, exposure: KnownExposure | None) -> RegionLikelihood:
    nodes = plan.nodes()
    log_weights = nodes.log_weights
    if exposure is not None:
        log_weights = log_weights + exposure.values_at(nodes.X)
    statistics = model.statistics(nodes.X) - mean
    return RegionLikelihood(statistics, log_weights, cell=plan.grid.cell, pruned=plan.prune is not None)


def _by_draws(
    model: LinearModel,
    region: Region,
    theta: FloatArray,
    sums: StatisticSums,
    exposure: KnownExposure | None,
    random_state: Any,
) -> RegionLikelihood:
    """Nodes drawn from the density at θ inside the region (Geyer and Thompson 1992)."""
    try:
        n = number_of_draws(sums.effective_n, theta.size)
        X = model.sample(n, region, random_state=random_state, **model.parameters(theta))
    except EstimationError as error:
        raise EstimationError(f"No Monte Carlo nodes near the estimate of score matching: {error}") from None
    statistics = model.statistics(X) - sums.mean
    log_weights = -(statistics @ theta)
    if exposure is not None:
        log_weights += exposure.values_at(X)
    likelihood = RegionLikelihood(statistics, log_weights)
    effective = likelihood.effective_nodes(theta)
    return replace(likelihood, error_share=float(np.sqrt(sums.effective_n / effective)), extra_variance=1.0 / effective)
