"""Matrix Fisher rotations in five regions: the estimate, its errors, and what it is worth."""

import numpy as np
import pytest

import tmsm
from scenarios.efficiency import efficiency
from scenarios.rotations import MODE, MODEL, PARAMETER, REGIONS, THETA, sample
from tmsm.measure.nodes import Grid, build_nodes

SEEDS = 120


@pytest.fixture(scope="module", params=REGIONS)
def fits(request):
    region = REGIONS[request.param]
    rows = [sample(1000, region, seed) for seed in range(SEEDS)]
    return region, rows, [tmsm.ScoreMatching(MODEL, region).fit(X) for X in rows]


def test_estimates_are_right_within_their_errors_and_those_of_the_naive_fit_are_not(fits):
    _, rows, found = fits
    away = np.array([fit.natural_params_ - THETA for fit in found])
    errors = np.array([np.sqrt(np.diag(fit.covariance_)) for fit in found])
    # The mean of many is off by its own error, and a little by the bias that falls with the number of rows.
    assert (np.abs(away.mean(0)) < 4.5 * errors.mean(0) / np.sqrt(SEEDS) + 0.15 * errors.mean(0)).all()
    np.testing.assert_allclose(away.std(0), errors.mean(0), rtol=0.25)
    naive = np.array([tmsm.NaiveMLE(MODEL).fit(X).natural_params_ - THETA for X in rows[:5]])
    assert np.linalg.norm(naive.mean(0)) > 2.5 * np.linalg.norm(errors.mean(0))


def test_coverage(fits):
    _, _, found = fits
    inside = [np.abs(fit.natural_params_ - THETA) < 1.96 * np.sqrt(np.diag(fit.covariance_)) for fit in found]
    assert 0.92 < np.mean(inside) < 0.98
    for name, truth in (("parameter", PARAMETER), ("mean_rotation", MODE), ("concentration", [6.0, 4.0, 2.0])):
        hits = [np.abs(fit.params_[name] - truth) < 1.96 * fit.std_errors_[name] for fit in found]
        assert 0.92 < np.mean(hits) < 0.985, name


def test_efficiency(fits):
    region, _, found = fits
    nodes = build_nodes(region, Grid(2, 3))
    best = efficiency(MODEL, region, THETA, "auto", nodes.X, nodes.log_weights)
    assert best.share >= 0.94
    # The paper's weight, as a control.
    assert efficiency(MODEL, region, THETA, "geodesic", nodes.X, nodes.log_weights).share < 0.85
    # The same number by simulation.
    away = np.array([fit.natural_params_ - THETA for fit in found])
    assert (away**2).sum(1).mean() == pytest.approx(np.trace(best.covariance) / 1000, rel=0.25)


def test_a_region_with_an_edge():
    """An angle and an axis at once, where the border has a corner: no smooth weight, and none of draws."""
    region = REGIONS["mode inside"] & REGIONS["axis on the border"]
    away = []
    for seed in range(20):
        fit = tmsm.ScoreMatching(MODEL, region).fit(sample(2000, region, seed))
        away.append((fit.natural_params_ - THETA) / np.sqrt(np.diag(fit.covariance_)))
    assert 0.92 < np.mean(np.abs(away) < 1.96) < 0.99
    assert (np.abs(np.mean(away, axis=0)) < 4.5 / np.sqrt(20)).all()
