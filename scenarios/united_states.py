"""Von Mises–Fisher inside the real border of the contiguous United States."""

import numpy as np

import tmsm

# (mean lon/lat, κ) and the spread of κ̂ with the geodesic weight at n = 10,000.
SETTINGS = [((-97.0, 39.0), 30.0, 1.17), ((-80.0, 31.0), 60.0, 2.3), ((-112.0, 34.0), 200.0, 3.6)]
REPEATS = 100


def estimates(region, lonlat, kappa, seeds, fitted=None):
    """κ̂ of the geodesic weight for samples of 10,000, one for each seed."""
    model = tmsm.VonMisesFisher()
    estimator = tmsm.ScoreMatching(model, region if fitted is None else fitted, "geodesic", standard_errors=False)
    mu = tmsm.lonlat_to_xyz(*lonlat)
    found = []
    for seed in seeds:
        X = model.sample(10_000, region, random_state=seed, mean_direction=mu, concentration=kappa)
        found.append(estimator.fit(X).params_.concentration)
    return np.array(found)


def likelihoods(region, lonlat, kappa, seeds):
    """κ̂ of the exact likelihood and of one Newton step from score matching, samples of 10,000."""
    model = tmsm.VonMisesFisher()
    estimators = {
        "exact likelihood": tmsm.TruncatedMLE(model, region),
        "one step": tmsm.ScoreMatching(model, region, "geodesic", refine="mle", standard_errors=False),
    }
    found = {name: [] for name in estimators}
    for seed in seeds:
        X = model.sample(
            10_000, region, random_state=seed, mean_direction=tmsm.lonlat_to_xyz(*lonlat), concentration=kappa
        )
        for name, estimator in estimators.items():
            found[name].append(estimator.fit(X).params_.concentration)
    return {name: np.array(values) for name, values in found.items()}
