"""The bootstrap agrees with the formula, and fits of the same rows are put in the right order."""

import numpy as np
import pytest

import tmsm
from scenarios import ovals
from scenarios.hemisphere import REGION
from scenarios.hemisphere import TRUTH as MISES

RESAMPLES = 400
# Standard error of a standard deviation from so many resamples, and what second order adds at n = 1,000.
TOLERANCE = 4 / np.sqrt(2 * RESAMPLES) + 0.05


def rows(model, params, region=REGION, n=1000, seed=0):
    return model.sample(n, region, random_state=seed, **params)


@pytest.mark.parametrize(
    "estimator",
    [
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION),
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, "geodesic"),
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, "combined"),
        tmsm.ScoreMatching(tmsm.VonMisesFisher(6.0), REGION),
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, refine="mle"),
        tmsm.TruncatedMLE(tmsm.VonMisesFisher(), REGION),
    ],
    ids=repr,
)
def test_bootstrap_agrees_with_the_formula(estimator):
    X = rows(tmsm.VonMisesFisher(), MISES)
    fit = estimator.fit(X)
    bootstrap = fit.bootstrap(X, RESAMPLES, random_state=1)
    assert bootstrap.n_failed == 0
    assert len(bootstrap) == RESAMPLES
    assert bootstrap.params.mean_direction.shape == (RESAMPLES, 3)
    for name in fit.params_:
        assert bootstrap.std_errors[name] == pytest.approx(fit.std_errors_[name], rel=TOLERANCE, abs=1e-12), name
    formula, found = fit.confidence_interval(), bootstrap.confidence_interval()
    np.testing.assert_allclose(found.mean_direction, formula.mean_direction, rtol=0.25)
    if fit.std_errors_.concentration > 0:
        margin = 0.6 * fit.std_errors_.concentration
        np.testing.assert_allclose(found.concentration, formula.concentration, atol=margin)


def test_bootstrap_of_kent_and_of_a_normal():
    X = rows(tmsm.Kent(), ovals.TRUTH, n=3000)
    fit = tmsm.ScoreMatching(tmsm.Kent(), REGION).fit(X)
    bootstrap = fit.bootstrap(X, 100, random_state=0, n_jobs=1)
    for name in fit.params_:
        assert bootstrap.std_errors[name] == pytest.approx(fit.std_errors_[name], rel=0.4), name
    box = tmsm.Box([-2.0, -1.5], [1.5, 2.0])
    model = tmsm.MultivariateNormal()
    Y = rows(model, {"mean": [0, 0.0], "covariance": np.eye(2)}, box, 3000)
    fit = tmsm.ScoreMatching(model, box).fit(Y)
    bootstrap = fit.bootstrap(Y, 200, random_state=0)
    assert bootstrap.params.covariance.shape == (200, 2, 2)
    np.testing.assert_allclose(bootstrap.std_errors.covariance, fit.std_errors_.covariance, rtol=0.35)


def test_bootstrap_is_repeatable_whoever_does_it():
    X = rows(tmsm.VonMisesFisher(), MISES, n=200)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    one = fit.bootstrap(X, 20, random_state=3, n_jobs=1).params
    assert fit.bootstrap(X, 20, random_state=3).params == one
    assert fit.bootstrap(X, 20, random_state=4).params != one
    assert "20 resamples" in repr(fit.bootstrap(X, 20, random_state=3))


def test_processes_give_what_one_gives(monkeypatch):
    from tmsm.inference import bootstrap as resampling

    X = rows(tmsm.VonMisesFisher(), MISES, n=200)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    one = fit.bootstrap(X, 30, random_state=3, n_jobs=1).params
    monkeypatch.setattr(resampling, "_WORTH", -1.0)  # nothing is quick enough to be done here
    monkeypatch.setattr(resampling, "_WARM_UP", 0.0)
    assert fit.bootstrap(X, 30, random_state=3, n_jobs=2).params == one


ELLIPSE = np.column_stack([0.5 * np.cos(np.arange(60) / 9.5), 0.3 * np.sin(np.arange(60) / 9.5)])
PLACES = {
    "a box": (tmsm.LonLatBox(-125, 25, -65, 50), tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz(-95, 38)),
    "a polygon": (
        tmsm.SphericalPolygon([np.column_stack([ELLIPSE, np.sqrt(1 - (ELLIPSE**2).sum(axis=1))])]),
        tmsm.VonMisesFisher(),
        np.array([0.0, 0.0, 1.0]),
    ),
    "Kent": (tmsm.LonLatBox(-125, 25, -65, 50), tmsm.Kent(), tmsm.lonlat_to_xyz(-95, 38)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_resamples_are_summed_from_what_each_row_contributes(place, weighted, monkeypatch):
    """The same as a fit of the rows that were drawn, to rounding, and the border is not asked again."""
    region, model, center = PLACES[place]
    n = 9000 if place == "a polygon" else 3000  # with so many a polygon's equations go through compiled loops
    X = tmsm.VonMisesFisher().sample(n, region, random_state=0, mean_direction=center, concentration=8.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    level = 5 if place == "a polygon" else 3
    fit = tmsm.ScoreMatching(model, region, tmsm.weights.Combined(level=level)).fit(X, sample_weight=weight)
    asked = []
    original = type(region).signed_distance
    monkeypatch.setattr(type(region), "signed_distance", lambda self, Y: asked.append(len(Y)) or original(self, Y))
    few, many = [], []
    for resamples, counts in ((2, few), (6, many)):
        asked.clear()
        found = fit.bootstrap(X, resamples, random_state=4, sample_weight=weight, n_jobs=1).params
        counts.extend(asked)
    assert few == many
    again = tmsm.ScoreMatching(model, region, fit.weight_)
    for k, seed in enumerate(np.random.default_rng(4).integers(2**63, size=6)):
        rows = np.random.default_rng(int(seed)).integers(len(X), size=len(X))
        expected = again.fit(X[rows], sample_weight=None if weight is None else weight[rows]).params_
        for name in expected:
            np.testing.assert_allclose(found[name][k], expected[name], rtol=1e-7, atol=1e-8, err_msg=name)


def test_resamples_are_fitted_row_by_row_where_they_must_be(monkeypatch):
    """Rows outside, weights of zero and tables that are too large are left to the fit itself."""
    from tmsm.matching import tabulated

    region, model, center = PLACES["a box"]
    X = model.sample(2000, region, random_state=0, mean_direction=center, concentration=8.0)
    weights = [np.ones(2000), np.r_[np.zeros(5), np.ones(1995)], None]
    estimator = tmsm.ScoreMatching(model, region, "combined", outside="drop")
    for weight, Y in zip(weights, [X, X, np.vstack([X[:-3], -X[:3]])], strict=True):
        fit = estimator.fit(Y, sample_weight=weight)
        found = fit.bootstrap(Y, 3, random_state=0, sample_weight=weight, n_jobs=1)
        assert found.n_failed == 0
        assert np.abs(found.params.concentration - 8.0).max() < 8 * fit.std_errors_.concentration
    fit = estimator.fit(X)
    fast = fit.bootstrap(X, 3, random_state=0).params
    monkeypatch.setattr(tabulated, "_MAX_NUMBERS", 1000)
    slow = fit.bootstrap(X, 3, random_state=0).params
    np.testing.assert_allclose(fast.concentration, slow.concentration, rtol=1e-9)
    assert (fast.concentration != slow.concentration).any()  # two ways were gone


def test_resamples_that_fail_are_counted():
    X = np.vstack([rows(tmsm.VonMisesFisher(), MISES, n=4)])
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    assert fit.bootstrap(X, 50, random_state=0).n_failed > 0
    with pytest.raises(ValueError, match="n_resamples must be at least 2"):
        fit.bootstrap(X, 1)


def test_comparison_finds_the_family():
    """Kent's rows: Kent first, von Mises–Fisher far behind; and von Mises–Fisher's: nobody far ahead of it."""
    models = [tmsm.VonMisesFisher(), tmsm.Kent(), tmsm.FisherBingham(), tmsm.Bingham()]

    def table(X):
        return tmsm.compare([tmsm.ScoreMatching(model, REGION).fit(X) for model in models])

    truth = {**ovals.TRUTH, "ovalness": 4.0}
    found = table(rows(tmsm.Kent(), truth, n=3000))
    by_name = {row.name.split()[1].split("(")[0]: row for row in found}
    assert by_name["Kent"].difference < 2 * max(by_name["Kent"].std_error, 1e-3)
    assert by_name["VonMisesFisher"].difference > 3 * by_name["VonMisesFisher"].std_error
    assert by_name["VonMisesFisher"].p_value < 1e-3 < by_name["Kent"].p_value
    assert found[0].difference == 0.0
    assert "above the best" in str(found)
    assert len(str(found).splitlines()) == 6

    first = [table(rows(tmsm.VonMisesFisher(), MISES, n=1000, seed=seed))[0].n_parameters for seed in range(40)]
    # Without the correction for optimism the largest family would always win.
    assert np.mean(np.array(first) == 3) > 0.5


def test_optimism_is_what_new_rows_cost():
    """The criterion estimates J on new rows; J on the rows of the fit is too low by the optimism."""
    model, n = tmsm.FisherBingham(), 300
    found, fresh, apparent = [], [], []
    new = rows(model, {"linear": [0, -6.0, 0], "quadratic": np.zeros((3, 3))}, n=100_000, seed=10**6)
    for seed in range(150):
        X = rows(tmsm.VonMisesFisher(), MISES, n=n, seed=seed)
        fit = tmsm.ScoreMatching(model, REGION).fit(X)
        found.append(fit.information_criterion_)
        apparent.append(-fit.score(X))
        fresh.append(-fit.score(new))
    found, fresh, apparent = map(np.array, (found, fresh, apparent))
    error = np.std(found - fresh) / np.sqrt(len(found))
    assert abs(np.mean(found - fresh)) < 4 * error
    assert np.mean(apparent - fresh) < -4 * error  # negative control


@pytest.mark.parametrize(
    ("fits", "message"),
    [
        (lambda X: [], "compare needs at least one fit"),
        (lambda X: ["fit"], "compare takes fitted estimators; got str"),
        (
            lambda X: [
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X),
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X[:90]),
            ],
            "The fits are of different rows",
        ),
        (
            lambda X: [
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X),
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), tmsm.Everywhere(tmsm.Sphere(2))).fit(X),
            ],
            "The fits are of different regions",
        ),
        (
            lambda X: [
                tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X[:90]),
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X),
            ],
            "The fits are of different rows",
        ),
        (
            lambda X: [tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).partial_fit(X)],
            "one of these came from partial_fit",
        ),
        (lambda X: tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X), r"compare\(\[one, other\]\)"),
        (
            lambda X: [
                tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, log_exposure=exposure).fit(X)
                for exposure in (None, lambda Y: (Y[:, 2], np.broadcast_to([0.0, 0.0, 1.0], Y.shape)))
            ],
            "The fits have different exposures",
        ),
    ],
)
def test_comparison_says_what_it_needs(fits, message):
    X = rows(tmsm.VonMisesFisher(), MISES, n=100)
    with pytest.raises((ValueError, TypeError), match=message):
        tmsm.compare(fits(X))


def test_diagnostics_in_the_summary():
    model = tmsm.VonMisesFisher()
    beyond = {"mean_direction": tmsm.colatlon_to_xyz(np.pi / 2 - 0.3, np.pi), "concentration": 6.0}
    X = rows(model, beyond, n=2000)
    fit = tmsm.ScoreMatching(model, REGION, "geodesic").fit(X)
    text = fit.summary()
    for label in ("weight", "nearest tenth", "effective rows", "condition of A", "mass outside", "goodness of fit"):
        assert f"\n{label}" in text
    assert "lies outside the region" in text
    assert "is extrapolated" in text
    share = float(text.split("mass outside")[1].split("%")[0])
    exact = 100 * (1 - np.exp(model.log_mass(REGION, **fit.params_).value))
    assert abs(share - exact) < 2
    inside = rows(model, {**beyond, "mean_direction": [-1.0, 0, 0]})
    assert "extrapolated" not in tmsm.ScoreMatching(model, REGION).fit(inside).summary()
    # g = d: the nearest tenth have nearly no weight, and effective rows are (Σ d)²/Σ d².
    d, _ = REGION.border_distance(X)
    assert f"{(d.sum() ** 2 / (d @ d)):,.0f} by that weight" in text


def test_criterion_of_a_large_table_is_that_of_all_its_rows():
    """Only 65,536 rows are kept; the optimism is that of the fit to all of them."""
    model, cap = tmsm.VonMisesFisher(), tmsm.Cap([1.0, 0, 0], 0.8)
    X = model.sample(200_000, cap, random_state=0, mean_direction=[1.0, 0, 0], concentration=15.0)
    small, large = (tmsm.ScoreMatching(model, cap).fit(rows).result_.criterion for rows in (X[:50_000], X))
    assert large.optimism == pytest.approx(small.optimism / 4, rel=0.1)
    with pytest.raises(ValueError, match="no information criterion"):
        _ = tmsm.ScoreMatching(model, cap).partial_fit(X[:100]).information_criterion_


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit, X: fit.bootstrap(X[:50], 10), "X has 50 rows inside the region, and the fit was made from 100"),
        (lambda fit, X: fit.bootstrap(X[::-1], 10), "These are not the rows that the fit was made from"),
        (lambda fit, X: fit.bootstrap(-X, 10), "X has 100 of 100 rows outside the region"),
        (lambda fit, X: fit.bootstrap(X, 10, sample_weight=np.ones(100)), "The fit was made without sample_weight"),
        (lambda fit, X: tmsm.stein_test(fit, -X), "X has 100 of 100 rows outside the region"),
    ],
)
def test_the_rows_of_the_fit_are_wanted(call, message):
    X = rows(tmsm.VonMisesFisher(), MISES, n=100)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    with pytest.raises(ValueError, match=message):
        call(fit, X)


def test_stein_test_far_from_the_origin():
    Z, model = np.random.default_rng(0).exponential(size=(300, 2)), tmsm.MultivariateNormal()
    here, there = (tmsm.stein_test(tmsm.NaiveMLE(model).fit(Z + o), Z + o, n_resamples=99) for o in (0.0, 1e8))
    assert there.statistic == pytest.approx(here.statistic, rel=1e-4)


def test_a_fit_without_a_region_is_judged_inside_that_of_the_others():
    X = rows(tmsm.VonMisesFisher(), MISES, n=600)
    naive, fit = tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X), tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(X)
    table = tmsm.compare([naive, fit])
    assert [one.name.split(":")[0] for one in table] == ["ScoreMatching", "NaiveMLE"]
    # J of the naive density on these rows, but for the correction.
    assert table[1].criterion == pytest.approx(-fit.score(X) + _excess(fit, naive, X), rel=0.05)
    assert table[1].difference > 3 * table[1].std_error
    assert table[1].p_value is None
    assert table[0].p_value is not None


def _excess(fit, naive, X):
    """J(θ naive) − J(θ̂) by the moments of the plain weight."""
    plain = tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION, "geodesic").fit(X)
    A, b = plain.moments_.A, plain.moments_.b
    values = [theta @ A @ theta + 2 * b @ theta for theta in (naive.natural_params_, fit.natural_params_)]
    return values[0] - values[1]
