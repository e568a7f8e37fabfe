"""Maximum likelihood under truncation with natural parameters that are linear in covariates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tmsm.data.rows import Rows
from tmsm.estimators.base import check_linear, require_rows
from tmsm.estimators.densities import mean_log_exposure
from tmsm.estimators.problem import Problem
from tmsm.foundation.arrays import FloatArray
from tmsm.inference.covariance import inverse_information, likelihood_covariance
from tmsm.inference.fit import Fit
from tmsm.inference.influence import Influence
from tmsm.inference.regression import Regression
from tmsm.matching.covariate_likelihood import CovariateEquations, CovariateMaximum, TruncatedRegression
from tmsm.matching.covariates import coefficients_of

__all__ = ["covariate_fit", "mean_log_density_with_covariates", "refined_with_covariates"]


def covariate_fit(estimator: str, configuration: Mapping[str, Any], problem: Problem, start: FloatArray | None) -> Fit:
    """The maximum of the likelihood from rows with covariates; ``start`` are all coefficients by another estimate."""
    model, rows, standard = check_linear(problem.model), problem.rows, problem.standard
    columns = rows.covariates
    assert standard is not None and columns is not None, "the rows have covariates"
    likelihood = TruncatedRegression.of(model, rows, standard, problem.exposure)
    require_rows(likelihood.sums.n, likelihood.constraint)
    found = likelihood.maximum([] if start is None else [start])
    B = coefficients_of(found.theta, likelihood.n_columns)
    regression = Regression(model, columns.names, standard, B, None)
    facts = [("region", repr(rows.region))]
    if problem.exposure is not None:
        facts.append(("exposure", problem.exposure.description_of_values))
    if rows.n_outside:
        facts.append(("dropped", f"{rows.n_outside:,} rows outside the region were dropped"))
    facts.append(("covariates", regression.description))
    fit = Fit(
        estimator=estimator,
        configuration=configuration,
        model=model,
        region=rows.region,
        theta=B[:, 0].copy(),
        covariance=None,
        params=model.parameters(B[:, 0].copy()),
        influence=Influence(CovariateEquations(model, found.likelihood, standard), found.theta, np.eye(B.size)),
        status="The maximum of the likelihood under truncation.",
        kept=problem.kept,
        kept_share=problem.kept_share,
        n_samples=likelihood.sums.n,
        n_outside=rows.n_outside,
        method="likelihood",
        exposure=problem.exposure,
        regression=regression,
        facts=tuple(facts),
    )
    return _with_maximum(fit, likelihood, found, rows, standard_errors=True)


def refined_with_covariates(fit: Fit, rows: Rows, standard_errors: bool) -> Fit:
    """A fit of score matching with covariates, taken on to the maximum of the likelihood under truncation."""
    regression = fit.with_coefficients
    likelihood = TruncatedRegression.of(check_linear(fit.model), rows, regression.standard, fit.exposure)
    found = likelihood.maximum([fit.whole_theta])
    fit = replace(
        fit,
        error_df=None,
        method=f"{fit.method}, likelihood",
        status="Score matching, then Newton's method to the maximum of the likelihood under truncation.",
        objective=fit.objective if fit.moments is None else fit.moments.objective(found.theta),
    )
    return _with_maximum(fit, likelihood, found, rows, standard_errors)


def _with_maximum(
    fit: Fit, likelihood: TruncatedRegression, found: CovariateMaximum, rows: Rows, standard_errors: bool
) -> Fit:
    """The fit with the maximum for its coefficients, and errors from the Fisher information."""
    model, nodes, theta = likelihood.model, found.likelihood, found.theta
    value, _, information = nodes(theta)
    per_row = inverse_information(information, likelihood.constraint.tangent(theta), 1.0)
    influence = Influence(CovariateEquations(model, nodes, likelihood.standard), theta, -per_row)
    covariance = likelihood_covariance(influence, rows, likelihood.sums) if standard_errors else None
    log_likelihood = -value
    if fit.exposure is not None:
        log_likelihood += mean_log_exposure(fit.exposure, rows)
    B = coefficients_of(theta, likelihood.n_columns)
    regression = replace(fit.with_coefficients, B=B, covariance=covariance)
    return replace(
        fit,
        theta=B[:, 0].copy(),
        params=model.parameters(B[:, 0].copy()),
        covariance=regression.theta_covariance(regression.at_mean),
        influence=influence,
        regression=regression,
        nodes=nodes,
        log_likelihood=log_likelihood,
        sums=likelihood.sums,
        facts=(*fit.facts, ("nodes", nodes.description), ("log-likelihood", f"{log_likelihood:.6g} a row")),
    )


def mean_log_density_with_covariates(fit: Fit, rows: Rows) -> float:
    """Of rows with covariates, normalised over the region at each of them; a known exposure counts."""
    standard = fit.with_coefficients.standard
    likelihood = TruncatedRegression.of(check_linear(fit.model), rows, standard, fit.exposure)
    value = -likelihood.near(fit.whole_theta)(fit.whole_theta)[0]
    return value if fit.exposure is None else value + mean_log_exposure(fit.exposure, rows)
