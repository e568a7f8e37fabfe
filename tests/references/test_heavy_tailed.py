"""A cluster with heavy tails: normalising constants, limits, draws, derivatives by θ, and what a fit says of it."""

import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import kstest

import tmsm
from tests.contract.test_own_kinds import own
from tmsm.models import NonlinearModel
from tmsm.models.orthants import Orthant

CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.8)
TRUTH = {"mean_direction": [0.6, 0.0, 0.8], "concentration": 30.0, "degrees_of_freedom": 2.0}


def at(D, kappa, nu):
    return tmsm.HeavyTailed().natural_parameters(
        mean_direction=np.eye(D)[0], concentration=kappa, degrees_of_freedom=nu
    )


def log_density(angle, kappa, nu):
    w = 2.0 * np.sin(0.5 * angle) ** 2
    return -kappa * w if nu == np.inf else -(0.5 * nu + 1.0) * np.log1p(2.0 * kappa * w / nu)


@pytest.mark.parametrize("D", [2, 3, 4, 10])
@pytest.mark.parametrize(
    ("kappa", "nu"), [(0.0, 3.0), (1e-3, 0.2), (5.0, 3.0), (300.0, 0.5), (300.0, 1e6), (40.0, np.inf)]
)
def test_normalising_constant_is_the_integral(D, kappa, nu):
    def ring(angle):
        return np.exp(log_density(angle, kappa, nu)) * np.sin(angle) ** (D - 2)

    integral = quad(ring, 0.0, np.pi, points=[0.02, 0.1, 0.4], limit=400, epsabs=0.0, epsrel=1e-11)[0]
    area = np.log(2.0) + 0.5 * (D - 1) * np.log(np.pi) - gammaln(0.5 * (D - 1))
    model = tmsm.HeavyTailed().on(tmsm.Sphere(D - 1))
    assert model.log_normaliser(at(D, kappa, nu)) == pytest.approx(np.log(integral) + area, abs=1e-9)


@pytest.mark.parametrize("D", [2, 3, 7, 100])
def test_without_a_tail_it_is_von_mises_fisher(D):
    manifold = tmsm.Sphere(D - 1)
    X = manifold.uniform(20, 0)
    params = {"mean_direction": np.eye(D)[0], "concentration": 25.0}
    expected = tmsm.VonMisesFisher().logpdf(X, **params)
    np.testing.assert_allclose(tmsm.HeavyTailed(np.inf).logpdf(X, **params), expected, rtol=1e-10)
    almost = tmsm.HeavyTailed().logpdf(X, **params, degrees_of_freedom=1e9)
    np.testing.assert_allclose(almost, expected, rtol=1e-5)


@pytest.mark.parametrize("radius", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("nu", [0.7, 3.0, 80.0])
def test_mass_of_a_cap_about_the_centre_in_closed_form(radius, nu):
    """On S² the density of w = 1 − μ·x is a power of 1 + 2κw/ν, and its integral the next one."""
    kappa = 60.0
    inside, whole = (
        -np.expm1(-0.5 * nu * np.log1p(2.0 * kappa * w / nu)) for w in (2.0 * np.sin(0.5 * radius) ** 2, 2.0)
    )
    found = tmsm.HeavyTailed(nu).log_mass(
        tmsm.Cap([0.0, 0.6, 0.8], radius), mean_direction=[0.0, 0.6, 0.8], concentration=kappa
    )
    assert found.value == pytest.approx(np.log(inside / whole), abs=1e-7)


@pytest.mark.parametrize("D", [2, 3, 5])
@pytest.mark.parametrize(("kappa", "nu"), [(80.0, 3.0), (1e4, 0.5), (50.0, np.inf), (0.0, 2.0)])
def test_draws_follow_the_density(D, kappa, nu):
    mean = np.eye(D)[1]
    X = tmsm.HeavyTailed(nu).sample(4000, random_state=1, mean_direction=mean, concentration=kappa)
    angle = 2.0 * np.arcsin(np.minimum(0.5 * np.linalg.norm(X - mean, axis=1), 1.0))
    grid = np.concatenate([[0.0], np.geomspace(1e-6, np.pi, 40_001)])
    density = np.exp(log_density(grid, kappa, nu)) * np.sin(grid) ** (D - 2)
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(grid))])
    assert kstest(np.interp(angle, grid, mass / mass[-1]), "uniform").pvalue > 1e-3
    # Directions across are uniform: their mean is zero.
    across = X - (X @ mean)[:, None] * mean
    across /= np.linalg.norm(across, axis=1)[:, None]
    assert np.linalg.norm(across.mean(axis=0)) < 4.5 / np.sqrt(len(X))


@pytest.mark.parametrize(
    ("kappa", "tail"), [(3.0, 0.4), (50.0, 0.01), (1e-3, 0.2), (1e6, 0.3), (5.0, 0.0), (5.0, -0.1)]
)
def test_curvature_by_theta_agrees_with_differences(kappa, tail):
    model = tmsm.HeavyTailed().on(tmsm.Sphere(2))
    rng = np.random.default_rng(0)
    X, weight = tmsm.Sphere(2).uniform(30, 0), rng.normal(size=30)
    theta = np.append(kappa * np.array([0.6, 0.8, 0.0]), tail)
    own_sum, by_differences = (
        model.curvature_sum(X, weight, theta),
        NonlinearModel.curvature_sum(model, X, weight, theta),
    )
    scale = np.outer(model.parameter_sizes(theta), model.parameter_sizes(theta))
    np.testing.assert_allclose(own_sum * scale, by_differences * scale, atol=3e-5 * np.abs(own_sum * scale).max())
    statistics = model.tangent(theta).statistics(X)
    differences = NonlinearModel.tangent(model, theta).statistics(X)
    np.testing.assert_allclose(statistics, differences, atol=1e-6 * np.abs(statistics).max())


def test_parameters_and_theta_are_one_to_one():
    model = tmsm.HeavyTailed().on(tmsm.Sphere(2))
    theta = model.natural_parameters(**TRUTH)
    params = model.parameters(theta)
    assert params.degrees_of_freedom == pytest.approx(2.0)
    np.testing.assert_allclose(model.natural_parameters(**params), theta)
    assert model.parameters(np.append(theta[:-1], 0.0)).degrees_of_freedom == np.inf
    assert tmsm.HeavyTailed(3) == tmsm.HeavyTailed(3.0) != tmsm.HeavyTailed()
    assert eval(repr(tmsm.HeavyTailed(3.0)), {"HeavyTailed": tmsm.HeavyTailed}) == tmsm.HeavyTailed(3.0)


def test_slices_hold_the_parameter_and_end_where_the_family_does():
    model = tmsm.HeavyTailed().on(tmsm.Sphere(2))
    for name, value in [
        ("mean_direction", np.array([0.0, 0.6, 0.8])),
        ("concentration", 7.0),
        ("degrees_of_freedom", 4.0),
    ]:
        allowed = model.slice(name, value)
        theta = allowed.point(np.array([1.0, 2.0, 3.0, 0.2])).theta
        np.testing.assert_allclose(model.parameters(theta)[name], value)
        assert allowed.allows(theta)
    side = model.slice("mean_direction", np.array([0.0, 0.6, 0.8]))
    assert isinstance(side, Orthant)
    assert (side.n_free, len(side.borders())) == (2, 3)
    assert not side.allows(np.array([0.0, 0.6, 0.8, -0.1]))
    assert not side.allows(np.array([0.0, -0.6, -0.8, 0.1]))
    assert tmsm.HeavyTailed(2.0).on(tmsm.Sphere(2)).slice("degrees_of_freedom", 3.0) is None


def test_known_degrees_of_freedom_give_the_density_of_the_contributor_guide():
    X = tmsm.HeavyTailed().sample(1500, CAP, random_state=3, **{**TRUTH, "degrees_of_freedom": 3.0})
    known = tmsm.ScoreMatching(tmsm.HeavyTailed(3.0), CAP).fit(X)
    guide = tmsm.ScoreMatching(own().HeavyTail(nu=3.0), CAP).fit(X)
    np.testing.assert_allclose(known.natural_params_[:3], guide.natural_params_, rtol=1e-4)
    np.testing.assert_allclose(known.std_errors_.concentration, guide.std_errors_.concentration, rtol=1e-3)
    assert known.std_errors_.degrees_of_freedom == 0.0
    assert "known" in known.summary()
    assert known.covers(TRUTH["mean_direction"])


def test_rows_without_a_tail_end_in_von_mises_fisher():
    X = tmsm.VonMisesFisher().sample(1000, CAP, random_state=6, mean_direction=[0.6, 0.0, 0.8], concentration=30.0)
    fit = tmsm.TruncatedMLE(tmsm.HeavyTailed(), CAP).fit(X)
    plain = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit(X)
    assert fit.params_.degrees_of_freedom == np.inf
    np.testing.assert_allclose(fit.params_.concentration, plain.params_.concentration, rtol=1e-5)
    np.testing.assert_allclose(fit.std_errors_.concentration, plain.std_errors_.concentration, rtol=1e-3)
    assert "no heavier tail than a von Mises–Fisher density" in fit.status_
    low, high = fit.confidence_interval().degrees_of_freedom
    assert 5.0 < low < np.inf
    assert high == np.inf
    assert "nan" not in fit.summary()
    assert pickle.loads(pickle.dumps(fit)).params_ == fit.params_
    matched = tmsm.ScoreMatching(tmsm.HeavyTailed(), CAP).fit(X)
    if matched.params_.degrees_of_freedom == np.inf:
        assert matched.confidence_interval().concentration[1] < 40.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tmsm.HeavyTailed(0.0), "degrees_of_freedom must be finite and at least 0.1"),
        (lambda: tmsm.HeavyTailed(np.nan), "degrees_of_freedom must be finite"),
        (lambda: tmsm.HeavyTailed("3"), "degrees_of_freedom must be a number"),
        (lambda: tmsm.HeavyTailed().sample(3, mean_direction=[1.0, 0.0], concentration=3.0), "must be given"),
        (lambda: tmsm.HeavyTailed().sample(3, mean_direction=[1.0, 0.0], degrees_of_freedom=3.0), "concentration must"),
        (lambda: tmsm.HeavyTailed(3.0).sample(3, **{**TRUTH, "degrees_of_freedom": 4.0}), "known to this model as 3"),
        (lambda: tmsm.ScoreMatching(tmsm.HeavyTailed(), tmsm.Box([0.0], [1.0])).fit([[0.5]]), "lives on a sphere"),
        (lambda: tmsm.ScoreMatching(tmsm.HeavyTailed(), CAP).fit([[0.0, 0.6, 0.8]]), "1 row cannot determine 4"),
    ],
)
def test_bad_input_is_said_in_a_sentence(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()
