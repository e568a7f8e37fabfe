"""Rows expected where nothing was seen: closed forms, derivatives by differences, and the error by simulation."""

from functools import lru_cache

import numpy as np
import pytest

import tmsm
from tmsm.inference.extrapolation import Extrapolation, Extrapolator

POLE = np.array([0.0, 0.0, 1.0])
CAP = tmsm.Cap(POLE, 0.6)
RING = CAP.surroundings(0.0, 0.5)
TRUTH = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 6.0}
MODEL = tmsm.VonMisesFisher()


@lru_cache(maxsize=1)
def seen():
    return MODEL.sample(1000, CAP, random_state=0, **TRUTH)


def log_ratio(model, region, seen_region, params):
    return model.log_mass(region, **params).value - model.log_mass(seen_region, **params).value


@pytest.mark.parametrize("estimator", [tmsm.ScoreMatching, tmsm.TruncatedMLE])
def test_value_and_error_are_those_of_the_density(estimator):
    fit = estimator(MODEL, CAP).fit(seen())
    found = fit.extrapolate(RING)
    assert np.log(found.value) == pytest.approx(log_ratio(MODEL, RING, CAP, fit.params_), abs=2e-4)
    # The derivative of the logarithm by θ, by differences.
    theta, slope = fit.natural_params_, []
    bound = MODEL.on(CAP.manifold)
    for unit in np.eye(3):
        ends = [log_ratio(MODEL, RING, CAP, bound.parameters(theta + s * 1e-3 * unit)) for s in (1.0, -1.0)]
        slope.append((ends[0] - ends[1]) / 2e-3)
    error = np.sqrt(np.array(slope) @ fit.covariance_ @ slope)
    assert found.log_std_error == pytest.approx(error, rel=2e-3)
    assert found.std_error == pytest.approx(found.value * error, rel=2e-3)
    low, high = found.confidence_interval(0.9)
    assert np.log([low, high]) == pytest.approx(np.log(found.value) + 1.6449 * error * np.array([-1, 1]), rel=1e-3)


def test_parts_add_up_and_the_whole_sphere_is_one_over_the_mass():
    fit = tmsm.ScoreMatching(MODEL, CAP).fit(seen())
    inner, outer = fit.extrapolate(RING).value, fit.extrapolate(CAP.surroundings(0.5, 4.0)).value
    assert inner + outer == pytest.approx(fit.extrapolate(~CAP).value, rel=1e-3)
    everything = fit.extrapolate(tmsm.Everywhere(tmsm.Sphere(2))).value
    assert everything == pytest.approx(1.0 + inner + outer, rel=1e-3)
    assert everything == pytest.approx(np.exp(-MODEL.log_mass(CAP, **fit.params_).value), rel=1e-3)
    # The region of the fit itself: one row for each row, without error.
    itself = fit.extrapolate(CAP)
    assert (itself.value, itself.std_error) == (pytest.approx(1.0, abs=1e-9), pytest.approx(0.0, abs=1e-4))


def test_the_naive_likelihood_takes_all_for_seen():
    fit = tmsm.NaiveMLE(MODEL).fit(seen())
    assert fit.extrapolate(RING).value == pytest.approx(np.exp(MODEL.log_mass(RING, **fit.params_).value), rel=1e-3)


def test_rows_outside_are_counted_as_if_each_were_detected():
    half = tmsm.TruncatedMLE(MODEL, CAP, log_exposure=lambda X: np.full(len(X), np.log(0.5))).fit(seen())
    plain = tmsm.TruncatedMLE(MODEL, CAP).fit(seen())
    assert half.extrapolate(RING).value == pytest.approx(2.0 * plain.extrapolate(RING).value, rel=1e-3)


def test_by_draws_above_dimension_three():
    cap = tmsm.Cap(np.eye(5)[0], 1.0)
    X = MODEL.sample(1500, cap, random_state=0, mean_direction=np.eye(5)[0], concentration=4.0)
    fit = tmsm.ScoreMatching(MODEL, cap).fit(X)
    found = fit.extrapolate(~cap)
    mass = np.exp(MODEL.log_mass(cap, **fit.params_).value)
    assert found.value == pytest.approx((1.0 - mass) / mass, rel=0.02)
    assert Extrapolator(fit.result_).rows_in(~cap) == found  # the draws are always the same
    with pytest.raises(tmsm.errors.EstimationError, match="almost no mass"):
        fit.extrapolate(tmsm.Cap(-np.eye(5)[0], 0.01))


def test_the_tail_decides_what_lies_outside():
    """With a negative control: by a family without a tail the truth is far outside of the interval."""
    truth = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 30.0}
    X = tmsm.HeavyTailed().sample(1500, CAP, random_state=0, **truth, degrees_of_freedom=2.0)
    expected = np.exp(log_ratio(tmsm.HeavyTailed(2.0), RING, CAP, truth))
    heavy = tmsm.ScoreMatching(tmsm.HeavyTailed(), CAP).fit(X).extrapolate(RING)
    plain = tmsm.ScoreMatching(MODEL, CAP).fit(X).extrapolate(RING)
    low, high = heavy.confidence_interval(0.999)
    assert low < expected < high
    assert plain.confidence_interval(0.999)[0] > 1.2 * expected


@pytest.mark.statistical
def test_the_error_is_the_spread_of_many_samples():
    """Over 120 samples: the logarithms spread as stated, and 90 % intervals hold the truth about as often."""
    expected = log_ratio(MODEL, RING, CAP, TRUTH)
    estimator = tmsm.ScoreMatching(MODEL, CAP, "geodesic")
    found = []
    for seed in range(120):
        X = MODEL.sample(400, CAP, random_state=seed, **TRUTH)
        found.append(estimator.fit(X).extrapolate(RING))
    logs, errors = np.log([one.value for one in found]), np.array([one.log_std_error for one in found])
    spread = logs.std(ddof=1)
    # The standard error of a standard deviation is 1/√2n of it.
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(spread, rel=4.0 / np.sqrt(240))
    covered = np.mean([low < np.exp(expected) < high for low, high in (one.confidence_interval(0.9) for one in found)])
    assert abs(covered - 0.9) < 3.5 * np.sqrt(0.09 / 120)
    # The control: errors a third too small would be noticed.
    assert np.sqrt(np.mean(errors**2)) > 0.75 * spread


def test_compare_shows_it_beside_the_fit_inside():
    X = seen()
    fits = [
        tmsm.TruncatedMLE(MODEL, CAP).fit(X),
        tmsm.TruncatedMLE(tmsm.Kent(), CAP).fit(X),
        tmsm.NaiveMLE(MODEL).fit(X),
    ]
    table = tmsm.compare(fits, extrapolate={"near": RING, "all the rest": ~CAP})
    for one in table:
        fit = fits[one.index]
        assert list(one.extrapolations) == ["near", "all the rest"]
        if one.index < 2:
            assert one.extrapolations["near"] == fit.extrapolate(RING)
            assert one.extrapolations["near"].in_words in str(table)
        else:  # inside the region of the others
            params = fit.params_
            expected = np.exp(log_ratio(MODEL, RING, CAP, params))
            assert one.extrapolations["near"].value == pytest.approx(expected, rel=1e-3)
    assert "all the rest" in str(table)
    assert "may differ by more than that" in str(table)
    plain = tmsm.compare(fits[:2])
    assert "rows" not in str(plain).lower()
    assert plain[0].extrapolations == {}
    assert plain[0].log_likelihood == pytest.approx(fits[plain[0].index].log_likelihood_)
    assert "log-likelihood" in str(plain)
    matched = tmsm.compare([fits[0], tmsm.ScoreMatching(MODEL, CAP).fit(X)])
    assert matched[0].log_likelihood is None
    assert "log-likelihood" not in str(matched)


def test_of_two_fits_that_differ_by_rounding_the_smaller_family_comes_first():
    X = seen()
    heavy, light = (tmsm.TruncatedMLE(model, CAP).fit(X) for model in (tmsm.HeavyTailed(), MODEL))
    assert np.isinf(heavy.params_.degrees_of_freedom)
    table = tmsm.compare([heavy, light])
    assert [one.index for one in table] == [1, 0]
    assert table[1].difference == 0.0
    other = tmsm.compare([light, tmsm.TruncatedMLE(tmsm.Kent(), CAP).fit(X)])
    assert other[1].difference > 1e-6


def test_compare_calls_fits_by_the_names_that_are_given():
    X = seen()
    fits = {"oval": tmsm.TruncatedMLE(tmsm.Kent(), CAP).fit(X), "round": tmsm.TruncatedMLE(MODEL, CAP).fit(X)}
    named, plain = tmsm.compare(fits), tmsm.compare(list(fits.values()))
    assert [one.name for one in named] == [list(fits)[one.index] for one in plain]
    assert [one.criterion for one in named] == [one.criterion for one in plain]
    assert "Kent" not in str(named)


def test_groups_make_wider_intervals():
    X = seen()
    groups = np.arange(len(X)) // 100
    found = tmsm.ScoreMatching(MODEL, CAP, "geodesic").fit(X, groups=groups).extrapolate(RING)
    assert found.error_df == pytest.approx(9.0)
    low, high = found.confidence_interval()
    assert np.log(high / low) == pytest.approx(2.0 * 2.262 * found.log_std_error, rel=1e-3)


def test_it_reads_well():
    assert repr(Extrapolation(1.361, 0.1)) == "<1.36 ± 0.14 rows for each row seen, 95 % interval 1.1 to 1.7>"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tmsm.ScoreMatching(MODEL, CAP).extrapolate(RING), "call fit first"),
        (lambda: tmsm.ScoreMatching(MODEL, CAP).fit(seen()).extrapolate(0.3), "extrapolate needs a region"),
        (lambda: tmsm.ScoreMatching(MODEL, CAP).fit(seen()).extrapolate(tmsm.Box([0.0], [1.0])), "The region lies on"),
        (
            lambda: tmsm.ScoreMatching(MODEL, CAP, standard_errors=False).fit(seen()).extrapolate(RING),
            "no standard errors",
        ),
        (lambda: tmsm.compare([tmsm.ScoreMatching(MODEL, CAP).fit(seen())], extrapolate=RING), "map names to regions"),
    ],
)
def test_bad_input_is_said_in_a_sentence(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_a_background_ends_at_the_border():
    cluster = MODEL.sample(1400, CAP, random_state=1, mean_direction=[0.6, 0.0, 0.8], concentration=40.0)
    even = tmsm.Sphere(2).uniform(10_000, 2)
    X = np.vstack([cluster, even[CAP.contains(even)][:600]])
    fit = tmsm.TruncatedMLE(tmsm.Mixture(MODEL, 1, background=True), CAP).fit(X)
    found, params = fit.extrapolate(RING), fit.params_
    one = {"mean_direction": params.mean_direction[0], "concentration": params.concentration[0]}
    # The share of the cluster among all rows inside, by the density there.
    inside, area = CAP.exact_nodes(4, 3)
    model, theta = fit.result_.model, fit.result_.theta
    logs = model.beyond().log_kernel(inside, model.beyond_theta(theta)), model.log_kernel(inside, theta)
    share = (area @ np.exp(logs[0])) / (area @ np.exp(logs[1]))
    assert found.value == pytest.approx(share * np.exp(log_ratio(MODEL, RING, CAP, one)), rel=1e-3)
    assert 0.6 < share < 0.8
