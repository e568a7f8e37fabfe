"""Exact maximum likelihood under truncation, by quadrature: the most accurate estimate where it is possible."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.rows import Rows
from tmsm.estimators.base import check_linear, check_model, check_region, require_rows
from tmsm.estimators.bordered import BorderedEstimator
from tmsm.estimators.covariate_likelihood import covariate_fit, mean_log_density_with_covariates
from tmsm.estimators.densities import DensityFit, mean_log_density, mean_log_exposure
from tmsm.estimators.problem import Problem
from tmsm.estimators.score_matching import ScoreMatching
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.threads import threads_of
from tmsm.foundation.validation import check_jobs, check_random_state
from tmsm.inference.bootstrap import Refit
from tmsm.inference.covariance import inverse_information, likelihood_covariance
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence
from tmsm.matching.density_likelihood import TruncatedDensity
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.likelihood import LikelihoodEquations, RegionLikelihood, Truncated, WholeLikelihood, likelihood_near
from tmsm.matching.moments import StatisticSums, sum_statistics
from tmsm.matching.node_likelihood import NodeLikelihood
from tmsm.measure.integrals import integrate_kernel
from tmsm.measure.nodes import has_nodes
from tmsm.models.base import LinearModel, Model
from tmsm.models.nonlinear import NonlinearModel
from tmsm.regions import Region
from tmsm.weights import Auto

__all__ = ["TruncatedMLE"]

_NOTHING_CUT_OFF = "The maximum of the likelihood; nothing was cut off."


class TruncatedMLE(BorderedEstimator):
    """Maximum likelihood under truncation, for a model whose points were only seen inside a region.

    The normalising constant over the region is computed: up to dimension three by quadrature, with nodes that are
    computed once for each region and shared by all fits, and above by Monte Carlo. It is the most accurate estimate if
    this integral can be computed. Otherwise use `ScoreMatching`, whose estimate is also the start of this one.

    With covariates the constant is computed at every value of them; for one covariate it is interpolated between a few
    values. That needs a region of dimension three at most.

    Parameters
    ----------
    model
        What to fit, such as `VonMisesFisher()`.
    region
        Where points could be observed, such as `Cap(center, radius)`.
    outside
        What to do with rows outside the region: "raise" or "drop".
    log_exposure
        Logarithm of the known detection probability, up to a constant: a function of X (n, D) that returns its values
        (n,), or values and gradients (n, D); or an `ExposureMap`. A place inside the region where nothing is detected
        (−∞) is an error: leave it out of the region.
    random_state
        For the Monte Carlo nodes above dimension three, and in dimension three if a grid would be too large: a whole
        number makes them repeatable; None or a `numpy.random.Generator` as elsewhere.
    n_jobs
        Number of threads for large tables: None or -1 for all processors, -2 for all but one. The result does not
        depend on it.

    Attributes
    ----------
    params_, std_errors_, natural_params_, covariance_
        The estimate and its errors, from the Fisher information; with unequal sample weights from the sandwich, which
        is also valid for weights that depend on x.
    log_likelihood_ : float
        Mean log density of the rows at the estimate.
    n_nodes_ : int
        Number of nodes.
    quadrature_error_ : float
        The effect of the error of the nodes on the estimate, in standard errors.
    status_ : str
        How the estimate was found, and warnings.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(
    ...     2000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0
    ... )
    >>> fit = tmsm.TruncatedMLE(model, region).fit(X)
    >>> bool(abs(fit.params_.concentration - 6.0) < 3 * fit.std_errors_.concentration)
    True
    """

    def __init__(
        self,
        model: Model,
        region: Region,
        *,
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.region = region
        self.outside = outside
        self.log_exposure = log_exposure
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        check_region(check_model(self.model), self.region, self.log_exposure)
        check_random_state(self.random_state)
        check_jobs(self.n_jobs)
        return Rows.of(X, self.region, sample_weight, self.outside)

    def _takes(self, covariates: Covariates) -> None:
        pass  # as far as the model does

    def _estimate(self, rows: Rows) -> Fit:
        with threads_of(self.n_jobs):
            return self._fitted(rows)

    def _fitted(self, rows: Rows) -> Fit:
        if isinstance(self.model, NonlinearModel):
            return self._density_fit(self.model, self.log_exposure)(rows)
        if rows.covariates is not None:
            problem = Problem.of(self.model, rows, self.log_exposure)
            near = self._matched(rows, problem.exposure)
            start = None if near is None else near.whole_theta
            return covariate_fit(type(self).__name__, self.get_params(), problem, start)
        exposure = KnownExposure.of(self.log_exposure, rows, with_gradient=True)
        start, model = self._start(rows, exposure)
        sums, sample = _sums(model, rows), rows.sample().X
        constraint = model.constraint
        require_rows(sums.n, constraint)
        facts: list[tuple[str, str]] = []
        nodes: RegionLikelihood | None = None
        likelihood: RegionLikelihood | WholeLikelihood
        if not self.region.has_border and exposure is None:
            theta = model.maximise_likelihood(sums.mean)
            likelihood, status = WholeLikelihood(model, sums.mean, sample[:1]), _NOTHING_CUT_OFF
            information, extra = model.expectation(theta)[1], 0.0
        else:
            found = Truncated(model, self.region, sums, sample, exposure, self.random_state).maximum(start)
            theta, likelihood = found.theta, found.likelihood
            nodes, status = likelihood, "The maximum of the likelihood under truncation."
            information, extra = likelihood(theta)[2], likelihood.extra_variance
            facts.append(("nodes", likelihood.description))
        if constraint.on_border(theta):
            status = f"{status} {constraint.describe(theta, True)}"
        if exposure is not None:
            facts.append(("exposure", exposure.description_of_values))
        if rows.n_outside:
            facts.append(("dropped", f"{rows.n_outside:,} rows outside the region were dropped"))
        per_row = inverse_information(information, constraint.tangent(theta), 1.0)
        influence = Influence(LikelihoodEquations(model, likelihood, sums.mean), theta, -per_row)
        if nodes is not None and nodes.cell is not None:
            log_likelihood = -nodes(theta)[0]
        else:
            try:
                log_likelihood = self._mean_log_density(model, theta, rows, sums, exposure)
            except InvalidInputError:  # random nodes leave out the normalising constant, and the family has none
                log_likelihood = float("nan")
        if exposure is not None:
            log_likelihood += mean_log_exposure(exposure, rows)
        if np.isfinite(log_likelihood):
            facts.append(("log-likelihood", f"{log_likelihood:.6g} a row"))
        return Fit(
            estimator=type(self).__name__,
            configuration=self.get_params(),
            model=model,
            region=rows.region,
            theta=theta,
            covariance=likelihood_covariance(influence, rows, sums) + per_row * extra,
            params=model.parameters(theta),
            influence=influence,
            status=status,
            kept=rows.kept(),
            kept_share=1.0 / rows.sample_stride,
            n_samples=sums.n,
            n_outside=rows.n_outside,
            method="likelihood",
            exposure=exposure,
            likelihood=likelihood,
            nodes=nodes,
            log_likelihood=log_likelihood,
            sums=sums,
            facts=(("region", repr(self.region)), *facts),
        )

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, covariates: Any = None) -> float:
        """Mean log density of the rows under the fitted model, normalised over the region.

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
        fit, made = self.result_, self._as_fitted()
        rows = fit.new_covariates(Rows.of(X, made.region, sample_weight, made.outside), covariates)
        rows.check_frame(fit.kept.frame)
        if fit.regression is not None:
            return mean_log_density_with_covariates(fit, rows)
        if isinstance(fit.model, NonlinearModel):
            return made._density_score(fit, fit.model, rows)
        model = check_linear(fit.model)
        sums = _sums(model, rows)
        known = fit.exposure
        value = made._mean_log_density(model, fit.theta, rows, sums, known)
        return value if known is None else value + mean_log_exposure(known, rows)

    def _density_fit(
        self, model: NonlinearModel, exposure: LogExposure | KnownExposure | None, start: FloatArray | None = None
    ) -> DensityFit:
        """How a density that is not linear in θ is fitted."""
        return DensityFit(type(self).__name__, self.get_params(), model, exposure, self.random_state, start)

    def _density_score(self, fit: Fit, model: NonlinearModel, rows: Rows) -> float:
        if len(rows.sample()) == 0:
            raise InvalidInputError(rows.describe_absence())
        value = mean_log_density(TruncatedDensity(model, self.region, rows, fit.exposure), fit.theta)
        if np.isnan(value):
            raise InvalidInputError("The density cannot be normalised inside this region: there is no score.")
        return value if fit.exposure is None else value + mean_log_exposure(fit.exposure, rows)

    def _mean_log_density(
        self, model: LinearModel, theta: FloatArray, rows: Rows, sums: StatisticSums, exposure: KnownExposure | None
    ) -> float:
        """Of the rows, normalised over the region; a known exposure counts in the integral only."""
        if has_nodes(self.region):
            sample = rows.sample().X
            near = likelihood_near(model, self.region, theta, sums, sample, exposure, self.random_state)
            if near.cell is not None:
                return -near(theta)[0]
        if exposure is not None:
            raise InvalidInputError(
                "Above dimension three the density with a known exposure is not normalised: there is no score."
            )
        # log kernel = θ·t + a constant, found at any row.
        x = rows.sample().X[:1]
        constant = float(model.log_kernel(x, theta)[0] - (model.statistics(x) @ theta)[0])
        if not self.region.has_border:
            log_integral = model.log_normaliser(theta)
        else:
            log_integral = integrate_kernel(model.at(theta), self.region).log_integral
        return float(sums.mean @ theta) + constant - log_integral

    @property
    def log_likelihood_(self) -> float:
        """Mean log density of the rows at the estimate, as they were seen: with a known exposure."""
        return self.result_.log_likelihood

    @property
    def bic_(self) -> float:
        """Schwarz's information criterion, −2 log L + k log n: lower is better.

        Rows count with their weights. For rows in groups, which contain less information than as many independent
        rows, the penalty for each parameter is larger.
        """
        return self.result_.schwarz

    @property
    def n_nodes_(self) -> int:
        """Number of nodes that stand for the region."""
        return self._nodes.n_nodes

    @property
    def quadrature_error_(self) -> float:
        """How far the error of the nodes moves the estimate, in standard errors."""
        return self._nodes.error_share

    @property
    def _nodes(self) -> NodeLikelihood:
        nodes = self.result_.nodes
        if nodes is None:
            raise InvalidInputError("Nothing was cut off, so this fit used no nodes.")
        return nodes

    def _refit(self, rows: Rows) -> Refit:
        fit = self.result_
        # The exposure was checked.
        if isinstance(fit.model, NonlinearModel):
            return Refit.of(rows, self._as_fitted()._density_fit(fit.model, fit.exposure, fit.model.lifted(fit.theta)))
        estimator = TruncatedMLE(**{**fit.configuration, "log_exposure": fit.exposure})
        return Refit.of(rows, estimator._estimate, standard=None if fit.regression is None else fit.regression.standard)

    def _start(self, rows: Rows, exposure: KnownExposure | None) -> tuple[FloatArray | None, LinearModel]:
        """θ of score matching, None where there is none, and the form of the model."""
        fit = self._matched(rows, exposure)
        if fit is None:
            return None, check_linear(self.model.on(rows.region.manifold).centred(rows.sample().X))
        return fit.theta, check_linear(fit.model)

    def _matched(self, rows: Rows, exposure: KnownExposure | None) -> Fit | None:
        """The fit of score matching, None where there is none."""
        matching = ScoreMatching(
            self.model,
            self.region,
            Auto(combine=False),
            outside=self.outside,
            standard_errors=False,
        )
        matching.set_params(log_exposure=exposure)  # as it was checked
        try:
            return matching._estimate(rows)
        except EstimationError:
            return None


def _sums(model: LinearModel, rows: Rows) -> StatisticSums:
    sums = sum_statistics(model, rows)
    if sums is None:
        raise InvalidInputError(rows.describe_absence())
    if not sums.weight_sum > 0.0:
        raise EstimationError("sample_weight is zero for every row inside the region: there is nothing to fit.")
    return sums
