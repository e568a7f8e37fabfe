"""Truncated manifold score matching: rows → equations → θ̂."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.rows import Rows
from tmsm.estimators.base import check_linear, check_model, check_region
from tmsm.estimators.covariate_likelihood import refined_with_covariates
from tmsm.estimators.densities import refined_density
from tmsm.estimators.problem import Problem
from tmsm.estimators.robust import RobustMatching, check_power, power_of, row_weights_of
from tmsm.estimators.streaming import StreamingEstimator
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.threads import single_threaded, threads_of
from tmsm.foundation.validation import check_flag, check_jobs, check_option
from tmsm.inference.bootstrap import Refit
from tmsm.inference.covariance import (
    inverse_information,
    likelihood_covariance,
    moment_influence,
    sandwich_covariance,
)
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence, error_df, small_sample_factor
from tmsm.inference.regression import Regression
from tmsm.matching.combination import Readings, combine
from tmsm.matching.covariates import WithCovariates, coefficients_of
from tmsm.matching.equations import LinearSums, residual_squares, sum_equations
from tmsm.matching.exposure import LogExposure
from tmsm.matching.likelihood import LikelihoodEquations, Truncated
from tmsm.matching.moments import Moments, StatisticSums, accumulate, sum_statistics
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.row_sums import loops_for, squares_of
from tmsm.matching.search import mean_objective, search
from tmsm.matching.solve import Solution, solve
from tmsm.matching.stacked import Stacked
from tmsm.matching.tabulated import RowTable
from tmsm.matching.turning import Turning, mean_of_parts, turned, with_covariates
from tmsm.models.base import Model
from tmsm.models.nonlinear import NonlinearModel
from tmsm.regions import Region
from tmsm.weights import Combined, Weight, WeightPolicy, plain_weight
from tmsm.weights.policies import ROWS_PER_SQUARE, Choice, as_policy

__all__ = ["ScoreMatching"]

# Below such a p-value several weights do not estimate the same thing.
_CONTRADICTION = 1e-4
# Rows of a first estimate: its error must only be small against the spread of the rows.
_REFERENCE_ROWS = 4096


class ScoreMatching(StreamingEstimator):
    """Fit a model to data that were only seen inside a region, without the normalising constant of the model.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.
    region
        Where points could be observed, such as `Cap(center, radius)`.
    weight
        "auto", "geodesic", "projected", "chordal", "saturating", "normal", "componentwise", "constraints", "combined",
        or an object of `tmsm.weights`. "auto" takes the best weight for the region and the number of rows. `weight_`
        and `summary` say which one.
    outside
        What to do with rows outside the region: "raise" an error, or "drop" them; `n_outside_` counts them.
    log_exposure
        Logarithm of the known detection probability, up to a constant. A function of X (n, D) that returns its values
        (n,), or values and gradients (n, D); or an `ExposureMap`. If a function returns values alone, their gradients
        are computed by differences, and the facts of the fit state the error. A place inside the region where nothing
        is detected (−∞) is an error: leave it out of the region.
    refine
        "mle": a Newton step from the estimate towards the maximum of the likelihood under truncation. One step is as
        accurate as the maximum to first order. If it does not end within a tenth of a standard error of the maximum, or
        if there are covariates, further steps go to the maximum; `status_` says which. It needs integrals over the
        region, see `TruncatedMLE`. None, the default, needs none.
    robust
        For an exponential family, a power c from 0 to 2: each row is weighted by its density to this power, so that
        outliers hardly change the estimate. Larger powers exclude outliers more strictly, and are less accurate if
        there are none: on S² the powers 0.1, 0.3 and 0.5 have 95, 79 and 60 % of the efficiency. "auto" takes the
        smallest of 0, 0.05, 0.1, 0.2, 0.3 and 0.5 for which larger powers do not change the estimate beyond chance.
        None, the default, counts all rows alike.
    standard_errors
        Whether `fit` computes the covariance. It usually reads the rows a second time for this.
    n_jobs
        Number of threads for large tables: None or -1 for all processors, -2 for all but one. The result does not
        depend on it.

    Attributes
    ----------
    params_ : Parameters
        The estimate by name; `natural_params_` is the same as θ.
    std_errors_ : Parameters
        Standard errors; `covariance_` is that of θ.
    objective_ : float
        J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂; of combined weights (Aθ̂ + b)ᵀ Ω⁻¹ (Aθ̂ + b).
    goodness_of_fit_ : GoodnessOfFit or None
        Test of the model: statistic, df, p_value.
    information_criterion_ : float
        For the comparison of models: lower is better.
    weight_ : Weight
        The weight that was used, with its scales.
    moments_ : Moments
        The sums A and b and the number of rows. They can be saved, added, and given to `from_moments`.
    row_weights_ : array
        In a robust fit, the weights of the kept rows; outliers have small ones.
    status_ : str
        How the estimate was found, and warnings.
    n_samples_, n_outside_ : int
        Rows that were used, and rows outside the region that were dropped.

    Notes
    -----
    J(θ) = E[⟨ψ, Wψ⟩ + 2⟨W, Hess log p⟩ + 2⟨div W, ψ⟩] with ψ = ∇ log p. For W = g I it is the objective of Williams and
    Liu (2022). For an exponential family it is a quadratic in θ.

    A robust fit solves mean w_i(θ) e_i((1 + c) θ) = 0 with w = f^c (Windham 1995), where e_i is half the derivative of
    the row's part of J. Weighted rows have a density proportional to f^(1+c) in the region, times the exposure. So the
    equation holds at the true θ for every region. Goodness of fit is then judged by the weighted rows.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(
    ...     2000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fit = tmsm.ScoreMatching(model, region).fit(X)
    >>> bool(abs(fit.params_.concentration - 6.0) < 3 * fit.std_errors_.concentration)
    True
    """

    def __init__(
        self,
        model: Model,
        region: Region,
        weight: Weight | WeightPolicy | str = "auto",
        *,
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        refine: Literal["mle"] | None = None,
        robust: float | Literal["auto"] | None = None,
        standard_errors: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.region = region
        self.weight = weight
        self.outside = outside
        self.log_exposure = log_exposure
        self.refine = refine
        self.robust = robust
        self.standard_errors = standard_errors
        self.n_jobs = n_jobs

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, covariates: Any = None) -> float:
        """Minus J on X with the plain geodesic weight: larger is better.

        The weight is the same whatever the fit used, so that weights and models can be compared.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,).
        covariates
            Those of the rows, shape (n, q), where the fit was made with covariates.
        """
        fit = self.result_
        rows = fit.new_covariates(self._as_fitted()._rows(X, sample_weight), covariates)
        rows.check_frame(fit.kept.frame)
        equations = OneWeight(fit.model, plain_weight(rows.region), fit.exposure)
        if not equations.is_linear:
            if len(rows.sample()) == 0:
                raise InvalidInputError(rows.describe_absence())
            return -mean_objective(equations, rows, fit.theta)
        standard = None if fit.regression is None else fit.regression.standard
        wide = with_covariates(equations, standard)
        if isinstance(wide, Turning):
            if len(rows.sample()) == 0:
                raise InvalidInputError(rows.describe_absence())
            return -mean_of_parts(wide, rows, fit.whole_theta)
        sums = sum_equations(wide, rows)
        if sums is None or not sums.weight_sum > 0.0:
            raise InvalidInputError(rows.describe_absence())
        return -sums.objective(fit.whole_theta)

    @property
    def weight_(self) -> Weight | Combined:
        """The weight, or combination of weights, that was used, all its scales fixed."""
        choice = self.result_.choice
        assert choice is not None, "score matching has chosen one"
        return choice.weight

    @property
    def objective_(self) -> float:
        """J(θ̂) = θ̂ᵀAθ̂ + 2bᵀθ̂; of combined weights (Aθ̂ + b)ᵀ Ω⁻¹ (Aθ̂ + b)."""
        objective = self.result_.objective
        assert objective is not None, "score matching has one"
        return objective

    @property
    def row_weights_(self) -> FloatArray:
        """The weight of each kept row in a robust fit, with mean one, shape (n,); outliers have nearly none.

        Kept rows are those inside the region, in their order, and of more than 65,536 a part spread evenly.
        """
        return row_weights_of(self.result_)

    @property
    def moments_(self) -> Moments:
        """(A, b, n), in the form of the model that ``moments_.equations.model`` names; they can be saved and added."""
        moments = self.result_.moments
        if moments is None and power_of(self.result_) is not None:
            raise InvalidInputError(
                "A robust fit has no moments to add: the weight of each row depends on the estimate from all of them."
            )
        if moments is None and isinstance(self.result_.influence.equations, Turning):
            raise InvalidInputError(
                "A fit with covariates at a known concentration has no moments to add: its equations are not linear."
            )
        if moments is None and not self.result_.complete:
            raise InvalidInputError(
                f"There are no moments to add yet: {self.result_.n_samples:,} rows are too few to fix combined "
                "equations by. Give more rows, or a lower level."
            )
        if moments is None:
            raise InvalidInputError(
                "Combined weights have no moments to add after fit: their quadratic form depends on all rows. "
                "Read the rows by partial_fit, or fit with a single weight, such as 'saturating'."
            )
        return self._described(moments)

    @property
    def n_outside_(self) -> int:
        """Number of rows outside the region that were dropped."""
        return self.result_.n_outside

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        check_region(check_model(self.model), self.region, self.log_exposure)
        check_flag(self.standard_errors, "standard_errors")
        if self.refine is not None:
            check_option(self.refine, ["mle"], "refine")
        check_power(self.robust, self.model, self.refine)
        check_jobs(self.n_jobs)
        return Rows.of(X, self.region, sample_weight, self.outside)

    def _takes(self, covariates: Covariates) -> None:
        if self.robust is not None:
            raise InvalidInputError(
                "robust is for fits without covariates, as yet: leave out robust, or the covariates."
            )

    def _estimate(self, rows: Rows) -> Fit:
        # Between the passes, too: once woken, the threads of BLAS stay awake into the next pass and are in its way.
        with threads_of(self.n_jobs), single_threaded(len(rows) * rows.source.n_columns):
            problem = Problem.of(self.model, rows, self.log_exposure)
            try:
                fit = self._matched(problem) if self.robust is None else self._robust(problem)
                return fit if self.refine is None else self._refined(fit, rows)
            except EstimationError:
                if len(rows) > 1 and rows.source.all_identical():
                    raise EstimationError(
                        f"All {len(rows)} rows are identical, so the spread cannot be estimated."
                    ) from None
                raise

    def _robust(self, problem: Problem) -> Fit:
        """Rows weighted by a power of the density: the one that was asked for, or the smallest that they allow."""
        power = check_power(self.robust, self.model, self.refine)
        if power is None or power == 0.0:
            return self._matched(problem)
        matching = RobustMatching(problem, as_policy(self.weight), self.standard_errors)
        if power == "auto":
            try:
                plain = self._matched(problem)
            except EstimationError:
                plain = None
            found, why = matching.smallest(plain)
            if found is None:
                assert plain is not None
                return replace(plain, status=f"{plain.status} {why}")
        else:
            found = matching.at(power)
        root, n_outside, facts = found.root, problem.rows.n_outside, list(found.facts)
        solution = replace(root.solution, status=found.status)
        fit = self._fit_of(
            problem,
            found.choice,
            solution,
            found.covariance,
            root.n,
            root.effective,
            found.influence,
            root.slope,
            facts,
            n_outside,
        )
        return replace(fit, objective=root.objective, method=f"{fit.method}, robust")

    def _matched(self, problem: Problem) -> Fit:
        """Score matching with the weight that was asked for, or chosen."""
        policy = as_policy(self.weight)
        choice = policy.choose(problem.setting)
        if not choice.combined:
            return self._single(problem, choice)
        equations = problem.equations(choice)
        assert isinstance(equations, Stacked | WithCovariates)
        sums = sum_equations(equations, problem.rows)
        assert sums is not None, "the sample has rows inside"
        problem.check_sums(sums.n, sums.weight_sum, sums.farthest)
        return self._combined(problem, policy, choice, equations, sums)

    def _single(self, problem: Problem, choice: Choice) -> Fit:
        equations, rows = problem.equations(choice), problem.rows
        assert isinstance(equations, OneWeight | WithCovariates | Turning)
        if isinstance(equations, Turning):
            return self._turned(problem, choice, equations)
        if isinstance(equations, OneWeight) and not equations.is_linear:
            return self._searched(problem, choice, equations)
        reference = self._reference(problem, equations) if self.standard_errors else None
        moments = accumulate(equations, rows, reference=reference)
        assert moments is not None, "the sample has rows inside"
        solution = self._solved(problem, moments)
        squares = None
        if moments.features is not None:
            squares = moments.features.residual_squares(solution.theta)
        elif self.standard_errors:
            squares = squares_of(equations, rows, solution.theta)
        return self._single_fit(problem, choice, moments, solution, squares, rows.n_outside)

    def _reference(self, problem: Problem, equations: OneWeight | WithCovariates) -> FloatArray | None:
        """An estimate from some rows, about which the errors come from one reading where a second one is costly."""
        costly = problem.rows.region.is_costly or problem.rows.source.is_costly
        if not costly or loops_for(equations, problem.rows, with_features=True) is None:
            return None
        some = accumulate(equations, problem.rows.spread(_REFERENCE_ROWS))
        assert some is not None, "the sample has rows inside"
        try:
            return solve(problem.constraint, some.A, some.b).theta
        except EstimationError:
            return np.zeros(equations.n_parameters)

    def _solved(self, problem: Problem, moments: Moments) -> Solution:
        problem.check_sums(moments.n, moments.weight_sum, moments.farthest)
        return solve(problem.constraint, moments.A, moments.b)

    def _single_fit(
        self,
        problem: Problem,
        choice: Choice,
        moments: Moments,
        solution: Solution,
        squares: FloatArray | None,
        n_outside: int,
    ) -> Fit:
        n = moments.effective_n
        covariance = None
        if squares is not None:
            factor = small_sample_factor(n, solution.tangent.shape[1])
            covariance = factor * sandwich_covariance(solution, squares, moments.weight_sum)
        influence = Influence(moments.equations, solution.theta, moment_influence(solution))
        objective = moments.objective(solution.theta)
        facts = [("objective", f"{objective:.6g}")]
        fit = self._fit_of(problem, choice, solution, covariance, moments.n, n, influence, moments.A, facts, n_outside)
        return replace(fit, objective=objective, moments=moments)

    def _searched(self, problem: Problem, choice: Choice, equations: OneWeight) -> Fit:
        """A density that is not linear in θ."""
        rows = problem.rows
        blocks = list(rows.map(lambda block: (len(block.X), block.weights(), block.farthest)))
        weights = np.concatenate([w for _, w, _ in blocks])
        n, weight_sum = len(weights), float(weights.sum())
        problem.check_sums(n, weight_sum, max(farthest for _, _, farthest in blocks))
        solution = search(equations, rows)
        effective = weight_sum**2 / float(weights @ weights)
        covariance = None
        if self.standard_errors:
            squares = residual_squares(equations, rows, solution.theta)
            factor = small_sample_factor(effective, solution.tangent.shape[1])
            covariance = factor * sandwich_covariance(solution, squares, weight_sum)
        influence = Influence(equations, solution.theta, moment_influence(solution))
        objective = mean_objective(equations, rows, solution.theta)
        facts = [("objective", f"{objective:.6g}")]
        # What is known, or lies on the border of the family, has no slope of its own.
        slope = solution.curvature if len(solution.curvature) == equations.model.size else None
        fit = self._fit_of(problem, choice, solution, covariance, n, effective, influence, slope, facts, rows.n_outside)
        return replace(fit, objective=objective)

    def _turned(self, problem: Problem, choice: Choice, equations: Turning) -> Fit:
        """A mean direction that turns with covariates, its concentration known."""
        rows = problem.rows
        solution, sums = turned(equations, rows)
        problem.check_sums(sums.n, sums.weight_sum, sums.farthest)
        covariance, n = None, sums.effective_n
        if self.standard_errors:
            squares = residual_squares(equations, rows, solution.theta)
            factor = small_sample_factor(n, solution.tangent.shape[1])
            covariance = factor * sandwich_covariance(solution, squares, sums.weight_sum)
        influence = Influence(equations, solution.theta, moment_influence(solution))
        objective = mean_of_parts(equations, rows, solution.theta)
        facts = [("objective", f"{objective:.6g}")]
        fit = self._fit_of(
            problem, choice, solution, covariance, sums.n, n, influence, solution.curvature, facts, rows.n_outside
        )
        return replace(fit, objective=objective)

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
        """Several weights; of rows that were read once with what is known of them."""
        rows, otherwise = problem.rows, policy.fallback(problem.setting)
        n_outside = rows.n_outside if n_outside is None else n_outside
        try:
            found = combine(equations, rows if readings is None else readings, sums)
        except (np.linalg.LinAlgError, EstimationError) as error:
            if otherwise is not None:  # many rows, but few distinct ones: a single weight may do
                return self._single(problem, otherwise)
            few = (
                ""
                if rows.groups is None
                else f"The number of groups, {rows.groups.count:,}, may be too small to weigh them by. "
            )
            raise EstimationError(
                f"The combined equations do not determine the estimate: {error} {few}Or use a single weight."
            ) from error
        if found.p_value < _CONTRADICTION and otherwise is not None:
            fit = self._single(problem, otherwise)
            note = "Several weights contradict each other under this model, so that a single one was used."
            return replace(fit, status=f"{fit.status} {note}")
        n, what = problem.setting.n_rows, "rows" if rows.groups is None else "groups"
        cautions = []
        if ROWS_PER_SQUARE * found.n_equations**2 > n:
            cautions.append(
                f"{n:,.0f} {what} are few for {found.n_equations} equations: the errors may be understated. "
                "Use a single weight ('auto' does), or the bootstrap."
            )
        if found.p_value < _CONTRADICTION:
            cautions.append(
                "The weights contradict each other under this model, and the errors assume that it holds: "
                "use the bootstrap, or a single weight."
            )
        solution = replace(found.solution, status=" ".join([found.solution.status, *cautions]))
        influence = Influence(equations, solution.theta, found.influence)
        facts = [("equations", f"{found.n_equations} for {problem.constraint.n_free} parameters")]
        covariance = found.covariance if self.standard_errors else None
        fit = self._fit_of(problem, choice, solution, covariance, sums.n, n, influence, found.slope, facts, n_outside)
        return replace(fit, objective=found.criterion)

    def _fit_of(
        self,
        problem: Problem,
        choice: Choice,
        solution: Solution,
        covariance: FloatArray | None,
        n: int,
        effective: float,
        influence: Influence,
        slope: FloatArray | None,
        facts: list[tuple[str, str]],
        n_outside: int,
    ) -> Fit:
        rows, model = problem.rows, problem.model
        facts = [
            ("region", repr(rows.region)),
            ("weight", choice.weight.label),
            *facts,
            ("condition of A", f"{solution.condition:.3g}"),
        ]
        if problem.exposure is not None:
            facts.append(("exposure", problem.exposure.description))
        if n_outside:
            facts.append(("dropped", f"{n_outside:,} rows outside the region were dropped"))
        theta, regression = solution.theta, None
        if problem.standard is not None and rows.covariates is not None:
            names = rows.covariates.names
            B = coefficients_of(theta, problem.setting.n_columns)
            radius = influence.equations.radius if isinstance(influence.equations, Turning) else None
            regression = Regression(model, names, problem.standard, B, covariance, radius)
            theta, covariance = B[:, 0].copy(), regression.theta_covariance(regression.at_mean)
            facts.append(("covariates", regression.description))
        return Fit(
            estimator=type(self).__name__,
            configuration=self.get_params(),
            model=model,
            region=rows.region,
            theta=theta,
            covariance=covariance,
            params=model.parameters(theta),
            influence=influence,
            status=solution.status,
            kept=problem.kept,
            kept_share=problem.kept_share,
            n_samples=n,
            n_outside=n_outside,
            error_df=error_df(effective, solution.tangent.shape[1]),
            slope=slope if regression is None else None,
            choice=choice,
            method=type(choice.weight).__name__.lower(),
            exposure=problem.exposure,
            regression=regression,
            facts=tuple(facts),
        )

    def _refit(self, rows: Rows) -> Refit:
        fit = self.result_
        # All resamples are fitted in the form that suits the rows of the fit.
        fixed = {
            "model": fit.model,
            "weight": self.weight_,
            "log_exposure": fit.exposure,  # as it was checked
            "robust": power_of(fit),
            "standard_errors": False,
        }
        estimator, table = ScoreMatching(**{**fit.configuration, **fixed}), None
        equations = fit.influence.equations
        if rows.groups is None and fit.choice is not None and fit.choice.combined and fit.regression is None:
            if not isinstance(equations, Stacked):  # refined
                polynomials = LocalPolynomials.of(rows.region.manifold, rows.sample().X)
                equations = Stacked(fit.model, fit.choice.parts, polynomials, fit.exposure)
            table = RowTable.of(equations, rows, fit.theta)
        standard = None if fit.regression is None else fit.regression.standard
        return Refit.of(rows, estimator._estimate, table, standard)

    def _refined(self, fit: Fit, rows: Rows) -> Fit:
        """One Newton step from the estimate towards the maximum of the likelihood; more where one is not enough."""
        if isinstance(fit.model, NonlinearModel):
            return refined_density(fit, rows, self.standard_errors)
        if fit.regression is not None:
            return refined_with_covariates(fit, rows, self.standard_errors)
        model = check_linear(fit.model)
        sums = sum_statistics(model, rows)
        assert sums is not None, "the sample has rows inside"
        return self._stepped(fit, sums, rows.sample().X, lambda influence: likelihood_covariance(influence, rows, sums))

    def _stepped(
        self, fit: Fit, sums: StatisticSums, sample: FloatArray, errors: Callable[[Influence], FloatArray]
    ) -> Fit:
        model = check_linear(fit.model)
        constraint = model.constraint
        problem = Truncated(model, self.region, sums, sample, fit.exposure)
        found = problem.maximum(fit.theta, one_step=True)
        theta, likelihood = found.theta, found.likelihood
        information = likelihood(theta)[2]
        per_row = inverse_information(information, constraint.tangent(theta), 1.0)
        influence = Influence(LikelihoodEquations(model, likelihood, sums.mean), theta, -per_row)
        covariance = None
        if self.standard_errors:
            covariance = errors(influence) + per_row * likelihood.extra_variance
        how = (
            "Score matching, then one Newton step towards the maximum of the likelihood under truncation."
            if found.one_step
            else "Score matching, then Newton's method to the maximum of the likelihood under truncation: "
            "from this start one step was not enough."
        )
        on_border = f" {constraint.describe(theta, True)}" if constraint.on_border(theta) else ""
        return replace(
            fit,
            params=model.parameters(theta),
            theta=theta,
            covariance=covariance,
            error_df=None,
            influence=influence,
            method=f"{fit.method}, one step" if found.one_step else f"{fit.method}, likelihood",
            status=how + on_border,
            facts=(*fit.facts, ("nodes", likelihood.description)),
            likelihood=likelihood,
            nodes=likelihood,
            sums=sums,
            objective=fit.objective if fit.moments is None else fit.moments.objective(theta),
        )
