"""From rows to a map: nodes, functions, ridge, coefficients, and their covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, TooManyNodesError
from tmsm.foundation.text import in_number
from tmsm.foundation.threads import single_threaded
from tmsm.manifolds.frames import check_frames
from tmsm.maps.bases import MAX_DEGREE, number_of_functions, series_of
from tmsm.maps.folds import Folds
from tmsm.maps.matched import ScoreSmoother, weight_for
from tmsm.maps.nodes import even_plan, finer_plan, plan_for
from tmsm.maps.parts import empty_parts
from tmsm.maps.penalised import Maximum, PenalisedLikelihood
from tmsm.maps.series import Series
from tmsm.maps.series_density import SeriesDensity
from tmsm.maps.smoothing import Candidate, FoldSums, LikelihoodSmoother, Path, held_out_with_choice, path_of
from tmsm.maps.too_few import FEWEST_PLACES, check_places
from tmsm.matching.equations import ResidualSums, sum_residuals
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.measure.integrals import Plan, log_sum
from tmsm.measure.nodes import Nodes, has_nodes
from tmsm.regions import Region

__all__ = ["SeriesFit", "SeriesSettings", "fit_series"]

# Degrees that are tried in turn where nothing is asked for, and how many different places each function wants.
_DEGREES, _PLACES = (12, 18), 2
# Where more than this share of what the ridge could keep small is free, the degree may be too low.
_NEARLY_ALL = 0.7
# The ridge on the free functions, for each row: a coefficient of 30 costs as much as one row tells.
_WEAK = 1e-3
# The nodes may move the map by this share of its standard error.
_ERROR_SHARE, _MOST_NODES = 0.05, 150_000
# A path of smoothings is computed with at most so many values of functions at nodes.
_MOST_NUMBERS = 8_000_000
# Rows that stand for the region where it has no nodes.
_MOST_ROWS = 4096


@final
@dataclass(frozen=True)
class SeriesSettings:
    """What a user asks for: degree and smoothing (None: to be chosen), basis, method, and a seed."""

    degree: int | None
    basis: str
    method: str
    smoothing: float | None
    seed: int
    log_exposure: LogExposure | None


@final
@dataclass(frozen=True, eq=False)
class SeriesFit:
    """A map, the path of smoothings that it was chosen from, and how it came about.

    ``at`` gives the map at any candidate of the path; ``held_out`` is what rows say that did not choose it.
    """

    density: SeriesDensity
    path: Path
    held_out: float
    method: str
    degree: int
    n_rows: int
    n_places: int
    grouped: bool
    effective_n: float
    held_out_kind: str
    error_share: float
    exposure: KnownExposure | None
    notes: tuple[str, ...]
    n_outside: int

    def at(self, candidate: Candidate) -> SeriesDensity:
        """The map at another ridge, without its error."""
        return replace(self.density, theta=candidate.theta)


def fit_series(rows: Rows, settings: SeriesSettings) -> SeriesFit:
    """The map of rows inside a region."""
    sample = rows.sample()
    if len(sample) == 0:
        raise InvalidInputError(rows.describe_absence())
    for frame in rows.region.frames:
        check_frames(frame, rows.frame, "The region")
    exposure = KnownExposure.of(settings.log_exposure, rows)
    folds = Folds.of(rows, settings.seed)
    check_places(rows, folds)
    if folds.units < FEWEST_PLACES:
        raise EstimationError(
            f"{in_number(folds.units, 'group')} too few for a map: it wants {FEWEST_PLACES} at least, and hundreds to "
            "show more than one bump."
        )
    problem = _Problem(rows, settings, exposure, folds)
    # Small matrices are factored between the products: threads that wait for each other cost more than they gain.
    with single_threaded(len(sample) * number_of_functions(problem.first_degree, problem.dim)):
        found = _chosen(problem, settings)
        return problem.finished(found)


def _chosen(problem: _Problem, settings: SeriesSettings) -> _Solved:
    """The path of smoothings at the degree that is asked for, or at the one that held-out rows like best."""
    found = problem.solved(problem.first_degree)
    if settings.degree is None and settings.smoothing is None:
        for degree in _DEGREES[1:]:
            if not found.path.at_rough_end or problem.carried(degree) < degree:
                break
            finer = problem.solved(degree)
            tried = (*found.tried, *finer.tried)
            better = finer.path.chosen.held_out > found.path.chosen.held_out
            found = replace(finer if better else found, tried=tried)
            if not better:
                break
    return found


@dataclass(frozen=True)
class _Solved:
    degree: int
    series: Series
    plan: Plan | None
    smoother: LikelihoodSmoother | ScoreSmoother
    path: Path
    tried: tuple[Candidate, ...]


class _Problem:
    """Rows and settings, with all that does not depend on the degree."""

    def __init__(self, rows: Rows, settings: SeriesSettings, exposure: KnownExposure | None, folds: Folds) -> None:
        self.rows, self.settings, self.exposure, self.folds = rows, settings, exposure, folds
        self.region: Region = rows.region
        manifold = self.region.manifold
        self.dim = manifold.dim
        self.has_nodes = has_nodes(self.region)
        self.method = settings.method
        if self.method == "auto":
            self.method = "likelihood" if self.has_nodes and self.dim <= 2 else "score"
        if self.method == "likelihood" and not self.has_nodes:
            raise InvalidInputError(
                f"method='likelihood' needs nodes to integrate on, which this region of {manifold!r} does not have: "
                "use method='score'."
            )
        if self.method == "score":
            self.exposure = KnownExposure.of(settings.log_exposure, rows, with_gradient=True)

    def carried(self, degree: int) -> int:
        """The degree, or the highest one below it that the rows can carry."""
        while degree > 1 and _PLACES * number_of_functions(degree, self.dim) > self.folds.units:
            degree -= 1
        return degree

    @property
    def first_degree(self) -> int:
        """The degree that is asked for, or the usual one, as far as the rows can carry it."""
        return self.carried(_DEGREES[0] if self.settings.degree is None else self.settings.degree)

    def kind(self, nodes: Nodes | None) -> str:
        """Which functions: harmonics where the region is a hemisphere at least, else bumps."""
        if self.settings.basis != "auto":
            return self.settings.basis
        if self.region.manifold.has_longitudes and nodes is not None:
            area = float(np.exp(nodes.log_weights).sum())
            return "series" if area > 2.0 * np.pi * (1.0 - 1e-6) else "bumps"
        return "bumps"

    def solved(self, degree: int) -> _Solved:
        """The path of smoothings at a degree."""
        plan = even_plan(self.region, number_of_functions(degree, self.dim)) if self.has_nodes else None
        nodes = None if plan is None else plan.nodes()
        if nodes is not None:
            X, weights = nodes.X, np.exp(nodes.log_weights)
        else:
            X = self.rows.spread(_MOST_ROWS).sample().X
            weights = np.ones(len(X))
        series = series_of(self.kind(nodes), self.region.manifold, X, weights, degree)
        smoother = self._smoother(series, plan)
        path = self._path(series, smoother)
        if isinstance(smoother, LikelihoodSmoother) and isinstance(smoother.nodes, _NodesOfSeries):
            plan = smoother.nodes.plan
        return _Solved(degree, series, plan, smoother, path, path.candidates)

    def _smoother(self, series: Series, plan: Plan | None) -> LikelihoodSmoother | ScoreSmoother:
        sums = FoldSums.of(series, self.rows, self.folds)
        if not sums.weights.sum() > 0.0:
            raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
        if self.method == "likelihood":
            assert plan is not None, "it has nodes"
            return LikelihoodSmoother(series, _NodesOfSeries(self, series, plan), sums, _WEAK / sums.effective_n)
        likelihood = None if plan is None else self.likelihood(series, plan.nodes())
        weight = weight_for(self.rows, series.size)
        return ScoreSmoother(series, self.rows, self.folds, weight, self.exposure, likelihood, sums)

    def likelihood(self, series: Series, nodes: Nodes) -> PenalisedLikelihood:
        """On some nodes, with the known exposure."""
        return PenalisedLikelihood(series.statistics(nodes.X), self.log_weights(nodes))

    def log_weights(self, nodes: Nodes) -> FloatArray:
        """Logarithms of the nodes' areas, times the known exposure, shape (m,)."""
        if self.exposure is None:
            return nodes.log_weights
        return nodes.log_weights + self.exposure.values_at(nodes.X)

    def _path(self, series: Series, smoother: LikelihoodSmoother | ScoreSmoother) -> Path:
        asked = self.settings.smoothing
        if series.n_free == series.size:
            return Path((smoother.candidate(np.inf if asked is None else asked),), 0)
        if asked is not None:
            smoother.largest()  # from which the search begins
            return Path((smoother.candidate(asked),), 0)
        return path_of(smoother.candidate, smoother.largest(), series.size)

    def finished(self, found: _Solved) -> SeriesFit:
        """With nodes that are fine enough for the density that was found, its covariance, and words."""
        notes, chosen = self._words(found), found.path.chosen
        theta, plan, share = chosen.theta, found.plan, 0.0
        smoother, series = found.smoother, found.series
        if plan is not None:
            plan = plan_for(series.at(theta).log_kernel, plan)
        if isinstance(smoother, LikelihoodSmoother):
            assert plan is not None
            plan, maximum, share = self._refined(series, smoother, chosen, plan)
            theta, information, curvature = maximum.theta, maximum.information, maximum.curvature
            variance = self._variance(series, maximum.mean, information / smoother.sums.effective_n)
            effective = smoother.sums.effective_n
            if share > _ERROR_SHARE:
                notes.append(
                    f"The nodes of the region move the map by {share:.2g} of its standard error: the density is "
                    "sharper than they can follow. Use AdaptiveKernel, or a smaller region."
                )
        else:
            information = smoother.whole.A
            curvature = information + np.diag(smoother.ridge(chosen.smoothing))
            equations = OneWeight(series, weight_for(self.rows, series.size), self.exposure)
            variance = sum_residuals(equations, self.rows, theta).covariance
            effective = smoother.whole.effective_n
        covariance = _covariance(information, curvature, variance)
        path = replace(found.path, candidates=_replaced(found.path, theta))
        held_out = held_out_with_choice(found.tried)
        if self.exposure is not None and found.smoother.likelihood is not None:
            shift = self._mean_log_exposure(self.exposure)
            path, held_out = path.shifted(shift), held_out + shift
        density = SeriesDensity(self.region, self.rows.frame, series, theta, covariance, plan)
        kind = "likelihood" if found.smoother.likelihood is not None else "objective"
        return SeriesFit(
            density, path, held_out, self.method, found.degree, smoother.sums.n_rows, self.folds.units,
            self.rows.groups is not None, effective, kind, share, self.exposure, tuple(notes), self.rows.n_outside,
        )  # fmt: skip

    def _refined(
        self, series: Series, smoother: LikelihoodSmoother, chosen: Candidate, plan: Plan
    ) -> tuple[Plan, Maximum, float]:
        """Nodes that are fine enough, the map on them, and what finer ones would move it by, in standard errors."""
        sums, ridge = smoother.sums, smoother.ridge(chosen.smoothing)
        likelihood, theta = self.likelihood(series, plan.nodes()), chosen.theta
        while True:
            found = likelihood.maximum(sums.mean, ridge, theta, smoother.tolerance)
            finer = plan.finer if self.region.has_border else None
            try:
                nodes = None if finer is None else finer.nodes()
            except TooManyNodesError:
                nodes = None
            if finer is None or nodes is None:
                return plan, found, 0.0
            next_likelihood = self.likelihood(series, nodes)
            change = next_likelihood.at(found.theta, ridge).mean - found.mean
            moved = float(change @ np.linalg.solve(found.curvature, change))
            share = float(np.sqrt(max(sums.effective_n * moved, 0.0)))
            if share <= _ERROR_SHARE or len(nodes.X) > _MOST_NODES:
                return plan, found, share
            plan, likelihood, theta = finer, next_likelihood, found.theta

    def _variance(self, series: Series, mean: FloatArray, usual: FloatArray) -> FloatArray:
        """Covariance of the mean of t over the rows, (p, p); of weighted rows and of groups from what these show."""
        rows = self.rows
        if rows.groups is None and rows.source.equally_weighted:
            return usual

        def block_sums(block: Block) -> ResidualSums:
            return ResidualSums.of(series.statistics(block.X) - mean, block.weights())

        def with_groups(block: Block) -> tuple[ResidualSums, FloatArray]:
            e, w = series.statistics(block.X) - mean, block.weights()
            return ResidualSums.of(e, w), np.column_stack([e * w[:, None], w])

        if rows.groups is None:
            sums, by_group = rows.total(block_sums), None
        else:
            sums, by_group = rows.grouped_total(with_groups)
        assert sums is not None, "there are rows inside"
        return replace(sums, by_group=by_group).covariance

    def _mean_log_exposure(self, exposure: KnownExposure) -> float:
        """Of the rows: held-out densities are those of rows as they are seen."""
        parts = [(float(w @ exposure.row_values(X)), float(w.sum())) for X, w in self.rows.map(_points_and_weights)]
        total, weights = np.sum(parts, axis=0)
        return float(total / weights)

    def _words(self, found: _Solved) -> list[str]:
        """What to be wary of, in sentences."""
        notes: list[str] = []
        asked = _DEGREES[0] if self.settings.degree is None else self.settings.degree
        if found.degree < asked:
            what = "groups" if self.rows.groups is not None else "different places"
            notes.append(
                f"The degree is {found.degree}, not {asked}: {self.folds.units:,} {what} are too few for more."
            )
        if found.path.note:
            notes.append(found.path.note)
        size, n_free, freedom = found.series.size, found.series.n_free, found.path.chosen.freedom
        more = "AdaptiveKernel resolves more" if found.degree >= _DEGREES[-1] else "a higher degree may resolve more"
        if found.path.at_rough_end:
            notes.append(
                f"The smallest smoothing fits best: there is structure finer than degree {found.degree} can show, and "
                f"{more}."
            )
        elif len(found.path.candidates) > 1 and freedom - n_free > _NEARLY_ALL * (size - n_free):
            notes.append(
                f"{freedom:.0f} of {size} functions are free of the ridge: there is structure about as fine as degree "
                f"{found.degree} can show, or finer, and {more}."
            )
        if self.method == "score":
            notes.append(
                "Score matching does not see how the mass is shared among bumps that lie apart."
                if self.has_nodes
                else "The smoothing was chosen by the objective of score matching: this region has no likelihood."
            )
        if found.plan is not None and self.region.has_border:
            notes += empty_parts(self.region, found.plan.nodes(), self.rows.sample().X)
        return notes


@dataclass(frozen=True)
class _NodesOfSeries:
    """Nodes that a path of smoothings is computed on, and finer ones beside them."""

    problem: _Problem
    series: Series
    plan: Plan

    def likelihood(self) -> PenalisedLikelihood:
        return self.problem.likelihood(self.series, self.plan.nodes())

    def log_integral(self, theta: FloatArray) -> float:
        nodes = self.plan.nodes()
        return log_sum(self.series.log_kernel(nodes.X, theta) + self.problem.log_weights(nodes))

    @property
    def finer(self) -> _NodesOfSeries | None:
        plan = finer_plan(self.plan)
        return None if plan is None else replace(self, plan=plan)

    @property
    def affordable(self) -> bool:
        return len(self.plan.nodes().X) * self.series.size <= _MOST_NUMBERS


def _covariance(information: FloatArray, curvature: FloatArray, variance: FloatArray) -> FloatArray:
    """Of the coefficients, (p, p): what the rows' variance and the ridge's bias do, as wide on average.

    The bias of a ridge R is H⁻¹ R θ; with θ as large as the ridge takes it to be, its square is H⁻¹ R H⁻¹/n on average,
    and both together are H⁻¹/n where rows are independent (Nychka 1988).
    """
    inverse = np.linalg.inv(curvature)
    inverse = 0.5 * (inverse + inverse.T)
    n = float(np.trace(inverse @ information) / max(np.trace(inverse @ variance), 1e-300))
    return np.asarray(inverse @ (variance + (curvature - information) / n) @ inverse)


def _points_and_weights(block: Block) -> tuple[FloatArray, FloatArray]:
    return np.asarray(block.X), block.weights()


def _replaced(path: Path, theta: FloatArray) -> tuple[Candidate, ...]:
    """The candidates of a path, the chosen one with its final coefficients."""
    out: list[Any] = list(path.candidates)
    out[path.best] = replace(out[path.best], theta=theta)
    return tuple(out)


assert max(_DEGREES) <= MAX_DEGREE
