"""A family from its statistics alone against the families written by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

import tmsm
from scenarios import ellipsoid
from tests.registry import unit
from tmsm import weights
from tmsm.models.base import Tangent
from tmsm.models.harmonic import traceless_basis

SPHERE, PLANE = tmsm.Sphere(2), tmsm.Euclidean(2)
CAP, BALL = tmsm.Cap(unit(0, 3, 4), 1.0), tmsm.Ball([0.3, -0.2], 1.5)
FORMS = traceless_basis(3)


def linear(x):
    return x


def linear_elsewhere(x):
    return x / jnp.dot(x, x) ** 1.5


def harmonic(x):
    return jnp.concatenate([x, jnp.einsum("kij,i,j->k", FORMS, x, x)])


def harmonic_elsewhere(x):
    y = x / jnp.sqrt(x @ x)
    return harmonic(y) * jnp.exp(x @ x - 1.0) + jnp.sin(x @ x - 1.0) * x[0]


def normal(x):
    return jnp.stack([x[0], x[1], -0.5 * x[0] ** 2, -x[0] * x[1], -0.5 * x[1] ** 2])


def place_and_size(x):
    return jnp.concatenate([x[:3], jnp.stack([x[3], -0.5 * x[3] ** 2]), x[:3] * x[3]])


def rows_on_the_sphere(n=2000):
    return tmsm.VonMisesFisher().sample(n, CAP, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=4.0)


def rows_in_the_plane(n=2000):
    params = {"mean": [0.4, 0.2], "covariance": [[1.0, 0.3], [0.3, 0.7]]}
    return tmsm.MultivariateNormal().sample(n, BALL, random_state=1, **params)


def assert_same(found, wanted):
    """The same θ and covariance, to 1e-10 of their size."""
    for name in ("natural_params_", "covariance_"):
        own, other = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-10 * np.abs(other).max())


@pytest.mark.parametrize("weight", [weights.Saturating(0.4), weights.Distance("geodesic"), weights.Normal(3.0)])
@pytest.mark.parametrize(
    ("statistics", "model"),
    [
        (linear, tmsm.VonMisesFisher()),
        (linear_elsewhere, tmsm.VonMisesFisher()),
        (harmonic, tmsm.FisherBingham()),
        (harmonic_elsewhere, tmsm.FisherBingham()),
    ],
)
def test_fits_on_the_sphere_are_those_of_the_family_whatever_the_statistics_are_off_it(statistics, model, weight):
    X = rows_on_the_sphere()
    own = tmsm.ScoreMatching(tmsm.ExponentialFamily(statistics, SPHERE), CAP, weight).fit(X)
    assert_same(own, tmsm.ScoreMatching(model, CAP, weight).fit(X))
    np.testing.assert_array_equal(own.params_.coefficients, own.natural_params_)


def test_the_equations_are_those_of_kents_family():
    X = rows_on_the_sphere()
    own = tmsm.ScoreMatching(tmsm.ExponentialFamily(harmonic_elsewhere, SPHERE), CAP, weights.Normal(3.0)).fit(X)
    other = tmsm.ScoreMatching(tmsm.Kent(), CAP, weights.Normal(3.0)).fit(X)
    theta = other.natural_params_
    ours, kents = (fit.result_.model for fit in (own, other))
    V = SPHERE.project_tangent(X, np.random.default_rng(0).standard_normal(X.shape))
    for found, wanted in (
        (ours.log_gradient(X, theta), kents.log_gradient(X, theta)),
        (ours.log_hessian(X, V, theta), kents.log_hessian(X, V, theta)),
        (ours.log_laplacian(X, theta), kents.log_laplacian(X, theta)),
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())


def test_fits_in_the_plane_are_those_of_the_normal_family():
    X = rows_in_the_plane()
    for weight in (weights.Saturating(0.5), weights.Normal(2.0)):
        own = tmsm.ScoreMatching(tmsm.ExponentialFamily(normal, PLANE), BALL, weight).fit(X)
        other = tmsm.ScoreMatching(tmsm.MultivariateNormal(), BALL, weight).fit(X)
        assert_same(own, other)
    own = tmsm.TruncatedMLE(tmsm.ExponentialFamily(normal, PLANE), BALL).fit(X)
    other = tmsm.TruncatedMLE(tmsm.MultivariateNormal(), BALL).fit(X)
    np.testing.assert_allclose(own.natural_params_, other.natural_params_, rtol=1e-5)


def test_normaliser_moments_and_likelihoods_are_those_of_the_family():
    own, other = tmsm.ExponentialFamily(harmonic, SPHERE), tmsm.FisherBingham().on(SPHERE)
    theta = np.array([1.0, -2.0, 3.0, 0.5, -0.4, 0.3, 1.0, -0.7])
    assert abs(own.log_normaliser(theta) - other.log_normaliser(theta)) < 1e-9
    for found, wanted in zip(own.expectation(theta), other.expectation(theta), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    X = rows_on_the_sphere()
    coefficients = {"coefficients": theta}
    linear_part, quadratic = other.split(theta)
    np.testing.assert_allclose(
        own.logpdf(X, **coefficients), other.logpdf(X, linear=linear_part, quadratic=quadratic), atol=1e-9
    )
    for fit in (tmsm.NaiveMLE, lambda model: tmsm.TruncatedMLE(model, CAP)):
        np.testing.assert_allclose(fit(own).fit(X).natural_params_, fit(other).fit(X).natural_params_, rtol=1e-7)


@pytest.mark.parametrize(
    ("statistics", "manifold"),
    [
        (harmonic_elsewhere, lambda: SPHERE),
        (normal, lambda: PLANE),
        (normal, lambda: tmsm.Torus(2)),
        (normal, lambda: tmsm.Hyperbolic(2)),
        (place_and_size, lambda: SPHERE * tmsm.Euclidean(1)),
        (ellipsoid.quadratic, ellipsoid.surface),
        (lambda x: jnp.sin(x[0] - x[1] * x[2]), ellipsoid.surface),
    ],
)
def test_derivatives_agree_with_differences(statistics, manifold):
    space = manifold()
    report = tmsm.check_model(tmsm.ExponentialFamily(statistics, space), space, n=30)
    assert {"gradient", "hessian", "laplacian", "gradient_gram", "weighted_hessian"} <= set(report.deviations)
    assert max(report.deviations.values()) < 1e-6


def test_factors_of_a_product_agree_with_the_whole():
    space = SPHERE * tmsm.Euclidean(1)
    model, rng = tmsm.ExponentialFamily(place_and_size, space), np.random.default_rng(0)
    X = space.scattered(50, rng)
    for k, (factor, own) in enumerate(zip(space.factors, space.columns, strict=True)):
        V = factor.project_tangent(X[:, own], rng.standard_normal((50, own.stop - own.start)))
        V, c = V / np.linalg.norm(V, axis=1)[:, None], rng.standard_normal(50)
        ours, slow = model.in_factor(space, k), Tangent.in_factor(model, space, k)
        np.testing.assert_allclose(ours.gradient_dot(X, V), slow.gradient_dot(X, V), atol=1e-12)
        np.testing.assert_allclose(ours.gradient_gram(X, c), slow.gradient_gram(X, c), atol=1e-11)
        for a in (c, 1.0, 0.0):
            np.testing.assert_allclose(
                ours.weighted_hessian(X, a, [(V, c)]), slow.weighted_hessian(X, a, [(V, c)]), atol=1e-11
            )


def test_a_product_with_an_interaction_is_that_of_the_families():
    space = SPHERE * tmsm.Euclidean(1)
    region = CAP * tmsm.Box([0.3], [np.inf])
    rng = np.random.default_rng(2)
    X = np.column_stack([rows_on_the_sphere(), 0.3 + np.abs(rng.standard_normal(2000))])
    other = (tmsm.VonMisesFisher() * tmsm.MultivariateNormal()).interacting(second=[0])
    weight = weights.Blocks((weights.Saturating(0.4), weights.Saturating(0.3)))
    own = tmsm.ScoreMatching(tmsm.ExponentialFamily(place_and_size, space), region, weight).fit(X)
    wanted = tmsm.ScoreMatching(other, region, weight).fit(X)
    np.testing.assert_allclose(own.natural_params_, wanted.natural_params_, rtol=0, atol=1e-9)
