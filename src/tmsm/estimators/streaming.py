"""Estimates from rows that come one block after the other, each read once: sums, and a fit when it is asked for."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tmsm.data.device_source import in_memory
from tmsm.data.opening import opened
from tmsm.data.rows import Rows
from tmsm.data.sources import Source
from tmsm.estimators.bordered import BorderedEstimator
from tmsm.estimators.problem import Problem
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError, NotFittedError, TmsmWarning
from tmsm.foundation.threads import single_threaded, threads_of
from tmsm.inference.covariance import likelihood_covariance_once
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence, errors_of_groups
from tmsm.matching.combination import Readings
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equations import LinearSums, ResidualSums, sum_equations
from tmsm.matching.group_totals import GroupTotals
from tmsm.matching.kept_rows import MOST_KEPT, KeptRows
from tmsm.matching.likelihood import LikelihoodEquations
from tmsm.matching.moments import MAX_FEATURE_STATISTICS, Features, Moments, StatisticSums
from tmsm.matching.one_pass import OneReading, pilot_at, sum_once
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.pilot import OnePass, StatisticSquares
from tmsm.matching.solve import Solution, solve
from tmsm.matching.stacked import Stacked
from tmsm.regions import Region
from tmsm.weights import WeightPolicy
from tmsm.weights.policies import ROWS_PER_SQUARE, Auto, Choice, Setting, Single, as_policy

__all__ = ["StreamingEstimator"]

# So many rows give the pilot estimate of a single weight.
_PILOT_ROWS = 4096
# More rows than any policy asks for.
_MANY = 1e15


@dataclass(frozen=True)
class _Stream:
    """What was asked for when a stream began, and all that it keeps.

    Until the equations are fixed the first rows are collected, and ``moments`` is None; it is tried again to fix them
    when there are so many rows as ``next_look``.
    """

    asked: tuple[Any, ...]
    collected: OnePass
    moments: Moments | None = None
    next_look: int = 0

    @property
    def one_pass(self) -> OnePass:
        """What is kept beside the sums."""
        if self.moments is None:
            return self.collected
        assert self.moments.one_pass is not None, "sums of a stream have it"
        return self.moments.one_pass


class StreamingEstimator(BorderedEstimator):
    """Base of score matching: what `partial_fit` keeps between calls, and how it goes on."""

    region: Any
    weight: Any
    log_exposure: Any
    refine: Any
    robust: Any
    standard_errors: Any
    n_jobs: Any
    _stream: _Stream | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Self:
        if isinstance(X, str | os.PathLike | np.ndarray | list) or not isinstance(self.region, Region):
            return super().fit(X, y, sample_weight, groups, covariates)
        self._forget()
        self._why_not_fitted = "the last call to fit failed."
        source = opened(X, self.region.manifold, sample_weight)
        if source is None or source.rereadable:
            return super().fit(X, y, sample_weight, groups, covariates)
        if groups is not None or covariates is not None:
            raise InvalidInputError(
                "Rows that can be read only once take no groups or covariates in fit: give blocks with their groups to "
                "partial_fit, or pass what can be read again, such as a file."
            )
        self.partial_fit(source)
        if self._stream is None:
            raise InvalidInputError("The rows, which can be read only once, were none: there is nothing to fit.")
        if len(self._stream.one_pass.kept) == 0:
            raise InvalidInputError(self._why_not_fitted)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Add rows to the estimate of earlier calls. They are read once and are not needed again.

        A call after `fit` starts anew. The first call fixes what comes from data: the scales of weights, the level of
        combined weights, and a first estimate about which sums are taken. Combined weights need enough first rows for
        this, at most 65,536, which are kept until then. "auto" takes a single weight. A sample of at most 65,536 rows
        is kept, spread evenly over the stream. With a single weight and more than 20 statistics there are no standard
        errors. A call that is interrupted or refused adds nothing.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,), on one scale over all calls.
        groups
            Labels, shape (n,), of groups within which rows may depend on each other, as `fit` takes them: in every call
            or in none.  Rows of a group may come in any call.  Memory grows with the number of groups.
        covariates
            Not possible in a stream, because their mean is known only at the end: use `fit`.

        Returns
        -------
        self
        """
        if covariates is not None:
            raise InvalidInputError(
                "partial_fit does not take covariates, whose mean and spread are known only at the end: use fit."
            )
        if isinstance(n := next(iter(getattr(X, "shape", ())), None), int) and n == 0:
            return self  # readers of files in chunks end with such a block
        if isinstance(X, Source) and not X.rereadable:
            return self._read_through(X)
        rows = self._rows(X, sample_weight)
        if rows.covariates is not None or (groups is None and rows.groups is not None):
            raise InvalidInputError(
                "In a stream groups and covariates of a source do not count, which numbers its groups by itself: give "
                "labels by groups=, and no covariates."
            )
        if self.robust is not None:
            raise InvalidInputError(
                "robust weights the rows again and again and does not work with partial_fit: use fit, or robust=None."
            )
        before = self._stream
        if before is None or (before.moments is None and len(before.collected.kept) == 0):
            kept = KeptRows.none(rows.source.n_columns, grouped=groups is not None, frame=rows.frame)
            none = GroupTotals.none(0) if groups is not None else None
            dropped = 0 if before is None else before.collected.n_outside
            before = _Stream(self._asked(), OnePass(rows.region, self.get_params(), kept, dropped, groups=none))
        if before.asked != self._asked():
            raise InvalidInputError(
                "The model, region, weight, exposure or refine has changed since the first partial_fit: "
                "start over with fit, or with a new estimator."
            )
        one_pass = before.one_pass
        rows.check_frame(one_pass.kept.frame)
        if (groups is None) != (one_pass.groups is None):
            raise InvalidInputError(
                f"The stream began {'without' if one_pass.groups is None else 'with'} groups: give labels in every "
                "call of partial_fit, or in none."
            )
        if one_pass.groups is not None:
            table, numbers = one_pass.groups.numbered(in_memory(groups), len(rows))
            rows, one_pass = rows.with_groups(numbers), replace(one_pass, groups=table)
        with threads_of(self.n_jobs), single_threaded(len(rows) * rows.source.n_columns):
            found = self._begun(before, one_pass, rows) if before.moments is None else _summed(before, one_pass, rows)
        # At the end, so that a call that is interrupted or refused leaves what was there.
        self._result = None
        self._stream = found
        self._why_not_fitted = "there are too few rows yet." if len(found.one_pass.kept) else rows.describe_absence()
        return self

    def _read_through(self, source: Source) -> Self:
        """Add the rows of a source that can be read once only, block by block; all of them or none."""
        before = self._stream, self._result, self._why_not_fitted
        try:
            for block in source.blocks(MOST_KEPT):
                self.partial_fit(np.asarray(block.X), sample_weight=block.weight)
        except BaseException:
            self._stream, self._result, self._why_not_fitted = before
            raise
        return self

    @classmethod
    def from_moments(cls, moments: Moments) -> Self:
        """An estimator from sums that were saved or added, without the rows.

        It has the arguments that the sums were made with, and `partial_fit` can add rows to it.

        Parameters
        ----------
        moments
            `moments_` of an estimator, a sum of several, or the result of `tmsm.load_moments`.
        """
        if not isinstance(moments, Moments):
            raise InvalidTypeError(
                f"from_moments takes sums, such as fit.moments_ or load_moments(path); got {type(moments).__name__}."
            )
        one_pass = moments.one_pass
        if one_pass is None or one_pass.choice is None:
            raise InvalidInputError("These sums have no configuration: use those of an estimator's moments_.")
        made = cls(**one_pass.configuration)
        if made.refine is not None and one_pass.statistics is None:
            raise InvalidInputError(
                "These sums were made by fit and hold none of a likelihood, which refine='mle' needs: make them by "
                "partial_fit."
            )
        made._stream = _Stream(made._asked(), one_pass, moments)
        made._why_not_fitted = "its sums have no rows yet."
        return made

    @property
    def result_(self) -> Fit:
        """All that was found, in one immutable record; of a stream computed from its sums when it is asked for."""
        stream = self._stream
        if self._result is None and stream is not None and len(stream.one_pass.kept):
            try:
                self._result = self._as_asked(stream)._estimated(stream)
            except EstimationError as error:
                # More rows may come.
                self._why_not_fitted = str(error)
        return super().result_

    def __sklearn_is_fitted__(self) -> bool:
        try:
            return self.result_ is not None
        except NotFittedError:
            return False

    def _as_asked(self, stream: _Stream) -> Self:
        """A copy with the constructor's arguments of the time when a stream began, whatever was set since."""
        made = copy(self)
        for name, value in stream.one_pass.configuration.items():
            setattr(made, name, value)
        return made

    def _forget(self) -> None:
        super()._forget()
        self._stream = None

    def _restore(self, fit: Fit) -> None:
        super()._restore(fit)
        one_pass = fit.one_pass
        if fit.complete or (one_pass is None and fit.moments is None):
            return
        if one_pass is None:  # of a file that an earlier tmsm wrote
            kept = KeptRows.of_rows(fit.kept, fit.n_samples)
            one_pass = OnePass(fit.region, fit.configuration, kept, fit.n_outside, fit.choice)
        moments = None if fit.moments is None else replace(fit.moments, one_pass=one_pass)
        # A stream goes on where it was.
        self._stream = _Stream(self._asked(), one_pass, moments)

    def _asked(self) -> tuple[Any, ...]:
        return self.model, self.region, self.weight, self.log_exposure, self.refine

    def _described(self, moments: Moments) -> Moments:
        """Sums with the configuration that they were made with, and with the rows that the fit keeps."""
        fit = self.result_
        if moments.one_pass is not None or not isinstance(moments.equations, OneWeight):
            return moments
        moments = replace(moments, features=None)  # about an estimate of its own, which no other sums know
        kept = replace(KeptRows.of_rows(fit.kept, fit.n_samples), codes=None)
        return replace(moments, one_pass=OnePass(fit.region, fit.configuration, kept, fit.n_outside, fit.choice))

    def _policy(self) -> WeightPolicy:
        """What chooses weights in a stream."""
        policy = as_policy(self.weight)
        return Auto(combine=False) if isinstance(policy, Auto) else policy

    def _begun(self, before: _Stream, one_pass: OnePass, rows: Rows) -> _Stream:
        """A stream with its first sums, or with more rows collected where these are not enough for the equations."""
        collected, n_outside = one_pass.kept, one_pass.n_outside
        if isinstance(self._policy(), Single | Auto) and len(rows.sample()):
            problem = self._problem(rows)
            start = self._start(problem, self._policy().choose(problem.setting), one_pass)
            return self._first_sums(before, start, [rows], n_outside)
        new = rows.total(lambda block: KeptRows.of_block(block.X, block.sample_weight, block.groups, rows.frame))
        one_pass = replace(one_pass, n_outside=n_outside + rows.n_outside)
        if new is None or new.seen == 0:
            return replace(before, collected=one_pass)
        one_pass = replace(one_pass, kept=collected + new)
        seen = one_pass.kept.seen
        if seen < before.next_look:
            return replace(before, collected=one_pass)
        first = one_pass.kept.rows(rows.region) if len(collected) else rows
        try:
            problem = self._problem(first)
            choice, wanted = self._choice(problem.setting, seen)
        except EstimationError:
            if seen >= MOST_KEPT:
                raise
            return replace(before, collected=one_pass, next_look=2 * seen)
        if seen < min(wanted, MOST_KEPT):
            return replace(before, collected=one_pass, next_look=min(wanted, MOST_KEPT))
        start, n_groups = self._start(problem, choice, one_pass), None if rows.groups is None else rows.groups.count
        parts = [collected.rows(rows.region, n_groups), rows] if len(collected) else [rows]
        return self._first_sums(before, start, parts, n_outside)

    def _problem(self, rows: Rows) -> Problem:
        """What the first rows fix."""
        problem = Problem.of(self.model, rows, self.log_exposure)
        if not problem.model.is_linear:
            raise InvalidInputError(
                f"{type(self.model).__name__} is not linear in its parameters: its rows are needed again, so use fit."
            )
        return problem

    def _first_sums(self, before: _Stream, start: Moments, parts: list[Rows], n_outside: int) -> _Stream:
        """A stream with the sums of its first rows; so many were dropped before."""
        total = start
        for part in parts:
            assert total.one_pass is not None, "as the start has"
            sums = sum_once(start, part, total.one_pass.kept)
            assert sums is not None, "there are rows inside"
            total += sums
        assert total.one_pass is not None, "as the start has"
        whole = replace(total.one_pass, n_outside=n_outside + parts[-1].n_outside)
        return _Stream(before.asked, whole, replace(total, one_pass=whole))

    def _choice(self, setting: Setting, seen: int) -> tuple[Choice, int]:
        """The weights for the first rows, so many of which were seen, and how many of these there should be.

        So many that combined weights are those that any number of rows, or of groups, would have, and that their
        equations are known well enough to be fixed.
        """
        policy = self._policy()
        choice, highest = policy.choose(setting), policy.choose(replace(setting, n_rows=_MANY))
        if not highest.combined:
            return choice, 0
        dim = setting.region.manifold.dim
        enough: int = ROWS_PER_SQUARE * sum(part.size(setting.n_free, dim) for part in highest.parts) ** 2
        if choice.parts == highest.parts or seen < enough:
            return choice, enough
        return choice, 2 * seen

    def _start(self, problem: Problem, choice: Choice, one_pass: OnePass) -> Moments:
        """Sums of no rows yet: the equations, and a pilot estimate that sums are taken about."""
        equations, p = problem.equations(choice), problem.model.size
        assert isinstance(equations, OneWeight | Stacked)
        # Of one weight any pilot is as good, but for rounding.
        first = problem.kept if choice.combined else problem.kept.spread(_PILOT_ROWS)
        sums = sum_equations(equations, first)
        assert sums is not None, "there are rows inside"
        try:
            theta = self._first_solution(problem, sums).theta
        except EstimationError:
            theta = np.zeros(p)
        m, features, residuals = equations.n_equations, None, None
        if choice.combined:
            residuals = ResidualSums(0.0, 0.0, np.zeros(m), np.zeros(m), np.zeros((m, m)))
        elif self.standard_errors and p > MAX_FEATURE_STATISTICS:
            if self.refine is None:
                warnings.warn(
                    f"partial_fit gives no standard errors for {p} statistics (at most {MAX_FEATURE_STATISTICS}); "
                    "use fit on data that can be read twice.",
                    TmsmWarning,
                    stacklevel=4,
                )
        elif self.standard_errors:
            size = p * (p + 1) // 2 + p
            features = Features(theta, np.zeros((size, size)))
        begun = replace(
            one_pass,
            kept=one_pass.kept.cleared(),
            n_outside=0,
            choice=choice,
            pilot=pilot_at(equations, first, theta),
            residuals=residuals,
            statistics=None if self.refine is None else StatisticSquares.none(p),
        )
        A, b = np.zeros((m, p)), np.zeros(m)
        start = Moments(0, 0.0, 0.0, A, b, 0.0, equations, features, begun)
        if begun.groups is None:
            return start
        totals = np.zeros((len(begun.groups), start.group_columns.size))
        return replace(start, one_pass=replace(begun, groups=begun.groups.with_totals(totals)))

    def _first_solution(self, problem: Problem, sums: LinearSums) -> Solution:
        """The estimate of the first weight alone."""
        problem.check_sums(sums.n, sums.weight_sum, sums.farthest)
        p = problem.model.size
        return solve(problem.constraint, sums.A[:p], sums.b[:p])

    def _estimated(self, stream: _Stream) -> Fit:
        """The fit of the rows so far, from their sums."""
        one_pass, moments = stream.one_pass, stream.moments
        kept = one_pass.kept.rows(one_pass.region)
        if moments is None:
            fit = self._estimate(kept).clustered(kept)
            note = f"Of a stream of {len(kept):,} rows, which are held until there are enough to fix its equations."
            return replace(
                fit, status=f"{fit.status} {note}", complete=False, n_outside=one_pass.n_outside, one_pass=one_pass
            )
        pilot = one_pass.pilot
        assert one_pass.choice is not None, "sums have their weights"
        model, equations = moments.equations.model, moments.equations
        exposure = equations.exposure
        groups, columns = one_pass.groups, moments.group_columns
        n_rows = moments.effective_n
        if groups is not None:
            by_weight = groups.totals[:, -2]
            n_rows = float(by_weight.sum()) ** 2 / max(float(by_weight @ by_weight), 1e-300)
        setting = Setting(kept.sample().view, model.constraint.n_free, n_rows)
        problem = Problem(model, kept, setting, exposure, kept, one_pass.kept.share)
        reading, how = None, "its errors are from sums"
        if isinstance(equations, Stacked):
            reading = OneReading(moments, kept)
            problem.check_sums(moments.n, moments.weight_sum, moments.farthest)
            how = f"its weights and errors are from sums and {len(kept):,} kept rows,"
            fit = self._combined(
                problem, self._policy(), one_pass.choice, equations, moments, reading, one_pass.n_outside
            )
        else:
            solution = self._solved(problem, moments)
            squares = None if moments.features is None else moments.features.residual_squares(solution.theta)
            fit = self._single_fit(problem, one_pass.choice, moments, solution, squares, one_pass.n_outside)
        if self.refine is not None:
            fit = self._refined_once(fit, moments, kept)
        if groups is not None and pilot is not None and fit.covariance is not None:
            theta, totals = fit.theta, groups.totals
            if isinstance(fit.influence.equations, LikelihoodEquations):
                away = _away(fit.influence, one_pass)
                sums = np.outer(totals[:, -2], away) - columns.statistics(totals)
                assert one_pass.statistics is not None
                own = one_pass.statistics.residual_squares(away, moments.weight_squares)
            else:
                sums = columns.residuals(totals, pilot, theta)
                if reading is not None:
                    own = reading.residuals(equations, theta).squares
                else:
                    assert moments.features is not None, "there is a covariance"
                    own = moments.features.residual_squares(theta)
            M = fit.influence.matrix
            found = errors_of_groups(np.column_stack([sums @ M.T, totals[:, -2:]]), M @ own @ M.T, fit.n_free)
            fit = fit.with_group_errors(found, kept)
        if pilot is not None and (fit.covariance is not None or reading is not None):
            note = f"Read once: {how} about an estimate from {pilot.n_rows:,} of the first rows."
            fit = replace(fit, status=f"{fit.status} {note}")
        return replace(fit, complete=False, moments=moments, one_pass=one_pass)

    def _refined_once(self, fit: Fit, moments: Moments, kept: Rows) -> Fit:
        """One Newton step towards the maximum of the likelihood, from sums of the statistics."""
        one_pass = moments.one_pass
        assert one_pass is not None and one_pass.pilot is not None and one_pass.statistics is not None
        squares = one_pass.statistics
        total = squares.total + moments.weight_sum * one_pass.pilot.center
        sums = StatisticSums(moments.n, moments.weight_sum, moments.weight_squares, total)

        def errors(influence: Influence) -> FloatArray:
            return likelihood_covariance_once(influence, kept, sums, squares, _away(influence, one_pass))

        return self._stepped(fit, sums, kept.sample().X, errors)

    @abstractmethod
    def _solved(self, problem: Problem, moments: Moments) -> Solution:
        """The estimate from the sums of one weight."""

    @abstractmethod
    def _single_fit(
        self,
        problem: Problem,
        choice: Choice,
        moments: Moments,
        solution: Solution,
        squares: FloatArray | None,
        n_outside: int,
    ) -> Fit:
        """The fit of one weight, with errors where the squares Σ w² e eᵀ (p, p) are known."""

    @abstractmethod
    def _combined(
        self,
        problem: Problem,
        policy: WeightPolicy,
        choice: Choice,
        equations: Stacked | WithCovariates,
        sums: LinearSums,
        readings: Readings | None = None,
        n_outside: int | None = None,
    ) -> Fit:
        """The fit of several weights."""

    @abstractmethod
    def _stepped(
        self, fit: Fit, sums: StatisticSums, sample: FloatArray, errors: Callable[[Influence], FloatArray]
    ) -> Fit:
        """One step from an estimate to that of a likelihood, from the sums of the statistics and some rows."""


def _away(influence: Influence, one_pass: OnePass) -> FloatArray:
    """How far the expected statistics of a likelihood are from the point that sums are taken about, shape (p,)."""
    assert isinstance(influence.equations, LikelihoodEquations) and one_pass.pilot is not None
    return influence.equations.expected(influence.theta) - one_pass.pilot.center


def _summed(before: _Stream, one_pass: OnePass, rows: Rows) -> _Stream:
    """A stream with the sums of more rows; ``one_pass`` has room for their groups."""
    moments = before.moments
    assert moments is not None
    start = moments.cleared()
    if one_pass.groups is not None and start.one_pass is not None:
        room = one_pass.groups.with_totals(np.zeros_like(one_pass.groups.totals))
        start = replace(start, one_pass=replace(start.one_pass, groups=room))
    more = sum_once(start, rows, one_pass.kept)
    if more is not None:
        moments = replace(moments, one_pass=one_pass) + more
    else:
        moments = replace(moments, one_pass=replace(one_pass, n_outside=one_pass.n_outside + rows.n_outside))
    return replace(before, moments=moments)
