"""Families that are curved in θ: the best fit over all axes, found without touching the data again."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from scipy.special import expit

import tmsm
from scenarios import ovals
from scenarios.hemisphere import REGION
from tests.registry import unit
from tmsm.foundation.errors import EstimationError
from tmsm.models.harmonic import rotation
from tmsm.models.orbits import RotationOrbit


def kent_theta(vector, kappa, alpha):
    R = Rotation.from_rotvec(vector).as_matrix()
    S = R[:, 1:] @ np.diag(alpha) @ R[:, 1:].T
    return tmsm.FisherBingham().natural_parameters(linear=kappa * R[:, 0], quadratic=S)


def by_brute_force(A, b, shape, n_shape, starts=12):
    """The lowest θᵀAθ + 2bᵀθ over Kent's shapes, by SciPy from many random starts."""
    rng = np.random.default_rng(0)

    def objective(x):
        kappa, alpha = shape(x[3:])
        theta = kent_theta(x[:3], kappa, alpha)
        return theta @ A @ theta + 2 * b @ theta

    best = np.inf
    for _ in range(starts):
        start = np.concatenate([rng.standard_normal(3) * 2, rng.uniform(0.5, 3.0, n_shape)])
        best = min(best, minimize(objective, start, method="BFGS").fun)
    return best


def soft(x):
    return float(np.logaddexp(0.0, x))  # positive, smooth


SHAPES = {
    "all free": (tmsm.Kent(), lambda s: (soft(s[0]), (b := 0.5 * soft(s[0]) * expit(s[1]), -b)), 2),
    "concentration known": (tmsm.Kent(10.0), lambda s: (10.0, (b := 5.0 * expit(s[0]), -b)), 1),
    "all known": (tmsm.Kent(10.0, 3.0), lambda s: (10.0, (3.0, -3.0)), 0),
    "two modes allowed": (tmsm.Kent(unimodal=False), lambda s: (s[0], (s[1], -s[1])), 2),
    "two ovalnesses": (tmsm.Kent(unimodal=False, balanced=False), lambda s: (s[0], (s[1], s[2])), 3),
}


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("name", SHAPES)
def test_the_minimum_is_the_global_one(name, n):
    model, shape, n_shape = SHAPES[name]
    for seed in range(2):
        fit = tmsm.ScoreMatching(model, REGION, "geodesic").fit(ovals.draw(seed, n))
        best = by_brute_force(fit.moments_.A, fit.moments_.b, shape, n_shape)
        assert fit.objective_ <= best + 1e-6 * abs(best)


def assert_is_a_frame(params):
    frame = np.column_stack([params.mean_direction, params.major_axis, params.minor_axis])
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    # One ovalness is not negative; of two the major axis has the larger one.
    assert np.size(params.ovalness) in (1, 2)
    assert params.ovalness >= 0.0 if np.size(params.ovalness) == 1 else params.ovalness[0] >= params.ovalness[1]
    # The axis leaves the mean direction eastwards: its azimuth is below 180 degrees.
    assert params.major_axis @ np.cross([0.0, 0.0, 1.0], params.mean_direction) > 0.0


@pytest.mark.parametrize("model", [tmsm.Kent(), tmsm.Kent(10.0, 3.0), tmsm.Kent(balanced=False)], ids=repr)
@pytest.mark.parametrize("estimator", ["score", "truncated", "naive"])
def test_axes_are_orthonormal_right_handed_and_major_before_minor(model, estimator):
    for seed in range(3):
        X = ovals.draw(seed, 400)
        fit = {
            "score": tmsm.ScoreMatching(model, REGION),
            "truncated": tmsm.TruncatedMLE(model, REGION),
            "naive": tmsm.NaiveMLE(model),
        }[estimator].fit(X)
        assert_is_a_frame(fit.params_)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        (tmsm.Kent(), {"concentration": 10.0, "ovalness": 3.0}),
        (tmsm.Kent(10.0), {"ovalness": 3.0}),
        (tmsm.Watson(), {"concentration": -4.0}),
        (tmsm.FisherBingham(), None),
    ],
    ids=["Kent", "Kent, κ known", "Watson", "Fisher–Bingham"],
)
def test_estimates_turn_with_the_data(model, params):
    Q = Rotation.from_rotvec([0.7, -1.1, 0.4]).as_matrix()
    region = tmsm.Cap([0.0, 0.6, 0.8], 1.3)
    if isinstance(model, tmsm.Watson):
        params = {"axis": unit(1, 2, 1), **params}
    elif params is None:
        params = {"linear": [2.0, 1.0, 1.0], "quadratic": np.diag([1.0, -2.0, 1.0])}
    else:
        params = {"mean_direction": unit(1, 2, 1), "major_axis": unit(-1, 0, 1), **params}
    X = model.sample(600, region, random_state=1, **params)
    turn = rotation(Q, linear=model.has_linear)
    for make in (
        lambda r: tmsm.ScoreMatching(model, r),
        lambda r: tmsm.TruncatedMLE(model, r),
        lambda r: tmsm.NaiveMLE(model),
    ):
        fit = make(region).fit(X)
        turned = make(tmsm.Cap(Q @ region.center, region.radius)).fit(X @ Q.T)
        np.testing.assert_allclose(turned.natural_params_, turn @ fit.natural_params_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(turned.covariance_, turn @ fit.covariance_ @ turn.T, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("lon", "lat"), [(0.0, 0.0), (0.0, 90.0), (17.0, -90.0), (180.0, 0.0), (-180.0, 45.0), (0.0, 60.0)]
)
@pytest.mark.parametrize("model", [tmsm.VonMisesFisher(), tmsm.Kent()], ids=repr)
def test_mean_directions_at_a_pole_or_at_longitude_zero(model, lon, lat):
    mu = tmsm.lonlat_to_xyz(lon, lat)
    across = np.linalg.svd(mu[None])[2][1:]
    params = {"mean_direction": mu, "concentration": 20.0}
    if isinstance(model, tmsm.Kent):
        params |= {"major_axis": across[0], "ovalness": 4.0}
    region = tmsm.Cap(np.cos(0.5) * mu + np.sin(0.5) * across[1], 0.9)
    X = model.sample(1500, region, random_state=3, **params)
    for fit in (tmsm.ScoreMatching(model, region), tmsm.TruncatedMLE(model, region)):
        fit.fit(X)
        # The reference implementation gives the antipode here.
        assert tmsm.Sphere(2).geodesic_distance(fit.params_.mean_direction, mu)[0] < 4 * fit.std_errors_.mean_direction


def test_watson_and_bingham_find_axes_and_girdles():
    model = tmsm.Watson()
    for kappa in (6.0, -6.0):
        axis = unit(-1, 2, -3)
        X = model.sample(4000, tmsm.Hemisphere([0, 0, 1.0]), random_state=0, axis=axis, concentration=kappa)
        fit = tmsm.ScoreMatching(model, tmsm.Hemisphere([0, 0, 1.0])).fit(X)
        assert abs(fit.params_.concentration - kappa) < 3.5 * fit.std_errors_.concentration
        # An axis has no sign; its largest entry is positive.
        np.testing.assert_allclose(fit.params_.axis, -axis, atol=4 * fit.std_errors_.axis)
        bingham = tmsm.ScoreMatching(tmsm.Bingham(), tmsm.Hemisphere([0, 0, 1.0])).fit(X)
        expected = kappa * (np.outer(axis, axis) - np.eye(3) / 3)
        np.testing.assert_allclose(bingham.params_.quadratic, expected, atol=4 * bingham.std_errors_.quadratic.max())
    # On the circle κ and −κ with the axis across are the same density.
    X = model.sample(2000, random_state=0, axis=[1.0, 0.0], concentration=-2.0)
    fit = tmsm.NaiveMLE(model).fit(X)
    assert fit.params_.concentration > 0.0
    np.testing.assert_allclose(np.abs(fit.params_.axis), [0.0, 1.0], atol=0.1)


def test_two_modes_are_found_only_when_they_may_be():
    two = tmsm.Kent(unimodal=False)
    params = {"mean_direction": [0, 0, 1.0], "major_axis": [1.0, 0, 0], "concentration": 5.0, "ovalness": 8.0}
    whole = tmsm.Everywhere(tmsm.Sphere(2))
    X = two.sample(3000, random_state=0, **params)
    free = tmsm.ScoreMatching(two, whole).fit(X)
    assert abs(free.params_.ovalness - 8.0) < 4 * free.std_errors_.ovalness
    assert "two modes" in free.status_
    kept = tmsm.ScoreMatching(tmsm.Kent(), whole).fit(X)
    assert kept.params_.ovalness == pytest.approx(0.5 * kept.params_.concentration, rel=1e-6)
    assert "at the limit where a second one begins" in kept.status_
    assert "at the limit" in tmsm.TruncatedMLE(tmsm.Kent(), tmsm.Hemisphere([0, 0, 1.0]), outside="drop").fit(X).status_
    unimodal = tmsm.ScoreMatching(two, REGION).fit(ovals.draw(0))
    assert "one mode" in unimodal.status_


def test_axial_data_given_to_a_unimodal_family():
    X = tmsm.Watson().sample(3000, random_state=0, axis=[0, 0, 1.0], concentration=10.0)
    whole = tmsm.Everywhere(tmsm.Sphere(2))
    kent = tmsm.ScoreMatching(tmsm.Kent(), whole).fit(X)
    assert "at the limit where a second one begins" in kent.status_
    assert "If the data are bimodal or axial, use unimodal=False, FisherBingham() or Bingham()" in kent.status_
    assert "do not look like Kent" in kent.status_
    mises = tmsm.ScoreMatching(tmsm.VonMisesFisher(), whole).fit(X)
    assert mises.params_.concentration < 1.0  # two opposite clusters have hardly a mean direction
    assert "do not look like VonMisesFisher" in mises.status_
    # Two clusters inside a region.
    region = tmsm.Cap([0, 0, 1.0], 1.2)
    pair = [
        tmsm.VonMisesFisher().sample(500, region, random_state=k, mean_direction=unit(s, 0, 1), concentration=40.0)
        for k, s in enumerate((-0.6, 0.6))
    ]
    assert (
        "do not look like VonMisesFisher"
        in tmsm.ScoreMatching(tmsm.VonMisesFisher(), region).fit(np.vstack(pair)).status_
    )
    kept = tmsm.ScoreMatching(tmsm.Kent(), region).fit(np.vstack(pair))
    assert "at the limit where a second one begins" in kept.status_


def test_rows_on_one_great_circle():
    angle = np.random.default_rng(0).vonmises(0.0, 3.0, 500)
    X = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    whole = tmsm.Everywhere(tmsm.Sphere(2))
    for model in (tmsm.Kent(), tmsm.FisherBingham(), tmsm.Bingham(), tmsm.Watson()):
        for estimator in (
            tmsm.ScoreMatching(model, whole),
            tmsm.NaiveMLE(model),
            tmsm.TruncatedMLE(model, tmsm.Cap([1.0, 0, 0], 3.1)),
        ):
            with pytest.raises(EstimationError, match="on one great circle"):
                estimator.fit(X[np.abs(angle) < 3.0])
    # A von Mises–Fisher density can be told from such rows.
    mises = tmsm.ScoreMatching(tmsm.VonMisesFisher(), whole).fit(X)
    assert mises.params_.mean_direction[0] > 0.99


def test_points_of_an_orbit_move_as_their_derivatives_say():
    rng = np.random.default_rng(0)
    for model in (tmsm.Kent(), tmsm.Kent(balanced=False), tmsm.Kent(5.0), tmsm.Watson()):
        bound = model.on(tmsm.Sphere(2))
        constraint = bound.constraint
        assert isinstance(constraint, RotationOrbit)
        theta = rng.standard_normal(bound.size)
        point = constraint.point(theta)
        covector = rng.standard_normal(theta.size)
        k, h = constraint.n_free, 1e-4
        step = rng.standard_normal(k)
        ahead, behind = (point.moved(s * h * step).theta for s in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * h), point.jacobian @ step, atol=1e-6)
        second = (ahead - 2 * point.theta + behind) / h**2
        assert covector @ second == pytest.approx(step @ point.bend(covector) @ step, abs=1e-5)


@pytest.mark.parametrize("kappa", [50.0, 1000.0, 1e5])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.45])
def test_concentrated_ovals_end_at_the_best_axes(kappa, share):
    # The linear and the quadratic part hardly differ on such rows; a start from both alone ends far off.
    lean = kappa**-0.5
    params = {
        "mean_direction": [np.sin(lean), 0.0, np.cos(lean)],
        "major_axis": [0.0, 1.0, 0.0],
        "concentration": kappa,
        "ovalness": share * kappa,
    }
    region = tmsm.Cap([0.0, 0.0, 1.0], 2.5 * lean)
    truth = tmsm.Kent().natural_parameters(**params)
    for seed in range(8):
        X = tmsm.Kent().sample(1000, region, random_state=seed, **params)
        for model in (tmsm.Kent(), tmsm.Kent(kappa), tmsm.Kent(None, share * kappa)):
            fit = tmsm.ScoreMatching(model, region).fit(X)
            at_truth = fit.moments_.objective(truth)
            assert fit.objective_ <= at_truth + 1e-9 * abs(at_truth)
        if seed < 3:
            exact = tmsm.TruncatedMLE(tmsm.Kent(), region).fit(X)
            assert exact.log_likelihood_ >= tmsm.Kent().logpdf(X, region, **params).mean() - 1e-6


def test_naive_likelihood_at_extreme_concentrations():
    for model, params in (
        (
            tmsm.Kent(),
            {"mean_direction": [0, 0, 1.0], "major_axis": [1.0, 0, 0], "concentration": 1e8, "ovalness": 3e7},
        ),
        (tmsm.Watson(), {"axis": [0, 0, 1.0], "concentration": -1e8}),
        (tmsm.Watson(), {"axis": [0, 0, 1.0], "concentration": 1e8}),
    ):
        fit = tmsm.NaiveMLE(model).fit(model.sample(1000, random_state=3, **params))
        assert fit.params_.concentration == pytest.approx(params["concentration"], rel=0.2)
    for seed in range(10):
        X = tmsm.VonMisesFisher().sample(400, random_state=seed, mean_direction=[0, 0, 1.0], concentration=100.0)
        wider = tmsm.NaiveMLE(tmsm.FisherBingham()).fit(X)
        assert wider.score(X) >= tmsm.NaiveMLE(tmsm.VonMisesFisher()).fit(X).score(X) - 1e-9


def test_the_status_says_where_the_bound_is_felt_by_every_estimator():
    X = tmsm.Watson().sample(2000, random_state=0, axis=[0, 0, 1.0], concentration=10.0)
    whole = tmsm.Everywhere(tmsm.Sphere(2))
    for estimator in (
        tmsm.ScoreMatching(tmsm.Kent(), whole),
        tmsm.NaiveMLE(tmsm.Kent()),
        tmsm.TruncatedMLE(tmsm.Kent(), whole),
    ):
        assert "at the limit" in estimator.fit(X).status_
    assert "do not look like VonMisesFisher" in tmsm.TruncatedMLE(tmsm.VonMisesFisher(), whole).fit(X).status_
