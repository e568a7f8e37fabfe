"""The likelihood under truncation of a density u(x; θ) = log p that is not linear in θ, by nodes inside the region.

    f(θ) = log ∫ e exp(u) − ū,   ∇f = E s − s̄,   Hess f = Cov s + E ∂²u − mean ∂²u,   s = ∂u/∂θ,

bars are means over the rows, E is over p e inside the region, and e is a known exposure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, TooManyNodesError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.threads import single_threaded
from tmsm.foundation.validation import check_random_state
from tmsm.matching.equations import Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.moments import StatisticSums
from tmsm.matching.node_likelihood import NodeLikelihood, ScoreEquations, no_maximum, number_of_draws, refined
from tmsm.measure.draws import draw_inside
from tmsm.measure.integrals import Plan, plan_nodes
from tmsm.measure.nodes import has_nodes
from tmsm.models.constraints import Constraint, minimise_over
from tmsm.models.nonlinear import NonlinearModel, OnPoints
from tmsm.numerics.trust_region import minimise_in_trust
from tmsm.regions import Region

__all__ = ["DensityEquations", "DensityLikelihood", "DensityMaximum", "MeanLog", "TruncatedDensity"]

# So many rows show which of several starts lead to the highest maxima, and so many of these are followed to the end.
_FIRST_ROWS, _FOLLOWED = 4000, 3
# Maxima of the log-likelihood that are so much lower are not followed.
_WORSE = 25.0
# Nodes made for a θ serve all others whose log density differs from its own by so many standard deviations at most.
_NEAR = 1.0
# Nodes are made for a θ; if the maximum turns out to lie where they do not serve, they are made again.
_MAX_ROUNDS = 6
# Nodes that tell maxima apart serve densities that bend so many times as much.
_BENDS = 3.0
# They reach such a share beyond the nodes with less than e to the minus so much of their height.
_SLACK, _NEGLIGIBLE = 0.05, 10.0
# Maxima that differ by less, in standard errors, are one: each was found with nodes of its own.
_SAME = 0.5
_LOWEST = -700.0


@final
@dataclass(frozen=True)
class MeanLog:
    """The mean of u over rows, with its derivatives in θ.

    Attributes
    ----------
    model
        The family.
    X, weight
        Points, shape (n, D), and their weights of sum one, shape (n,).
    tilt
        What to add to the slope, shape (p,): that of rows which are not among these.
    """

    model: NonlinearModel
    X: FloatArray
    weight: FloatArray
    tilt: FloatArray | None = None

    @classmethod
    def of(cls, model: NonlinearModel, rows: Rows) -> MeanLog:
        """Of the rows inside the region that count."""
        parts = list(rows.map(lambda block: (block.X, block.weights())))
        X, w = (np.concatenate(list(arrays)) for arrays in zip(*parts, strict=True))
        if not w.all():
            X, w = X[w > 0.0], w[w > 0.0]
        return cls(model, np.asfortranarray(X), w / w.sum())

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """ū, s̄ (p,) and the mean of ∂²u (p, p)."""
        known = self.__dict__.get("_known")
        if known is None or not np.array_equal(known[0], theta):
            known = theta.copy(), self._at(theta)
            self.__dict__["_known"] = known  # several grids of nodes ask for the same
        found: tuple[float, FloatArray, FloatArray] = known[1]
        return found

    def _at(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        points = self._points
        value = float(self.weight @ points.log_kernel(theta))
        slope, curvature = points.moments(theta, self.weight, squares=False)
        if self.tilt is not None:
            value, slope = value + float(self.tilt @ theta), slope + self.tilt
        return value, slope, curvature

    @cached_property
    def _points(self) -> OnPoints:
        return self.model.on_points(self.X)

    def log_kernels(self, theta: FloatArray) -> FloatArray:
        """The density u at the rows, shape (n,)."""
        return self._points.log_kernel(theta)

    def with_slope(self, theta: FloatArray, slope: FloatArray) -> MeanLog:
        """The same with another slope s̄ at θ, that of more rows."""
        return replace(self, tilt=slope - replace(self, tilt=None)(theta)[1])


@final
@dataclass(frozen=True)
class DensityLikelihood(NodeLikelihood):
    """f at any θ near the one that its nodes were made for.

    Attributes
    ----------
    rows
        The mean of log p over the rows, up to its normalising constant.
    nodes, log_weights
        Points inside the region, shape (m, D), and their weights (m,), exposure included; None where the density has
        the integral one at every θ, and nothing was cut off.
    """

    rows: MeanLog
    nodes: FloatArray | None
    log_weights: FloatArray | None

    @property
    def n_nodes(self) -> int:
        return 0 if self.nodes is None else len(self.nodes)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """f(θ), its gradient (p,) and Hessian (p, p); infinite where there is no such density."""
        nowhere = np.inf, np.zeros(theta.size), np.eye(theta.size)
        try:
            value, slope, curvature = self.rows(theta)
            if not np.isfinite(value):
                return nowhere
            log_integral, expected, spread = self.integral(theta)
        except EstimationError:
            return nowhere
        if not np.isfinite(log_integral):
            return nowhere
        return log_integral - value, expected - slope, spread - curvature

    def integral(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log ∫ e exp(u), E s (p,), and Cov s + E ∂²u (p, p)."""
        if self.nodes is None or self.log_weights is None:
            return self.rows.model.whole_integral(theta)
        with single_threaded(self.nodes.size):
            log_integral, q = self._shares(theta)
            mean, spread = self._points.moments(theta, q, squares=True)
        return log_integral, mean, spread - np.outer(mean, mean)

    @cached_property
    def _points(self) -> OnPoints:
        assert self.nodes is not None
        return self.rows.model.on_points(self.nodes)

    def _shares(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Log ∫ e exp(u), and the share of each node in it, shape (m,)."""
        assert self.log_weights is not None
        exponents = self._points.log_kernel(theta) + self.log_weights
        top = float(exponents.max())
        if not np.isfinite(top):
            return float("nan"), exponents
        # Not below 1e−304: numbers that lose digits there are slow to compute with.
        q = np.exp(np.maximum(exponents - top, _LOWEST))
        total = float(q.sum())
        return top + float(np.log(total)), q / total

    def suits(self, region: Region, theta: FloatArray, made_for: FloatArray) -> bool:
        """Whether nodes that were made for one θ serve another as well."""
        if self.nodes is None:
            return True
        model = self.rows.model
        if self.cell is None:
            return self.effective_nodes(theta) >= 0.5 * self.effective_nodes(made_for)
        change = self._points.log_kernel(theta) - self._points.log_kernel(made_for)
        spreads = []
        for at in (theta, made_for):
            q = self._shares(at)[1]
            # Where both densities are nearly zero their ratio does not matter.
            spreads.append(float(q @ change**2) - float(q @ change) ** 2)
        if max(spreads) <= _NEAR**2:
            return True
        return not self.pruned and plan_nodes(model.at(theta), region, self.rows.X).grid.cell <= self.cell

    def effective_nodes(self, theta: FloatArray) -> float:
        """For random nodes: how many equally weighted ones they are worth at θ."""
        q = self._shares(theta)[1]
        return 1.0 / float(q @ q)


@final
@dataclass(frozen=True)
class DensityEquations(ScoreEquations):
    """e_i(θ) = E s − s(x_i), the slope of minus the log-likelihood of a row."""

    model: NonlinearModel
    likelihood: DensityLikelihood

    def terms(self, block: Block) -> Terms:
        return _ScoreTerms(self, block.X)

    def expectation(self, theta: FloatArray) -> FloatArray:
        return self.likelihood.integral(theta)[1]


@dataclass(frozen=True)
class _ScoreTerms(Terms):
    equations: DensityEquations
    X: FloatArray

    def residuals(self, theta: FloatArray) -> FloatArray:
        return self.equations.expected(theta) - self.equations.model.tangent(theta).statistics(self.X)


@dataclass(frozen=True)
class DensityMaximum:
    """Where the likelihood is largest, what shows it, and from how many of the starts a search ended there."""

    theta: FloatArray
    likelihood: DensityLikelihood
    n_starts: int
    n_agreeing: int

    @property
    def value(self) -> float:
        """The value of f there."""
        return self.likelihood(self.theta)[0]


@final
@dataclass(frozen=True)
class TruncatedDensity:
    """Rows of a density that was only seen inside a region, and the search for their maximum of the likelihood.

    Attributes
    ----------
    model, region, exposure
        What is fitted, and where and how the rows could be seen.
    table
        The rows.
    random_state
        Of random nodes.
    """

    model: NonlinearModel
    region: Region
    table: Rows
    exposure: KnownExposure | None = None
    random_state: Any = 0

    @property
    def constraint(self) -> Constraint:
        """The set in which θ is sought."""
        return self.model.constraint

    @cached_property
    def rows(self) -> MeanLog:
        """The rows that count."""
        return MeanLog.of(self.model, self.table)

    @property
    def whole(self) -> bool:
        """Whether nothing was cut off from a density whose integral is one."""
        return self.model.is_normalised and not self.region.has_border and self.exposure is None

    def sums(self, theta: FloatArray) -> StatisticSums:
        """The sums over the rows of w, w² and w s(θ)."""
        tangent = self.model.tangent(theta)

        def block_sums(block: Block) -> StatisticSums:
            s, w = tangent.statistics(block.X), block.weights()
            return StatisticSums(len(s), float(w.sum()), float(w @ w), w @ s)

        found = self.table.total(block_sums)
        assert found is not None, "there are rows inside"
        return found

    def near(self, theta: FloatArray, rows: MeanLog | None = None, *, rough: bool = False) -> DensityLikelihood:
        """The likelihood with nodes for θ, of all rows or of some; rough ones tell maxima apart."""
        rows = self.rows if rows is None else rows
        if self.whole:
            return DensityLikelihood(rows, None, None, cell=0, made_for=theta)
        found = None
        if has_nodes(self.region):
            try:
                plan = plan_nodes(self.model.at(theta), self.region, rows.X).affordable
                n = 1.0 / float(rows.weight @ rows.weight)
                if rough:
                    found = self._on_grid(plan if plan.prune is not None else plan.wider, rows)
                else:
                    tangent = self.constraint.tangent(theta)
                    found = refined(lambda one: self._on_grid(one, rows), plan, theta, tangent, n)
            except TooManyNodesError:
                if self.region.manifold.dim <= 2:
                    raise
        if found is None:
            found = self._by_draws(theta, rows)
        return replace(found, made_for=theta)

    def maximum(self, starts: Sequence[FloatArray]) -> DensityMaximum:
        """The highest maximum that searches from some θ end in and that suits the family: no spike, say."""
        reasons: list[EstimationError] = []
        reached: list[DensityMaximum] = []
        # Some of the rows show which maxima are the highest; where these are spikes of all rows, all rows have others.
        for rows in self._row_sets:
            for theta, agreeing in self._candidates(starts, rows, reasons)[:_FOLLOWED]:
                try:
                    found = self._from(theta)
                except EstimationError as error:
                    reasons.append(error)
                    continue
                if self.model.suits(found.theta, self.rows.X):
                    reached.append(replace(found, n_starts=len(starts), n_agreeing=agreeing))
                else:
                    reasons.insert(0, EstimationError(self.model.unsuited))
            if reached:
                break
        if not reached:
            raise reasons[0] if reasons else no_maximum()
        best = min(reached, key=lambda one: one.value)
        return replace(best, theta=self.model.ordered(best.theta))

    def next_to(self, theta: FloatArray) -> DensityMaximum:
        """The maximum next to a θ, with the components in its order."""
        return self._from(self.constraint.point(theta).theta)

    @property
    def _row_sets(self) -> list[MeanLog]:
        """Some of the rows, where they are many, and all of them."""
        rows = self.rows
        if len(rows.X) <= 2 * _FIRST_ROWS:
            return [rows]
        stride = len(rows.X) // _FIRST_ROWS
        w = rows.weight[::stride]
        return [replace(rows, X=np.asfortranarray(rows.X[::stride]), weight=w / w.sum()), rows]

    def _candidates(
        self, starts: Sequence[FloatArray], some: MeanLog, reasons: list[EstimationError]
    ) -> list[tuple[FloatArray, int]]:
        """Different maxima for some of the rows, the highest first, and how many of the starts led to each.

        Why a search could not begin, or what it ended in, is added to the reasons.
        """
        if len(starts) == 1:
            return [(starts[0], 1)]
        found: list[tuple[float, FloatArray, FloatArray]] = []
        likelihood: DensityLikelihood | None = None
        for start in with_progress(starts, len(starts), "searching"):
            theta = self.constraint.point(start).theta
            try:
                if likelihood is None or not self._serves_roughly(likelihood, theta):
                    likelihood = self.near(theta, some, rough=True)
            except EstimationError as error:  # no such density inside the region
                reasons.append(error)
                continue
            best = minimise_over(self.constraint, likelihood, [start], minimise_in_trust, widely=False)
            if best is not None and not self.model.suits(best.minimum.point.theta, some.X):
                reasons.insert(0, EstimationError(self.model.unsuited))
            elif best is not None:
                theta = self.model.ordered(best.minimum.point.theta)
                found.append((best.minimum.value, theta, len(some.X) * likelihood(theta)[2]))
        different: list[tuple[FloatArray, FloatArray, int]] = []
        lowest = min((value for value, _, _ in found), default=np.inf)
        for value, theta, information in sorted(found, key=lambda one: one[0]):
            if len(some.X) * (value - lowest) > _WORSE:
                break
            for k, (other, metric, count) in enumerate(different):
                if abs(float((theta - other) @ metric @ (theta - other))) <= _SAME**2:
                    different[k] = other, metric, count + 1
                    break
            else:
                different.append((theta, information, 1))
        return [(theta, count) for theta, _, count in different]

    def _serves_roughly(self, likelihood: DensityLikelihood, theta: FloatArray) -> bool:
        """Whether nodes that tell maxima apart were made for a density with such an extent, which bends as much."""
        if likelihood.nodes is None:
            return True
        if likelihood.cell is None or likelihood.pruned or likelihood.made_for is None:
            return False
        model, manifold = self.model, self.region.manifold
        if not manifold.is_closed and self._reaches_beyond(likelihood.nodes, theta):
            return False
        X = likelihood.rows.X[:: -(-len(likelihood.rows.X) // 256)]
        frame = manifold.tangent_frame(X)

        def bend(at: FloatArray) -> float:
            return max(float(np.abs(model.log_hessian(X, u, at)).max()) for u in frame)

        return bend(theta) <= _BENDS * bend(likelihood.made_for)

    def _reaches_beyond(self, nodes: FloatArray, theta: FloatArray) -> bool:
        """Whether a density has mass next to the box round some nodes, where the region goes on."""
        low, high = nodes.min(axis=0), nodes.max(axis=0)
        slack = _SLACK * (high - low)
        moved = []
        for axis in np.eye(low.size) * slack:
            for sign, near in ((-1.0, nodes - low < slack), (1.0, high - nodes < slack)):
                moved.append(nodes[near[:, np.argmax(axis)]] + sign * axis)
        beside = np.vstack(moved)
        beside = beside[self.region.signed_distance(beside)[0] > 0.0]
        top = float(self.model.log_kernel(nodes, theta).max())
        return bool(len(beside)) and float(self.model.log_kernel(beside, theta).max()) > top - _NEGLIGIBLE

    def _from(self, theta: FloatArray) -> DensityMaximum:
        """The maximum that a search from θ ends in."""
        for _ in range(_MAX_ROUNDS):
            likelihood = self.near(theta)
            best = minimise_over(self.constraint, likelihood, [theta], minimise_in_trust, widely=False)
            if best is None:
                break
            before, theta = theta, best.minimum.point.theta
            if likelihood.suits(self.region, theta, before):
                return DensityMaximum(theta, likelihood, 1, 1)
        raise no_maximum()

    def _on_grid(self, plan: Plan, rows: MeanLog) -> DensityLikelihood:
        nodes = plan.nodes()
        log_weights = nodes.log_weights
        if self.exposure is not None:
            log_weights = log_weights + self.exposure.values_at(nodes.X)
        return DensityLikelihood(rows, nodes.X, log_weights, cell=plan.grid.cell, pruned=plan.prune is not None)

    def _by_draws(self, theta: FloatArray, rows: MeanLog) -> DensityLikelihood:
        """Nodes drawn from the density at θ inside the region (Geyer and Thompson 1992)."""
        effective_n = 1.0 / float(rows.weight @ rows.weight)
        rng, density = check_random_state(self.random_state), self.model.at(theta)
        try:
            n = number_of_draws(effective_n, theta.size)
            X = draw_inside(lambda size: density.draw(size, rng), n, self.region)
        except EstimationError as error:
            raise EstimationError(f"No Monte Carlo nodes near the start of the search: {error}") from None
        log_weights = -density.log_kernel(X)
        if self.exposure is not None:
            log_weights = log_weights + self.exposure.values_at(X)
        likelihood = DensityLikelihood(rows, X, log_weights)
        effective = likelihood.effective_nodes(theta)
        return replace(likelihood, error_share=float(np.sqrt(effective_n / effective)), extra_variance=1.0 / effective)
