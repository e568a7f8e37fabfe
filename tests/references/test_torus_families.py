"""Families on the torus against closed forms, other computations and direct searches."""

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import tmsm
from tmsm.matching.solve import solve
from tmsm.models import CosineVonMises, TrigonometricFamily
from tmsm.models.base import Tangent
from tmsm.models.torus_orbits import TorusFace, TorusPoint
from tmsm.numerics.torus_cells import torus_cells
from tmsm.numerics.torus_integral import torus_integral

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


def sine(mean, kappa, lam):
    model = tmsm.SineVonMises().on(tmsm.Torus(len(mean)))
    return model, model.natural_parameters(mean_angles=mean, concentration=kappa, interaction=lam)


@pytest.mark.parametrize("kappa", [(0.5, 2.0), (30.0, 4.0), (2000.0, 900.0)])
def test_independent_angles_have_bessel_functions(kappa):
    model, theta = sine([0.3, -2.0], kappa, np.zeros((2, 2)))
    expected = sum(np.log(2 * np.pi * special.ive(0, k)) + k for k in kappa)
    assert model.log_normaliser(theta) == pytest.approx(expected, rel=1e-13)
    mean, covariance = model.expectation(theta)
    ratio = special.ive(1, kappa[0]) / special.ive(0, kappa[0])
    assert np.hypot(*mean[:2]) == pytest.approx(ratio, rel=1e-12)
    along = np.array([np.cos(0.3), np.sin(0.3)])
    assert along @ covariance[:2, :2] @ along == pytest.approx(1 - ratio / kappa[0] - ratio**2, rel=1e-7)


@pytest.mark.parametrize(("kappa", "lam"), [((3.0, 2.0), 1.2), ((2.0, 2.0), -1.5), ((20.0, 12.0), 14.0)])
def test_sine_constant_of_two_angles_is_its_series(kappa, lam):
    # Singh, Hnizdo and Demchuk 2002: 4π² Σ_m C(2m, m) (λ²/4κ₁κ₂)^m I_m(κ₁) I_m(κ₂).
    model, theta = sine([0.3, -2.0], kappa, lam * PAIR)
    a, b = map(mpmath.mpf, kappa)
    series = mpmath.nsum(
        lambda m: (
            mpmath.binomial(2 * m, m)
            * (mpmath.mpf(lam) ** 2 / (4 * a * b)) ** m
            * mpmath.besseli(m, a)
            * mpmath.besseli(m, b)
        ),
        [0, mpmath.inf],
    )
    assert model.log_normaliser(theta) == pytest.approx(float(mpmath.log(4 * mpmath.pi**2 * series)), rel=1e-12)


@pytest.mark.parametrize(("kappa", "lam"), [((3.0, 2.0), 0.9), ((2.0, 2.0), -4.0)])
def test_cosine_constant_of_two_angles_is_its_series(kappa, lam):
    # Mardia, Taylor and Subramaniam 2007: 4π² (I₀I₀I₀ + 2 Σ I_m(κ₁) I_m(κ₂) I_m(−λ)).
    model = CosineVonMises().on(tmsm.Torus(2))
    theta = model.natural_parameters(mean_angles=[1.0, 2.0], concentration=kappa, interaction=lam * PAIR)
    m = np.arange(80)
    terms = special.iv(m, kappa[0]) * special.iv(m, kappa[1]) * special.iv(m, -lam)
    assert model.log_normaliser(theta) == pytest.approx(np.log(4 * np.pi**2 * (2 * terms.sum() - terms[0])), rel=1e-12)


def test_moments_are_derivatives_of_the_constant():
    model = TrigonometricFamily(2).on(tmsm.Torus(2))
    theta = np.random.default_rng(0).normal(size=model.size)
    mean, covariance = model.expectation(theta)
    h = 1e-5
    for a in range(model.size):
        step = h * np.eye(model.size)[a]
        ahead, behind = (torus_integral(model.modes, theta + s * step) for s in (1, -1))
        assert (ahead.log_integral - behind.log_integral) / (2 * h) == pytest.approx(mean[a], abs=1e-9)
        np.testing.assert_allclose((ahead.moments()[0] - behind.moments()[0]) / (2 * h), covariance[a], atol=1e-9)


def test_too_many_nodes_are_a_sentence():
    model, theta = sine(np.zeros(6), np.full(6, 2.0), np.zeros((6, 6)))
    with pytest.raises(ValueError, match="torus of 6 angles cannot be integrated on a grid"):
        model.log_normaliser(theta)


@pytest.mark.parametrize("model", [TrigonometricFamily(3), tmsm.SineVonMises(), CosineVonMises()], ids=repr)
@pytest.mark.parametrize("dim", [2, 3])
def test_one_angle_at_a_time_agrees_with_the_general_way(model, dim):
    torus = tmsm.Torus(dim)
    model, X = model.on(torus), torus.uniform(30, 0)
    a, c = np.random.default_rng(1).uniform(0.1, 2.0, (2, 30))
    for k, (factor, own) in enumerate(zip(torus.factors, torus.columns, strict=True)):
        fast, slow = model.in_factor(torus, k), Tangent.in_factor(model, torus, k)
        V = -factor.unit_tangent(X[:, own])
        np.testing.assert_allclose(fast.gradient_dot(X, 3.0 * V), slow.gradient_dot(X, 3.0 * V), atol=1e-13)
        for weight in (a, 0.7):
            np.testing.assert_allclose(fast.gradient_gram(X, weight), slow.gradient_gram(X, weight), atol=1e-12)
            np.testing.assert_allclose(
                fast.weighted_hessian(X, weight, [(V, c)]), slow.weighted_hessian(X, weight, [(V, c)]), atol=1e-12
            )
        # Another table with the same object.
        Y = torus.uniform(5, 1)
        np.testing.assert_allclose(
            fast.gradient_gram(Y, 1.0), Tangent.in_factor(model, torus, k).gradient_gram(Y, 1.0), atol=1e-12
        )


def test_draws_of_one_angle_have_their_distribution():
    # Two maxima of unequal height, and a von Mises density that is nearly a point.
    for theta, modes in (([0.5, 1.0, 3.0, -1.0], [[1], [2]]), ([3e5, 4e5], [[1]])):
        theta, modes = np.array(theta), np.array(modes, dtype=np.intp)
        phi = torus_cells(modes, theta).draw(20_000, np.random.default_rng(0))[:, 0]
        middle = np.arctan2(theta[1], theta[0]) if len(modes) == 1 else 0.0
        width = np.pi if len(modes) > 1 else 0.02
        grid = np.linspace(middle - width, middle + width, 200_001)
        f = sum(theta[2 * i] * np.cos(k * grid) + theta[2 * i + 1] * np.sin(k * grid) for i, (k,) in enumerate(modes))
        cumulative = np.cumsum(np.exp(f - f.max()))
        assert stats.kstest(phi, lambda x, g=grid, c=cumulative: np.interp(x, g, c / c[-1])).pvalue > 1e-3
        # The test can tell: a shift by a tenth of the spread is found.
        shifted = phi + 0.1 * phi.std()
        assert stats.kstest(shifted, lambda x, g=grid, c=cumulative: np.interp(x, g, c / c[-1])).pvalue < 1e-6


def test_draws_given_the_other_angle_are_von_mises():
    lam, kappa = 1.4, np.array([3.0, 2.0])
    X = tmsm.SineVonMises().sample(
        20_000, random_state=3, mean_angles=[0.0, 0.0], concentration=kappa, interaction=lam * PAIR
    )
    first, second = tmsm.torus_to_angles(X).T
    a = np.hypot(kappa[0], lam * np.sin(second))
    u = stats.vonmises.cdf(first - np.arctan2(lam * np.sin(second), kappa[0]), a) % 1.0
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    # The marginal of the second angle: exp(κ₂ cos) I₀.
    grid = np.linspace(-np.pi, np.pi, 20_001)
    density = np.exp(kappa[1] * np.cos(grid)) * special.i0(np.hypot(kappa[0], lam * np.sin(grid)))
    cumulative = np.cumsum(density) / density.sum()
    assert stats.kstest(second, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-3


def test_draws_of_many_angles_agree_with_those_of_three():
    # Angles four and five are independent of the others, so that the first three are those of a torus of three.
    lam = np.zeros((5, 5))
    lam[:3, :3] = [[0.0, 0.8, -0.6], [0.8, 0.0, 0.5], [-0.6, 0.5, 0.0]]
    mean, kappa, n = np.array([0.5, -0.2, 3.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.5, 1.0, 50.0]), 40_000
    X = tmsm.SineVonMises().sample(n, random_state=0, mean_angles=mean, concentration=kappa, interaction=lam)
    model, theta = sine(mean[:3], kappa[:3], lam[:3, :3])
    t = model.statistics(X[:, :6])
    assert (np.abs(t.mean(0) - model.expectation(theta)[0]) < 4.5 * t.std(0) / np.sqrt(n)).all()
    assert np.hypot(*X[:, 8:].mean(0)) == pytest.approx(special.ive(1, 50.0) / special.ive(0, 50.0), abs=1e-3)


@pytest.mark.parametrize("family", [tmsm.SineVonMises(), CosineVonMises()], ids=repr)
def test_points_of_the_set_have_the_derivatives_that_they_say(family):
    orbit = family.on(tmsm.Torus(3)).constraint
    rng = np.random.default_rng(0)
    inner = TorusPoint(orbit, rng.uniform(-3, 3, 3), np.array([2.0, 3.0, 2.5, 0.3, -0.4, 0.2]))
    for point in (inner, TorusFace(orbit).point(inner.theta)):
        v, k, h = rng.normal(size=point.theta.size), point.jacobian.shape[1], 1e-5
        ahead = [point.moved(h * e) for e in np.eye(k)]
        behind = [point.moved(-h * e) for e in np.eye(k)]
        slopes = [(a.theta - b.theta) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
        np.testing.assert_allclose(point.jacobian, np.transpose(slopes), atol=1e-8)
        bends = [v @ (a.jacobian - b.jacobian) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
        np.testing.assert_allclose(point.bend(v), bends, atol=1e-7)
    face = TorusFace(orbit).point(inner.theta)
    assert np.linalg.eigvalsh(orbit.matrix(orbit.point(face.theta).shape))[0] == pytest.approx(0.0, abs=1e-7)
    assert orbit.allows(face.theta)
    assert orbit.on_border(face.theta)
    assert not orbit.on_border(inner.theta)


@pytest.mark.parametrize("family", [tmsm.SineVonMises(), CosineVonMises()], ids=repr)
def test_a_positive_matrix_means_one_mode(family):
    """On a fine grid of two angles no other point is higher than its neighbours; beyond the bound some are."""
    grid = np.linspace(-np.pi, np.pi, 81)[:-1]
    X = tmsm.angles_to_torus(np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2))
    model = family.on(tmsm.Torus(2))
    orbit = model.constraint
    rng, counts = np.random.default_rng(1), {True: [], False: []}
    while min(map(len, counts.values())) < 12:
        shape = np.array([*rng.uniform(0.3, 4.0, 2), rng.uniform(-4.0, 4.0)])
        values = np.linalg.eigvalsh(orbit.matrix(shape))
        if abs(values[0]) < 0.15 * values[-1]:
            continue  # the grid is too coarse there
        f = model.log_kernel(X, TorusPoint(orbit, np.zeros(2), shape).theta).reshape(80, 80)
        around = [np.roll(f, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        peaks = (f > np.max(around, axis=0) + 1e-12).sum()
        counts[bool(values[0] > 0)].append(int(peaks))
    assert set(counts[True]) == {1}
    if not orbit.signed:
        assert 1 not in counts[False]


def test_the_closed_form_contains_the_curved_families():
    # With the truth's own moments for A and b every family finds its density.
    rng = np.random.default_rng(2)
    for family, lam in ((tmsm.SineVonMises(), 1.1), (CosineVonMises(), -2.5), (CosineVonMises(), 0.6)):
        model = family.on(tmsm.Torus(2))
        theta = model.natural_parameters(
            mean_angles=rng.uniform(-3, 3, 2), concentration=[3.0, 2.0], interaction=lam * PAIR
        )
        X = tmsm.Torus(2).uniform(500, 1)
        A = model.gradient_gram(X, 1.0 / 500)
        found = solve(model.constraint, A, -A @ theta)
        np.testing.assert_allclose(found.theta, theta, atol=1e-8)
        assert "one mode" in found.status or "is a mode" in found.status


def test_a_concentration_of_the_cosine_model_may_be_negative():
    model = CosineVonMises().on(tmsm.Torus(2))
    params = {"mean_angles": [1.0, -2.0], "concentration": [-0.5, 3.0], "interaction": -5.0 * PAIR}
    theta = model.natural_parameters(**params)
    for name, value in model.parameters(theta).items():
        np.testing.assert_allclose(value, params[name], atol=1e-12)
    X = model.sample(3000, random_state=0, **params)
    fit = tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.Torus(2))).fit(X)
    assert (np.abs(fit.params_.mean_angles - params["mean_angles"]) < 4 * fit.std_errors_.mean_angles).all()
