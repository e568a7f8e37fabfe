"""Tests of the model: p-values are uniform under it and small where it is wrong."""

import numpy as np
import pytest

import tmsm
from scenarios import ovals
from scenarios.hemisphere import REGION
from scenarios.hemisphere import TRUTH as MISES

UNIT = {"mean": [0.3, 0.0], "covariance": np.eye(2)}


def fits(model, fitted, params, region, n, seeds, weight="auto"):
    estimator = tmsm.ScoreMatching(fitted, region, weight)
    for seed in seeds:
        X = model.sample(n, region, random_state=seed, **params)
        yield estimator.fit(X), X


def is_uniform(p_values):
    """No more of them are small, and no more below a half, than chance allows (4.5 standard errors)."""
    n = len(p_values)
    small, half = np.mean(p_values < 0.05), np.mean(p_values < 0.5)
    return small < 0.055 + 4.5 * np.sqrt(0.05 * 0.95 / n) and abs(half - 0.5) < 4.5 * np.sqrt(0.25 / n)


@pytest.mark.parametrize("weight", ["auto", "geodesic", "combined"])
@pytest.mark.parametrize(
    ("model", "params", "region"),
    [
        (tmsm.VonMisesFisher(), MISES, REGION),
        (tmsm.VonMisesFisher(6.0), MISES, REGION),
        (tmsm.Kent(), ovals.TRUTH, REGION),
        (tmsm.Watson(), {"axis": [0, -1.0, 0], "concentration": 4.0}, REGION),
        (tmsm.MultivariateNormal(), UNIT, tmsm.Box([-1.5, -1.5], [2.0, 2.0])),
        (tmsm.VonMisesFisher(), MISES, tmsm.LonLatBox(-150, -40, -40, 40)),
    ],
    ids=["von Mises–Fisher", "κ known", "Kent", "Watson", "normal", "lon/lat box"],
)
def test_over_identification_is_uniform_under_the_model(model, params, region, weight):
    found = np.array(
        [fit.goodness_of_fit_.p_value for fit, _ in fits(model, model, params, region, 1000, range(120), weight)]
    )
    assert found.min() > 1e-5  # so the status, which speaks up at 1e-6, is silent
    assert is_uniform(found)


def test_over_identification_on_an_arc_that_the_mean_lies_outside_of():
    """Combinations of nearly dependent equations, carried by few rows, once made it reject 13 % at 5 %."""
    concentration, arc = 4.0, tmsm.Cap([np.cos(1.2), np.sin(1.2)], 0.8)
    params = {"mean_direction": [1.0, 0.0], "concentration": concentration}
    model = tmsm.VonMisesFisher()
    found = np.array([fit.goodness_of_fit_.p_value for fit, _ in fits(model, model, params, arc, 1000, range(200))])
    assert 0.02 < np.mean(found < 0.05) < 0.08
    wrong = tmsm.VonMisesFisher(0.5 * concentration)
    caught = [fit.goodness_of_fit_.p_value < 0.05 for fit, _ in fits(model, wrong, params, arc, 1000, range(10))]
    assert np.mean(caught) > 0.8


@pytest.mark.parametrize("region", [tmsm.Everywhere(tmsm.Sphere(2)), REGION], ids=repr)
def test_stein_test_is_uniform_under_the_model(region):
    model = tmsm.VonMisesFisher()
    found = [
        tmsm.stein_test(fit, X, n_resamples=199).p_value
        for fit, X in fits(model, model, MISES, region, 300, range(150))
    ]
    assert is_uniform(np.array(found))


WRONG = {
    "another shape": (tmsm.Kent(), {**ovals.TRUTH, "ovalness": 4.0}, REGION, REGION),
    "another border": (tmsm.VonMisesFisher(), MISES, tmsm.Cap([-1.0, 0, 0], np.pi / 2 - 0.15), REGION),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("test", ["over-identification", "Stein"])
def test_power_against_what_is_wrong(case, test):
    model, params, seen, believed = WRONG[case]
    estimator = tmsm.ScoreMatching(tmsm.VonMisesFisher(), believed)
    caught = []
    for seed in range(40):
        X = model.sample(1000, seen, random_state=seed, **params)
        fit = estimator.fit(X)
        found = fit.goodness_of_fit_ if test == "over-identification" else tmsm.stein_test(fit, X, n_resamples=199)
        caught.append(found.p_value < 0.05)
    assert np.mean(caught) >= 0.95


@pytest.mark.parametrize("test", ["over-identification", "Stein"])
def test_power_against_contamination(test):
    model, caught = tmsm.VonMisesFisher(), []
    for seed in range(30):
        X = model.sample(900, REGION, random_state=seed, **MISES)
        noise = model.sample(100, REGION, random_state=seed, mean_direction=[0, -1.0, 0], concentration=0.0)
        fit = tmsm.ScoreMatching(model, REGION).fit(Y := np.vstack([X, noise]))
        found = fit.goodness_of_fit_ if test == "over-identification" else tmsm.stein_test(fit, Y, n_resamples=199)
        caught.append(found.p_value < 0.05)
    assert np.mean(caught) >= 0.95


def test_signs_that_ignore_the_estimated_parameters_would_not_do():
    """Negative control: without the influence of rows on θ̂ the p-values are far too large."""
    from tmsm.data.rows import Rows
    from tmsm.inference import stein

    model, found = tmsm.VonMisesFisher(), []
    for fit, X in fits(model, model, MISES, REGION, 300, range(60)):
        rows = Rows.of(X, REGION)
        features = stein._features(fit.result_, rows)
        signs = np.where(np.random.default_rng(0).random((300, 199)) < 0.5, -1.0, 1.0)
        found.append(stein._test(features, np.zeros((300, 3)), 0.5, signs).p_value)
    assert not is_uniform(np.array(found))
    assert np.mean(found) > 0.7


def test_status_speaks_up():
    truth = {**ovals.TRUTH, "ovalness": 4.9}
    X = tmsm.Kent().sample(3000, REGION, random_state=0, **truth)
    assert "do not look like VonMisesFisher" in tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X).status_
    assert "do not look like VonMisesFisher" in tmsm.TruncatedMLE(tmsm.VonMisesFisher(), REGION).fit(X).status_
    assert "look like" not in tmsm.ScoreMatching(tmsm.Kent(), REGION).fit(X).status_


def test_absent_where_it_has_nothing_to_say():
    X = tmsm.VonMisesFisher().sample(40, REGION, random_state=0, **MISES)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    assert fit.goodness_of_fit_ is None
    assert "goodness" not in fit.summary()


def test_weights_of_rows_count():
    """Rows with weight zero are as if they were not there, and a common factor does not matter."""
    model = tmsm.VonMisesFisher()
    X = model.sample(1200, REGION, random_state=3, **MISES)
    w = np.r_[np.ones(1000), np.zeros(200)]
    alone = tmsm.ScoreMatching(model, REGION).fit(X[:1000])
    weighted = tmsm.ScoreMatching(model, REGION).fit(X, sample_weight=7.0 * w)
    np.testing.assert_allclose(weighted.goodness_of_fit_, alone.goodness_of_fit_, rtol=1e-8)
    assert weighted.information_criterion_ == pytest.approx(alone.information_criterion_, rel=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit, X: tmsm.stein_test(fit, X[:50]), "the rows of the fit are needed"),
        (lambda fit, X: tmsm.stein_test("fit", X), "must be a fitted estimator"),
        (lambda fit, X: tmsm.stein_test(fit, X, bandwidth=-1.0), "bandwidth must be finite and greater than 0; got -1"),
        (lambda fit, X: tmsm.stein_test(fit.fit(X, sample_weight=np.ones(len(X))), X), "rows that count alike"),
    ],
)
def test_stein_test_says_what_it_needs(call, message):
    X = tmsm.VonMisesFisher().sample(100, REGION, random_state=0, **MISES)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    with pytest.raises((ValueError, TypeError), match=message):
        call(fit, X)
