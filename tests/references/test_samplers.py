import numpy as np
import pytest
from scipy import stats

import tmsm
from tmsm.models.spherical import placed_round
from tmsm.models.von_mises_fisher import mean_resultant


@pytest.mark.parametrize("D", [2, 3, 4, 10])
@pytest.mark.parametrize("kappa", [1e-3, 0.5, 6.0, 1e3, 1e8])
def test_von_mises_fisher_draws_have_the_right_moments(D, kappa):
    mu = np.arange(1.0, D + 1)
    mu /= np.linalg.norm(mu)
    n = 40_000
    X = tmsm.VonMisesFisher().sample(n, random_state=3, mean_direction=mu, concentration=kappa)
    # 1 − μ·x from the chord, which keeps its digits at high concentration.
    deficit = 0.5 * ((X - mu) ** 2).sum(axis=1)
    ratio, slope = mean_resultant(kappa, D)
    expected = 1 - ratio if kappa < 1e3 else (D - 1) / (2 * kappa) * (1 - (D - 3) / (4 * kappa))
    assert abs(deficit.mean() - expected) < 4.5 * deficit.std() / np.sqrt(n)
    if kappa < 1e7:
        squared = (deficit - deficit.mean()) ** 2
        assert abs(squared.mean() - slope) < 4.5 * squared.std() / np.sqrt(n)
    # Across the mean direction all directions are alike.
    across = X - (X @ mu)[:, None] * mu
    across /= np.linalg.norm(across, axis=1)[:, None]
    assert np.abs(across.mean(axis=0)).max() < 4.5 / np.sqrt(n)


@pytest.mark.parametrize("D", [2, 3, 10, 100])
def test_points_are_placed_at_their_distance_from_the_mean(D):
    mu = np.arange(1.0, D + 1)
    mu /= np.linalg.norm(mu)
    deficit = np.geomspace(1e-12, 1.9, 2000)
    X = placed_round(mu, deficit, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, rtol=0, atol=4e-16)
    # 1 − μ·x from the chord; rounding moves each of D coordinates by some 1e-16.
    np.testing.assert_allclose(np.linalg.norm(X - mu, axis=1), np.sqrt(2.0 * deficit), rtol=1e-9, atol=1e-15)


def test_von_mises_fisher_distribution_function():
    kappa = 6.0
    X = tmsm.VonMisesFisher().sample(20_000, random_state=0, mean_direction=[0, 0, 1.0], concentration=kappa)
    # P(μ·x ≤ w) = (e^{κw} − e^{−κ}) / (e^κ − e^{−κ}) on S²
    result = stats.kstest(X[:, 2], lambda w: (np.exp(kappa * w) - np.exp(-kappa)) / (2 * np.sinh(kappa)))
    assert result.pvalue > 1e-3
    angle = tmsm.VonMisesFisher().sample(20_000, random_state=0, mean_direction=[1.0, 0.0], concentration=2.0)
    result = stats.kstest(np.arctan2(angle[:, 1], angle[:, 0]), stats.vonmises(2.0).cdf)
    assert result.pvalue > 1e-3


def test_truncated_draws_are_the_draws_inside():
    model, region = tmsm.VonMisesFisher(6.0), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = model.sample(20_000, region, random_state=0, mean_direction=[0.0, -1.0, 0.0])
    assert X.shape == (20_000, 3)
    assert region.contains(X).all()
    free = model.sample(40_000, random_state=1, mean_direction=[0.0, -1.0, 0.0])
    for j in range(3):
        assert stats.ks_2samp(X[:, j], free[region.contains(free)][:, j]).pvalue > 1e-3
    np.testing.assert_array_equal(X[:5], model.sample(20_000, region, random_state=0, mean_direction=[0, -1.0, 0])[:5])


def test_a_region_without_mass_is_an_error_not_a_loop():
    with pytest.raises(ValueError, match=r"Only 0 of \d+ draws fell inside the region"):
        tmsm.VonMisesFisher().sample(
            1000, tmsm.Cap([0.0, 0.0, -1.0], 0.1), random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=500.0
        )


def test_normal_draws():
    sigma = np.array([[2.0, 0.7], [0.7, 1.0]])
    X = tmsm.MultivariateNormal().sample(50_000, random_state=0, mean=[1.0, -2.0], covariance=sigma)
    z = (X - [1.0, -2.0]) @ np.linalg.inv(np.linalg.cholesky(sigma)).T
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(z.T)[0, 1]) < 4 / np.sqrt(len(X))


@pytest.mark.parametrize("D", [2, 3, 6])
def test_concentration_zero_is_uniform(D):
    X = tmsm.VonMisesFisher().sample(20_000, random_state=0, mean_direction=np.eye(D)[0], concentration=0.0)
    assert np.abs(X.mean(0)).max() < 4.5 / np.sqrt(D * len(X))
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(D) / D, atol=4.5 / np.sqrt(len(X)))


SHAPES = {
    "Kent": (
        tmsm.Kent(),
        {"mean_direction": [0, 0, 1.0], "major_axis": [1.0, 0, 0], "concentration": 10.0, "ovalness": 3},
    ),
    "Kent, two modes": (
        tmsm.Kent(unimodal=False),
        {"mean_direction": [0, 0, 1.0], "major_axis": [0.6, 0.8, 0], "concentration": 4.0, "ovalness": 30.0},
    ),
    "Kent, sharp": (
        tmsm.Kent(),
        {"mean_direction": [0, 0, 1.0], "major_axis": [0.6, 0.8, 0], "concentration": 1e8, "ovalness": 4e7},
    ),
    "Fisher–Bingham": (
        tmsm.FisherBingham(),
        {"linear": [5.0, 8.0, -2.0], "quadratic": [[3.0, 2.0, 1.0], [2.0, -8.0, 0.0], [1.0, 0.0, 5.0]]},
    ),
    "Fisher–Bingham across": (tmsm.FisherBingham(), {"linear": [0.0, 30.0, 0.0], "quadratic": np.diag([60.0, 0, -60])}),
    "Fisher–Bingham on S5": (
        tmsm.FisherBingham(),
        {"linear": [3.0, 0, -1, 0, 0, 2], "quadratic": np.diag([5.0, 2.0, 0, -1, -2, -4])},
    ),
    "Bingham": (tmsm.Bingham(), {"quadratic": np.diag([20.0, 0.0, -20.0])}),
    "bipolar": (tmsm.Watson(), {"axis": [0.0, 0.6, 0.8], "concentration": 50.0}),
    "girdle": (tmsm.Watson(), {"axis": [0.0, 0.6, 0.8, 0.0], "concentration": -50.0}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rejection_is_exact_and_its_acceptance_is_as_stated(name):
    model, params = SHAPES[name]
    n = 60_000
    X = model.sample(n, random_state=1, **params)
    theta = model.natural_parameters(**params)
    t = model.statistics(X)
    # Along θ and along random directions, so that rounding in one sharp statistic does not count.
    mean, covariance = model.expectation(theta)
    spread = np.sqrt(np.diag(covariance))
    usable = spread > 1e-7
    z = (t.mean(0) - mean)[usable] / (spread[usable] / np.sqrt(n))
    assert np.abs(z).max() < 4.5
    centred = (t - mean)[:, usable]
    squares = centred**2
    z = (squares.mean(0) - np.diag(covariance)[usable]) / (squares.std(0) / np.sqrt(n))
    assert np.abs(z).max() < 4.8
    stated = model.acceptance(**params)
    assert 0.1 < stated <= 1.0
    accepted = model._envelope(params).propose(n, np.random.default_rng(0))[1].mean()
    assert abs(accepted - stated) < 4.5 * np.sqrt(stated * (1 - stated) / n) + 1e-12


def test_kent_marginal_distribution():
    kappa, beta = 10.0, 3.0
    X = tmsm.Kent().sample(
        20_000, random_state=0, mean_direction=[0, 0, 1.0], major_axis=[1.0, 0, 0], concentration=kappa, ovalness=beta
    )
    from scipy.special import ive

    z = np.linspace(-1, 1, 20_001)
    density = np.exp(kappa * (z - 1) + beta * (1 - z * z)) * ive(0, beta * (1 - z * z))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    assert stats.kstest(X[:, 2], lambda w: np.interp(w, z, cumulative / cumulative[-1])).pvalue > 1e-3
    # The major axis is the wider one, and the two sides are alike.
    assert X[:, 0].var() > 1.5 * X[:, 1].var()
    assert stats.ks_2samp(X[:, 0], -X[:, 0]).pvalue > 1e-3


@pytest.mark.parametrize("name", SHAPES)
def test_every_sampler_can_be_truncated(name):
    model, params = SHAPES[name]
    D = model.sample(1, random_state=0, **params).shape[1]
    region = tmsm.Hemisphere(np.eye(D)[-1])
    X = model.sample(500, region, random_state=0, **params)
    assert X.shape == (500, D)
    assert region.contains(X).all()
    with pytest.raises(ValueError, match=r"Only \d+ of \d+ draws fell inside the region"):
        model.sample(
            10**6, tmsm.Cap(-np.eye(D)[0] if name == "Kent, sharp" else np.eye(D)[-1], 1e-6), random_state=0, **params
        )
