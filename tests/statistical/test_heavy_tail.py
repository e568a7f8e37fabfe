"""A cluster with heavy tails whose centre lies at sea: found by both estimators, and lost without a tail."""

import numpy as np
import pytest

import tmsm
from scenarios import heavy_tail

pytestmark = pytest.mark.statistical


def test_centre_at_sea():
    """Three samples of 10,000; over 100 the medians are 0.2° and 0.43°, the intervals cover 91 to 95 %."""
    region = heavy_tail.border()
    errors = {"likelihood": [], "score matching": [], "without a tail": []}
    covered = []
    for seed in (50, 51, 52):
        X = heavy_tail.rows(region, seed)
        matched = tmsm.ScoreMatching(tmsm.HeavyTailed(), region).fit(X)
        found = {
            "likelihood": tmsm.TruncatedMLE(tmsm.HeavyTailed(), region).fit(X),
            "score matching": matched,
            "without a tail": tmsm.TruncatedMLE(tmsm.VonMisesFisher(), region).fit(X),
        }
        for name, fit in found.items():
            errors[name].append(heavy_tail.centre_error(fit.params_))
        covered += heavy_tail.covered(matched)
        exact = found["likelihood"]
        for name in ("concentration", "degrees_of_freedom"):
            assert abs(exact.params_[name] - heavy_tail.TRUTH[name]) < 4.0 * exact.std_errors_[name]
    assert np.median(errors["likelihood"]) < 0.4
    assert np.median(errors["score matching"]) < 1.0
    assert min(errors["without a tail"]) > 4.0
    assert sum(covered) >= 6


def test_the_likelihood_reaches_the_bound_that_the_information_sets():
    assert heavy_tail.lowest_error(heavy_tail.border()) == pytest.approx(0.186, abs=0.003)


def test_errors_are_the_spread_of_samples_in_a_small_cap():
    """With the centre beyond the border of a cap of a quarter of a degree: 12 samples."""
    kappa = 2e5
    radius = 2.0 / np.sqrt(kappa)
    region = tmsm.Cap([0.0, 0.0, 1.0], radius)
    away = 1.1 * radius
    truth = {"mean_direction": [np.sin(away), 0.0, np.cos(away)], "concentration": kappa, "degrees_of_freedom": 4.0}
    estimator = tmsm.ScoreMatching(tmsm.HeavyTailed(), region)
    scores = []
    for seed in range(12):
        X = tmsm.HeavyTailed().sample(3000, region, random_state=seed, **truth)
        fit = estimator.fit(X)
        tail, error = fit.natural_params_[-1], np.sqrt(fit.covariance_[-1, -1])
        scores.append([(fit.params_.concentration - kappa) / fit.std_errors_.concentration, (tail - 0.25) / error])
    scores = np.array(scores)
    assert (np.abs(scores.mean(axis=0)) < 4.0 / np.sqrt(12)).all()
    # Twelve squares of mean one are between 1.1 and 40.6 in all but for one in ten thousand.
    squares = (scores**2).sum(axis=0)
    assert ((squares > 1.1) & (squares < 40.6)).all()
