"""Directions and energies above a threshold, with an interaction: estimates, and what ignores the threshold."""

import numpy as np
import pytest

import tmsm
from scenarios.direction_energy import MODEL, SETTINGS, region, sample


@pytest.mark.parametrize("setting", SETTINGS)
def test_estimates_are_unbiased_and_their_errors_right(setting):
    params, threshold = SETTINGS[setting]
    truth, n, repeats = MODEL.natural_parameters(**params), 3000, 60
    away = []
    for X in np.split(sample(n * repeats, setting, 1), repeats):
        fit = tmsm.ScoreMatching(MODEL, region(threshold)).fit(X)
        away.append((fit.natural_params_ - truth) / np.sqrt(np.diag(fit.covariance_)))
    away = np.array(away)
    assert (np.abs(away.mean(axis=0)) < 3.5 / np.sqrt(repeats)).all()
    # Four standard errors of a standard deviation.
    np.testing.assert_allclose(away.std(axis=0), 1.0, atol=4 / np.sqrt(2 * repeats))
    assert np.mean(np.abs(away) < 1.96) == pytest.approx(0.95, abs=0.03)


def test_negative_controls_one_border_alone_is_not_enough():
    """The same rows without the threshold, and without the cap."""
    params, threshold = SETTINGS["mean outside"]
    truth = MODEL.natural_parameters(**params)
    X = sample(4000, "mean outside", 0)
    whole = region(threshold)
    cap, above = whole.parts
    for seen in (cap * tmsm.Everywhere(tmsm.Euclidean(1)), tmsm.Everywhere(tmsm.Sphere(2)) * above):
        fit = tmsm.ScoreMatching(MODEL, seen).fit(X)
        away = (fit.natural_params_ - truth) / np.sqrt(np.diag(fit.covariance_))
        assert np.abs(away).max() > 8.0
