"""Standard errors are the spread over repetitions, and intervals cover, beyond the hemisphere."""

import numpy as np
import pytest
from scipy import stats

import tmsm

UNIT = np.array([2.0, -1.0, 1.0]) / np.sqrt(6.0)

SETTINGS = {
    "circle": (tmsm.VonMisesFisher(), tmsm.Cap([0.0, 1.0], 1.0), {"mean_direction": [1.0, 0.0], "concentration": 3.0}),
    "cap, mean outside": (
        tmsm.VonMisesFisher(),
        tmsm.Cap([0.0, 0.0, 1.0], 1.0),
        {"mean_direction": UNIT, "concentration": 4.0},
    ),
    "S4": (
        tmsm.VonMisesFisher(),
        tmsm.Hemisphere(np.eye(5)[0]),
        {"mean_direction": np.eye(5)[1], "concentration": 10.0},
    ),
    "known concentration": (
        tmsm.VonMisesFisher(4.0),
        tmsm.Cap([0.0, 0.0, 1.0], 1.0),
        {"mean_direction": UNIT, "concentration": 4.0},
    ),
    "ball": (
        tmsm.MultivariateNormal(),
        tmsm.Ball([0.5, 0.0], 1.5),
        {"mean": [0.0, 0.3], "covariance": [[1.0, 0.2], [0.2, 0.6]]},
    ),
    "box": (
        tmsm.MultivariateNormal(),
        tmsm.Box([0.0, -1.0], [np.inf, 1.5]),
        {"mean": [0.0, 0.3], "covariance": [[1.0, 0.2], [0.2, 0.6]]},
    ),
    "box, known covariance": (
        tmsm.MultivariateNormal([[1.0, 0.2], [0.2, 0.6]]),
        tmsm.Box([0.0, -1.0], [np.inf, 1.5]),
        {"mean": [0.0, 0.3]},
    ),
}


@pytest.mark.parametrize("weight", ["auto", "geodesic"])
@pytest.mark.parametrize("name", SETTINGS)
def test_covariance_is_the_spread_and_the_ellipsoid_covers(name, weight):
    model, region, params = SETTINGS[name]
    truth = model.natural_parameters(**params)
    n, repeats = 1500, 400
    rng = np.random.default_rng(5)
    X = model.sample(n * repeats, region, random_state=rng, **params).reshape(repeats, n, -1)
    estimator = tmsm.ScoreMatching(model, region, weight)
    estimates, covariances = [], []
    for rows in X:
        fit = estimator.fit(rows)
        estimates.append(fit.natural_params_)
        covariances.append(fit.covariance_)
    estimates, covariance = np.array(estimates), np.median(covariances, axis=0)
    constraint = model.on(region.manifold).constraint
    k, T = constraint.n_free, constraint.tangent(truth)
    # Along the family: the empirical covariance over the estimated one is the identity.
    inverse_root = np.linalg.inv(np.linalg.cholesky(T.T @ covariance @ T))
    spread = np.cov(inverse_root @ T.T @ estimates.T)
    values = np.linalg.eigvalsh(np.atleast_2d(spread))
    assert values.min() > 1 - 6.0 * np.sqrt(2 / repeats)
    assert values.max() < 1 + 6.0 * np.sqrt(2 / repeats)
    # Wald ellipsoids at 95 %.
    z = [
        T.T @ (e - truth) @ np.linalg.solve(T.T @ C @ T, T.T @ (e - truth))
        for e, C in zip(estimates, covariances, strict=True)
    ]
    covered = np.mean(np.array(z) < stats.chi2(k).ppf(0.95))
    assert 0.91 <= covered <= 0.98


def test_direction_ellipse_covers_and_has_the_stated_half_axes():
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    mu = np.array([0.0, -1.0, 0.0])
    fit = tmsm.ScoreMatching(model, region)
    covered = 0
    for seed in range(600):
        fit.fit(model.sample(500, region, random_state=seed, mean_direction=mu, concentration=6.0))
        ellipse = fit.mean_direction_ellipse()
        # The truth is inside if it sees the closed curve turn once, in the plane it is projected to.
        flat = ellipse[:, [0, 2]] - mu[[0, 2]]
        angles = np.unwrap(np.arctan2(flat[:, 1], flat[:, 0]))
        covered += abs(angles[-1] - angles[0]) > np.pi
    assert 0.93 <= covered / 600 <= 0.97
    np.testing.assert_allclose(np.linalg.norm(ellipse, axis=1), 1.0, rtol=1e-12)
    radii = np.arccos(ellipse @ fit.params_.mean_direction)
    half_axes = fit.confidence_interval().mean_direction
    np.testing.assert_allclose([radii.max(), radii.min()], half_axes, rtol=1e-3)
    # √(χ²₂(0.95) λ) and the square root of the trace are two sizes of one covariance.
    expected = np.sqrt((half_axes**2).sum() / stats.chi2(2).ppf(0.95))
    np.testing.assert_allclose(fit.std_errors_.mean_direction, expected, rtol=1e-10)


def test_naive_errors_are_right_without_truncation():
    model = tmsm.MultivariateNormal()
    params = {"mean": [1.0, -1.0], "covariance": [[1.0, 0.3], [0.3, 0.5]]}
    fits = [tmsm.NaiveMLE(model).fit(model.sample(400, random_state=s, **params)) for s in range(400)]
    for field in ("mean", "covariance"):
        spread = np.std([fit.params_[field] for fit in fits], axis=0)
        stated = np.mean([fit.std_errors_[field] for fit in fits], axis=0)
        np.testing.assert_allclose(spread, stated, rtol=0.15)


def test_weighted_errors_use_the_squares_of_the_weights():
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    rng = np.random.default_rng(3)
    kappas, stated = [], []
    for seed in range(400):
        X = model.sample(600, region, random_state=seed, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
        fit = tmsm.ScoreMatching(model, region).fit(X, sample_weight=rng.exponential(size=600) ** 2)
        kappas.append(fit.params_.concentration)
        stated.append(fit.std_errors_.concentration)
    # Six standard errors of a standard deviation; weights taken for counts would be off by a factor of 2.4.
    assert np.median(stated) / np.std(kappas) == pytest.approx(1.0, abs=6 / np.sqrt(2 * 400))


def test_intervals_of_variances_stay_above_zero():
    model, box = tmsm.MultivariateNormal(), tmsm.Box([-1.0, -1.0], [1.0, 1.0])
    X = model.sample(60, box, random_state=0, mean=[0.0, 0.0], covariance=np.eye(2))
    fit = tmsm.ScoreMatching(model, box).fit(X)
    low, high = fit.confidence_interval(0.999999, method="wald").covariance
    assert (np.diag(low) == 0.0).any()
    assert low[0, 1] < 0.0 < high[0, 1]
    low, high = fit.confidence_interval(0.999999).covariance
    assert (np.diag(low) > 0.0).all()
    assert low[0, 1] < 0.0 < high[0, 1]


def test_ellipsoids_cover_where_rows_are_few_for_the_parameters():
    """300 rows for 21 parameters: by χ² and without n/(n − k) the ellipsoid covers 88 %."""
    D, kappa, n, repeats = 21, 30.0, 300, 300
    mu, pole = np.eye(D)[0], np.eye(D)[1]
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere(pole)
    fit = tmsm.ScoreMatching(model, region)
    covered = {"κ": 0, "ellipsoid": 0, "plain": 0}
    for seed in range(repeats):
        fit.fit(model.sample(n, region, random_state=seed, mean_direction=mu, concentration=kappa))
        interval, mean = fit.confidence_interval(), fit.params_.mean_direction
        covered["κ"] += interval.concentration[0] < kappa < interval.concentration[1]
        # The precision of the direction θ/|θ| across the mean, and the angle to the truth as a tangent vector.
        across = np.linalg.svd(mean[None, :])[2][1:]
        slope = across / np.linalg.norm(fit.natural_params_)
        offset = across @ mu * (angle := np.arccos(mean @ mu)) / np.sin(angle)
        size = offset @ np.linalg.solve(slope @ fit.covariance_ @ slope.T, offset)
        axis = interval.mean_direction[0] ** 2 / np.linalg.eigvalsh(slope @ fit.covariance_ @ slope.T)[-1]
        covered["ellipsoid"] += size < axis
        covered["plain"] += size * n / (n - D) < stats.chi2(D - 1).ppf(0.95)
    assert 0.92 <= covered["κ"] / repeats <= 0.98
    assert 0.92 <= covered["ellipsoid"] / repeats <= 0.98
    assert covered["plain"] / repeats < 0.915


def test_the_correction_for_few_rows_fades():
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = model.sample(600, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)

    def ratio(n):
        """Half the width of the interval of κ in standard errors."""
        fit = tmsm.ScoreMatching(model, region).fit(X[:n])
        low, high = fit.confidence_interval(method="wald").concentration
        return 0.5 * (high - low) / fit.std_errors_.concentration

    np.testing.assert_allclose([ratio(n) for n in (40, 100)], stats.t([39, 99]).ppf(0.975))
    assert stats.norm.ppf(0.975) < ratio(225) < stats.t(224).ppf(0.975)
    np.testing.assert_allclose(ratio(600), stats.norm.ppf(0.975))
