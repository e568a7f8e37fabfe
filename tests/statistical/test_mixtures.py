"""Mixtures by simulation: centres at sea, intervals, shares, and normals of which one is cut in half."""

import numpy as np
import pytest

import tmsm
from scenarios import mixtures

SEEDS = range(8)


@pytest.fixture(scope="module")
def usa():
    return tmsm.datasets.load_border("usa", "110m")


@pytest.mark.parametrize("name", mixtures.SETTINGS)
def test_the_centre_at_sea_is_found_as_well_as_it_can_be(usa, name):
    errors, inside = [], []
    for seed in SEEDS:
        fit = tmsm.TruncatedMLE(mixtures.MODEL, usa).fit(mixtures.rows(name, usa, seed, n=4000))
        errors.append(mixtures.centre_errors(fit.params_, name)[1])
        inside += mixtures.covered(fit, name)
    # The median of so few errors is known to a quarter of itself or so.
    assert np.median(errors) < 1.6 * mixtures.lowest_error(name, usa, n=4000)
    assert np.mean(inside) > 0.8


def test_score_matching_alone_is_worse_and_one_component_misses_the_centre(usa):
    name, seeds = "off Florida", range(5)
    errors = {"likelihood": [], "matching": [], "one component": []}
    for seed in seeds:
        X = mixtures.rows(name, usa, seed, n=4000)
        for kind, estimator in (("likelihood", tmsm.TruncatedMLE), ("matching", tmsm.ScoreMatching)):
            errors[kind].append(mixtures.centre_errors(estimator(mixtures.MODEL, usa).fit(X).params_, name)[1])
        one = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), usa).fit(X).params_.mean_direction
        errors["one component"].append(mixtures.angles(one, mixtures.truth(name)["mean_direction"][1]))
    rms = {kind: float(np.sqrt(np.mean(np.square(found)))) for kind, found in errors.items()}
    assert rms["likelihood"] < rms["matching"] < 4.0
    assert rms["one component"] > 5.0


def test_the_search_reaches_what_is_found_from_the_truth(usa):
    from tmsm.matching.density_likelihood import TruncatedDensity

    for seed in range(4):
        X = mixtures.rows("in the Gulf", usa, seed, n=3000)
        fit = tmsm.TruncatedMLE(mixtures.MODEL, usa).fit(X).result_
        near = TruncatedDensity(fit.model, usa, fit.kept).next_to(
            fit.model.natural_parameters(**mixtures.truth("in the Gulf"))
        )
        assert fit.likelihood(fit.theta)[0] <= near.value + 1e-6


def test_two_normals_of_which_one_is_cut_in_half():
    away, inside = mixtures.normal_estimates(range(12), 3000)
    assert (np.abs(np.median(away, axis=0)) < 4 * away.std(axis=0) / np.sqrt(len(away))).all()
    assert inside.mean() > 0.88
    # Without the cut nothing else is found than what is seen.
    naive = tmsm.NaiveMLE(mixtures.NORMALS).fit(mixtures.normal_rows(0, 3000)).params_
    assert naive.mean[:, 0].min() > 0.25


def test_a_background_has_its_share():
    model, region = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True), tmsm.Cap([0.0, 0.0, 1.0], 0.7)
    centre = tmsm.lonlat_to_xyz(30.0, 55.0)[None, :]
    truth = {"shares": [0.6], "background_share": 0.4, "mean_direction": centre, "concentration": [60.0]}
    away, inside = [], []
    for seed in range(20):
        fit = tmsm.TruncatedMLE(model, region).fit(model.sample(1500, region, random_state=seed, **truth))
        low, high = fit.confidence_interval().background_share
        inside.append(low <= 0.4 <= high)
        away.append((fit.params_.background_share - 0.4) / fit.std_errors_.background_share)
    assert abs(np.mean(away)) < 4 / np.sqrt(len(away))
    assert 0.5 < np.std(away) < 1.6
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("share", [0.7, 0.1])
def test_a_narrow_cluster_is_found_on_its_background(share):
    region, truth = tmsm.Hemisphere([0.0, 0.0, 1.0]), np.array([3.0, 1.0, 9.0]) / np.sqrt(91.0)
    model = tmsm.Mixture(tmsm.VonMisesFisher(), 1, background=True)
    cluster = {"shares": [share], "mean_direction": [truth], "concentration": [1000.0]}
    X = model.sample(2000, region, random_state=1, background_share=1.0 - share, **cluster)
    fit = tmsm.TruncatedMLE(model, region).fit(X)
    for name, values in cluster.items():
        error = np.abs(getattr(fit.params_, name) - np.asarray(values)).max()
        assert error < 4.0 * getattr(fit.std_errors_, name).max(), name
