"""A centre that turns with the year: coverage, size and power of the tests, and what ignoring the border does."""

import numpy as np
import pytest

import tmsm
from scenarios import regression
from scenarios.regression import MIDDLE, YEARS, Simulated

SEEDS = {"hemisphere": 60, "United States": 24}


@pytest.fixture(scope="module", params=list(SEEDS))
def turning(request):
    found = Simulated(request.param, "turning")
    for seed in range(SEEDS[request.param]):
        found.add(seed)
    return found


def test_coefficients_and_predictions_are_covered(turning):
    # Slopes only: the constant is that of the year zero, and has the same error.
    n = len(turning.errors)
    errors = np.array(turning.errors)[:, :, 1]
    assert (np.abs(errors.mean(axis=0)) < 4.0 / np.sqrt(n)).all()
    assert 0.75 < errors.std() < 1.25
    for shares in (turning.coefficients, turning.concentrations, turning.directions):
        assert np.mean(shares) > 0.95 - 4.0 * np.sqrt(0.05 * 0.95 / n)


def test_a_turning_centre_is_noticed(turning):
    share = turning.report()
    assert share["rejected, density, wald"] == share["rejected, density, score"] == 100.0
    assert share["rejected, centre, wald"] > 80.0
    assert share["rejected, centre, score"] > 80.0


@pytest.mark.parametrize("setting", SEEDS)
def test_no_effect_is_rarely_found(setting):
    found = Simulated(setting, "none")
    fits = [found.add(seed) for seed in range(2 * SEEDS[setting])]
    assert len(fits) == 2 * SEEDS[setting]
    for name, share in found.report().items():
        if name.startswith("rejected"):
            assert share <= 100.0 * (0.05 + 3.0 * np.sqrt(0.05 * 0.95 / len(fits)))


def test_a_sharper_density_does_not_move_its_centre():
    found = Simulated("hemisphere", "sharper")
    for seed in range(60):
        found.add(seed)
    share = found.report()
    assert share["rejected, density, wald"] == 100.0
    assert share["rejected, centre, wald"] <= 15.0
    assert share["rejected, centre, score"] <= 15.0


@pytest.mark.parametrize(("effect", "least", "most"), [("turning", 90.0, 100.0), ("none", 0.0, 15.0)])
def test_a_known_concentration(effect, least, most):
    """The hemisphere's two changes across the mean have no part along it, so that the length can be kept."""
    found = Simulated("hemisphere", effect, concentration=6.0)
    for seed in range(50):
        found.add(seed)
    assert np.mean(found.directions) > 0.95 - 4.0 * np.sqrt(0.05 * 0.95 / 50)
    assert np.abs(np.mean(found.errors, axis=0)[[0, 2], 1]).max() < 4.0 / np.sqrt(50)
    for name, share in found.report().items():
        if name.startswith("rejected"):
            assert least <= share <= most, name


@pytest.mark.parametrize("setting", SEEDS)
def test_ignoring_the_border_is_wrong(setting):
    """The control: the same rows on the whole sphere."""
    X, years = regression.sample(setting, "turning", 0)
    naive = tmsm.ScoreMatching(regression.MODEL, tmsm.Everywhere(tmsm.Sphere(2))).fit(X, covariates=years)
    ours = tmsm.ScoreMatching(regression.MODEL, regression.region_of(setting)).fit(X, covariates=years)
    at = np.array([YEARS[0], MIDDLE, YEARS[1]])
    theta = np.column_stack([np.ones(3), at]) @ regression.coefficients(setting, "turning").T
    kappa = np.linalg.norm(theta, axis=1)
    for fit, right in ((naive, False), (ours, True)):
        found = fit.predict_params(at)
        away = np.abs(found.concentration - kappa) / found.std_errors.concentration
        assert (away.max() < 4.0) if right else (away.min() > 8.0)


def test_errors_of_groups_are_those_of_what_is_independent():
    """Every row five times, known to belong together: errors are those of the rows once."""
    X, years = regression.sample("hemisphere", "turning", 3, 600)
    estimator = tmsm.ScoreMatching(regression.MODEL, regression.region_of("hemisphere"))
    once = estimator.fit(X, covariates=years).coefficient_errors_
    five, again = np.repeat(X, 5, axis=0), np.repeat(years, 5)
    fit = estimator.fit(five, covariates=again, groups=np.repeat(np.arange(600), 5))
    np.testing.assert_allclose(fit.coefficient_errors_, once, rtol=0.03)
    tests = fit.covariate_tests_.of("z1", "centre")
    alone = estimator.fit(X, covariates=years).covariate_tests_.of("z1", "centre")
    np.testing.assert_allclose(tests.statistic, alone.statistic, rtol=0.06)
    np.testing.assert_allclose(tests.score.statistic, alone.score.statistic, rtol=0.06)
    # The control: without groups they are too small.
    assert (estimator.fit(five, covariates=again).coefficient_errors_ < 0.6 * once).all()


def test_resamples_spread_like_the_errors():
    X, years = regression.sample("hemisphere", "turning", 4, 800)
    fit = tmsm.ScoreMatching(regression.MODEL, regression.region_of("hemisphere")).fit(X, covariates=years)
    found = fit.bootstrap(X, 150, random_state=0, n_jobs=1)
    assert found.coefficients.shape == (150, 3, 2)
    np.testing.assert_allclose(found.coefficients.std(axis=0), fit.coefficient_errors_, rtol=0.25)
    np.testing.assert_allclose(found.std_errors.concentration, fit.std_errors_.concentration, rtol=0.25)


def test_goodness_of_fit_sees_an_effect_that_is_not_linear():
    X, years = regression.sample("hemisphere", "turning", 5)
    estimator = tmsm.ScoreMatching(regression.MODEL, regression.region_of("hemisphere"))
    assert estimator.fit(X, covariates=years).goodness_of_fit_.p_value > 0.01
    # The control: as if the years were in another order; the density is then that of a mixture.
    assert estimator.fit(X).goodness_of_fit_.p_value < 1e-3
