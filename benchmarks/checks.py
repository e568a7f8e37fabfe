"""Tests of the model on the hemisphere: how often they reject what is right, and what is wrong."""

import tracemalloc

import numpy as np

import tmsm
from scenarios import hemisphere, ovals

REGION = hemisphere.REGION
MISES = (tmsm.VonMisesFisher(), hemisphere.TRUTH)
KENT = (tmsm.Kent(), ovals.TRUTH)
OVAL = (tmsm.Kent(), {**ovals.TRUTH, "ovalness": 4.0})


def rejections(truth, fitted, n, n_seeds, *, stein, seen=REGION, noise=0.0, weight="auto"):
    """Share of samples in which a test at 5 % rejects the fitted model."""
    model, params = truth
    estimator = tmsm.ScoreMatching(fitted, REGION, weight)
    rejected = 0
    for seed in range(n_seeds):
        X = model.sample(n, seen, random_state=seed, **params)
        if noise:
            # κ = 0 is the uniform distribution.
            uniform = {"mean_direction": [0, -1.0, 0], "concentration": 0.0}
            n_noise = round(noise * n)
            X[:n_noise] = tmsm.VonMisesFisher().sample(n_noise, REGION, random_state=seed, **uniform)
        fit = estimator.fit(X)
        found = tmsm.stein_test(fit, X, n_resamples=499) if stein else fit.goodness_of_fit_
        rejected += found.p_value < 0.05
    return rejected / n_seeds


def stein_memory(n=10_000):
    """Bytes that a Stein test of n rows takes at most."""
    model, params = MISES
    X = model.sample(n, REGION, random_state=0, **params)
    fit = tmsm.ScoreMatching(model, REGION).fit(X)
    tracemalloc.start()
    tmsm.stein_test(fit, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def coverage(truth, n, n_seeds, weight):
    """Share of 95 % intervals of the sizes (κ, for Kent also β) and of ellipses of the mean that cover the truth."""
    from scipy.stats import chi2

    model, params = truth
    sizes = [name for name in ("concentration", "ovalness") if name in params]
    estimator = tmsm.ScoreMatching(model, REGION, weight)
    hits = np.zeros(len(sizes) + 1)
    for seed in range(n_seeds):
        fit = estimator.fit(model.sample(n, REGION, random_state=seed, **params))
        interval = fit.confidence_interval()
        hits[:-1] += [interval[name][0] <= params[name] <= interval[name][1] for name in sizes]
        jacobian = model.on(tmsm.Sphere(2)).parameter_jacobian(fit.natural_params_)["mean_direction"]
        spread = jacobian @ fit.covariance_ @ jacobian.T
        error = np.asarray(params["mean_direction"]) - fit.params_.mean_direction
        hits[-1] += error @ np.linalg.pinv(spread, rcond=1e-8, hermitian=True) @ error < chi2.ppf(0.95, 2)
    return dict(zip([*sizes, "mean direction"], hits / n_seeds, strict=True))
