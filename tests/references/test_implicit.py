"""Regions and manifolds that are given by formulas, against differences and against the ones written by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

import tmsm
from scenarios import ellipsoid
from tests.registry import random_tangents, unit
from tmsm.manifolds import Manifold

CENTER = unit(1, -2, 0.5)
TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])


def in_cap(x):
    return 7.0 * (jnp.dot(x, CENTER) - np.cos(0.9))


def in_ball(x):
    return 1.21 - (x[0] - 0.3) ** 2 - (x[1] - 0.2) ** 2


def right(x):
    return x[0]


def above(x):
    return 3.0 * x[1]


def below(x):
    return jnp.exp(2.0 - x[0] - x[1]) - 1.0


def wave(x):
    return x[-1] - 0.3 * jnp.sin(2.0 * x[0]) + 0.2 * x[0] * x[1] - 0.1


def bump(x):
    return jnp.exp(0.3 * x[0]) - x[1] ** 2


def on_two(x):
    return jnp.stack([x @ x - 1.0, x[0] * x[1] - 0.1])


MANIFOLDS = [
    lambda: tmsm.Sphere(2),
    lambda: tmsm.Sphere(4),
    lambda: tmsm.Euclidean(2),
    lambda: tmsm.Torus(2),
    lambda: tmsm.Sphere(2) * tmsm.Euclidean(1),
    lambda: ellipsoid.surface(),
    lambda: tmsm.LevelSet(on_two, 4),
    lambda: ellipsoid.surface() * tmsm.Sphere(1),
    lambda: tmsm.Hyperbolic(2),
]


@pytest.mark.parametrize("make", MANIFOLDS, ids=lambda make: repr(make()))
def test_frames_of_constraints_agree_with_differences_along_the_manifold(make):
    manifold = make()
    region = tmsm.Implicit([wave, bump], manifold)
    X = manifold.scattered(30, np.random.default_rng(0))
    frame = region.constraint_frame(X)
    U = random_tangents(manifold, X, 7)

    def along(k, V, step):
        return region.constraint_frame(manifold.retract(X, step * V)).values[:, k]

    for k in range(2):
        total = np.zeros(len(X))
        for V in manifold.tangent_frame(X):
            V = np.ascontiguousarray(V)
            slope = (along(k, V, 1e-4) - along(k, V, -1e-4)) / 2e-4
            np.testing.assert_allclose((frame.gradients[k] * V).sum(1), slope, atol=1e-6)
            near, far = (along(k, V, h) + along(k, V, -h) for h in (2e-3, 4e-3))
            bend = (16 * near - far - 30 * frame.values[:, k]) / (12 * 2e-3**2)
            np.testing.assert_allclose((frame.bend(k, V) * V).sum(1), bend, atol=1e-6)
            # The Hessian is symmetric, and its vector is tangent.
            np.testing.assert_allclose((frame.bend(k, V) * U).sum(1), (frame.bend(k, U) * V).sum(1), atol=1e-12)
            total += bend
        np.testing.assert_allclose(frame.laplacians[:, k], total, atol=2e-6)
        np.testing.assert_allclose(manifold.project_tangent(X, frame.bend(k, U)), frame.bend(k, U), atol=1e-12)
        np.testing.assert_allclose(manifold.project_tangent(X, frame.gradients[k]), frame.gradients[k], atol=1e-12)


@pytest.mark.parametrize("make", MANIFOLDS, ids=lambda make: repr(make()))
def test_shortcuts_of_manifolds_agree_with_their_defaults(make):
    manifold, rng = make(), np.random.default_rng(1)
    X = manifold.scattered(20, rng)
    G, V = rng.standard_normal(X.shape), random_tangents(manifold, X)
    np.testing.assert_allclose(manifold.tangent_map(X), Manifold.tangent_map(manifold, X), atol=1e-13)
    wanted = Manifold.second_form(manifold, X, G, V)
    np.testing.assert_allclose(manifold.second_form(X, G, V), wanted, atol=1e-11)


def test_a_sphere_as_a_level_set_is_the_sphere():
    def sphere(x):
        return jnp.log(x @ x) * (2.0 + x[0])

    surface, wanted = tmsm.LevelSet(sphere, 3), tmsm.Sphere(2)
    X, rng = wanted.uniform(50, 0), np.random.default_rng(0)
    V, G = random_tangents(wanted, X), rng.standard_normal(X.shape)
    assert surface.contains(X).all()
    assert not surface.contains(X * (1 + 1e-5)).any()
    for name, arguments in (
        ("project_tangent", (X, G)),
        ("acceleration", (X, V)),
        ("coordinate_laplacian", (X,)),
        ("tangent_map", (X,)),
        ("second_form", (X, G, V)),
    ):
        np.testing.assert_allclose(getattr(surface, name)(*arguments), getattr(wanted, name)(*arguments), atol=1e-13)
    turned = surface.quarter_turn(X, V)
    np.testing.assert_allclose(turned, wanted.quarter_turn(X, V), atol=1e-13)
    cap = tmsm.Cap(CENTER, 0.9)
    rows = tmsm.VonMisesFisher().sample(500, cap, random_state=0, mean_direction=CENTER, concentration=4.0)
    fits = [
        tmsm.ScoreMatching(tmsm.ExponentialFamily(lambda x: x, where), tmsm.Implicit(in_cap, where), "saturating")
        for where in (surface, wanted)
    ]
    np.testing.assert_allclose(*(fit.fit(rows).natural_params_ for fit in fits), rtol=1e-10)


@pytest.mark.parametrize("make", [lambda: ellipsoid.surface(), lambda: tmsm.LevelSet(on_two, 4)])
def test_retractions_stay_on_the_set_and_agree_with_geodesics_to_second_order(make):
    manifold = make()
    X = manifold.scattered(40, np.random.default_rng(2))
    V = random_tangents(manifold, X)
    assert manifold.contains(X).all()
    error = []
    for h in (1e-2, 5e-3):
        Y = manifold.retract(X, h * V)
        assert manifold.contains(Y).all()
        error.append(np.abs(Y - X - h * V - 0.5 * h * h * manifold.acceleration(X, V)).max())
    assert error[1] < error[0] / 6  # of third order
    total = sum(manifold.acceleration(X, u) for u in manifold.tangent_frame(X))
    np.testing.assert_allclose(manifold.coordinate_laplacian(X), total, atol=1e-12)


def test_scales_of_functions_do_not_matter():
    X = tmsm.Sphere(2).uniform(200, 0)
    one = tmsm.Implicit([wave, bump], tmsm.Sphere(2))
    other = tmsm.Implicit([lambda x: 1e6 * wave(x), lambda x: 1e-4 * bump(x)], tmsm.Sphere(2))
    for own, wanted in zip(other.border_distance(X), one.border_distance(X), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-11)
    assert not one.measures_distance
    assert not (~one).measures_distance
    assert not (one & tmsm.Cap(CENTER, 0.9)).measures_distance
    assert tmsm.Cap(CENTER, 0.9).measures_distance


def test_where_the_gradient_vanishes_nothing_explodes():
    # h/|∇h| has no limit at the top of a bump.
    region = tmsm.Implicit(in_ball, tmsm.Euclidean(2))
    g, gradient = region.border_distance([[0.3, 0.2]])
    assert g[0] > 0
    np.testing.assert_array_equal(gradient, 0.0)
    frame = region.constraint_frame(np.array([[0.3, 0.2]]))
    np.testing.assert_array_equal(frame.gradients[0], 0.0)
    np.testing.assert_allclose(frame.laplacians, -4.0)


def test_a_point_on_the_border_is_on_neither_side():
    cap = tmsm.Implicit(in_cap, tmsm.Sphere(2))
    B = tmsm.Cap(CENTER, 0.9).border_curves[0]
    for region in (cap, ~cap):
        assert not region.contains(B).any()
        np.testing.assert_array_equal(region.border_distance(B)[0], 0.0)


def test_clearance_is_the_distance_next_to_the_border_and_never_too_bold():
    for known, region in (
        (tmsm.Cap(CENTER, 0.9), tmsm.Implicit(in_cap, tmsm.Sphere(2))),
        (tmsm.Ball([0.3, 0.2], 1.1), tmsm.Implicit(in_ball, tmsm.Euclidean(2))),
        (tmsm.Polygon(TRIANGLE), tmsm.Implicit([right, above, below], tmsm.Euclidean(2))),
    ):
        X = region.manifold.scattered(2000, np.random.default_rng(0))
        d, inward = known.border_distance(X)
        found, own_inward, _ = region.clearance(X)
        near = (d > 0.0) & (d < 0.4)
        np.testing.assert_allclose(found[near], d[near], atol=1e-5)
        np.testing.assert_allclose(own_inward[near], inward[near], atol=1e-4)
        for radius in (0.8, 0.3, 0.05):
            clear = region.clearance(X, radius)[2]
            assert not (clear & (np.abs(d) < radius)).any()
        assert clear[np.abs(d) > 6 * radius].mean() > 0.9


NORMAL = {"mean": [0.5, 0.0], "covariance": [[1.0, 0.3], [0.3, 0.8]]}
FISHER = {"mean_direction": unit(1, -2, 1), "concentration": 4.0}


def flat_pairs():
    ball, triangle = tmsm.Ball([0.3, 0.2], 1.1), tmsm.Polygon(TRIANGLE)
    plane = tmsm.Euclidean(2)
    round_, edges = tmsm.Implicit(in_ball, plane), tmsm.Implicit([right, above, below], plane)
    return {
        "ball": (ball, round_),
        "triangle": (triangle, edges),
        "outside of a triangle": (~triangle, ~edges),
        "both": (triangle & ball, edges & round_),
        "either": (triangle | ball, edges | round_),
        "one without the other": (triangle & ~ball, edges & ~round_),
        "mixed": (triangle & ball, edges & ball),
    }


@pytest.mark.parametrize(
    "name",
    [
        "triangle",
        "mixed",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("ball", "outside of a triangle", "both", "either", "one without the other")
        ),
    ],
)
def test_masses_agree_with_those_of_regions_with_a_distance(name):
    known, region = flat_pairs()[name]
    wanted, found = (tmsm.MultivariateNormal().log_mass(one, **NORMAL) for one in (known, region))
    assert abs(found.value - wanted.value) <= found.error + wanted.error
    assert found.error < 1e-4


def test_masses_on_the_sphere_and_the_circle():
    for known, region in (
        (tmsm.Cap(CENTER, 0.9), tmsm.Implicit(in_cap, tmsm.Sphere(2))),
        (~tmsm.Cap(CENTER, 0.9), ~tmsm.Implicit(in_cap, tmsm.Sphere(2))),
    ):
        wanted, found = (tmsm.VonMisesFisher().log_mass(one, **FISHER) for one in (known, region))
        assert abs(found.value - wanted.value) <= found.error
        assert found.error < 1e-5
    circle = {"mean_direction": [0.0, 1.0], "concentration": 2.0}
    arc = tmsm.Implicit(lambda x: x[0] - 0.3, tmsm.Sphere(1))
    wanted = tmsm.VonMisesFisher().log_mass(tmsm.Cap([1.0, 0.0], np.arccos(0.3)), **circle)
    assert abs(tmsm.VonMisesFisher().log_mass(arc, **circle).value - wanted.value) < 1e-12


def test_the_mass_above_a_wave_is_the_share_of_draws():
    region = tmsm.Implicit(lambda x: x[2] - 0.2 * jnp.sin(9.0 * x[0]) * x[1], tmsm.Sphere(2))
    found = tmsm.VonMisesFisher().log_mass(region, **FISHER)
    inside = region.contains(tmsm.VonMisesFisher().sample(100_000, random_state=3, **FISHER))
    assert abs(np.exp(found.value) - inside.mean()) < 4 * inside.std() / np.sqrt(len(inside))
    assert found.error < 1e-4


def test_exact_likelihood_agrees_with_that_of_a_cap_and_of_a_ball():
    cap, ball = tmsm.Cap(CENTER, 0.9), tmsm.Ball([0.3, 0.2], 1.1)
    X = tmsm.VonMisesFisher().sample(1000, cap, random_state=0, **FISHER)
    Y = tmsm.MultivariateNormal().sample(1000, ball, random_state=0, **NORMAL)
    for model, known, region, rows in (
        (tmsm.VonMisesFisher(), cap, tmsm.Implicit(in_cap, tmsm.Sphere(2)), X),
        (tmsm.MultivariateNormal(), ball, tmsm.Implicit(in_ball, tmsm.Euclidean(2)), Y),
    ):
        wanted, found = (tmsm.TruncatedMLE(model, one).fit(rows) for one in (known, region))
        error = np.sqrt(np.diag(wanted.covariance_))
        assert np.abs((found.natural_params_ - wanted.natural_params_) / error).max() < 2e-3
        naive = tmsm.NaiveMLE(model).fit(rows)
        assert np.abs((naive.natural_params_ - wanted.natural_params_) / error).max() > 2
