"""Fits with covariates against closed forms: least squares, separate fits, other units."""

from dataclasses import replace

import numpy as np
import pytest

import tmsm
from scenarios import regression
from tmsm.data.covariates import Covariates
from tmsm.data.rows import Rows
from tmsm.inference.covariate_tests import _Restriction
from tmsm.matching.covariates import WithCovariates, lifted
from tmsm.matching.equations import linearise, row_residuals, sum_equations, sum_residuals
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.turning import Turning, mean_of_parts
from tmsm.weights import Combined, Saturating

MODEL = regression.MODEL


@pytest.fixture(scope="module")
def rows():
    X, years = regression.sample("hemisphere", "turning", 0, 1200)
    return X, years, np.random.default_rng(0).standard_normal(1200)


def test_normal_rows_without_a_border_give_least_squares():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(1900, 2000, 500), rng.standard_normal(500)])
    X = np.column_stack([0.02 * Z[:, 0] - Z[:, 1], 3.0 + Z[:, 1]]) + rng.standard_normal((500, 2))
    model, region = tmsm.MultivariateNormal(covariance=np.eye(2)), tmsm.Everywhere(tmsm.Euclidean(2))
    fit = tmsm.ScoreMatching(model, region).fit(X, covariates=Z)
    design = np.column_stack([np.ones(500), Z])
    least, *_ = np.linalg.lstsq(design, X, rcond=None)
    np.testing.assert_allclose(fit.coefficients_[:2], least.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.predict_params(Z[:7]).mean, design[:7] @ least, rtol=1e-9)
    # White's errors of least squares, with the factor n / (n − k).
    residual = X - design @ least
    bread = np.linalg.inv(design.T @ design)
    for column, errors in zip(residual.T, fit.coefficient_errors_[:2], strict=True):
        meat = (design * column[:, None] ** 2).T @ design
        np.testing.assert_allclose(errors, np.sqrt(np.diag(bread @ meat @ bread) * 500 / (500 - 6)), rtol=1e-6)
    # What is known has no coefficients to estimate.
    np.testing.assert_allclose(fit.coefficients_[2:], [[1, 0, 0], [0, 0, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(fit.coefficient_errors_[2:], 0.0, atol=1e-12)
    assert [test.df for test in fit.covariate_tests_] == [2, 2, 4] * 2


@pytest.mark.parametrize("model", [tmsm.VonMisesFisher(), tmsm.FisherBingham()])
def test_two_kinds_of_rows_give_two_fits(rows, model):
    X, _, noise = rows
    kind = noise > 0.3
    estimator = tmsm.ScoreMatching(model, regression.region_of("hemisphere"), Saturating(0.4))
    both = estimator.fit(X, covariates=kind)
    p = len(both.coefficients_)
    for value in (0, 1):
        alone = tmsm.ScoreMatching(model, both.region, Saturating(0.4)).fit(X[kind == value])
        at = np.kron(np.eye(p), [1.0, value])
        np.testing.assert_allclose(both.coefficients_ @ [1.0, value], alone.natural_params_, rtol=1e-7, atol=1e-7)
        n, m = len(X), alone.n_samples_
        share = (n / (n - 2 * p)) / (m / (m - p))
        covariance = at @ both.coefficient_covariance_ @ at.T
        np.testing.assert_allclose(covariance, share * alone.covariance_, rtol=1e-6, atol=1e-9 * covariance.max())


@pytest.mark.parametrize("weight", [Saturating(0.3), Combined(3)], ids=["one weight", "several weights"])
def test_sums_are_those_of_the_rows(rows, weight):
    X, years, noise = rows
    region = regression.region_of("hemisphere")
    w = 1.0 + 0.5 * np.cos(np.arange(len(X)))
    fit = tmsm.ScoreMatching(MODEL, region, weight).fit(X, covariates=np.column_stack([years, noise])).result_
    equations = fit.influence.equations
    assert isinstance(equations, WithCovariates)
    assert equations.is_combined == isinstance(weight, Combined)
    table = Rows.of(X, region, w).with_covariates(Covariates.of(np.column_stack([years, noise]), len(X)))
    sums = sum_equations(equations, table)
    b = np.linspace(-2.0, 3.0, equations.n_parameters)
    e = row_residuals(equations, table, b)
    np.testing.assert_allclose(sums.A_sum @ b + sums.b_sum, w @ e, rtol=1e-9, atol=1e-9 * np.abs(w @ e).max())
    # Each row by itself: the family's equation at θ(z), times (1, z).
    design = fit.regression.standard.design(np.column_stack([years, noise]))
    for k in (0, 700):
        own = row_residuals(equations.inner, Rows.of(X[k : k + 1], region), b.reshape(3, 3) @ design[k])[0]
        np.testing.assert_allclose(e[k], np.outer(own, design[k]).ravel(), rtol=1e-9, atol=1e-9)


def test_other_units_give_the_same_densities(rows):
    X, years, noise = rows
    estimator = tmsm.ScoreMatching(MODEL, regression.region_of("hemisphere"))
    plain = estimator.fit(X, covariates=np.column_stack([years, noise]))
    B, tests = plain.coefficients_, plain.covariate_tests_
    other = estimator.fit(X, covariates=np.column_stack([1e6 * (years - 1950.0), 2.0 + 1e-3 * noise]))
    back = other.coefficients_ @ [[1, 0, 0], [-1950.0 * 1e6, 1e6, 0], [2.0, 0, 1e-3]]
    np.testing.assert_allclose(back, B, rtol=1e-7, atol=1e-7 * np.abs(B).max())
    for one, two in zip(tests, other.covariate_tests_, strict=True):
        np.testing.assert_allclose(one.wald, two.wald, rtol=1e-6)
        np.testing.assert_allclose(one.score, two.score, rtol=1e-6)


def test_known_exposure_is_taken_off_the_constant(rows):
    X, years, _ = rows
    region = regression.region_of("hemisphere")
    plain = tmsm.ScoreMatching(MODEL, region).fit(X, covariates=years).coefficients_
    tilted = tmsm.ScoreMatching(MODEL, region, log_exposure=lambda X: 0.5 * X[:, 2]).fit(X, covariates=years)
    np.testing.assert_allclose(tilted.coefficients_ - plain, [[0, 0], [0, 0], [-0.5, 0]], atol=1e-6)


def test_weights_that_are_whole_numbers_are_repetitions(rows):
    X, years, _ = rows
    times = np.arange(len(X)) % 3
    estimator = tmsm.ScoreMatching(MODEL, regression.region_of("hemisphere"), Saturating(0.4))
    weighted = estimator.fit(X, covariates=years, sample_weight=times).coefficients_
    repeated = estimator.fit(np.repeat(X, times, axis=0), covariates=np.repeat(years, times)).coefficients_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.parametrize("question", ["density", "centre"])
def test_slope_of_what_is_tested(rows, question):
    X, _, noise = rows
    Z = np.column_stack([noise[::-1], noise])  # of no effect: then the nearest b that obeys is near
    fit = tmsm.ScoreMatching(MODEL, regression.region_of("hemisphere")).fit(X, covariates=Z)
    restriction = _Restriction.of(fit.result_.regression, [1, 2], question)
    b = fit.result_.whole_theta
    steps = 1e-5 * np.eye(b.size)
    slope = np.stack([(restriction.value(b + h) - restriction.value(b - h)) / 2e-5 for h in steps], axis=1)
    np.testing.assert_allclose(restriction.slope(b), slope, atol=1e-6)
    nearest = restriction._nearest()
    np.testing.assert_allclose(restriction.value(nearest), 0.0, atol=1e-8)
    # None that is nearer obeys it, to first order: b̂ − b̃ is across the restriction in the metric of the errors.
    across = np.linalg.solve(fit.result_.whole_covariance, b - nearest)
    along = np.linalg.svd(restriction.slope(nearest))[2][restriction.slope(nearest).shape[0] :]
    assert np.abs(along @ across).max() < 1e-5 * np.abs(across).max()


def test_what_is_known_stays_known():
    constraint = tmsm.MultivariateNormal(covariance=np.diag([2.0, 3.0])).on(tmsm.Euclidean(2)).constraint
    wide = lifted(constraint, 3)
    for z in ([1.0, 0.0, 0.0], [1.0, -2.0, 5.0]):
        b = wide.offset + wide.basis @ np.arange(1.0, 1.0 + wide.n_free)
        theta = b.reshape(-1, 3) @ z
        np.testing.assert_allclose(constraint.point(theta).theta, theta, atol=1e-12)
    assert wide.n_free == 3 * constraint.n_free


def test_sums_of_parts_are_added(rows):
    X, years, _ = rows
    fit = tmsm.ScoreMatching(MODEL, regression.region_of("hemisphere"), Saturating(0.4)).fit(X, covariates=years)
    equations = fit.moments_.equations
    parts = [slice(0, 500), slice(500, None)]
    columns = replace(Covariates.of(years, len(X)), standard=equations.standard)
    sums = [sum_equations(equations, Rows.of(X[k], fit.region).with_covariates(columns.take(k))) for k in parts]
    np.testing.assert_allclose((sums[0] + sums[1]).A, fit.moments_.A, rtol=1e-12)


def turning(rows, region, radius=6.0):
    X, years, noise = rows
    table = Rows.of(X, region).with_covariates(Covariates.of(np.column_stack([years, noise]), len(X)))
    inner = OneWeight(tmsm.VonMisesFisher(radius).on(region.manifold), Saturating(0.4))
    return Turning(inner, table.standard()), table


def test_derivatives_at_a_known_concentration(rows):
    equations, table = turning(rows, regression.region_of("hemisphere"))
    point = equations.constraint.point(np.random.default_rng(1).standard_normal(9))
    b, h, n = point.theta, 1e-4, len(table)
    k = equations.constraint.n_free
    assert point.jacobian.shape == (9, k) == (9, 6)
    steps = h * np.eye(k)
    ahead, behind = ([point.moved(sign * s).theta for s in steps] for sign in (1, -1))
    np.testing.assert_allclose(point.jacobian, (np.array(ahead) - behind).T / (2 * h), atol=1e-7)
    covector = np.random.default_rng(2).standard_normal(9)

    def along(s):
        return covector @ point.moved(s).theta

    bend = [[(along(s + t) - along(s - t) - along(t - s) + along(-s - t)) / (4 * h * h) for s in steps] for t in steps]
    np.testing.assert_allclose(point.bend(covector), bend, atol=1e-6)
    sums = table.total(lambda block: equations.terms(block).sums(b, block.weights())) / n
    slope = [(mean_of_parts(equations, table, b + s) - mean_of_parts(equations, table, b - s)) for s in h * np.eye(9)]
    np.testing.assert_allclose(2.0 * sums[1:10], np.array(slope) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(sum_residuals(equations, table, b).mean, sums[1:10], atol=1e-12)
    np.testing.assert_allclose(linearise(equations, table, b)[0], sums[10:].reshape(9, 9), atol=1e-7)


def test_known_concentration_keeps_the_length(rows):
    X, years, noise = rows
    region = regression.region_of("hemisphere")
    Z = np.column_stack([years, noise])
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), region).fit(X, covariates=Z)
    found = fit.predict_params(Z[:50])
    np.testing.assert_allclose(np.linalg.norm(found.natural_params, axis=1), 6.0)
    np.testing.assert_array_equal(found.std_errors.concentration, np.zeros(50))
    v = np.column_stack([np.ones(50), Z[:50]]) @ fit.coefficients_.T
    np.testing.assert_allclose(found.mean_direction, v / np.linalg.norm(v, axis=1)[:, None], atol=1e-8)
    # No other B in the set has a lower J.
    equations, table = fit.result_.influence.equations, fit.result_.kept
    lowest = mean_of_parts(equations, table, fit.result_.whole_theta)
    point = equations.constraint.point(fit.result_.whole_theta)
    for s in np.eye(point.jacobian.shape[1]):
        assert mean_of_parts(equations, table, point.moved(0.05 * s).theta) > lowest
        assert mean_of_parts(equations, table, point.moved(-0.05 * s).theta) > lowest
    assert fit.score(X, covariates=Z) > tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), region).fit(X).score(X)
    with pytest.raises(tmsm.errors.InvalidInputError, match="its equations are not linear"):
        _ = fit.moments_


def test_without_an_effect_known_concentration_is_that_of_one_direction(rows):
    """A covariate that is balanced at every point leaves the estimate as it is without it."""
    X = np.repeat(rows[0], 2, axis=0)
    balanced = np.tile([-1.0, 1.0], len(rows[0]))
    model, region = tmsm.VonMisesFisher(6.0), regression.region_of("hemisphere")
    plain = tmsm.ScoreMatching(model, region, Saturating(0.4)).fit(X)
    fit = tmsm.ScoreMatching(model, region, Saturating(0.4)).fit(X, covariates=balanced)
    np.testing.assert_allclose(fit.natural_params_, plain.natural_params_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(fit.coefficients_[:, 1], 0.0, atol=1e-8)
