"""Maximum likelihood, under truncation or without, of densities that are not linear in θ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.estimators.base import require_rows
from tmsm.estimators.component_count import ComponentCount
from tmsm.estimators.problem import Problem
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.inference.covariance import inverse_information, likelihood_covariance
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence
from tmsm.matching.density_likelihood import DensityEquations, DensityMaximum, MeanLog, TruncatedDensity
from tmsm.matching.exposure import KnownExposure, LogExposure
from tmsm.matching.starts import starts_of
from tmsm.measure.integrals import integrate_kernel
from tmsm.models.mixture import Mixture
from tmsm.models.nonlinear import NonlinearModel
from tmsm.numerics.scaling import condition_number
from tmsm.weights import Auto

__all__ = ["DensityFit", "mean_log_density", "mean_log_exposure", "refined_density"]

_WITHOUT_BORDER = "The highest maximum of the likelihood that was found; nothing was cut off."
_MAXIMUM = "The highest maximum of the likelihood under truncation that was found"


@final
@dataclass(frozen=True)
class DensityFit:
    """How a likelihood estimator fits such a density.

    Attributes
    ----------
    estimator, configuration
        Of the fits.
    model
        The family as it was given, or as it was bound for another fit of the same rows.
    log_exposure
        Known log detection probability, or None.
    random_state
        Of random nodes.
    start
        θ, shape (p,), next to which the maximum is sought; by default it is sought from several.
    """

    estimator: str
    configuration: Mapping[str, Any]
    model: NonlinearModel
    log_exposure: LogExposure | KnownExposure | None = None
    random_state: Any = 0
    start: FloatArray | None = None

    def __call__(self, rows: Rows) -> Fit:
        """The fit of rows inside a region."""
        if isinstance(self.model, Mixture) and not self.model.is_chosen:
            return ComponentCount(self.model, self._with_model, self._next_to, self._log_density).best(rows)
        problem = Problem.of(self.model, rows, self.log_exposure)
        model = problem.model
        assert isinstance(model, NonlinearModel), "its form is one, too"
        require_rows(len(rows), problem.constraint)
        if not problem.kept.source.counts:
            raise InvalidInputError(rows.describe_absence())
        likelihood = TruncatedDensity(model, rows.region, rows, problem.exposure, self.random_state)
        if self.start is None:
            choice = Auto(combine=False).choose(problem.setting)
            found = likelihood.maximum(starts_of(model, problem.equations(choice), problem.kept))
        else:
            found = likelihood.next_to(self.start)
        fit = Fit(
            estimator=self.estimator,
            configuration=self.configuration,
            model=model,
            region=rows.region,
            theta=found.theta,
            covariance=None,
            params=model.parameters(found.theta),
            influence=Influence(DensityEquations(model, found.likelihood), found.theta, np.eye(model.size)),
            status=_said(likelihood, found),
            kept=problem.kept,
            kept_share=problem.kept_share,
            n_samples=len(rows),
            method="likelihood",
            exposure=problem.exposure,
            facts=(("region", repr(rows.region)),) if rows.region.has_border else (),
        )
        return _with_maximum(fit, likelihood, found)

    def _with_model(self, model: NonlinearModel, rows: Rows) -> Fit:
        return replace(self, model=model)(rows)

    def _next_to(self, fit: Fit, rows: Rows) -> Fit:
        assert isinstance(fit.model, NonlinearModel)
        return replace(self, model=fit.model, log_exposure=fit.exposure, start=fit.model.lifted(fit.theta))(rows)

    def _log_density(self, fit: Fit, rows: Rows) -> float:
        assert isinstance(fit.model, NonlinearModel)
        likelihood = TruncatedDensity(fit.model, rows.region, rows, fit.exposure, self.random_state)
        return mean_log_density(likelihood, fit.theta)


def refined_density(fit: Fit, rows: Rows, standard_errors: bool) -> Fit:
    """A fit of score matching, taken on to the maximum of the likelihood under truncation."""
    model = fit.model
    assert isinstance(model, NonlinearModel)
    likelihood = TruncatedDensity(model, rows.region, rows, fit.exposure)
    others = starts_of(model, fit.influence.equations, fit.kept)
    found = likelihood.maximum([fit.theta, *others])
    refined = replace(
        fit,
        error_df=None,
        slope=None,
        method=f"{fit.method}, likelihood",
        status=f"Score matching, then Newton's method. {_said(likelihood, found)}",
    )
    refined = _with_maximum(refined, likelihood, found)
    return refined if standard_errors else replace(refined, covariance=None)


def _said(likelihood: TruncatedDensity, found: DensityMaximum) -> str:
    if likelihood.whole:
        return _WITHOUT_BORDER
    if found.n_starts == 1:
        return f"{_MAXIMUM}."
    return f"{_MAXIMUM}; {found.n_agreeing} of {found.n_starts} searches ended in it."


def _with_maximum(fit: Fit, likelihood: TruncatedDensity, found: DensityMaximum) -> Fit:
    """The fit with the maximum of a likelihood for its estimate, and errors from the observed information."""
    model, rows, theta = likelihood.model, likelihood.table, found.theta
    constraint, nodes = model.constraint, found.likelihood
    sums = likelihood.sums(theta)
    tangent, information = constraint.tangent(theta), nodes(theta)[2]
    if not condition_number(tangent.T @ information @ tangent) < np.inf:
        raise EstimationError(
            "The likelihood does not bend down in every direction at the estimate: the rows do not determine every "
            "parameter of this density. Use more rows, or a smaller model."
        )
    per_row = inverse_information(information, tangent, 1.0)
    influence = Influence(DensityEquations(model, nodes), theta, -per_row)
    covariance = likelihood_covariance(influence, rows, sums) + per_row * nodes.extra_variance
    log_likelihood = mean_log_density(likelihood, theta, found)
    status, facts = fit.status, [*fit.facts]
    if constraint.on_border(theta) and (said := constraint.describe(theta, True)):
        status = f"{status} {said}"
    if not likelihood.whole:
        facts.append(("nodes", nodes.description))
    if fit.exposure is not None and not any(name == "exposure" for name, _ in facts):
        facts.append(("exposure", fit.exposure.description_of_values))
    if fit.exposure is not None:
        log_likelihood += mean_log_exposure(fit.exposure, rows)
    if rows.n_outside and not any(name == "dropped" for name, _ in facts):
        facts.append(("dropped", f"{rows.n_outside:,} rows outside the region were dropped"))
    if np.isfinite(log_likelihood):
        facts.append(("log-likelihood", f"{log_likelihood:.6g} a row"))
    objective = nodes
    if fit.kept_share < 1.0:  # a fit holds on to the rows that it keeps, and to the slope of all
        objective = replace(nodes, rows=MeanLog.of(model, fit.kept).with_slope(theta, sums.mean))
    return replace(
        fit,
        theta=theta,
        params=model.parameters(theta),
        covariance=covariance,
        influence=replace(influence, equations=DensityEquations(model, objective)),
        status=status,
        n_samples=sums.n,
        n_outside=rows.n_outside,
        likelihood=objective,
        nodes=objective,
        log_likelihood=log_likelihood,
        sums=sums,
        facts=tuple(facts),
    )


def mean_log_density(likelihood: TruncatedDensity, theta: FloatArray, found: DensityMaximum | None = None) -> float:
    """Of the rows, normalised over the region; NaN where the density cannot be normalised.

    A known exposure counts in the integral only.
    """
    try:
        nodes = likelihood.near(theta) if found is None else found.likelihood
        if nodes.cell is not None:
            return -nodes(theta)[0]
        if likelihood.exposure is not None:
            return float("nan")
        log_integral = integrate_kernel(likelihood.model.at(theta), likelihood.region).log_integral
    except (EstimationError, InvalidInputError):
        return float("nan")
    return float(likelihood.rows.weight @ likelihood.rows.log_kernels(theta)) - log_integral


def mean_log_exposure(exposure: KnownExposure, rows: Rows) -> float:
    """The mean of the log exposure over the rows."""

    def total(block: Block) -> FloatArray:
        values, w = exposure.row_values(block.X), block.weights()
        return np.array([w @ values, w.sum()])

    sums = rows.total(total)
    assert sums is not None, "there are rows inside"
    return float(sums[0] / sums[1])
