"""Estimates from rows that come one block after the other: additive sums, which are kept, and a fit after each."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tmsm.data.rows import Rows
from tmsm.estimators.bordered import BorderedEstimator
from tmsm.estimators.problem import Problem
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, TmsmWarning
from tmsm.inference.fit import Fit
from tmsm.matching.moments import MAX_FEATURE_STATISTICS, Moments, accumulate
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import Solution
from tmsm.weights.policies import Choice, Setting, as_policy

__all__ = ["StreamingEstimator"]

_IN_A_STREAM = "Combined weights need the rows again and do not work with partial_fit: use fit, or 'saturating'."


@dataclass(frozen=True)
class _Stream:
    """What was asked for when a stream began, its problem and the sums so far."""

    asked: tuple[Any, ...]
    problem: Problem
    choice: Choice
    moments: Moments
    n_outside: int


class StreamingEstimator(BorderedEstimator):
    """Base of score matching: what `partial_fit` keeps between calls, and how it goes on."""

    region: Any
    weight: Any
    log_exposure: Any
    refine: Any
    robust: Any
    standard_errors: Any
    _stream: _Stream | None = None
    # Rows that were dropped before the first one inside came.
    _dropped: int = 0

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, covariates: Any = None
    ) -> Self:
        """Add rows to the estimate of earlier calls; they are not needed again afterwards.

        A call after `fit` starts over: a stream keeps other sums than `fit` does.
        Scales that come from data, such as a median distance, are fixed by the first call.  The
        errors come from second moments of (A_i, b_i) instead of a second reading; with more than
        20 statistics these are too many, and there are none.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,), on one scale over all calls.
        covariates
            Not for streams, whose mean and spread of covariates are not known at the first call: use `fit`.

        Returns
        -------
        self
        """
        if covariates is not None:
            raise InvalidInputError(
                "partial_fit does not take covariates, whose mean and spread are known only at the end: use fit."
            )
        if getattr(X, "shape", ())[:1] == (0,):
            return self  # readers of files in chunks end with such a block
        rows = self._rows(X, sample_weight)
        if self.refine is not None:
            raise InvalidInputError(
                "refine='mle' needs the rows again and does not work with partial_fit: use fit, or refine=None."
            )
        if self.robust is not None:
            raise InvalidInputError(
                "robust weights the rows again and again and does not work with partial_fit: use fit, or robust=None."
            )
        before = self._stream
        if before is None:
            self._result = None  # of a call to fit, which this stream does not continue
            stream = self._first_block(rows)
        else:
            if before.asked != self._asked():
                raise InvalidInputError(
                    "The model, region, weight or exposure has changed since the first partial_fit: "
                    "start over with fit, or with a new estimator."
                )
            rows.check_frame(before.problem.kept.frame)
            features = before.moments.features
            more = accumulate(before.moments.equations, rows, reference=features.reference if features else None)
            moments = before.moments if more is None else before.moments + more
            stream = replace(before, moments=moments, n_outside=before.n_outside + rows.n_outside)
        if stream is None:
            self._why_not_fitted, self._dropped = rows.describe_absence(), self._dropped + rows.n_outside
            return self
        self._stream, self._result, self._dropped = stream, None, 0
        try:
            solution = self._solved(stream.problem, stream.moments)
            features = stream.moments.features
            squares = None if features is None else features.residual_squares(solution.theta)
            fit = self._single_fit(stream.problem, stream.choice, stream.moments, solution, squares, stream.n_outside)
            self._result = replace(fit, complete=False)
        except EstimationError as error:
            # More rows may come: say why when somebody asks for the estimate.
            self._why_not_fitted = str(error)
        return self

    def _forget(self) -> None:
        super()._forget()
        self._stream, self._dropped = None, 0

    def _restore(self, fit: Fit) -> None:
        super()._restore(fit)
        if fit.complete or fit.choice is None or fit.moments is None:
            return
        # A stream goes on where it was.
        setting = Setting(fit.kept.sample().view, fit.model.constraint.n_free, fit.kept.effective_number, _IN_A_STREAM)
        problem = Problem(fit.model, fit.kept, setting, fit.exposure, fit.kept, fit.kept_share)
        self._stream = _Stream(self._asked(), problem, fit.choice, fit.moments, fit.n_outside)

    def _asked(self) -> tuple[Any, ...]:
        return self.model, self.region, self.weight, self.log_exposure

    def _first_block(self, rows: Rows) -> _Stream | None:
        """What a stream starts with, features about a first estimate included; None where no row lies inside."""
        if len(rows.sample()) == 0:
            return None
        problem = Problem.of(self.model, rows, self.log_exposure, _IN_A_STREAM)
        if not problem.model.is_linear:
            raise InvalidInputError(
                f"{type(self.model).__name__} is not linear in its parameters: its rows are needed again, so use fit."
            )
        choice = as_policy(self.weight).choose(problem.setting)
        equations = problem.equations(choice)
        assert isinstance(equations, OneWeight)
        moments = accumulate(equations, rows)
        if moments is None:
            return None
        p = problem.model.size
        if self.standard_errors and p > MAX_FEATURE_STATISTICS:
            warnings.warn(
                f"partial_fit gives no standard errors for {p} statistics (at most {MAX_FEATURE_STATISTICS}); "
                "use fit on data that can be read twice.",
                TmsmWarning,
                stacklevel=3,
            )
        elif self.standard_errors:
            try:
                reference = self._solved(problem, moments).theta
            except EstimationError:
                reference = np.zeros(p)
            moments = accumulate(equations, rows, reference=reference)
            assert moments is not None
        # A stream does not hold on to its rows, but for those that it is judged by.
        problem = replace(problem, rows=problem.kept)
        return _Stream(self._asked(), problem, choice, moments, self._dropped + rows.n_outside)

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
