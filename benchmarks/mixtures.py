"""Mixtures: a centre at sea, intervals, the number of components, spikes, and normals against a package for them."""

import importlib.util
import time

import numpy as np

import tmsm
from scenarios import mixtures
from tmsm.matching.density_likelihood import TruncatedDensity
from tmsm_experiments.peers.with_pygmmis import fit_normals, right_of_zero

SEEDS, NORMAL_SEEDS = 50, (100, 40)
# What the likelihood, and score matching alone, may err by, in degrees.  The Cramér–Rao bound of the former is 0.62,
# 0.59 and 0.19.
LIKELIHOOD = {"off Florida": 0.6, "in the Gulf": 0.6, "far apart": 0.3}
MATCHING = {"off Florida": 1.2, "in the Gulf": 1.2, "far apart": 0.4}
# Nothing of the settings is narrower than κ = 200; 1 % of the rows, by chance next to each other, have some thousands.
SPIKE = 10_000.0


def in_the_united_states(name, region, seeds):
    """Errors of the centre at sea, what intervals cover (n, 3), the largest κ̂, and how many optima are the truth's."""
    errors, covered, largest, reached = [], [], 0.0, []
    for seed in seeds:
        fit = tmsm.TruncatedMLE(mixtures.MODEL, region).fit(mixtures.rows(name, region, seed))
        errors.append(mixtures.centre_errors(fit.params_, name)[1])
        covered.append(mixtures.covered(fit, name))
        largest = max(largest, float(fit.params_.concentration.max()))
        found = fit.result_
        truth = found.model.natural_parameters(**mixtures.truth(name))
        near = TruncatedDensity(found.model, region, found.kept).next_to(truth)
        reached.append(found.likelihood(found.theta)[0] <= near.value + 1e-6)
    return np.array(errors), np.array(covered), largest, np.array(reached)


def matching_errors(name, region, seeds):
    """Errors of the centre at sea by score matching alone."""
    estimator = tmsm.ScoreMatching(mixtures.MODEL, region, standard_errors=False)
    fits = (estimator.fit(mixtures.rows(name, region, seed)) for seed in seeds)
    return np.array([mixtures.centre_errors(fit.params_, name)[1] for fit in fits])


def chosen_numbers(name, region, seeds):
    """Numbers of components that the criterion of Schwarz chooses."""
    model = tmsm.Mixture(tmsm.VonMisesFisher(), "bic")
    fits = (tmsm.TruncatedMLE(model, region).fit(mixtures.rows(name, region, seed)) for seed in seeds)
    return np.array([len(fit.params_.shares) for fit in fits])


def largest_of_three(name, region, seeds):
    """The largest κ̂ and the smallest share of the rows among fits of three components, which are one too many."""
    largest, smallest = 0.0, 1.0
    for seed in seeds:
        X = mixtures.rows(name, region, seed)
        try:
            fit = tmsm.TruncatedMLE(tmsm.Mixture(tmsm.VonMisesFisher(), 3), region).fit(X)
        except tmsm.errors.EstimationError:  # none has enough rows in every component
            continue
        largest = max(largest, float(fit.params_.concentration.max()))
        smallest = min(smallest, float(fit.posterior_shares(X).mean(axis=0).min()))
    return largest, smallest


def normal_ratio(n, seeds=range(3)):
    """How many times as long pygmmis takes for the rows in the half-plane; NaN where it is not installed."""
    if importlib.util.find_spec("pygmmis") is None:
        return float("nan")
    ratios = []
    for seed in seeds:
        X = mixtures.normal_rows(seed, n)
        start = time.perf_counter()
        tmsm.TruncatedMLE(mixtures.NORMALS, mixtures.HALF_PLANE).fit(X)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        fit_normals(X, 2, right_of_zero, seed)
        ratios.append((time.perf_counter() - start) / ours)
    return float(np.median(ratios))


def mixture_rows(n_seeds=SEEDS, n_normal=NORMAL_SEEDS):
    """Lines of the table: name, value, unit, and the limits that it should be within."""
    region, seeds = tmsm.datasets.load_border("usa"), range(n_seeds)
    found = []
    for name, limit in MATCHING.items():
        errors, covered, largest, reached = in_the_united_states(name, region, seeds)
        bound = mixtures.lowest_error(name, region)
        words = f"two clusters, {name}, n = 10,000: median error of the centre at sea"
        found += [
            (words, np.median(errors), "°", (0, LIKELIHOOD[name])),
            ("… over that of an efficient estimate", np.median(errors) / bound, "", (0, 1.2)),
            ("… 95 % intervals of κ and of the shares cover", 100 * covered.mean(), "%", (90, 98)),
            ("… the optimum next to the truth, or a better one, is found", 100 * reached.mean(), "%", (96, 100)),
            ("… largest κ among the fits", largest, "", (0, SPIKE)),
            ("… k = 2 chosen", 100 * np.mean(chosen_numbers(name, region, seeds) == 2), "%", (90, 100)),
        ]
        largest, smallest = largest_of_three(name, region, seeds)
        found += [
            ("… three components fitted: largest κ", largest, "", (0, SPIKE)),
            ("… smallest share of the rows", 100 * smallest, "%", (1, 100)),
            (
                "… median error by score matching alone",
                np.median(matching_errors(name, region, seeds)),
                "°",
                (0, limit),
            ),
        ]
    for n, repeats in zip((1000, 10_000), n_normal, strict=True):
        away, inside = mixtures.normal_estimates(range(repeats), n)
        found += [
            (
                f"two normals, one mean on the cut, n = {n:,}: largest bias",
                np.abs(away.mean(axis=0)).max(),
                "",
                (0, 0.04),
            ),
            ("… 95 % intervals cover", 100 * inside.mean(), "%", (92, 97)),
            ("… pygmmis takes, where it is installed", normal_ratio(n), "times", (5, np.inf)),
        ]
    return found
