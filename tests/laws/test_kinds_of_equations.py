"""What holds for every kind of estimating function: one weight, several, a likelihood, a density that is not linear."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tests.contract.test_own_kinds import HEAVY_MEAN, heavy_rows, own
from tests.registry import star
from tmsm.data.rows import Rows
from tmsm.matching.equations import linearise, row_residuals, sum_residuals

COAST = tmsm.SphericalPolygon([star(60, 1)])
CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.8)
TRUTH = {"mean_direction": tmsm.lonlat_to_xyz(20.0, 15.0), "concentration": 8.0}
MODEL = tmsm.VonMisesFisher()
KINDS = {
    "one weight": lambda: (tmsm.ScoreMatching(MODEL, COAST, "saturating"), coast_rows()),
    "a power of the density": lambda: (tmsm.ScoreMatching(MODEL, COAST, "saturating", robust=0.3), coast_rows()),
    "several weights": lambda: (tmsm.ScoreMatching(MODEL, COAST, "combined"), coast_rows()),
    "a likelihood under truncation": lambda: (tmsm.TruncatedMLE(MODEL, COAST), coast_rows()),
    "a likelihood": lambda: (tmsm.NaiveMLE(MODEL), MODEL.sample(4000, random_state=0, **TRUTH)),
    "a density that is not linear": lambda: (tmsm.ScoreMatching(own().HeavyTail(), CAP), heavy_rows(4000, 1, CAP)),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


@lru_cache(maxsize=1)
def coast_rows():
    return MODEL.sample(4000, COAST, random_state=0, **TRUTH)


@lru_cache(maxsize=len(KINDS))
def fitted(kind):
    """The fit, its rows and the true θ."""
    estimator, X = KINDS[kind]()
    fit = estimator.fit(X).result_
    theta = 20.0 * HEAVY_MEAN if "not linear" in kind else MODEL.natural_parameters(**TRUTH)
    return fit, Rows.of(X, fit.region), theta


@EVERY_KIND
def test_the_mean_is_zero_at_the_truth(kind):
    fit, rows, theta = fitted(kind)
    sums = sum_residuals(fit.influence.equations, rows, theta)
    assert (np.abs(sums.mean) < 4.5 * np.sqrt(np.diag(sums.covariance))).all()
    # The control: another θ, twenty standard errors away, is noticed.
    away = theta + 20.0 * np.sqrt(np.diag(fit.covariance))
    sums = sum_residuals(fit.influence.equations, rows, away)
    assert (np.abs(sums.mean) > 4.5 * np.sqrt(np.diag(sums.covariance))).any()


@EVERY_KIND
def test_sums_are_those_of_the_rows(kind):
    fit, rows, theta = fitted(kind)
    e = row_residuals(fit.influence.equations, rows, theta)
    sums = sum_residuals(fit.influence.equations, rows, theta)
    assert e.shape == (len(rows), fit.influence.equations.n_equations)
    np.testing.assert_allclose(sums.mean, e.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(sums.covariance, np.cov(e.T, bias=True) / len(rows), rtol=1e-6, atol=1e-12)


@EVERY_KIND
def test_the_slope_agrees_with_finite_differences(kind):
    fit, rows, theta = fitted(kind)
    equations = fit.influence.equations
    A, b = linearise(equations, rows, theta)
    np.testing.assert_allclose(A @ theta + b, row_residuals(equations, rows, theta).mean(axis=0), atol=1e-8)
    h = 1e-4
    for k, unit in enumerate(np.eye(theta.size)):
        ahead, behind = (row_residuals(equations, rows, theta + s * h * unit).mean(axis=0) for s in (1, -1))
        np.testing.assert_allclose(A[:, k], (ahead - behind) / (2 * h), rtol=1e-4, atol=1e-6 * np.abs(A).max())


@EVERY_KIND
def test_influence_says_what_a_row_does_to_the_estimate(kind):
    """The estimate with one row counted more, less the estimate without: to first order what the influence says."""
    estimator, X = KINDS[kind]()
    fit, rows, _ = fitted(kind)
    psi = fit.influence.of(rows)
    np.testing.assert_allclose(psi.mean(axis=0), 0.0, atol=1e-2 * np.sqrt((psi**2).mean(axis=0)).max())
    moved, expected = [], []
    for row in np.random.default_rng(0).integers(len(X), size=6):
        weight = np.ones(len(X))
        weight[row] = 2.0
        moved.append(estimator.fit(X, sample_weight=weight).result_.theta - fit.theta)
        expected.append(psi[row] / len(X))
    # Several weights are also weighed anew by the row, which the influence leaves out: it is of higher order.
    slack = 0.3 if kind == "several weights" else 0.05
    assert np.linalg.norm(np.array(moved) - expected) <= slack * np.linalg.norm(expected)
