"""Hyperbolic space, geodesic balls and the hyperboloid family against independent computations."""

import mpmath
import numpy as np
import pytest

import tmsm
from scenarios import hyperbolic as scenario
from tmsm.models import HyperboloidDistribution
from tmsm.models.hyperboloid import _concentration_from_excess, _excess, _log_integral

MODEL = HyperboloidDistribution()


def exact_distance(x, y):
    """arcosh(x₀y₀ − x·y) in fifty digits."""
    with mpmath.workdps(50):
        x, y = ([mpmath.mpf(float(a)) for a in point] for point in (x, y))
        time = mpmath.sqrt(1 + sum(a * a for a in x)) * mpmath.sqrt(1 + sum(a * a for a in y))
        return float(mpmath.acosh(time - sum(a * b for a, b in zip(x, y, strict=True))))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e3, 1e6])
def test_distances_lose_no_digits_to_the_coordinates(scale):
    rng = np.random.default_rng(0)
    space = tmsm.Hyperbolic(3)
    for eps in (1e-10, 1e-5, 1e-2, 0.5, 1e3):
        x = rng.normal(size=3) * scale
        for y in (x * (1 + eps), x + rng.normal(size=3) * eps * scale, -x * (1 + eps), np.zeros(3), [1e-3, 2.0, 0.0]):
            exact = exact_distance(x, y)
            found = space.geodesic_distance(x[None, :], np.array([y]))[0]
            # Across the way from the origin a coordinate is a length, and known to its last digit.
            assert abs(found - exact) <= 4e-15 * exact + 1e-15 * min(scale, 1.0) + 4e-16 * scale * min(exact, 1.0)


def test_logarithms_far_away():
    space, rng = tmsm.Hyperbolic(2), np.random.default_rng(1)
    X = space.scattered(100, rng) * 100
    V = rng.normal(size=X.shape)
    np.testing.assert_allclose(space.logarithm(X, space.exponential(X, V)), V, atol=1e-12)


def test_converters_go_there_and_back_and_keep_distances():
    space = tmsm.Hyperbolic(3)
    X, Y = space.scattered(50, np.random.default_rng(0)), space.scattered(50, np.random.default_rng(1))
    for there, back in ((space.to_lorentz, space.from_lorentz), (space.to_poincare, space.from_poincare)):
        np.testing.assert_allclose(back(there(X)), X, rtol=1e-12)
    a, b = space.to_poincare(X), space.to_poincare(Y)
    ratio = ((a - b) ** 2).sum(1) / ((1 - (a**2).sum(1)) * (1 - (b**2).sum(1)))
    np.testing.assert_allclose(space.geodesic_distance(X, Y), np.arccosh(1 + 2 * ratio), rtol=1e-10)
    assert space.from_lorentz(np.empty((0, 4))).shape == (0, 3)
    np.testing.assert_allclose(space.from_lorentz(space.to_lorentz(X).astype(np.float32)), X, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.from_lorentz([[1.0, 0.5, 0.5], [-1.0, 0.0, 0.0]]), r"2 of 2 rows off the hyperboloid.*row 1"),
        (lambda s: s.from_lorentz([[1.0, np.nan, 0.5]]), "NaN"),
        (lambda s: s.from_poincare([[0.1, 0.2], [1.0, 0.5]]), r"1 of 2 rows outside the Poincaré ball.*row 1"),
        (lambda s: s.check_points([[1.0, 0.0, 0.0]]), "from_lorentz"),
        (lambda s: tmsm.GeodesicBall(s, [0.0, 0.0], -1.0), "radius must be"),
        (lambda s: tmsm.GeodesicBall(s, [0.0, np.inf], 1.0), "center must be finite"),
        (lambda s: tmsm.GeodesicBall(tmsm.Sphere(2), [0.0, 0.0, 2.0], 1.0), "center has 1 of 1 rows off the sphere"),
        (lambda s: tmsm.GeodesicBall(tmsm.Torus(2), [1.0, 0, 1, 0], 4.5), "are farther apart than 4.44288"),
        (lambda s: tmsm.GeodesicBall(3, [0.0, 0.0], 1.0), "manifold must be one"),
        (lambda s: tmsm.GeodesicBall(s, [0.0, 0.0], 1.0).border_distance([[0.0, 0.0]], "chordal"), "no metric"),
        (lambda s: tmsm.BorderPoints([[0.0, 1.0]], manifold=s).contains([[0.0, 0.0]]), "no search for the nearest"),
        (lambda s: MODEL.sample(3, mean=[0.0, 0.0], concentration=-2.0), "concentration must be at least"),
        (lambda s: MODEL.logpdf([[0.0, 0.0]], mean=[0.0] * 3, concentration=2.0), "mean has 3 coordinates"),
        (lambda s: tmsm.ScoreMatching(MODEL, tmsm.Ball([0.0, 0.0], 1.0)).fit([[0.0, 0.0]]), "lives on hyperbolic"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(tmsm.Hyperbolic(2))


def test_a_density_that_does_not_fall_off_has_no_parameters():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(400, 2))
    V *= 0.49 * rng.random((400, 1)) ** 0.1 / np.linalg.norm(V, axis=1)[:, None]  # most rows next to the border
    rows = tmsm.Hyperbolic(2).exponential(np.zeros_like(V), V)
    with pytest.raises(tmsm.errors.EstimationError, match="does not fall in every direction"):
        tmsm.ScoreMatching(MODEL, tmsm.GeodesicBall(tmsm.Hyperbolic(2), [0.0, 0.0], 0.5)).fit(rows)


def test_balls_are_caps_on_spheres_and_balls_in_flat_space():
    rng = np.random.default_rng(0)
    for D in (2, 3, 5):
        center = tmsm.Sphere(D - 1).uniform(1, 3)[0]
        X = tmsm.Sphere(D - 1).uniform(300, 4)
        same(tmsm.Cap(center, 0.9), tmsm.GeodesicBall(tmsm.Sphere(D - 1), center, 0.9), X, 1e-13)
        center = rng.normal(size=D)
        same(
            tmsm.Ball(center, 1.3), tmsm.GeodesicBall(tmsm.Euclidean(D), center, 1.3), rng.normal(size=(300, D)), 1e-15
        )
    for ball in (
        tmsm.GeodesicBall(tmsm.Hyperbolic(2), [3.0, 1.0], 1.0),
        tmsm.GeodesicBall(tmsm.Torus(2), [1, 0, 0, 1], 1),
    ):
        d, gradient, laplacian = ball.smooth_distance(ball.center[None, :])
        assert d[0] == ball.radius
        assert not gradient.any()
        assert np.isfinite(laplacian).all()


def same(known, ball, X, tolerance):
    for a, b in zip(known.smooth_distance(X), ball.smooth_distance(X), strict=True):
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
    assert ball.smooth_border.reach == known.reach


def test_balls_beyond_the_injectivity_radius_have_no_smooth_border():
    torus = tmsm.Torus(2)
    assert tmsm.GeodesicBall(torus, [1.0, 0.0, 1.0, 0.0], 3.0).smooth_border is not None
    wide = tmsm.GeodesicBall(torus, [1.0, 0.0, 1.0, 0.0], 3.3)
    assert wide.smooth_border is None
    assert (~wide).smooth_border is None
    assert (~tmsm.GeodesicBall(torus, [1.0, 0.0, 1.0, 0.0], 1.0)).smooth_border.reach == pytest.approx(np.pi - 1)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 20, 200])
@pytest.mark.parametrize("kappa", [1e-6, 0.3, 15.0, 700.0, 1e6])
def test_normaliser_and_moments(dim, kappa):
    with mpmath.workdps(50):
        v = mpmath.mpf(dim - 1) / 2
        bessel = mpmath.besselk(v, kappa)
        log_integral = mpmath.log(2) + v * mpmath.log(2 * mpmath.pi / kappa) + mpmath.log(bessel) + kappa
        ratio = mpmath.besselk(v + 1, kappa) / bessel
        excess, variance = float(ratio - 1), float(1 + dim * ratio / kappa - ratio**2)
        if dim == 3:  # the integral itself: 4π ∫ e^{κ(1 − cosh ρ)} sinh² ρ dρ
            ends = [mpmath.asinh(mpmath.sqrt(u / (2 * mpmath.mpf(kappa)))) * 2 for u in (0, 1, 10, 100)]
            direct = mpmath.quad(lambda r: mpmath.exp(-2 * kappa * mpmath.sinh(r / 2) ** 2) * mpmath.sinh(r) ** 2, ends)
            assert float(mpmath.log(4 * mpmath.pi * direct) - log_integral) == pytest.approx(0.0, abs=1e-12)
    assert _log_integral(kappa, dim) == pytest.approx(float(log_integral), rel=1e-12, abs=1e-9)
    assert _excess(kappa, dim) == pytest.approx((excess, variance), rel=1e-9)
    assert _concentration_from_excess(excess, dim) == pytest.approx(kappa, rel=1e-9)


@pytest.mark.parametrize("place", scenario.PLACES)
def test_mass_of_a_ball(place):
    X, area = scenario.polar_nodes()
    theta = scenario.theta(place)
    on_nodes = np.log(np.exp(MODEL.log_kernel(X, theta)) @ area) - MODEL.log_normaliser(theta)
    found = MODEL.log_mass(scenario.BALL, **scenario.truth(place))
    assert found.error < 1e-5
    assert found.value == pytest.approx(on_nodes, abs=max(2 * found.error, 1e-8))


def test_mass_of_the_outside_and_of_an_interval():
    place = scenario.truth("inside")
    inside, outside = (MODEL.log_mass(region, **place) for region in (scenario.BALL, ~scenario.BALL))
    assert inside.error + outside.error < 1e-5
    total = np.exp(inside.value) + np.exp(outside.value)
    assert total == pytest.approx(1.0, abs=2 * (inside.error + outside.error))
    line = tmsm.Hyperbolic(1)
    found = MODEL.log_mass(tmsm.GeodesicBall(line, [0.4], 0.8), mean=[-0.2], concentration=2.0)
    centre, mean = np.arcsinh(0.4), np.arcsinh(-0.2)
    share = mpmath.quad(lambda s: mpmath.exp(-2 * mpmath.cosh(s - mean)), [centre - 0.8, centre + 0.8])
    assert found.value == pytest.approx(float(mpmath.log(share / (2 * mpmath.besselk(0, 2)))), abs=1e-10)


@pytest.mark.parametrize("weight", ["geodesic", "saturating", "normal"])
@pytest.mark.parametrize("far", [1.0, 1e3])
def test_isometries_change_nothing(weight, far):
    """A fit of rows after a Lorentz boost is the boosted fit."""
    X, space = scenario.sample("inside", 500, 0), scenario.PLANE
    here = tmsm.ScoreMatching(MODEL, scenario.BALL, weight).fit(X)
    origin = np.array([[-0.8, 0.6]]) * far

    def moved(points):
        return space.seen_from(np.broadcast_to(origin, np.shape(points)), np.asarray(points))

    ball = tmsm.GeodesicBall(space, moved(scenario.CENTRE[None, :])[0], scenario.BALL.radius)
    there = tmsm.ScoreMatching(MODEL, ball, weight).fit(moved(X))
    tolerance = 1e-11 * far**1.5
    assert there.params_.concentration == pytest.approx(here.params_.concentration, rel=tolerance)
    assert there.std_errors_.concentration == pytest.approx(here.std_errors_.concentration, rel=tolerance)
    apart = space.geodesic_distance(there.params_.mean[None, :], moved(here.params_.mean[None, :]))
    assert apart[0] < tolerance


def test_a_known_exposure_moves_only_its_own_parameter():
    X = scenario.sample("inside", 500, 0)
    plain = tmsm.ScoreMatching(MODEL, scenario.BALL).fit(X).natural_params_
    for exposure in (lambda X: 0.3 * X[:, 0], lambda X: (0.3 * X[:, 0], np.broadcast_to([0.3, 0.0], X.shape))):
        seen = tmsm.ScoreMatching(MODEL, scenario.BALL, log_exposure=exposure).fit(X).natural_params_
        np.testing.assert_allclose(seen, plain - [0.0, 0.3, 0.0], atol=1e-9)
    with pytest.raises(ValueError, match="gradients that are not those of its values"):
        tmsm.ScoreMatching(
            MODEL, scenario.BALL, log_exposure=lambda X: (0.3 * X[:, 0], np.broadcast_to([0.9, 0.0], X.shape))
        ).fit(X)


def test_fits_are_saved_and_drawn(tmp_path):
    fit = tmsm.ScoreMatching(MODEL, scenario.BALL).fit(scenario.sample("inside", 300, 0))
    fit.save(tmp_path / "fit.json")
    np.testing.assert_array_equal(tmsm.load(tmp_path / "fit.json").natural_params_, fit.natural_params_)
    (curve,) = scenario.BALL.border_curves
    np.testing.assert_allclose(scenario.BALL.border_distance(curve)[0], 0.0, atol=1e-14)
