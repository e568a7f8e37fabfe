"""Tests of the model on the hemisphere: how often they reject what is right, and what is wrong."""

import statistics
import time
import tracemalloc
from functools import partial

import numpy as np

import tmsm
from benchmarks.measuring import medians
from scenarios import hemisphere, ovals

REGION = hemisphere.REGION
MISES = (tmsm.VonMisesFisher(), hemisphere.TRUTH)
KENT = (tmsm.Kent(), ovals.TRUTH)
OVAL = (tmsm.Kent(), {**ovals.TRUTH, "ovalness": 4.0})
SLIGHT = (tmsm.Kent(), {**ovals.TRUTH, "ovalness": 0.6})


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
        found = tmsm.stein_test(fit, X) if stein else fit.goodness_of_fit_
        rejected += found.p_value < 0.05
    return rejected / n_seeds


def stein_memory(n=1_000_000):
    """Bytes that a Stein test of n rows takes at most, beside them."""
    model, params = MISES
    X = model.sample(n, REGION, random_state=0, **params)
    fit = tmsm.ScoreMatching(model, REGION).fit(X)
    tracemalloc.start()
    tmsm.stein_test(fit, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def stein_ratios(n=100_000, repeats=7):
    """Median times of Stein tests of n rows, on the US border and on the hemisphere, over that of a default fit there.

    Both over the fit on the border: that on the hemisphere takes hardly longer than to begin it.
    """
    coast = tmsm.datasets.load_border("usa")
    inland = {"mean_direction": tmsm.lonlat_to_xyz(-97, 39), "concentration": 30.0}
    model, tests, fits = tmsm.VonMisesFisher(), [], []
    for region, params in ((coast, inland), (REGION, hemisphere.TRUTH)):
        X = model.sample(n, region, random_state=0, **params)
        fits.append(partial(tmsm.ScoreMatching(model, region).fit, X))
        tests.append(partial(tmsm.stein_test, fits[-1](), X))
    fit, *tested = medians([fits[0], *tests], repeats)
    return [one / fit for one in tested]


def stein_growth(few, many, repeats=5):
    """Median time of a Stein test of many rows over that of few, and of few rows by all pairs over that."""
    X = tmsm.VonMisesFisher().sample(many, REGION, random_state=0, **hemisphere.TRUTH)
    fits = [tmsm.ScoreMatching(tmsm.VonMisesFisher(), REGION).fit(table) for table in (X[:few], X)]

    def seconds(fit, table, method="linear"):
        start = time.perf_counter()
        tmsm.stein_test(fit, table, method=method)
        return time.perf_counter() - start

    short, long = (
        statistics.median(seconds(fit, table) for _ in range(repeats))
        for fit, table in zip(fits, (X[:few], X), strict=True)
    )
    return long / short, seconds(fits[0], X[:few], "full") / short


def stein_agreement(truth, fitted, n, n_seeds, n_resamples=2000):
    """Mean difference of the p-values of both methods, and what the number of resamples alone would make it."""
    model, params = truth
    differences, chance = [], []
    for seed in range(n_seeds):
        X = model.sample(n, REGION, random_state=seed, **params)
        fit = tmsm.ScoreMatching(fitted, REGION).fit(X)
        ours, full = (
            tmsm.stein_test(fit, X, method=method, n_resamples=n_resamples).p_value for method in ("linear", "full")
        )
        differences.append(abs(ours - full))
        # The mean of |z| of a normal variable is √(2/π).
        chance.append(np.sqrt(2.0 / np.pi * full * (1.0 - full) / n_resamples))
    return float(np.mean(differences)), float(np.mean(chance))


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
