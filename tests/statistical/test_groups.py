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
    covered = {True: [], False: []}
    n_groups = 250
    for seed in range(300):
        # Groups of one to seven rows that are nearly the same point.
        sizes = rng.integers(1, 8, size=n_groups)
        labels = np.repeat(np.arange(n_groups), sizes)
        X = np.repeat(draw(n_groups, seed), sizes, axis=0)
        for grouped in (True, False) if seed < 100 else (True,):
            fit.fit(X, groups=labels if grouped else None)
            low, high = fit.confidence_interval().concentration
            covered[grouped].append(low < 6.0 < high)
    assert 0.92 < np.mean(covered[True]) < 0.975
    assert np.mean(covered[False]) < 0.8


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


BOX = tmsm.LonLatBox(-150, -40, -40, 40)


@pytest.mark.parametrize("weight", ["auto", "combined"])
@pytest.mark.parametrize("n", [300, 1000])
def test_copies_are_judged_like_the_rows_themselves(n, weight):
    """Every test, criterion and choice of equations is that of single rows; as if independent, none is."""
    X = MODEL.sample(n, BOX, random_state=0, **TRUTH)
    copies, labels = np.repeat(X, 10, axis=0), np.repeat(np.arange(n), 10)
    models = [MODEL, tmsm.VonMisesFisher(6.0)]
    single = [tmsm.ScoreMatching(model, BOX, weight).fit(X) for model in models]
    grouped = [tmsm.ScoreMatching(model, BOX, weight).fit(copies, groups=labels) for model in models]
    for one, other in zip(single, grouped, strict=True):
        assert other.weight_ == one.weight_
        assert other.status_.replace("300 groups are few for", "300 rows are few for") == one.status_
        # Combined weights differ by the G/(G − 1) of their covariance.
        np.testing.assert_allclose(other.natural_params_, one.natural_params_, rtol=1e-4)
        np.testing.assert_allclose(other.goodness_of_fit_, one.goodness_of_fit_, rtol=1e-3)
    difference, expected = (tmsm.compare(fits)[1] for fits in (grouped, single))
    assert difference.std_error == pytest.approx(expected.std_error, rel=1e-3)
    assert difference.difference == pytest.approx(expected.difference, rel=1e-2)
    alone = [tmsm.ScoreMatching(model, BOX, weight).fit(copies) for model in models]
    assert tmsm.compare(alone)[1].std_error < 0.5 * expected.std_error
    assert alone[0].goodness_of_fit_.statistic > 3.0 * grouped[0].goodness_of_fit_.statistic


def test_the_default_uses_no_more_equations_than_groups_carry():
    """Of ten copies of 300 rows six in ten fits once had equations that contradicted each other."""
    labels, alone = np.repeat(np.arange(300), 10), 0
    for seed in range(12):
        X = np.repeat(MODEL.sample(300, BOX, random_state=seed, **TRUTH), 10, axis=0)
        fit = tmsm.ScoreMatching(MODEL, BOX).fit(X, groups=labels)
        assert fit.weight_.label.startswith("Componentwise")
        assert "contradict" not in fit.status_
        alone += "contradict" in tmsm.ScoreMatching(MODEL, BOX).fit(X).status_
    assert alone >= 3


def test_the_stein_test_flips_whole_groups():
    X = draw(100, 7)
    copies, labels = np.repeat(X, 10, axis=0), np.repeat(np.arange(100), 10)
    fit = tmsm.ScoreMatching(MODEL, REGION)
    single = tmsm.stein_test(fit.fit(X), X, bandwidth=0.5, n_resamples=199)
    grouped = tmsm.stein_test(fit.fit(copies, groups=labels), copies, bandwidth=0.5, n_resamples=199)
    given = tmsm.stein_test(fit.fit(copies), copies, bandwidth=0.5, n_resamples=199, groups=labels)
    assert grouped.p_value == pytest.approx(single.p_value, abs=0.01)
    assert given == grouped
    assert tmsm.stein_test(fit.fit(copies), copies, bandwidth=0.5, n_resamples=199).p_value < 0.5 * single.p_value


def nearly_copies(rng, seed):
    sizes = rng.permutation(np.arange(1, 41))
    X = np.repeat(draw(40, seed), sizes, axis=0)
    moved = X + 0.003 * rng.standard_normal(X.shape)
    moved /= np.linalg.norm(moved, axis=1)[:, None]
    outside = ~REGION.contains(moved)
    moved[outside] = X[outside]
    return moved, np.repeat(np.arange(40), sizes)


def shifted_together(rng, seed):
    labels = np.repeat(np.arange(40), rng.permutation(np.arange(1, 41)))
    X = np.sqrt(0.2) * rng.standard_normal((40, 2))[labels] + np.sqrt(0.8) * rng.standard_normal((len(labels), 2))
    return X, labels


HALF = tmsm.HalfSpace([1.0, 0.0], -0.5)
UNEQUAL = {
    "nearly copies": (nearly_copies, ESTIMATORS["auto"], lambda found: found.concentration, 6.0),
    "a common shift": (
        shifted_together,
        tmsm.ScoreMatching(tmsm.MultivariateNormal(), HALF, outside="drop"),
        lambda found: [np.diag(end) for end in found.covariance],
        np.ones(2),
    ),
}


@pytest.mark.parametrize("case", UNEQUAL)
def test_intervals_cover_with_forty_unequal_groups(case):
    sample, estimator, read, truth = UNEQUAL[case]
    covered = {True: [], False: []}
    for seed in range(300):
        X, labels = sample(np.random.default_rng(seed), seed)
        for grouped in (True, False) if seed < 100 else (True,):
            low, high = read(estimator.fit(X, groups=labels if grouped else None).confidence_interval())
            covered[grouped].append((low < truth) & (truth < high))
    shares = np.mean(covered[True], axis=0)
    assert np.all((shares >= 0.92) & (shares <= 0.98))
    assert np.min(np.mean(covered[False], axis=0)) < 0.86


def test_unequal_groups_count_for_less():
    X = draw(2080, 9)
    labels = np.repeat(np.arange(64), np.arange(1, 65))
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(np.repeat(X[:64], np.arange(1, 65), axis=0), groups=labels)
    assert re.search("64 groups are so unequal that they count like 3[0-9]", fit.status_)
    # One group of half of the rows, which are copies, is nearly all that there is.
    half = np.r_[np.repeat(X[:1], 1000, axis=0), X[:1000]]
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(half, groups=np.r_[np.zeros(1000), np.arange(1, 1001)])
    assert "1,001 groups are so unequal" in fit.status_
    few = tmsm.ScoreMatching(MODEL, REGION).fit(X, groups=np.arange(2080) % 3)
    assert "3 groups are too few to estimate the errors of 3 parameters" in few.status_


def test_groups_that_a_fit_does_not_keep_must_be_given_again(monkeypatch):
    monkeypatch.setattr("tmsm.data.rows._SAMPLE_ROWS", 500)
    X, labels = draw(1200, 10), np.arange(1200) // 4
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X, groups=labels)
    for call in (lambda: fit.bootstrap(X, 5), lambda: tmsm.stein_test(fit, X)):
        with pytest.raises(ValueError, match=r"of its 1,200 rows it keeps those of 400 only: give groups= again"):
            call()
    assert len(fit.bootstrap(X, 5, random_state=0, groups=labels.astype(str), n_jobs=1)) == 5
    assert fit.goodness_of_fit_ is not None


def test_fits_with_other_groups_are_not_compared():
    X = draw(300, 11)
    fits = [tmsm.ScoreMatching(MODEL, REGION).fit(X, groups=labels) for labels in (None, np.arange(300) // 3)]
    with pytest.raises(ValueError, match="The fits were made with different groups of rows"):
        tmsm.compare(fits)
    named = tmsm.ScoreMatching(tmsm.Kent(), REGION).fit(X, groups=[f"storm {k // 3}" for k in range(300)])
    assert len(tmsm.compare([fits[1], named])) == 2


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
    assert re.search(r"groups +30; errors and tests allow for dependence within a group", fit.summary())
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
