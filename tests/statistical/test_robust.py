"""Robust fits with outliers and without, against the truth."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm
from scenarios import outliers

SETTINGS = (None, 0.3, "auto")


@lru_cache(maxsize=2)
def simulated(n_outliers):
    return outliers.simulate(1000, n_outliers, SETTINGS, 24)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [0.3, "auto"])
def test_outliers_do_not_pull_the_estimate(setting):
    kappas, covered = simulated(50)[setting]
    assert abs(kappas.mean() / outliers.KAPPA - 1.0) < 0.03
    assert covered.mean() >= 0.85  # of 24; what is left of the outliers is a fifth of an error


@pytest.mark.slow
def test_outliers_pull_the_ordinary_estimate():
    """The control."""
    kappas, covered = simulated(50)[None]
    assert abs(kappas.mean() - 12.8) < 0.3
    assert not covered.any()


@pytest.mark.slow
def test_without_outliers_the_smallest_power_costs_nothing():
    found = simulated(0)
    errors = {setting: np.mean((kappas - outliers.KAPPA) ** 2) for setting, (kappas, _) in found.items()}
    assert errors[None] / errors["auto"] >= 0.9
    assert 0.5 < errors[None] / errors[0.3] < 0.95
    for kappas, covered in found.values():
        assert covered.mean() >= 0.85
        assert abs(kappas.mean() - outliers.KAPPA) < 4.0 * kappas.std() / np.sqrt(len(kappas))


def test_one_sample_with_outliers():
    X = outliers.sample(1000, 50, 0)
    plain, fit = (tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=c).fit(X) for c in (None, 0.3))
    assert plain.params_.concentration < outliers.KAPPA - 8.0 * plain.std_errors_.concentration
    assert abs(fit.params_.concentration - outliers.KAPPA) < 3.0 * fit.std_errors_.concentration
    assert fit.covers(outliers.MU)
    # Those with the least weight are the outliers.
    assert fit.row_weights_[950:].max() < min(0.1, fit.row_weights_[:950].min())
    assert fit.row_weights_.mean() == pytest.approx(1.0)
    # The rows as they are do not fit the family, and weighted they do.
    assert plain.goodness_of_fit_.p_value < 1e-6
    assert fit.goodness_of_fit_.p_value > 0.01
    assert "do not look like" in plain.status_
    assert "do not look like" not in fit.status_


def test_few_outliers_are_noticed():
    """Outliers do not count in the error of the difference that they make."""
    fits = [
        tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust="auto").fit(outliers.sample(1000, 5, seed))
        for seed in range(10)
    ]
    assert sum("took c = 0," in fit.status_ for fit in fits) <= 1


def test_a_test_of_fit_of_weighted_rows_keeps_its_level():
    estimator = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=0.3, standard_errors=False)
    p = np.array([estimator.fit(outliers.sample(1000, 0, seed)).goodness_of_fit_.p_value for seed in range(40)])
    assert (p < 0.05).sum() <= 6  # 2 are expected, 7 or more come once in two hundred
    assert 0.3 < p.mean() < 0.7


def test_errors_agree_with_the_bootstrap():
    X = outliers.sample(300, 15, 0)
    fit = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=0.3).fit(X)
    found = fit.bootstrap(X, 80, random_state=0, n_jobs=1)
    assert found.n_failed == 0
    assert found.std_errors.concentration == pytest.approx(fit.std_errors_.concentration, rel=0.3)
    assert found.std_errors.mean_direction == pytest.approx(fit.std_errors_.mean_direction, rel=0.3)


def test_groups_that_are_copies_count_once():
    X = outliers.sample(400, 20, 0)
    estimator = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=0.3)
    alone = estimator.fit(X).std_errors_.concentration
    four = np.repeat(X, 4, axis=0)
    assert estimator.fit(four).std_errors_.concentration == pytest.approx(0.5 * alone, rel=0.05)
    grouped = estimator.fit(four, groups=np.repeat(np.arange(len(X)), 4))
    assert grouped.std_errors_.concentration == pytest.approx(alone, rel=0.05)
    # Four copies of each row do not make chance significant, either.
    auto = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust="auto")
    clean = np.repeat(outliers.sample(200, 0, 3), 4, axis=0)
    assert "took c = 0," in auto.fit(clean, groups=np.repeat(np.arange(200), 4)).status_


def test_with_an_exposure_that_is_known():
    """Rows are seen with a probability that falls with height; the power is that of the density alone."""
    rng = np.random.default_rng(0)
    X = outliers.MODEL.sample(4000, outliers.REGION, random_state=rng, **outliers.TRUTH)
    X = X[rng.random(len(X)) < np.exp(1.5 * (X[:, 2] - 1.0))]
    X = np.vstack([X, outliers.sample(1000, 50, 1)[950:]])

    def exposure(Y):
        return 1.5 * Y[:, 2]

    estimator = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=0.3, log_exposure=exposure)
    fit = estimator.fit(X)
    assert abs(fit.params_.concentration - outliers.KAPPA) < 3.0 * fit.std_errors_.concentration
    assert fit.covers(outliers.MU)
    without = tmsm.ScoreMatching(outliers.MODEL, outliers.REGION, robust=0.3).fit(X)
    assert not without.covers(outliers.MU)


def test_a_centre_at_sea():
    """Off Georgia, seen inside the real border: fifty rows far inland make the cluster five times as wide."""
    region, truth = tmsm.datasets.load_border("usa"), tmsm.lonlat_to_xyz(-80.0, 31.0)
    X = outliers.MODEL.sample(950, region, random_state=0, mean_direction=truth, concentration=150.0)
    uniform = outliers.MODEL.sample(500, region, random_state=1, mean_direction=truth, concentration=0.0)
    X = np.vstack([X, uniform[uniform @ truth < np.cos(0.35)][:50]])
    plain, fit = (tmsm.ScoreMatching(outliers.MODEL, region, robust=c).fit(X) for c in (None, "auto"))
    assert plain.params_.concentration < 60.0
    assert abs(fit.params_.concentration - 150.0) < 3.0 * fit.std_errors_.concentration
    assert fit.covers(truth)
    assert not plain.covers(truth)


def test_flat_space_with_a_mean_on_the_cut():
    model, region = tmsm.MultivariateNormal(), tmsm.HalfSpace([1.0, 0.0], 0.0)
    covariance = [[1.0, 0.3], [0.3, 0.6]]
    X = model.sample(950, region, random_state=0, mean=[0.0, 1.0], covariance=covariance)
    X = np.vstack([X, np.random.default_rng(1).uniform([4.0, 6.0], [8.0, 10.0], (50, 2))])
    fit = tmsm.ScoreMatching(model, region, robust="auto").fit(X)
    assert (np.abs(fit.params_.mean - [0.0, 1.0]) < 3.0 * fit.std_errors_.mean).all()
    assert (np.abs(fit.params_.covariance - covariance) < 3.0 * fit.std_errors_.covariance).all()
    assert fit.row_weights_[950:].max() < 0.05
    plain = tmsm.ScoreMatching(model, region).fit(X)
    assert (plain.params_.covariance[1, 1] - 0.6) > 5.0 * fit.std_errors_.covariance[1, 1]
