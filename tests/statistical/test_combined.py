"""Combined weights: unbiased, more accurate than one weight, with intervals that cover; and what auto chooses."""

import numpy as np
import pytest

import tmsm
from tests.registry import star
from tmsm import weights

ROUGH = tmsm.SphericalPolygon([star(60, 1)])
# Straight edges with corners, and a mean beside an edge.
OCTANT = tmsm.SphericalPolygon([np.eye(3)])
BESIDE = {"mean_direction": np.array([7.0, 7.0, 1.0]) / np.sqrt(99.0), "concentration": 12.0}
MISES = {"mean_direction": tmsm.lonlat_to_xyz(25.0, 10.0), "concentration": 12.0}
KENT = {
    "mean_direction": [1.0, 0, 0], "major_axis": [0, 0.6, 0.8], "minor_axis": [0, -0.8, 0.6],
    "concentration": 12.0, "ovalness": 3.0,
}  # fmt: skip


def simulate(model, region, params, weight, n, seeds):
    """Standardised errors of θ along the family, (seeds, k), and squared errors."""
    theta = model.natural_parameters(**params)
    tangent = model.on(region.manifold).constraint.tangent(theta)
    estimator = tmsm.ScoreMatching(model, region, weight)
    z, squares = [], []
    for seed in seeds:
        fit = estimator.fit(model.sample(n, region, random_state=seed, **params))
        error = tangent.T @ (fit.natural_params_ - theta)
        z.append(error / np.sqrt(np.diag(tangent.T @ fit.covariance_ @ tangent)))
        squares.append(error @ error)
    return np.array(z), np.array(squares)


CASES = {
    "von Mises–Fisher": (tmsm.VonMisesFisher(), ROUGH, MISES),
    "κ known": (tmsm.VonMisesFisher(12.0), ROUGH, MISES),
    "Kent": (tmsm.Kent(), ROUGH, KENT),
    "normal": (
        tmsm.MultivariateNormal(),
        tmsm.Polygon([[-1.5, -1.5], [2.5, -1], [2, 2.5], [0.5, 1.5], [-1.5, 2.5]]),
        {"mean": [0.3, 0.2], "covariance": [[1.0, 0.3], [0.3, 0.8]]},
    ),
    "Σ known": (tmsm.MultivariateNormal(np.eye(3)), tmsm.Box([-1, -1, 0], [1, 2, 3]), {"mean": [0.5, 0, 0]}),
    "Fisher–Bingham": (
        tmsm.FisherBingham(),
        OCTANT,
        {"linear": 6 * np.ones(3) / np.sqrt(3), "quadratic": np.diag([2.0, 1.0, -3.0])},
    ),
    "Bingham": (tmsm.Bingham(), OCTANT, {"quadratic": np.diag([4.0, 1.0, -5.0])}),
    "Watson": (tmsm.Watson(), OCTANT, {"axis": np.array([1.0, -1, 0]) / np.sqrt(2), "concentration": -8.0}),
    "lens on S4": (
        tmsm.VonMisesFisher(),
        tmsm.Cap(np.eye(5)[0], 1.2) & tmsm.Cap(np.eye(5)[1], 1.2),
        {"mean_direction": np.eye(5)[0], "concentration": 5.0},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_estimates_are_unbiased_and_intervals_cover(case):
    model, region, params = CASES[case]
    seeds = 120
    z, _ = simulate(model, region, params, "combined", 2000, range(seeds))
    covered = np.abs(z) < 1.96
    # Of k correlated parameters: take the standard error of one.
    assert abs(covered.mean() - 0.95) < 4 * np.sqrt(0.05 * 0.95 / seeds)
    assert np.abs(z.mean(axis=0)).max() < 4.5 / np.sqrt(seeds)


def test_more_accurate_than_one_weight():
    model = tmsm.VonMisesFisher()
    single = simulate(model, OCTANT, BESIDE, "saturating", 4000, range(60))[1]
    combined = simulate(model, OCTANT, BESIDE, "combined", 4000, range(60))[1]
    assert combined.mean() < 0.85 * single.mean()


def test_fields_along_the_border_are_worth_having():
    """From level 1 to 4 the stated variance falls: the border's tangent directions carry information."""
    model = tmsm.VonMisesFisher()
    beyond = np.array([7.0, 7.0, -1.0]) / np.sqrt(99.0)
    X = model.sample(20_000, OCTANT, random_state=0, mean_direction=beyond, concentration=5.0)
    variances = [
        np.trace(tmsm.ScoreMatching(model, OCTANT, weights.Combined(level, weights.Saturating())).fit(X).covariance_)
        for level in (1, 2, 3, 4)
    ]
    assert (np.diff(variances) < 0.0).all()
    assert variances[1] < 0.93 * variances[0]
    assert variances[3] < 0.86 * variances[0]


def test_the_correction_takes_bias_away():
    """Negative control: without the tilted sums the estimate of κ is biased by its many equations."""
    from tmsm.matching import combination

    model, plain, tilted = tmsm.VonMisesFisher(), [], []
    estimator = tmsm.ScoreMatching(model, ROUGH, weights.Combined(3))
    original = combination.tilt_equations

    def untilted(spec, rows, theta, mean, multiplier, *others):
        return original(spec, rows, theta, mean, 0.0 * multiplier, *others)

    for seed in range(150):
        X = model.sample(1000, ROUGH, random_state=seed, **MISES)
        tilted.append(estimator.fit(X).params_.concentration)
        combination.tilt_equations = untilted
        try:
            plain.append(estimator.fit(X).params_.concentration)
        finally:
            combination.tilt_equations = original
    bias = [abs(np.mean(found) - 12.0) for found in (tilted, plain)]
    assert bias[0] < 0.7 * bias[1]


def test_common_factor_of_sample_weights_does_not_matter():
    model = tmsm.VonMisesFisher()
    X = model.sample(1500, ROUGH, random_state=1, **MISES)
    w = np.random.default_rng(0).random(1500)
    one, other = (tmsm.ScoreMatching(model, ROUGH, "combined").fit(X, sample_weight=c * w) for c in (1.0, 1e-3))
    np.testing.assert_allclose(one.natural_params_, other.natural_params_, rtol=1e-8)
    np.testing.assert_allclose(one.covariance_, other.covariance_, rtol=1e-7)
    zero = np.r_[w, np.zeros(50)]
    more = np.vstack([X, X[:50]])
    same = tmsm.ScoreMatching(model, ROUGH, one.weight_).fit(more, sample_weight=zero)
    np.testing.assert_allclose(same.natural_params_, one.natural_params_, rtol=1e-6)


def test_rotating_everything_rotates_the_estimate():
    model = tmsm.VonMisesFisher()
    X = model.sample(3000, ROUGH, random_state=2, **MISES)
    R = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    turned = tmsm.SphericalPolygon([star(60, 1) @ R.T])
    one = tmsm.ScoreMatching(model, ROUGH, "combined").fit(X)
    other = tmsm.ScoreMatching(model, turned, "combined").fit(X @ R.T)
    np.testing.assert_allclose(other.natural_params_, R @ one.natural_params_, rtol=1e-6)
    np.testing.assert_allclose(other.covariance_, R @ one.covariance_ @ R.T, atol=1e-6 * np.trace(one.covariance_))


def test_choice_follows_region_and_number_of_rows():
    model = tmsm.VonMisesFisher()

    def choice(region, n, params=MISES):
        return tmsm.ScoreMatching(model, region).fit(model.sample(n, region, random_state=0, **params)).weight_

    assert choice(ROUGH, 200) == weights.Saturating(choice(ROUGH, 200).scale)
    assert [choice(ROUGH, n).level for n in (500, 1000, 3000, 8000, 20_000)] == [1, 2, 3, 4, 5]
    assert isinstance(choice(tmsm.LonLatBox(-30, -20, 40, 50), 200), weights.Componentwise)
    assert isinstance(choice(tmsm.LonLatBox(-30, -20, 40, 50), 2000).base, weights.Componentwise)
    assert isinstance(choice(tmsm.LonLatBox(-180, -20, 180, 50), 2000).base, weights.Componentwise)
    for smooth in (tmsm.Cap([1.0, 0, 0], 0.7), tmsm.LonLatBox(-180, -20, 180, 90)):
        assert isinstance(choice(smooth, 2000), weights.Normal)
    outside = ~tmsm.Ball([0.0, 0.0], 1.0)
    normal = tmsm.MultivariateNormal(np.eye(2))
    X = normal.sample(500, outside, random_state=0, mean=[0.5, 0.5])
    assert isinstance(tmsm.ScoreMatching(normal, outside).fit(X).weight_, weights.Normal)


def test_objective_is_the_criterion_and_there_are_no_moments_to_add():
    model = tmsm.VonMisesFisher()
    X = model.sample(2000, ROUGH, random_state=0, **MISES)
    fit = tmsm.ScoreMatching(model, ROUGH, "combined").fit(X)
    assert 0.0 < fit.objective_ < 30 / 2000  # a χ² of six degrees of freedom over n
    with pytest.raises(ValueError, match="no moments to add"):
        _ = fit.moments_
    assert isinstance(tmsm.ScoreMatching(model, ROUGH).partial_fit(X).weight_, weights.Saturating)


def test_refined_from_combined_is_the_likelihood():
    model = tmsm.VonMisesFisher()
    X = model.sample(2000, ROUGH, random_state=0, **MISES)
    exact = tmsm.TruncatedMLE(model, ROUGH).fit(X)
    refined = tmsm.ScoreMatching(model, ROUGH, "combined", refine="mle").fit(X)
    np.testing.assert_allclose(
        refined.params_.concentration, exact.params_.concentration, atol=0.2 * exact.std_errors_.concentration
    )
    assert refined.std_errors_.concentration == pytest.approx(exact.std_errors_.concentration, rel=0.05)


NEARLY_FLAT = tmsm.SphericalPolygon.from_lonlat(
    [np.array([[-20.0, -10], [15, -15], [25, 20], [0, 5], [-15, 25]])], tolerance=1e-6
)


def covered_shares(monkeypatch, limits, hits):
    """The share of seeds that hit, with the limits for streams as they are and with others."""
    from tmsm.matching import combination

    usual = hits()
    for name in limits:
        monkeypatch.setattr(combination, name, np.inf)
    return np.mean(usual), np.mean(hits())


STREAM_LIMITS = ("_MAX_SHARE", "_MAX_DISAGREEMENT")


def test_streams_are_left_out_where_the_density_is_nearly_flat(monkeypatch):
    """Their equations are proportional to θ: weighed by a θ that is hardly known they pull the estimate to zero."""
    model = tmsm.VonMisesFisher()
    params = {"mean_direction": tmsm.lonlat_to_xyz(5.0, 0.0), "concentration": 5.0}
    estimator = tmsm.ScoreMatching(model, NEARLY_FLAT)

    def hits():
        for seed in range(100):
            X = model.sample(2300, NEARLY_FLAT, random_state=seed, **params)
            low, high = estimator.fit(X).confidence_interval().concentration
            yield low <= 5.0 <= high

    usual, control = covered_shares(monkeypatch, STREAM_LIMITS, lambda: list(hits()))
    assert usual > 0.88
    assert control < 0.8


def test_streams_are_left_out_where_a_direction_hardly_moves_them(monkeypatch):
    """A steep density whose centre is far off: the slope along the radius is noise, and the errors were too small."""
    from tmsm_experiments.coverage.settings import Setting, make_region
    from tmsm_experiments.coverage.simulate import make_rows

    setting = Setting("vMF", "United States", "60° off", 3000)
    region, truth = make_region(setting.region), setting.truth
    estimator = tmsm.ScoreMatching(tmsm.VonMisesFisher(), region, tmsm.weights.Combined(level=3))

    def hits():
        for seed in range(60):
            X, _, _ = make_rows(setting, region, np.random.default_rng([seed, 3000]))
            yield estimator.fit(X).covers(truth["mean_direction"])

    usual, control = covered_shares(monkeypatch, STREAM_LIMITS[1:], lambda: list(hits()))
    assert usual >= 0.9
    assert control <= 0.86


def test_rows_that_were_dropped_do_not_count():
    model, center = tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz(30.0, 40.0)
    X = model.sample(20_000, tmsm.Cap(center, 1.2), random_state=3, mean_direction=center, concentration=4.0)
    corners = tmsm.lonlat_to_xyz([25.0, 35.0, 38.0, 25.0], [35.0, 35.0, 45.0, 45.0])
    small = tmsm.SphericalPolygon([corners])
    dropped = tmsm.ScoreMatching(model, small, outside="drop").fit(X)
    inside = tmsm.ScoreMatching(model, small).fit(X[small.contains(X)])
    assert dropped.weight_ == inside.weight_
    np.testing.assert_allclose(dropped.covariance_, inside.covariance_, rtol=1e-9)


@pytest.mark.parametrize("kappa", [1e3, 1e6, 1e8])
def test_concentrated_rows_keep_their_equations(kappa):
    """In the coordinates of the embedding all but 1/κ of the radial equation's variance is explained by the others."""
    model, size = tmsm.VonMisesFisher(), np.degrees(1.0 / np.sqrt(kappa))
    lon, lat = 30 + 1.5 * size * np.array([-1, 1, 1, -1]), 40 + size * np.array([-1, -1, 1, 1])
    region = tmsm.SphericalPolygon([tmsm.lonlat_to_xyz(lon, lat)])
    X = model.sample(2000, region, random_state=0, mean_direction=tmsm.lonlat_to_xyz(30, 40), concentration=kappa)
    single = tmsm.ScoreMatching(model, region, "saturating").fit(X)
    combined = tmsm.ScoreMatching(model, region, weights.Combined(1)).fit(X)
    assert "6 for 3 parameters" in combined.summary()
    error = single.std_errors_.concentration
    assert combined.params_.concentration == pytest.approx(single.params_.concentration, abs=error)
    assert combined.std_errors_.concentration < 1.05 * error


def test_few_rows_are_said_to_be_few():
    model = tmsm.VonMisesFisher()
    X = model.sample(60, ROUGH, random_state=0, **MISES)
    assert "60 rows are few for 6 equations" in tmsm.ScoreMatching(model, ROUGH, "combined").fit(X).status_
    assert "are few" not in tmsm.ScoreMatching(model, ROUGH).fit(X).status_
    # Many rows, few of them distinct: the default falls back on a single weight.
    repeated = np.repeat(X[:3], 200, axis=0)
    assert isinstance(tmsm.ScoreMatching(model, ROUGH).fit(repeated).weight_, weights.Saturating)


def test_columns_of_very_different_spread_are_pointed_out():
    model, stretch = tmsm.MultivariateNormal(), np.array([30.0, 1 / 30])
    corners = np.array([[0, 0], [4, 0], [4, 3], [2, 1], [0, 3.0]])
    X = model.sample(1000, tmsm.Polygon(corners), random_state=0, mean=[1.5, 1.0], covariance=np.eye(2))
    assert "similar units" not in tmsm.ScoreMatching(model, tmsm.Polygon(corners)).fit(X).status_
    stretched = tmsm.ScoreMatching(model, tmsm.Polygon(corners * stretch)).fit(X * stretch)
    assert "bring them to similar units" in stretched.status_


def test_weights_that_contradict_each_other_are_not_combined_by_default():
    """Kent's rows taken for von Mises–Fisher's: each weight has its own target; errors of several assume the model."""
    oval = {"mean_direction": np.ones(3) / np.sqrt(3), "major_axis": np.array([1.0, -1, 0]) / np.sqrt(2)}
    X = tmsm.Kent().sample(10_000, OCTANT, random_state=0, concentration=10.0, ovalness=4.0, **oval)
    fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), OCTANT).fit(X)
    assert isinstance(fit.weight_, weights.Constraints)
    assert "a single one was used" in fit.status_
    bootstrap = fit.bootstrap(X, 80, random_state=0)
    assert fit.std_errors_.concentration == pytest.approx(bootstrap.std_errors.concentration, rel=0.3)
    asked = tmsm.ScoreMatching(tmsm.VonMisesFisher(), OCTANT, "combined").fit(X)
    assert isinstance(asked.weight_, weights.Combined)
    assert "contradict each other" in asked.status_
    right = tmsm.ScoreMatching(tmsm.Kent(), OCTANT).fit(X)
    assert isinstance(right.weight_, weights.Combined)
    assert "contradict" not in right.status_


HALF_OPEN = tmsm.Box([0.0], [np.inf])
ON_BORDER = {"mean_direction": [0.0, -1.0, 0.0], "concentration": 6.0}


@pytest.mark.parametrize(
    ("model", "params", "region", "weight", "n", "repeats"),
    [
        # Once 4 % and 86 % of true models.
        (tmsm.MultivariateNormal(), {"mean": [1.5], "covariance": [[1.0]]}, HALF_OPEN, "auto", 2000, 120),
        (tmsm.VonMisesFisher(), ON_BORDER, tmsm.Hemisphere([-1.0, 0.0, 0.0]), weights.Combined(5), 3000, 15),
    ],
    ids=["half-open box", "five levels"],
)
def test_weights_do_not_contradict_each_other_under_the_model(model, params, region, weight, n, repeats):
    found = 0
    for seed in range(repeats):
        fit = tmsm.ScoreMatching(model, region, weight).fit(model.sample(n, region, random_state=seed, **params))
        found += "contradict" in fit.status_
    assert found <= 1
