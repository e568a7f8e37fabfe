"""Closed forms and other people's estimators, written out independently of the library."""

import numpy as np
import pytest
from scipy import optimize, special

import tmsm
from tmsm import weights


@pytest.mark.parametrize("D", [2, 3, 6])
def test_whole_sphere_is_the_closed_form_of_mardia_kent_and_laha(D):
    model = tmsm.VonMisesFisher()
    X = model.sample(300, random_state=1, mean_direction=np.eye(D)[0], concentration=4.0)
    region = tmsm.Everywhere(tmsm.Sphere(D - 1))
    n = len(X)
    # W = mean of I − xxᵀ, d = (D−1) mean of x: θ = W⁻¹ d.
    expected = np.linalg.solve(np.eye(D) - X.T @ X / n, (D - 1) * X.mean(axis=0))
    for weight in ("auto", "geodesic", "saturating", "normal", "projected"):
        fit = tmsm.ScoreMatching(model, region, weight).fit(X)
        # Of a solved system each entry has rounding errors of the size that the whole vector has.
        np.testing.assert_allclose(fit.natural_params_, expected, rtol=0.0, atol=1e-14 * np.linalg.norm(expected))


def test_circle_is_the_von_mises_distribution():
    # On an arc of S¹ everything is a function of the angle: log p = κ cos(a − m), d/da, d²/da².
    model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 1.0], 1.2)
    X = model.sample(500, region, random_state=2, mean_direction=[1.0, 0.0], concentration=2.0)
    angle = np.arctan2(X[:, 1], X[:, 0])
    g = 1.2 - np.abs(angle - np.pi / 2)
    g_slope = -np.sign(angle - np.pi / 2)

    def objective(theta):
        slope = -theta[0] * np.sin(angle) + theta[1] * np.cos(angle)
        curvature = -theta[0] * np.cos(angle) - theta[1] * np.sin(angle)
        return np.mean(g * slope**2 + 2 * g * curvature + 2 * g_slope * slope)

    fit = tmsm.ScoreMatching(model, region, "geodesic").fit(X)
    np.testing.assert_allclose(fit.objective_, objective(fit.natural_params_), rtol=1e-12)
    best = optimize.minimize(objective, np.zeros(2), tol=1e-12)
    np.testing.assert_allclose(fit.natural_params_, best.x, rtol=1e-5)
    assert fit.objective_ <= best.fun + 1e-12


@pytest.mark.parametrize("known", [False, True])
def test_flat_box_is_truncsm(known):
    """Liu, Kanamori & Williams: mean g‖ψ‖² + 2 g tr ∇ψ + 2 ∇g·ψ with ψ = −Σ⁻¹(x − μ), by numerical search."""
    sigma = np.array([[1.0, 0.3], [0.3, 0.8]])
    lower, upper = np.array([-0.5, 0.0]), np.array([2.0, 1.5])
    X = tmsm.MultivariateNormal().sample(
        1500, tmsm.Box(lower, upper), random_state=3, mean=[0.0, 0.2], covariance=sigma
    )
    gaps = np.hstack([X - lower, upper - X])
    nearest = gaps.argmin(axis=1)
    g = gaps.min(axis=1)
    g_slope = np.vstack([np.eye(2), -np.eye(2)])[nearest]

    def objective(mu, precision):
        psi = -(X - mu) @ precision
        return np.mean(g * (psi**2).sum(1) - 2 * g * np.trace(precision) + 2 * (g_slope * psi).sum(1))

    model = tmsm.MultivariateNormal(sigma if known else None)
    fit = tmsm.ScoreMatching(model, tmsm.Box(lower, upper), "geodesic").fit(X)
    if known:
        best = optimize.minimize(lambda mu: objective(mu, np.linalg.inv(sigma)), np.zeros(2), tol=1e-12)
        np.testing.assert_allclose(fit.params_.mean, best.x, atol=1e-5)
        np.testing.assert_array_equal(fit.params_.covariance, sigma)
        np.testing.assert_array_equal(fit.std_errors_.covariance, 0.0)
    else:
        best = optimize.minimize(
            lambda v: objective(v[:2], np.array([[v[2], v[3]], [v[3], v[4]]])), [0, 0, 1, 0, 1], tol=1e-14
        )
        np.testing.assert_allclose(fit.params_.mean, best.x[:2], atol=1e-4)
        precision = np.linalg.inv(fit.params_.covariance)
        np.testing.assert_allclose(precision[[0, 0, 1], [0, 1, 1]], best.x[2:], atol=1e-4)
    # J is the same function up to the constant that θ does not touch: none here, since ψ is linear in θ.
    mu, precision = fit.params_.mean, np.linalg.inv(fit.params_.covariance)
    np.testing.assert_allclose(fit.objective_, objective(mu, precision), rtol=1e-10)


def test_haversine_of_the_paper_is_the_geodesic_weight():
    # Only on a circle of constant colatitude is the paper's border distance a difference of angles.
    region = tmsm.Cap([-1.0, 0.0, 0.0], np.pi / 2 - 0.2)
    X = tmsm.VonMisesFisher().sample(
        200, region, random_state=0, mean_direction=tmsm.colatlon_to_xyz(np.pi / 2, np.pi), concentration=6.0
    )
    colat, _ = tmsm.xyz_to_colatlon(X)
    np.testing.assert_allclose(region.border_distance(X)[0], colat - (np.pi / 2 + 0.2), atol=1e-14)


def test_objective_of_the_paper_term_by_term():
    """g⟨ψ,ψ⟩ + 2gΔlog p + 2⟨∇g,ψ⟩ with the right Laplacian, −(D−1) κ μ·x, not the one in print."""
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    model = tmsm.VonMisesFisher()
    X = model.sample(400, region, random_state=5, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    fit = tmsm.ScoreMatching(model, region, "geodesic").fit(X)
    theta = fit.natural_params_
    total = 0.0
    for x in X:
        P = np.eye(3) - np.outer(x, x)
        psi = P @ theta
        d = np.pi / 2 - np.arccos(-x[0])
        grad = P @ np.array([-1.0, 0.0, 0.0])
        grad /= np.linalg.norm(grad)
        total += d * psi @ psi + 2 * d * (-2 * theta @ x) + 2 * grad @ psi
    np.testing.assert_allclose(fit.objective_, total / len(X), rtol=1e-10)
    np.testing.assert_allclose(fit.score(X), -fit.objective_, rtol=1e-12)


def test_exposure_thins_the_sample_and_is_taken_back():
    # Rows are detected with probability e(x) = exp(a·x − |a|): the exposed density is vMF(θ + a).
    a = np.array([0.0, 0.0, 2.0])
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = model.sample(3000, region, random_state=1, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    keep = np.random.default_rng(2).random(len(X)) < np.exp(X @ a - 2.0)
    X = X[keep]
    plain = tmsm.ScoreMatching(model, region).fit(X)
    known = tmsm.ScoreMatching(model, region, log_exposure=lambda X: (X @ a, np.tile(a, (len(X), 1)))).fit(X)
    np.testing.assert_allclose(known.natural_params_, plain.natural_params_ - a, rtol=1e-10)
    np.testing.assert_allclose(known.covariance_, plain.covariance_, rtol=1e-8, atol=1e-14)
    truth = np.array([0.0, -6.0, 0.0])
    z = (known.natural_params_ - truth) / np.sqrt(np.diag(known.covariance_))
    assert np.abs(z).max() < 3.5
    assert abs(plain.natural_params_[2]) > 3 * np.sqrt(plain.covariance_[2, 2])  # the negative control


def test_sample_weight_is_repetition():
    model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    X = model.sample(200, region, random_state=1, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    for estimator in (tmsm.ScoreMatching(model, region, weights.Distance()), tmsm.NaiveMLE(model)):
        weighted = estimator.fit(X, sample_weight=counts).natural_params_
        repeated = estimator.fit(np.repeat(X, counts, axis=0)).natural_params_
        np.testing.assert_allclose(weighted, repeated, rtol=1e-11)
    # Relative weights: their scale does not matter, not even for the errors.
    one = tmsm.ScoreMatching(model, region).fit(X, sample_weight=counts)
    ten = tmsm.ScoreMatching(model, region).fit(X, sample_weight=10.0 * counts)
    np.testing.assert_allclose(one.covariance_, ten.covariance_, rtol=1e-12)


def test_naive_concentration_solves_the_bessel_equation():
    for D in (2, 3, 5, 30):
        for kappa in (1e-3, 0.5, 5.0, 300.0, 3e4):
            ratio = special.ive(D / 2, kappa) / special.ive(D / 2 - 1, kappa)
            theta = tmsm.VonMisesFisher().maximise_likelihood(ratio * np.eye(D)[0])
            np.testing.assert_allclose(np.linalg.norm(theta), kappa, rtol=1e-8)
