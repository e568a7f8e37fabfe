import numpy as np
import pytest
from scipy import stats

import tmsm
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
