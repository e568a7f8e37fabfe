"""Likelihoods that fits keep, and maxima that are maxima."""

import numpy as np
import pytest

import tmsm
from tmsm.inference.delta import standard_errors
from tmsm.numerics.newton import newton_step

MEAN = [0.0, 0.6, 0.8]
CAP = tmsm.Cap([0.0, 0.0, 1.0], 0.9)


def rows(model, n=400, region=None):
    if isinstance(model, tmsm.MultivariateNormal):
        return model.sample(n, random_state=1, mean=[500.0, -20.0], covariance=[[2.0, 0.5], [0.5, 1.0]])
    return model.sample(n, region, random_state=1, mean_direction=MEAN, concentration=9.0)


@pytest.mark.parametrize(
    "estimator",
    [
        tmsm.NaiveMLE(tmsm.VonMisesFisher()),
        tmsm.NaiveMLE(tmsm.MultivariateNormal()),
        tmsm.NaiveMLE(tmsm.FisherBingham()),
        tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP),
        tmsm.TruncatedMLE(tmsm.VonMisesFisher(), tmsm.Everywhere(tmsm.Sphere(2))),
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, refine="mle"),
    ],
    ids=repr,
)
def test_fit_keeps_its_likelihood_and_derivatives(estimator):
    family = estimator.model if not isinstance(estimator.model, tmsm.FisherBingham) else tmsm.VonMisesFisher()
    X = rows(family, region=getattr(estimator, "region", None))
    fit = estimator.fit(X).result_
    f, theta = fit.likelihood, fit.theta
    value, gradient, hessian = f(theta)
    spread = np.sqrt(np.diag(fit.covariance))
    if not isinstance(estimator, tmsm.ScoreMatching):  # one step does not end at the maximum
        assert np.abs(gradient * spread).max() < 1e-8
    for k, step in enumerate(spread):
        e = 1e-3 * step * np.eye(theta.size)[k]
        above, below = f(theta + e), f(theta - e)
        assert gradient[k] * 2e-3 * step == pytest.approx(above[0] - below[0], rel=1e-3, abs=1e-9)
        np.testing.assert_allclose((above[1] - below[1]) / (2e-3 * step), hessian[k], rtol=1e-3, atol=1e-6)
    # Up to a constant it is minus the mean log density.
    if not isinstance(estimator, tmsm.ScoreMatching):
        moved = theta + spread
        region = getattr(estimator, "region", None)
        logpdf = [float(estimator.model.logpdf(X, region, **fit.model.parameters(at)).mean()) for at in (theta, moved)]
        assert f(moved)[0] - value == pytest.approx(logpdf[0] - logpdf[1], rel=1e-5)


def test_score_matching_alone_has_no_likelihood():
    assert (
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP).fit(rows(tmsm.VonMisesFisher(), region=CAP)).result_.likelihood
        is None
    )


def bent(seed, n=1000):
    """Rows of a Fisher–Bingham density on half of the sphere, from which score matching is far from the maximum."""
    region = tmsm.Hemisphere([-1.0, 0.0, 0.0])
    quadratic = [[1.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, -3.0]]
    X = tmsm.FisherBingham().sample(n, region, random_state=seed, linear=[-2.0, -5.0, 1.0], quadratic=quadratic)
    return X, region


def test_refine_goes_on_where_one_step_is_not_enough():
    X, region = bent(14)
    model = tmsm.FisherBingham()
    plain = tmsm.ScoreMatching(model, region).fit(X)
    refined = tmsm.ScoreMatching(model, region, refine="mle").fit(X)
    exact = tmsm.TruncatedMLE(model, region).fit(X)
    assert "Newton's method to the maximum" in refined.status_
    np.testing.assert_allclose(refined.params_.linear, exact.params_.linear, rtol=1e-6)
    assert (np.abs(refined.params_.linear - [-2.0, -5.0, 1.0]) < 3.0 * refined.std_errors_.linear).all()
    # From that start one step is not enough: it stays tens of standard errors away.
    f, constraint = refined.result_.likelihood, refined.result_.model.constraint
    step = newton_step(f, constraint.point(plain.result_.theta), constraint.allows)
    assert abs(step.point.theta[1] + 5.0) > 3.0 * refined.std_errors_.linear[1]
    assert f(step.point.theta)[0] > f(naive_theta(model, X))[0] > f(refined.result_.theta)[0]


def naive_theta(model, X):
    return tmsm.NaiveMLE(model).fit(X).natural_params_


def test_one_step_is_enough_from_nearby():
    X = rows(tmsm.VonMisesFisher(), 20_000, CAP)
    refined = tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP, refine="mle").fit(X)
    exact = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP).fit(X)
    assert "one Newton step" in refined.status_
    away = np.abs(refined.natural_params_ - exact.natural_params_) / np.sqrt(np.diag(exact.covariance_))
    assert away.max() < 0.1


def test_refined_intervals_cover():
    covered = []
    for seed in range(50):
        X, region = bent(seed)
        fit = tmsm.ScoreMatching(tmsm.FisherBingham(), region, refine="mle").fit(X)
        covered.append(np.abs(fit.params_.linear - [-2.0, -5.0, 1.0]) < 1.96 * fit.std_errors_.linear)
    assert 0.90 <= np.mean(covered) <= 0.99


@pytest.mark.parametrize("model", [tmsm.Kent(), tmsm.Watson(), tmsm.VonMisesFisher(concentration=3.0)], ids=repr)
def test_likelihood_is_never_below_that_of_the_naive_fit(model):
    """Also where the rows come from another family and the start from score matching is poor."""
    for seed in range(3):
        X, region = bent(seed, 200)
        naive = tmsm.NaiveMLE(model).fit(X)
        exact = tmsm.TruncatedMLE(model, region).fit(X)
        refined = tmsm.ScoreMatching(model, region, refine="mle").fit(X)
        f = exact.result_.likelihood
        assert f(exact.result_.theta)[0] <= f(naive.natural_params_)[0] + 1e-9
        assert f(refined.result_.theta)[0] <= f(naive.natural_params_)[0] + 1e-9


@pytest.mark.parametrize("kind", ["exact", "refined", "naive"])
def test_intervals_cover_with_weights_that_depend_on_the_place(kind):
    """Rows drawn with a probability that varies 30-fold with x, weighted by its inverse."""
    model, mean = tmsm.VonMisesFisher(), tmsm.lonlat_to_xyz([30.0], [25.0])[0]
    corners = tmsm.lonlat_to_xyz([-60.0, 40.0, 70.0, 10.0, -45.0], [-20.0, -35.0, 30.0, 55.0, 35.0])
    region = tmsm.SphericalPolygon([corners])
    estimator = {
        "exact": tmsm.TruncatedMLE(model, region),
        "refined": tmsm.ScoreMatching(model, region, refine="mle"),
        "naive": tmsm.NaiveMLE(model),
    }[kind]
    rng = np.random.default_rng(5)
    away, plain = [], []
    for _ in range(60):
        inside = None if kind == "naive" else region
        X = model.sample(3000, inside, random_state=rng, mean_direction=mean, concentration=4.0)
        probability = 0.03 + 0.97 * (0.5 + 0.5 * X[:, 1]) ** 3
        kept = rng.random(len(X)) < probability
        w = 1.0 / probability[kept]
        fit = estimator.fit(X[kept], sample_weight=w)
        error = fit.params_.concentration - 4.0
        away.append(error / fit.std_errors_.concentration)
        # The inverse information with the effective number of rows: for weights that do not depend on x.
        one = fit.result_
        covariance = -one.influence.matrix * (w @ w) / w.sum() ** 2
        plain.append(error / standard_errors(model, one.theta, covariance).concentration)
    assert np.mean(np.abs(away) < 1.96) >= 0.88
    assert np.mean(np.abs(plain) < 1.96) < 0.86


def test_weights_of_zero_and_one_choose_rows():
    X = rows(tmsm.VonMisesFisher(), region=CAP)
    w = (np.arange(len(X)) % 3 > 0).astype(float)
    fit = tmsm.TruncatedMLE(tmsm.VonMisesFisher(), CAP)
    weighted = fit.fit(X, sample_weight=2.0 * w).covariance_
    np.testing.assert_allclose(weighted, fit.fit(X[w > 0.0]).covariance_, rtol=1e-6)
