"""Groups of dependent rows: cluster-robust errors."""

import re

import numpy as np
import pytest

import tmsm

REGION = tmsm.Hemisphere([-1.0, 0.0, 0.0])
MODEL = tmsm.VonMisesFisher()
TRUTH = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}
ESTIMATORS = {
    "geodesic": tmsm.ScoreMatching(MODEL, REGION, "geodesic"),
    "auto": tmsm.ScoreMatching(MODEL, REGION),
    "combined": tmsm.ScoreMatching(MODEL, REGION, "combined"),
    "refined": tmsm.ScoreMatching(MODEL, REGION, "geodesic", refine="mle"),
    "exact": tmsm.TruncatedMLE(MODEL, REGION),
    "naive": tmsm.NaiveMLE(MODEL),
}


def draw(n, seed):
    return MODEL.sample(n, REGION, random_state=seed, **TRUTH)


@pytest.mark.parametrize("name", ["geodesic", "auto", "combined"])
def test_copies_of_a_row_bring_nothing(name):
    X, fit = draw(1500, 0), ESTIMATORS[name]
    single = fit.fit(X).covariance_
    copies = fit.fit(np.repeat(X, 4, axis=0), groups=np.repeat(np.arange(1500), 4)).covariance_
    # A combined weight chooses its equations by the number of rows, and its errors allow for their number.
    tolerance = {"rtol": 0.05, "atol": 0.02 * np.abs(single).max()} if name == "combined" else {"rtol": 1e-9}
    np.testing.assert_allclose(copies, single * 1500 / 1499, **tolerance)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_of_their_own_have_the_usual_errors(name):
    X, fit = draw(20_000, 1), ESTIMATORS[name]
    usual = fit.fit(X).std_errors_.concentration
    grouped = fit.fit(X, groups=np.arange(len(X))).std_errors_.concentration
    # The naive likelihood's own errors assume a model that is wrong here.
    assert grouped == pytest.approx(usual, rel=0.3 if name == "naive" else 0.03)


@pytest.mark.parametrize("name", ["geodesic", "exact"])
def test_intervals_cover_where_rows_depend_on_each_other(name):
    rng, fit = np.random.default_rng(0), ESTIMATORS[name]
    covered = {True: 0, False: 0}
    repeats, n_groups = 300, 250
    for seed in range(repeats):
        # Groups of one to seven rows that are nearly the same point.
        sizes = rng.integers(1, 8, size=n_groups)
        labels = np.repeat(np.arange(n_groups), sizes)
        X = np.repeat(draw(n_groups, seed), sizes, axis=0)
        for grouped in covered:
            fit.fit(X, groups=labels if grouped else None)
            low, high = fit.confidence_interval().concentration
            covered[grouped] += low < 6.0 < high
    assert 0.92 < covered[True] / repeats < 0.975
    assert covered[False] / repeats < 0.8


def test_the_bootstrap_draws_the_groups_of_the_fit():
    X, labels = np.repeat(draw(400, 3), 5, axis=0), np.repeat([f"storm {k}" for k in range(400)], 5)
    fit = tmsm.ScoreMatching(MODEL, REGION, "geodesic").fit(X, groups=labels)
    grouped = fit.bootstrap(X, 200, random_state=0, groups=labels, n_jobs=1).std_errors.concentration
    known = fit.bootstrap(X, 200, random_state=0, n_jobs=1).std_errors.concentration
    assert grouped == pytest.approx(fit.std_errors_.concentration, rel=0.2)
    assert known == pytest.approx(fit.std_errors_.concentration, rel=0.2)
    with pytest.raises(ValueError, match="groups puts other rows together than the groups that the fit was made with"):
        fit.bootstrap(X, 200, groups=np.roll(labels, 1))
    alone = tmsm.ScoreMatching(MODEL, REGION, "geodesic").fit(X)
    assert alone.bootstrap(X, 200, random_state=0, n_jobs=1).std_errors.concentration < 0.6 * grouped


def test_groups_outside_the_region_do_not_count():
    everywhere = MODEL.sample(3000, random_state=4, **TRUTH)
    labels = np.arange(3000) // 3
    inside = REGION.contains(everywhere)
    dropped = tmsm.ScoreMatching(MODEL, REGION, outside="drop").fit(everywhere, groups=labels)
    chosen = tmsm.ScoreMatching(MODEL, REGION).fit(everywhere[inside], groups=labels[inside])
    np.testing.assert_allclose(dropped.covariance_, chosen.covariance_)
    weighted = tmsm.ScoreMatching(MODEL, REGION).fit(
        everywhere[inside], sample_weight=np.full(inside.sum(), 7.0), groups=labels[inside]
    )
    np.testing.assert_allclose(weighted.covariance_, chosen.covariance_)


def test_the_summary_says_so():
    X = draw(90, 5)
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X, groups=np.arange(90) // 3)
    assert re.search(r"groups +30, within which rows may depend on each other", fit.summary())
    assert "30 groups are few" in fit.status_
    plain = tmsm.ScoreMatching(MODEL, REGION).fit(X)
    assert "groups" not in plain.summary()
    np.testing.assert_array_equal(plain.natural_params_, fit.natural_params_)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(99), "groups must have one label for each of the 100 rows of X; got shape (99,)"),
        (np.zeros(100), "All rows belong to one group"),
        ([None, *range(99)], "groups has 1 of 100 labels missing (first: row 0)"),
        (np.append(np.arange(99.0), np.nan), "groups has 1 of 100 labels missing (first: row 99)"),
    ],
)
def test_bad_groups(labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        tmsm.ScoreMatching(MODEL, REGION).fit(draw(100, 6), groups=labels)
