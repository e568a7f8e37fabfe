"""Covariates: what their coefficients and predictions cover, and how often the tests of no effect reject."""

import numpy as np

import tmsm
from scenarios import regression

# Simulated samples: enough for the size of a test, 0.7 % off; coverage and power need fewer.
SEEDS = {"none": 1000, "sharper": 1000, "turning": 500}
COVERED, SIZE, POWER = (93.0, 97.0), (4.0, 6.5), 90.0


def simulated(setting, effect, n_seeds=None):
    """Shares in per cent of one setting, by name."""
    found = regression.Simulated(setting, effect)
    for seed in range(n_seeds or SEEDS[effect]):
        found.add(seed)
    return found.report()


def ignoring_the_border(setting, n_seeds=20):
    """Per cent of intervals of the concentration, in three years, that cover it when the border is ignored."""
    at = np.array([regression.YEARS[0], regression.MIDDLE, regression.YEARS[1]])
    kappa = np.linalg.norm(np.column_stack([np.ones(3), at]) @ regression.coefficients(setting, "turning").T, axis=1)
    estimator = tmsm.ScoreMatching(regression.MODEL, tmsm.Everywhere(tmsm.Sphere(2)))
    region, covered = regression.region_of(setting), []
    for seed in range(n_seeds):
        X, years = regression.sample(setting, "turning", seed, region=region)
        found = estimator.fit(X, covariates=years).predict_params(at)
        low, high = found.confidence_interval().concentration
        covered.append((low <= kappa) & (kappa <= high))
    return 100 * float(np.mean(covered))


def regression_rows():
    """Lines of the table: name, value, unit, and the limits that it should be within."""
    rows = []
    for setting in regression.SETTINGS:
        for effect in SEEDS:
            for name, share in simulated(setting, effect).items():
                limits = COVERED
                if name.startswith("rejected"):
                    there = effect == "turning" or (effect == "sharper" and "centre" not in name)
                    limits = (POWER, 100.0) if there else SIZE
                rows.append((f"{setting}, effect {effect}: {name}", share, "%", limits))
        rows.append((f"{setting}, border ignored: κ covered", ignoring_the_border(setting), "%", (0, 10)))
    return rows
