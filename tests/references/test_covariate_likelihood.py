"""The likelihood under truncation with covariates: against separate fits, optimisers, least squares, the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import tmsm
from scenarios import regression
from tmsm.data.covariates import Covariates
from tmsm.data.rows import Rows
from tmsm.matching import covariate_likelihood
from tmsm.matching.covariate_likelihood import CovariateEquations, TruncatedRegression
from tmsm.matching.equations import row_residuals
from tmsm.measure.integrals import integrate_kernel, plan_nodes
from tmsm.numerics.chebyshev import Interpolation

MODEL, REGION = regression.MODEL, regression.region_of("hemisphere")


@pytest.fixture(scope="module")
def rows():
    X, years = regression.sample("hemisphere", "turning", 0, 600)
    return X, years, np.random.default_rng(0).standard_normal(600)


@pytest.fixture(scope="module")
def fit(rows):
    return tmsm.TruncatedMLE(MODEL, REGION).fit(rows[0], covariates={"year": rows[1]})


def likelihood_of(X, Z):
    table = Rows.of(X, REGION).with_covariates(Covariates.of(Z, len(X)))
    return TruncatedRegression.of(MODEL.on(REGION.manifold), table, table.standard(), None), table


@pytest.mark.parametrize("model", [tmsm.VonMisesFisher(), tmsm.FisherBingham()])
def test_two_kinds_of_rows_give_two_fits(rows, model):
    X, _, noise = rows
    kind = noise > 0.3
    both = tmsm.TruncatedMLE(model, REGION).fit(X, covariates=kind)
    total = 0.0
    for value in (0, 1):
        alone = tmsm.TruncatedMLE(model, REGION).fit(X[kind == value])
        at = np.kron(np.eye(len(both.coefficients_)), [1.0, value])
        np.testing.assert_allclose(both.coefficients_ @ [1.0, value], alone.natural_params_, rtol=1e-6, atol=1e-6)
        covariance = at @ both.coefficient_covariance_ @ at.T
        np.testing.assert_allclose(covariance, alone.covariance_, rtol=1e-5, atol=1e-6 * covariance.max())
        total += alone.n_samples_ * alone.log_likelihood_
    assert both.n_samples_ * both.log_likelihood_ == pytest.approx(total, rel=1e-9)
    k = 2 * both.result_.model.constraint.n_free
    assert both.bic_ == pytest.approx(-2.0 * total + k * np.log(len(X)), rel=1e-9)


def test_a_general_optimiser_finds_the_same():
    """Against nodes of its own, each row by itself, without derivatives."""
    X, years = regression.sample("hemisphere", "turning", 3, 50)
    s = (years - 2005.0) / 15.0
    fit = tmsm.TruncatedMLE(MODEL, REGION).fit(X, covariates=s)
    bound = MODEL.on(REGION.manifold)
    nodes = plan_nodes(bound.at(np.array([0.0, -12.0, 0.0])), REGION).nodes()

    def minus_log_likelihood(b):
        theta = np.column_stack([np.ones(50), s]) @ b.reshape(3, 2).T
        exponents = theta @ nodes.X.T + nodes.log_weights
        top = exponents.max(axis=1)
        return np.mean(top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)) - (theta * X).sum(axis=1))

    b = fit.coefficients_.ravel()
    assert minus_log_likelihood(b) == pytest.approx(-fit.log_likelihood_, abs=1e-9)
    away = np.array([0.0, 0.3, -0.5, 0.3, 0.0, -0.3])
    found = minimize(minus_log_likelihood, b + away, method="BFGS", tol=1e-6)
    assert np.abs(away).max() > 100 * np.abs(found.x - b).max()
    np.testing.assert_allclose(found.x, b, atol=2e-3 * fit.coefficient_errors_.max())


@pytest.mark.parametrize("several", [False, True], ids=["interpolated", "each value"])
def test_derivatives(rows, several):
    X, years, noise = (values[:150] for values in rows)
    problem, table = likelihood_of(X, np.column_stack([years, noise]) if several else years)
    start = np.zeros((3, problem.n_columns))
    start[:, 0], start[2, 1] = [-1.0, -5.0, 0.5], 1.0
    b, h = start.ravel(), 1e-5
    f = problem.near(b)
    assert (f.between is None) == several
    steps = h * np.eye(b.size)
    _, gradient, hessian = f(b)
    slope = [(f(b + step)[0] - f(b - step)[0]) / (2.0 * h) for step in steps]
    np.testing.assert_allclose(gradient, slope, atol=1e-8)
    np.testing.assert_allclose(hessian, [(f(b + s)[1] - f(b - s)[1]) / (2.0 * h) for s in steps], atol=1e-8)
    equations = CovariateEquations(problem.model, f, problem.standard)
    np.testing.assert_allclose(row_residuals(equations, table, b).mean(axis=0), gradient, atol=1e-9)


def test_interpolation_is_that_of_every_value(rows):
    X, years, _ = rows
    problem, _ = likelihood_of(X, years)
    b = np.array([-1.0, 0.5, -5.0, 0.3, 0.5, 4.0])
    f = problem.near(b)
    assert f.between is not None
    assert f.interpolates(b)
    exact = replace(f, between=None)
    for one, two in zip(f(b), exact(b), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-8)
    assert not replace(f, between=Interpolation(f.between.low, f.between.high, 4)).interpolates(b)  # too few
    at = np.linspace(-1.0, 3.0, 50)
    few = Interpolation(-1.0, 3.0, 5)
    np.testing.assert_allclose(few.matrix(at) @ few.points**5, at**5, atol=1e-10)
    np.testing.assert_allclose(few.matrix(few.points), np.eye(6))


def sharp(seed):
    """Rows of a density that moves over forty of its widths along the border."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1.0, 1.0, 1500)
    X = regression.draw(5000.0 * np.column_stack([np.full(1500, -0.02), -np.ones(1500), 0.3 * z]), rng)
    inside = REGION.contains(X)
    return X[inside], z[inside]


def test_nodes_follow_a_sharp_density_all_the_way(monkeypatch):
    """Nodes are kept where the density is at one value of z or another, and in between: against integrals."""
    truth, distances = np.array([[-100.0, 0.0], [-5000.0, 0.0], [0.0, 1500.0]]), []
    for seed in range(4):
        X, z = sharp(seed)
        fit = tmsm.TruncatedMLE(MODEL, REGION).fit(X, covariates=z)
        away = (fit.coefficients_ - truth).ravel()
        distances.append(away @ np.linalg.solve(fit.coefficient_covariance_, away))
    # The mean of four χ² with six degrees of freedom.
    assert abs(np.mean(distances) - 6.0) < 3.5 * np.sqrt(12.0 / 4)
    found, model = fit.result_, fit.result_.model
    assert found.nodes.pruned
    design = (
        np.column_stack([np.ones(4), np.linspace(z.min(), 0.9 * z.max(), 4)]) @ found.regression.standard.to_units.T
    )
    thetas = design @ found.regression.B.T
    values = found.nodes.moments(thetas).log_integral + thetas @ found.nodes.center
    for theta, value in zip(thetas, values, strict=True):
        constant = float((model.log_kernel(X[:1], theta) - model.statistics(X[:1]) @ theta)[0])
        assert value == pytest.approx(integrate_kernel(model.at(theta), REGION).log_integral - constant, abs=2e-6)
    # Values of z that are too far apart for what lies between them are refused.
    monkeypatch.setattr(covariate_likelihood, "_APART", 0.5)
    problem = TruncatedRegression.of(model, found.kept, found.regression.standard, None)
    with pytest.raises(tmsm.errors.EstimationError, match="ScoreMatching needs none"):
        problem.near(found.whole_theta)


def test_normal_rows_without_a_border_give_least_squares():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.integers(0, 4, 300), rng.integers(0, 3, 300)]).astype(float)
    X = np.column_stack([0.2 * Z[:, 0] - Z[:, 1], 3.0 + Z[:, 1]]) + rng.standard_normal((300, 2))
    model, region = tmsm.MultivariateNormal(covariance=np.eye(2)), tmsm.Everywhere(tmsm.Euclidean(2))
    fit = tmsm.TruncatedMLE(model, region).fit(X, covariates=Z)
    design = np.column_stack([np.ones(300), Z])
    np.testing.assert_allclose(fit.coefficients_[:2], np.linalg.lstsq(design, X, rcond=None)[0].T, atol=1e-7)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose(fit.coefficient_errors_[:2], [errors, errors], rtol=1e-5)
    np.testing.assert_allclose(fit.coefficient_errors_[2:], 0.0, atol=1e-12)  # known


def test_flat_regions_and_three_dimensions():
    rng = np.random.default_rng(1)
    z = rng.uniform(0.0, 1.0, 1500)
    slope = np.array([1.0, 0.5, 0.0])
    for dim in (1, 2, 3):
        X = z[:, None] * slope[:dim] + rng.standard_normal((1500, dim))
        model = tmsm.MultivariateNormal(covariance=np.eye(dim))
        fit = tmsm.TruncatedMLE(model, tmsm.Ball(np.zeros(dim), 2.0), outside="drop").fit(X, covariates=z)
        truth = np.column_stack([np.zeros(dim), slope[:dim]])
        assert (np.abs(fit.coefficients_[:dim] - truth) < 3.5 * fit.coefficient_errors_[:dim]).all()
        assert fit.n_samples_ < 1500


def test_weights_units_and_exposure(rows, fit):
    X, years, _ = rows
    times = np.arange(len(X)) % 3
    weighted = tmsm.TruncatedMLE(MODEL, REGION).fit(X, covariates=years, sample_weight=times)
    repeated = tmsm.TruncatedMLE(MODEL, REGION).fit(np.repeat(X, times, axis=0), covariates=np.repeat(years, times))
    np.testing.assert_allclose(weighted.coefficients_, repeated.coefficients_, rtol=1e-7, atol=1e-7)
    other = tmsm.TruncatedMLE(MODEL, REGION).fit(X, covariates=1e6 * (years - 1950.0))
    np.testing.assert_allclose(other.coefficients_ @ [[1, 0], [-1950e6, 1e6]], fit.coefficients_, rtol=1e-6)
    exposed = tmsm.TruncatedMLE(MODEL, REGION, log_exposure=lambda X: 0.5 * X[:, 2]).fit(X, covariates=years)
    np.testing.assert_allclose(exposed.coefficients_ - fit.coefficients_, [[0, 0], [0, 0], [-0.5, 0]], atol=1e-7)
    assert exposed.log_likelihood_ == pytest.approx(fit.log_likelihood_, abs=1e-9)  # the same density as was seen


def test_what_a_fit_shows(rows, fit, tmp_path):
    X, years, _ = rows
    assert fit.score(X, covariates=years) == pytest.approx(fit.log_likelihood_, abs=1e-9)
    assert fit.score(X, covariates=years) > tmsm.TruncatedMLE(MODEL, REGION).fit(X).score(X)
    assert fit.score(X[:1], covariates=years[:1]) < 5.0
    assert fit.goodness_of_fit_.p_value > 0.001
    assert fit.covariate_tests_.of("year", "centre").p_value < 1e-6
    assert fit.predict_params([1990.0, 2020.0]).mean_direction.shape == (2, 3)
    assert "quadrature nodes" in fit.summary()
    fit.save(tmp_path / "fit.json")
    back = tmsm.load(tmp_path / "fit.json")
    assert back.summary() == fit.summary()
    assert (back.n_nodes_, back.bic_) == (fit.n_nodes_, fit.bic_)
    refined = tmsm.ScoreMatching(MODEL, REGION, refine="mle").fit(X, covariates={"year": years})
    np.testing.assert_allclose(refined.coefficients_, fit.coefficients_, rtol=1e-8)
    np.testing.assert_allclose(refined.coefficient_errors_, fit.coefficient_errors_, rtol=1e-6)
    refined.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(tmsm.load(tmp_path / "fit.json").coefficients_, refined.coefficients_)


def test_bootstrap_and_groups_agree_with_the_errors(rows, fit):
    X, years, _ = rows
    drawn = fit.bootstrap(X, 40, random_state=0, n_jobs=1)
    ratio = drawn.coefficients.std(axis=0, ddof=1) / fit.coefficient_errors_
    assert (np.abs(ratio - 1.0) < 4.0 / np.sqrt(2 * 40)).all()
    # Of rows that are alone in their groups the errors are the same but for chance; of rows that come twice, √2 larger.
    alone = tmsm.TruncatedMLE(MODEL, REGION).fit(X, covariates=years, groups=np.arange(600))
    np.testing.assert_allclose(alone.coefficient_errors_, fit.coefficient_errors_, rtol=0.2)
    twice = tmsm.TruncatedMLE(MODEL, REGION).fit(
        np.repeat(X, 2, axis=0), covariates=np.repeat(years, 2), groups=np.repeat(np.arange(600), 2)
    )
    np.testing.assert_allclose(twice.coefficient_errors_, alone.coefficient_errors_, rtol=0.01)


def test_coverage_and_accuracy():
    """Intervals hold the truth as often as they say, and are shorter than those of score matching.

    Several weights combined are nearly as accurate (200 samples: 4 % more variance), which 60 samples cannot tell; a
    single weight is clearly less so.
    """
    truth = regression.coefficients("hemisphere", "turning")
    # θ in the middle year, and its change up to the last one.
    change = np.array([[1.0, 0.0], [regression.MIDDLE, regression.REACH]])
    full = np.kron(np.eye(3), change.T)
    estimators = {
        "likelihood": tmsm.TruncatedMLE(MODEL, REGION),
        "combined": tmsm.ScoreMatching(MODEL, REGION),
        "single": tmsm.ScoreMatching(MODEL, REGION, "saturating"),
    }
    away, variance = {name: [] for name in estimators}, {name: [] for name in estimators}
    for seed in range(60):
        X, years = regression.sample("hemisphere", "turning", seed, 1000, REGION)
        for name, estimator in estimators.items():
            fit = estimator.fit(X, covariates=years)
            away[name].append(((fit.coefficients_ - truth) @ change).ravel())
            variance[name].append(np.diag(full @ fit.coefficient_covariance_ @ full.T))
    hits = np.abs(away["likelihood"]) <= 1.96 * np.sqrt(variance["likelihood"])
    assert 0.91 < hits.mean() < 0.985  # 360 intervals that hang together in part
    stated = {name: np.mean(found, axis=0) for name, found in variance.items()}
    assert (stated["likelihood"] < stated["combined"]).all()
    assert (stated["likelihood"] < stated["single"]).all()
    seen = {name: np.mean(np.square(found) / stated["likelihood"]) for name, found in away.items()}
    assert abs(seen["likelihood"] - 1.0) < 0.3
    assert 1.15 * seen["likelihood"] < seen["single"]
    # No bias beyond chance.
    assert np.abs(np.mean(away["likelihood"], axis=0) / np.sqrt(stated["likelihood"] / 60)).max() < 4.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X, y: tmsm.TruncatedMLE(tmsm.VonMisesFisher(6.0), REGION).fit(X, covariates=y), "known concentration"),
        (lambda X, y: tmsm.TruncatedMLE(tmsm.Kent(), REGION).fit(X, covariates=y), "FisherBingham for Kent"),
        (
            lambda X, y: tmsm.TruncatedMLE(
                tmsm.MultivariateNormal(covariance=np.eye(4)), tmsm.Ball(np.zeros(4), 3.0)
            ).fit(0.1 * np.random.default_rng(0).standard_normal((600, 4)), covariates=y),
            "up to dimension three",
        ),
        (
            lambda X, y: tmsm.TruncatedMLE(MODEL, REGION).fit(
                np.tile(X, (200, 1)), covariates=np.random.default_rng(0).random((120_000, 2))
            ),
            r"120,000 distinct values.* Use ScoreMatching",
        ),
    ],
    ids=["known concentration", "curved", "four dimensions", "too many values"],
)
def test_what_is_refused(rows, make, words):
    with pytest.raises(tmsm.errors.InvalidInputError, match=words):
        make(*rows[:2])
