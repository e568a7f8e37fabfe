"""The Stein test in linear time beside the one that compares all rows with all."""

from dataclasses import replace

import numpy as np
import pytest

import tmsm
from scenarios import direction_energy, ovals
from scenarios.hemisphere import REGION
from scenarios.hemisphere import TRUTH as MISES
from tmsm.data.rows import Rows
from tmsm.inference import stein
from tmsm.inference.stein_linear import InducingPoints, linear_test
from tmsm.inference.stein_rows import stein_rows

MODEL = tmsm.VonMisesFisher()
CAP = tmsm.Cap([-1.0, 0.0, 0.0], 0.9)
SPACE = tmsm.Everywhere(tmsm.Euclidean(6))


def draw(n, seed, region=REGION):
    return MODEL.sample(n, region, random_state=seed, **MISES)


def nearly_copies(count, seed):
    """Rows that come in ``count`` groups of one to five, and which group each is of."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(count), rng.integers(1, 6, count))
    X = draw(count, seed)[labels] + 0.01 * rng.standard_normal((len(labels), 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    inside = REGION.contains(X)
    return X[inside], labels[inside]


def on_the_hemisphere(seed):
    X = draw(600, seed)
    return tmsm.ScoreMatching(MODEL, REGION).fit(X), X, {}


def in_the_united_states(seed):
    border = tmsm.datasets.load_border("usa")
    X = MODEL.sample(500, border, random_state=seed, mean_direction=tmsm.lonlat_to_xyz(-97, 39), concentration=30.0)
    return tmsm.ScoreMatching(tmsm.FisherBingham(), border).fit(X), X, {}


def wrong(seed):
    X = tmsm.Kent().sample(300, REGION, random_state=seed, **{**ovals.TRUTH, "ovalness": 2.0})
    return tmsm.ScoreMatching(MODEL, REGION).fit(X), X, {}


def with_covariates(seed):
    z = np.random.default_rng(seed).standard_normal(500)
    X = draw(500, seed)
    return tmsm.ScoreMatching(MODEL, REGION).fit(X, covariates=z), X, {}


def with_an_exposure(seed):
    X = draw(800, seed)
    seen = X[np.random.default_rng(seed).random(800) < np.exp(X[:, 2] - 1.0)]
    fit = tmsm.ScoreMatching(MODEL, REGION, log_exposure=lambda X: (X[:, 2], np.array([0.0, 0.0, 1.0]) - X * X[:, 2:]))
    return fit.fit(seen), seen, {}


def on_a_product(seed):
    X = direction_energy.sample(500, "mean inside", seed)
    return tmsm.ScoreMatching(direction_energy.MODEL, direction_energy.region(0.3)).fit(X), X, {}


def of_rotations(seed):
    region = tmsm.RotationCap(np.eye(3), 1.2)
    X = tmsm.MatrixFisher().sample(500, region, random_state=seed, parameter=np.diag([6.0, 4.0, 2.0]))
    return tmsm.ScoreMatching(tmsm.MatrixFisher(), region).fit(X), X, {}


def by_likelihood_and_curved(seed):
    X = tmsm.Kent().sample(500, REGION, random_state=seed, **ovals.TRUTH)
    return tmsm.TruncatedMLE(tmsm.Kent(), REGION).fit(X), X, {}


def not_linear(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([draw(300, seed), MODEL.sample(300, REGION, random_state=rng, mean_direction=[-0.6, 0, 0.8],
                                                  concentration=20.0)])  # fmt: skip
    return tmsm.TruncatedMLE(tmsm.Mixture(MODEL, 2), REGION).fit(X), X, {}


def in_groups(seed):
    X, labels = nearly_copies(200, seed)
    return tmsm.ScoreMatching(MODEL, REGION).fit(X), X, {"groups": labels}


@pytest.mark.parametrize(
    "case",
    [
        on_the_hemisphere, in_the_united_states, wrong, with_covariates, with_an_exposure, on_a_product, of_rotations,
        by_likelihood_and_curved, not_linear, in_groups,
    ],
)  # fmt: skip
def test_both_ways_agree(case):
    """Within chance, of 1,000 resamples, and 0.015 beside; the part of the kernel that is missing is small."""
    for seed in range(2):
        fit, X, options = case(seed)
        ours, full = (tmsm.stein_test(fit, X, method=method, **options) for method in ("linear", "full"))
        assert ours.bandwidth == full.bandwidth
        assert 0.98 < ours.statistic / full.statistic < 1.0 + 1e-9
        chance = np.sqrt((full.p_value * (1.0 - full.p_value) + 1e-3) / 1000)
        assert ours.p_value == pytest.approx(full.p_value, abs=4.0 * chance + 0.015)


def test_features_give_the_kernel(monkeypatch):
    """With enough inducing points ⟨f(x), f(x′)⟩ = h(x, x′); with fewer it is a part of it."""
    X = draw(200, 0)
    features = stein._features(tmsm.ScoreMatching(MODEL, REGION).fit(X).result_, Rows.of(X, REGION))
    kernel = stein._stein_kernel(features, features, 0.8)[1]
    found = {}
    for missing in (1e-1, 1e-4, 1e-10):
        monkeypatch.setattr("tmsm.inference.stein_linear._MISSING", missing)
        points = InducingPoints.among(features.X, 0.8)
        f = points.whiten(points.features(features, points.kernel(features.X))).reshape(200, -1)
        found[missing] = f @ f.T
        assert np.linalg.eigvalsh(kernel - found[missing]).min() > -1e-6 * np.trace(kernel)
    np.testing.assert_allclose(found[1e-10], kernel, atol=1e-4 * np.abs(kernel).max())
    assert np.trace(found[1e-1]) < 0.9 * np.trace(kernel) < 0.905 * np.trace(found[1e-4])


def p_values(n, seeds, region, model=MODEL, truth=MODEL, params=MISES):
    estimator = tmsm.ScoreMatching(model, region)
    tables = (truth.sample(n, region, random_state=seed, **params) for seed in seeds)
    return np.array([tmsm.stein_test(estimator.fit(X), X).p_value for X in tables])


@pytest.mark.parametrize(
    ("region", "model", "truth", "params"),
    [(CAP, MODEL, MODEL, MISES), (REGION, tmsm.FisherBingham(), tmsm.Kent(), ovals.TRUTH)],
    ids=["cap", "Fisher–Bingham"],
)
@pytest.mark.parametrize("n", [100, 300])
def test_p_values_are_uniform_under_the_model(n, region, model, truth, params):
    found = p_values(n, range(200), region, model, truth, params)
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(found < level) == pytest.approx(level, abs=4.0 * np.sqrt(level * (1.0 - level) / len(found)))


def test_rows_that_are_taken_for_independent_would_not_do():
    """Rows of a group are added before they are squared; negative control: without groups nearly all is rejected."""
    found, alone = [], []
    for seed in range(100):
        X, labels = nearly_copies(80, seed)
        fit = tmsm.ScoreMatching(MODEL, REGION).fit(X)
        found.append(tmsm.stein_test(fit, X, groups=labels).p_value < 0.05)
        alone.append(tmsm.stein_test(fit, X).p_value < 0.05)
    assert np.mean(found) < 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / 100)
    assert np.mean(alone) > 0.5


def test_a_covariance_that_ignores_the_estimated_parameters_would_not_do():
    """Negative control: without the influence of rows on θ̂ the p-values are far too large."""
    found = []
    for seed in range(100):
        X = draw(300, seed)
        result = tmsm.ScoreMatching(MODEL, REGION).fit(X).result_
        rows, points = Rows.of(X, REGION), InducingPoints.among(X, 0.55)
        blind = replace(result.influence, matrix=np.zeros_like(result.influence.matrix))
        found.append(linear_test(stein_rows(result, rows), blind, rows, None, points)[1])
    assert np.mean(np.array(found) < 0.3) < 0.05
    assert np.mean(found) > 0.7


def an_oval(seed):
    return tmsm.Kent().sample(300, REGION, random_state=seed, **{**ovals.TRUTH, "ovalness": 2.4})


def two_clusters(seed):
    other = {"mean_direction": [-0.6, -0.8, 0.0], "concentration": 17.0}
    return np.vstack([draw(150, seed), MODEL.sample(100, REGION, random_state=10**6 + seed, **other)])


@pytest.mark.parametrize("table", [an_oval, two_clusters])
def test_power_is_that_of_all_pairs(table):
    caught = np.zeros((2, 80), dtype=bool)
    for seed in range(80):
        fit = tmsm.ScoreMatching(MODEL, REGION).fit(X := table(seed))
        tests = [tmsm.stein_test(fit, X, method=method, n_resamples=299) for method in ("linear", "full")]
        caught[:, seed] = [one.p_value < 0.05 for one in tests]
    ours, full = caught.mean(axis=1)
    assert 0.2 < full < 0.85
    # Seeds in which only one of both rejects are as often the one as the other.
    assert ours > full - 3.0 * np.sqrt((caught[0] != caught[1]).sum() + 1.0) / caught.shape[1]


def test_rows_that_carry_much_do_not_hide_what_is_wrong():
    """Tails of t with 8 degrees of freedom: pairs of a row with itself are most of the mean of all squared pairs."""
    model, caught = tmsm.MultivariateNormal(), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 6)) / np.sqrt(rng.chisquare(8, 300) / 8)[:, None]
        caught.append(tmsm.stein_test(tmsm.NaiveMLE(model).fit(X), X).p_value < 0.05)
    assert np.mean(caught) > 0.8


@pytest.mark.parametrize("grouped", [False, True])
def test_some_of_many_rows_or_groups_stand_for_all(grouped, monkeypatch):
    X, labels = nearly_copies(3000, 0)
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X, groups=labels if grouped else None)
    whole = tmsm.stein_test(fit, X)
    monkeypatch.setattr("tmsm.inference.stein_linear._KEPT_NUMBERS", 100_000)
    monkeypatch.setattr("tmsm.inference.stein_linear._PIECE_NUMBERS", 50_000)
    some = tmsm.stein_test(fit, X)
    assert some.statistic == pytest.approx(whole.statistic, rel=1e-9)
    assert some.p_value == pytest.approx(whole.p_value, abs=0.03 if grouped else 0.002)
    assert some.p_value != whole.p_value


def test_rows_beyond_those_that_a_fit_keeps(monkeypatch):
    X = draw(20_000, 2)
    whole = tmsm.stein_test(tmsm.ScoreMatching(MODEL, REGION).fit(X), X, bandwidth=0.5)
    monkeypatch.setattr("tmsm.data.rows._SAMPLE_ROWS", 3000)
    fit = tmsm.ScoreMatching(MODEL, REGION).fit(X)
    assert len(fit.result_.kept) < 3000
    found = tmsm.stein_test(fit, X, bandwidth=0.5)
    assert found.statistic == pytest.approx(whole.statistic, rel=0.05)
    assert found.p_value == pytest.approx(whole.p_value, abs=0.02)


def test_units_and_the_origin_of_coordinates_do_not_matter():
    model = tmsm.MultivariateNormal()
    X = np.random.default_rng(0).standard_normal((400, 2))
    here = tmsm.stein_test(tmsm.NaiveMLE(model).fit(X), X)
    there = tmsm.stein_test(tmsm.NaiveMLE(model).fit(1000.0 * X + 1e7), 1000.0 * X + 1e7)
    assert there.p_value == pytest.approx(here.p_value, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit, X: tmsm.stein_test(fit, X, method="fast"), r"method='fast' is not an option\. Choose one of"),
        (
            lambda fit, X: tmsm.stein_test(fit.fit(X[:3]), X[:3]),
            "rows inside the region are 3, and the model has 3 free",
        ),
        (lambda fit, X: tmsm.stein_test(fit, X, groups=np.arange(60) % 3), "groups inside the region are 3, and"),
        (lambda fit, X: tmsm.stein_test(fit, X, groups=np.zeros(60)), "All rows belong to one group"),
        (lambda fit, X: tmsm.stein_test(fit.fit(Y := X[np.r_[:8, [0] * 52]]), Y), "Most rows are identical"),
    ],
)
@pytest.mark.parametrize("method", ["linear", "full"])
def test_what_it_needs(call, message, method, monkeypatch):
    if method == "full":
        monkeypatch.setattr(tmsm.stein_test, "__kwdefaults__", {**tmsm.stein_test.__kwdefaults__, "method": "full"})
    X = draw(60, 0)
    fit = tmsm.ScoreMatching(MODEL, REGION, "geodesic").fit(X)
    with pytest.raises(ValueError, match=message):
        call(fit, X)
