"""The likelihood under truncation where natural parameters are linear in covariates, θ(z) = B (1, z).

    f(B) = Σ w_i [log ∫ e exp(θ(z_i)·t) − θ(z_i)·t_i],

    ∇f = Σ w_i (E t − t_i) ⊗ (1, z_i),   Hess f = Σ w_i Cov t ⊗ (1, z_i)(1, z_i)ᵀ,   E and Cov under θ(z_i),

w of sum one and e a known exposure.  One set of nodes inside the region serves all z.  The integral is computed for
each distinct z; of one covariate with many of them at Chebyshev points of its range, between which it is interpolated:
the sum over the rows is then one over these points, with weights of their own, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple, final

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.foundation.errors import EstimationError, InvalidInputError, TooManyNodesError
from tmsm.foundation.threads import single_threaded
from tmsm.matching.covariates import coefficients_of, lifted
from tmsm.matching.equations import Equations, Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.moments import StatisticSums
from tmsm.matching.node_likelihood import NodeLikelihood, no_maximum, refined
from tmsm.measure.integrals import Plan, Together, plan_nodes
from tmsm.measure.nodes import Grid, has_nodes
from tmsm.models.base import LinearModel
from tmsm.models.constraints import Constraint, minimise_over
from tmsm.numerics.chebyshev import Interpolation
from tmsm.regions import Region

__all__ = ["CovariateEquations", "CovariateLikelihood", "CovariateMaximum", "TruncatedRegression"]

# Of one covariate with more distinct values than these the integral is interpolated, from so many gaps on.
_MOST_VALUES, _FIRST_GAPS, _MOST_GAPS = 48, 16, 256
# What interpolation may leave in the log integral, and in the mean of a statistic in standard deviations.
_LOG_ERROR, _MEAN_ERROR = 1e-9, 1e-6
# Values of z times nodes: a second or two for each step of a search, a step in blocks of so many numbers.
_MOST_EXPONENTIALS, _BLOCK_NUMBERS = 300_000_000, 2**21
# Products of statistics at the nodes are kept where they are no more numbers than these.
_MOST_PRODUCTS = 2**24
# Nodes made for a B serve all others whose log density differs by so many standard deviations at most, at any z.
_NEAR = 1.0
# Nodes that are pruned to where densities have their mass are so to those at so many z, which are at most so many
# standard deviations apart: those between them have their mass there, too.
_PRUNED_VALUES, _APART = 33, 4.0
# If the maximum turns out to lie where the nodes do not serve, they are made again.
_MAX_ROUNDS = 6
_LOWEST = -700.0


class _Moments(NamedTuple):
    """At several θ: log ∫ e exp(θ·(t − t̄)), shape (m,), E t − t̄ (m, p), and Cov t (m, p, p) where it was asked for."""

    log_integral: FloatArray
    mean: FloatArray
    covariance: FloatArray | None


@final
@dataclass(frozen=True)
class CovariateLikelihood(NodeLikelihood):
    """f at any B near the one that its nodes were made for.

    Attributes
    ----------
    statistics, log_weights
        At the nodes: t − t̄, shape (m, p), and logarithms of areas (m,), exposure included.
    center
        t̄ of the rows, shape (p,).
    design, weight
        (1, z) of distinct rows, shape (k, 1 + q), and their weights of sum one, shape (k,).
    slope
        The mean of (t − t̄) ⊗ (1, z) over the rows, shape (p, 1 + q).
    between
        How the log integral is interpolated along a single covariate; None where each z has its own.
    grid
        That of the nodes.
    """

    statistics: FloatArray
    log_weights: FloatArray
    center: FloatArray
    design: FloatArray
    weight: FloatArray
    slope: FloatArray
    between: Interpolation | None
    grid: Grid

    @property
    def n_nodes(self) -> int:
        return len(self.log_weights)

    @cached_property
    def _summed(self) -> tuple[FloatArray, FloatArray]:
        """(1, z) where the integral is computed, shape (k, 1 + q), and the weights of the values there, shape (k,)."""
        if self.between is None:
            return self.design, self.weight
        points = self.between.points
        return np.column_stack([np.ones(len(points)), points]), self.weight @ self.between.matrix(self.design[:, 1])

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(B), its gradient (P,) and Hessian (P, P), for B row after row."""
        (design, weight), P = self._summed, theta.size
        B = coefficients_of(theta, design.shape[1])
        found = self.moments(design @ B.T)
        assert found.covariance is not None
        value = float(weight @ found.log_integral) - float((B * self.slope).sum())
        gradient = (weight * found.mean.T) @ design - self.slope
        squares = weight[:, None, None] * design[:, :, None] * design[:, None, :]
        hessian = np.tensordot(found.covariance, squares, axes=(0, 0)).transpose(0, 2, 1, 3).reshape(P, P)
        return value, gradient.ravel(), 0.5 * (hessian + hessian.T)

    def moments(self, thetas: FloatArray, *, second: bool = True) -> _Moments:
        """What the nodes say at several θ, shape (m, p); some at a time, so that memory stays bounded."""
        m, p = thetas.shape
        log_integral, mean = np.empty(m), np.empty((m, p))
        covariance = np.empty((m, p, p)) if second else None
        size = max(1, _BLOCK_NUMBERS // self.n_nodes)
        with single_threaded(self.statistics.size):
            for first in range(0, m, size):
                some = slice(first, first + size)
                q = thetas[some] @ self.statistics.T
                q += self.log_weights
                top = q.max(axis=1)
                q -= top[:, None]
                # Not below 1e−304: numbers that lose digits there are slow to compute with.
                np.exp(np.maximum(q, _LOWEST, out=q), out=q)
                total = q.sum(axis=1)
                q /= total[:, None]
                log_integral[some] = top + np.log(total)
                mean[some] = q @ self.statistics
                if covariance is not None:
                    covariance[some] = self._squares(q) - mean[some][:, :, None] * mean[some][:, None, :]
        return _Moments(log_integral, mean, covariance)

    def sizes(self, thetas: FloatArray, changes: FloatArray) -> FloatArray:
        """Standard deviations of the log density's change at several θ, both of shape (m, p), shape (m,)."""
        covariance = self.moments(thetas).covariance
        assert covariance is not None
        squares: FloatArray = np.einsum("ki,kij,kj->k", changes, covariance, changes)
        return np.sqrt(np.maximum(squares, 0.0))

    def _squares(self, q: FloatArray) -> FloatArray:
        """E (t − t̄)(t − t̄)ᵀ for shares of the nodes (m, n), shape (m, p, p)."""
        products = self._products
        if products is None:
            return np.stack([weighted_gram(self.statistics, share) for share in q])
        p = self.statistics.shape[1]
        i, j = np.triu_indices(p)
        found = np.empty((len(q), p, p))
        found[:, i, j] = found[:, j, i] = q @ products
        return found

    @cached_property
    def _products(self) -> FloatArray | None:
        n, p = self.statistics.shape
        if n * p * (p + 1) // 2 > _MOST_PRODUCTS:
            return None
        i, j = np.triu_indices(p)
        found: FloatArray = self.statistics[:, i] * self.statistics[:, j]
        return found

    def expected(self, theta: FloatArray, design: FloatArray) -> FloatArray:
        """E t at rows of (1, z), shape (n, p)."""
        B = coefficients_of(theta, design.shape[1])
        if self.between is not None and self.between.covers(design[:, 1]).all():
            return self.between.matrix(design[:, 1]) @ self._means(B, self._summed[0]) + self.center
        distinct, place = np.unique(design, axis=0, return_inverse=True)
        found: FloatArray = self._means(B, distinct)[place.reshape(-1)] + self.center
        return found

    def _means(self, B: FloatArray, design: FloatArray) -> FloatArray:
        """E t − t̄ at rows of (1, z), shape (k, p); kept for the next time, as several passes ask for the same."""
        known = self.__dict__.get("_known")
        if known is None or not (np.array_equal(known[0], B) and np.array_equal(known[1], design)):
            known = B.copy(), design, self.moments(design @ B.T, second=False).mean
            self.__dict__["_known"] = known
        found: FloatArray = known[2]
        return found

    def interpolates(self, theta: FloatArray) -> bool:
        """Whether the values between the points of interpolation are what they should be."""
        if self.between is None:
            return True
        at = self.between.between
        B, points = coefficients_of(theta, 2), self._summed[0]
        known = self.moments(points @ B.T, second=False)
        exact = self.moments(np.column_stack([np.ones(len(at)), at]) @ B.T)
        assert exact.covariance is not None
        matrix = self.between.matrix(at)
        spread = np.sqrt(np.maximum(np.einsum("kii->ki", exact.covariance), 1e-300))
        log_error = np.abs(matrix @ known.log_integral - exact.log_integral).max()
        mean_error = (np.abs(matrix @ known.mean - exact.mean) / spread).max()
        # Rounding of large exponents is none of the interpolation.
        rounding = 1e-14 * float(np.abs(exact.log_integral).max())
        return bool(log_error <= _LOG_ERROR + rounding and mean_error <= _MEAN_ERROR)


@final
@dataclass(frozen=True)
class CovariateEquations(Equations):
    """e_i(B) = (E t − t(x_i)) ⊗ (1, z_i), E under θ(z_i): the slope of minus the log-likelihood of a row."""

    model: LinearModel
    likelihood: CovariateLikelihood
    standard: Standard

    @property
    def n_columns(self) -> int:
        """1 + q."""
        return 1 + len(self.standard)

    @property
    def n_equations(self) -> int:
        return self.n_parameters

    @property
    def n_parameters(self) -> int:
        return self.model.size * self.n_columns

    @cached_property
    def constraint(self) -> Constraint:
        """The set in which B is sought."""
        return lifted(self.model.constraint, self.n_columns)

    @property
    def is_linear(self) -> bool:
        return False

    @property
    def uses_distance(self) -> bool:
        return False

    def terms(self, block: Block) -> Terms:
        assert block.covariates is not None, "the rows have covariates"
        return _CovariateScores(self, self.model.statistics(block.X), self.standard.design(block.covariates))


@dataclass(frozen=True)
class _CovariateScores(Terms):
    equations: CovariateEquations
    statistics: FloatArray
    design: FloatArray

    def residuals(self, theta: FloatArray) -> FloatArray:
        e = self.equations.likelihood.expected(theta, self.design) - self.statistics
        return (e[:, :, None] * self.design[:, None, :]).reshape(len(e), -1)


@dataclass(frozen=True)
class CovariateMaximum:
    """Where the likelihood is largest, all coefficients in one vector, and the nodes that show it."""

    theta: FloatArray
    likelihood: CovariateLikelihood


@final
@dataclass(frozen=True)
class TruncatedRegression:
    """Rows with covariates that were only seen inside a region, and the search for their maximum of the likelihood.

    Attributes
    ----------
    model, region, standard, exposure
        What is fitted, where and how the rows could be seen, and how covariates are centred and scaled.
    sums
        Of t ⊗ (1, z), row after row in one vector.
    design, weight
        (1, z) of the distinct covariates, shape (k, 1 + q), and their weights of sum one, shape (k,).
    sample, sample_design
        Some of the rows, shape (m, D), and their (1, z), shape (m, 1 + q), by which nodes are planned.
    """

    model: LinearModel
    region: Region
    standard: Standard
    exposure: KnownExposure | None
    sums: StatisticSums
    design: FloatArray
    weight: FloatArray
    sample: FloatArray
    sample_design: FloatArray

    @classmethod
    def of(
        cls,
        model: LinearModel,
        rows: Rows,
        standard: Standard,
        exposure: KnownExposure | None,
        sums: StatisticSums | None = None,
    ) -> TruncatedRegression:
        """From the rows; ``sums`` are those of more rows, of which these were kept."""
        region = rows.region
        if not has_nodes(region):
            raise InvalidInputError(
                "The likelihood under truncation with covariates needs a grid of nodes inside the region, up to "
                f"dimension three, and {region.manifold!r} has none: use ScoreMatching, which needs no integral."
            )
        if not model.constraint.is_flat:
            raise InvalidInputError(
                "The likelihood under truncation with covariates needs θ(z) that is free, or known in a linear part, "
                f"and {type(model).__name__} is restricted to a curved set, such as a known concentration: use "
                "ScoreMatching without refine, or leave out what is known."
            )
        own, Z, w = _read(model, rows, standard)
        if not w.any():
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        distinct, place = np.unique(Z[w > 0.0], axis=0, return_inverse=True)
        weight = np.bincount(place.reshape(-1), w[w > 0.0], minlength=len(distinct))
        sample = rows.sample()
        assert sample.covariates is not None, "the rows have covariates"
        planned = standard.design(sample.covariates.values)
        design = standard.design(distinct)
        return cls(
            model, region, standard, exposure, sums or own, design, weight / weight.sum(), sample.X, planned
        )  # fmt: skip

    @property
    def n_columns(self) -> int:
        """1 + q."""
        return int(self.design.shape[1])

    @cached_property
    def constraint(self) -> Constraint:
        """The set in which B is sought."""
        return lifted(self.model.constraint, self.n_columns)

    @cached_property
    def means(self) -> FloatArray:
        """The mean of t ⊗ (1, z), shape (p, 1 + q); its first column is that of t."""
        return coefficients_of(self.sums.mean, self.n_columns)

    def near(self, theta: FloatArray) -> CovariateLikelihood:
        """The likelihood with nodes that serve θ(z) for all z, and the number of rows."""
        tangent = self.constraint.tangent(theta)
        plan = self.plan(theta).affordable
        found = refined(lambda plan: self._on_grid(plan, theta), plan, theta, tangent, self.sums.effective_n)
        if found.pruned:
            thetas = self._along @ coefficients_of(theta, self.n_columns).T
            change = np.diff(thetas, axis=0)
            if max(found.sizes(at, change).max() for at in (thetas[1:], thetas[:-1])) > _APART:
                raise TooManyNodesError(
                    "The density moves over so many of its own widths with the covariate that nodes for all of its "
                    "values are too many. ScoreMatching needs none."
                )
        return replace(found, made_for=theta)

    def plan(self, theta: FloatArray) -> Plan:
        """Nodes for the densities at some z together, and where they cover no more than these, at z between them."""
        B = coefficients_of(theta, self.n_columns)
        plan = self._plan_at(self.extremes(B) @ B.T)
        if plan.prune is None:
            return plan
        return self._plan_at(self._along @ B.T) if self.n_columns == 2 else replace(plan, prune=None)

    def _plan_at(self, thetas: FloatArray) -> Plan:
        densities = [self.model.at(one) for one in thetas]
        heights = np.array([float(density.log_kernel(self.sample).max()) for density in densities])
        return plan_nodes(Together(densities, heights), self.region, self.sample)

    @cached_property
    def _along(self) -> FloatArray:
        """(1, z) of a single covariate over its range, shape (33, 2)."""
        z = np.linspace(self.design[:, 1].min(), self.design[:, 1].max(), _PRUNED_VALUES)
        return np.column_stack([np.ones(len(z)), z])

    def extremes(self, B: FloatArray) -> FloatArray:
        """(1, z) of rows at the ends of every covariate, of those with the longest θ(z) − θ(0), and of the mean."""
        Z = self.sample_design
        ends = {int(k) for column in Z[:, 1:].T for k in (column.argmin(), column.argmax())}
        moved = Z[:, 1:] @ B[:, 1:].T
        size = np.maximum(np.abs(moved).max(axis=0), 1e-300)
        ends.add(int(((moved / size) ** 2).sum(axis=1).argmax()))
        ends |= {int(k) for k in ((moved + B[:, 0]) ** 2).sum(axis=1).argsort()[[0, -1]]}
        return np.vstack([np.eye(self.n_columns)[:1], Z[sorted(ends)]])

    def _on_grid(self, plan: Plan, theta: FloatArray) -> CovariateLikelihood:
        nodes = plan.nodes()
        log_weights = nodes.log_weights
        if self.exposure is not None:
            log_weights = log_weights + self.exposure.values_at(nodes.X)
        center = self.means[:, 0]
        made = CovariateLikelihood(
            self.model.statistics(nodes.X) - center,
            log_weights,
            center,
            self.design,
            self.weight,
            self.means - np.outer(center, self.weight @ self.design),
            None,
            plan.grid,
            cell=plan.grid.cell,
            pruned=plan.prune is not None,
        )
        return self._interpolated(made, theta)

    def _interpolated(self, made: CovariateLikelihood, theta: FloatArray) -> CovariateLikelihood:
        """The same with as few values of the integral as are needed at B."""
        k = len(self.design)
        if self.n_columns == 2 and k > _MOST_VALUES:
            ends = float(self.design[:, 1].min()), float(self.design[:, 1].max())
            gaps = _FIRST_GAPS
            while gaps < min(k, _MOST_GAPS + 1):
                found = replace(made, between=Interpolation(*ends, gaps))
                if found.interpolates(theta):
                    return found
                gaps *= 2
        if k * made.n_nodes > _MOST_EXPONENTIALS:
            raise InvalidInputError(
                f"The covariates have {k:,} distinct values, and at each of them the density would be integrated over "
                f"{made.n_nodes:,} nodes: that takes too long. Use ScoreMatching, which needs no integral, a single "
                "covariate, or covariates that are rounded to fewer values."
            )
        return made

    def suits(self, likelihood: CovariateLikelihood, theta: FloatArray, made_for: FloatArray) -> bool:
        """Whether nodes that were made for one B serve another as well, at all z, and so does the interpolation."""
        if not likelihood.interpolates(theta):
            return False
        new, old = (coefficients_of(one, self.n_columns) for one in (theta, made_for))
        design = np.vstack([self.extremes(B) for B in (new, old)])
        change = design @ (new - old).T
        if all(likelihood.sizes(design @ B.T, change).max() <= _NEAR for B in (new, old)):
            return True
        grid, made = self.plan(theta).grid, likelihood.grid
        same = grid.window == made.window and len(grid.cells) == len(made.cells)
        finer = (a > b for a, b in zip((grid.cell, *grid.cells), (made.cell, *made.cells), strict=True)) if same else ()
        return same and not likelihood.pruned and not any(finer)

    def maximum(self, starts: Sequence[FloatArray]) -> CovariateMaximum:
        """The maximum, by a search from the first B that leads there: f is convex, and any minimum is the lowest."""
        reasons: list[EstimationError] = []
        for start in [*starts, *self._plain_starts()]:
            try:
                return self._from(start)
            except EstimationError as error:
                reasons.append(error)
        raise reasons[0] if reasons else no_maximum()

    def _plain_starts(self) -> list[FloatArray]:
        """B without effects: the naive likelihood's θ, and a flat density where there is one."""
        constraint, p = self.model.constraint, self.model.size
        found = []
        with suppress(EstimationError, InvalidInputError):  # a family without a likelihood on the whole manifold
            found.append(self.model.maximise_likelihood(self.means[:, 0]))
        if self.region.manifold.is_closed:
            found.append(constraint.point(np.zeros(p)).theta)
        return [np.outer(theta, np.eye(self.n_columns)[0]).ravel() for theta in found]

    def _from(self, theta: FloatArray) -> CovariateMaximum:
        for _ in range(_MAX_ROUNDS):
            likelihood = self.near(theta)
            best = minimise_over(self.constraint, likelihood, [theta])
            if best is None:
                break
            before, theta = theta, best.minimum.point.theta
            if self.suits(likelihood, theta, before):
                return CovariateMaximum(theta, likelihood)
        raise no_maximum()


def _read(model: LinearModel, rows: Rows, standard: Standard) -> tuple[StatisticSums, FloatArray, FloatArray]:
    """Sums of t ⊗ (1, z), the covariates (n, q) and the weights (n,) of the rows inside the region."""

    def of_block(block: Block) -> tuple[StatisticSums, FloatArray, FloatArray]:
        assert block.covariates is not None, "the rows have covariates"
        t, w = model.statistics(block.X), block.weights()
        total = (w * t.T) @ standard.design(block.covariates)
        sums = StatisticSums(len(t), float(w.sum()), float(w @ w), total.ravel())
        return sums, block.covariates, w

    found = list(rows.map(of_block))
    if not found:
        raise InvalidInputError(rows.describe_absence())
    parts, columns, weights = zip(*found, strict=True)
    return reduce(add, parts), np.concatenate(columns), np.concatenate(weights)
