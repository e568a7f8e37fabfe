"""Likelihoods that fits keep, and maxima that are maxima."""

import numpy as np
import pytest

import tmsm

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
    fit = estimator.fit(X)._fitted
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
        logpdf = [
            float(estimator.model.logpdf(X, region, **fit.model.parameters(at, X.shape[1])).mean())
            for at in (theta, moved)
        ]
        assert f(moved)[0] - value == pytest.approx(logpdf[0] - logpdf[1], rel=1e-5)


def test_score_matching_alone_has_no_likelihood():
    assert (
        tmsm.ScoreMatching(tmsm.VonMisesFisher(), CAP).fit(rows(tmsm.VonMisesFisher(), region=CAP))._fitted.likelihood
        is None
    )
