"""Two clusters of which one lies at sea, seen inside the United States; two normals of which one is cut in half."""

from itertools import permutations

import numpy as np

import tmsm
from scenarios.efficiency import nodes_of, probabilities

# Centres (lon, lat), concentrations and shares; the second centre lies off the coast.
SETTINGS = {
    "off Florida": (((-98.0, 40.0), (-79.0, 29.0)), (100.0, 60.0), (0.4, 0.6)),
    "in the Gulf": (((-95.0, 38.0), (-90.0, 27.0)), (60.0, 80.0), (0.5, 0.5)),
    "far apart": (((-115.0, 40.0), (-78.0, 31.0)), (200.0, 150.0), (0.4, 0.6)),
}
MODEL = tmsm.Mixture(tmsm.VonMisesFisher(), 2)
ROWS = 10_000

# The first mean lies on the edge of the half-plane.
NORMALS = tmsm.Mixture(tmsm.MultivariateNormal(), 2)
HALF_PLANE = tmsm.HalfSpace([1.0, 0.0], 0.0)
NORMAL_TRUTH = {
    "shares": [0.6, 0.4],
    "mean": [[0.0, 0.0], [2.0, 1.5]],
    "covariance": [[[0.25, 0.05], [0.05, 0.2]], [[0.2, -0.05], [-0.05, 0.3]]],
}


def truth(name):
    """The parameters of a setting."""
    centres, concentration, shares = SETTINGS[name]
    lon, lat = np.array(centres).T
    return {
        "shares": np.array(shares),
        "mean_direction": tmsm.lonlat_to_xyz(lon, lat),
        "concentration": np.array(concentration),
    }


def rows(name, region, seed, n=ROWS):
    """Rows inside a region."""
    return MODEL.sample(n, region, random_state=seed, **truth(name))


def angles(A, B):
    """Angles between rows of unit vectors, in degrees."""
    return np.degrees(2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(A - B, axis=-1), 0.0, 1.0)))


def order_like(centres, wanted):
    """The order in which centres are nearest to those of the truth."""
    best = min(permutations(range(len(centres))), key=lambda one: np.linalg.norm(centres[list(one)] - wanted))
    return list(best)


def centre_errors(params, name):
    """How far the centres are from the true ones, in degrees."""
    wanted = truth(name)["mean_direction"]
    return angles(params.mean_direction[order_like(params.mean_direction, wanted)], wanted)


def covered(fit, name, level=0.95):
    """Whether the intervals of both concentrations, and of the first share, hold the truth."""
    wanted, intervals = truth(name), fit.confidence_interval(level)
    own = order_like(fit.params_.mean_direction, wanted["mean_direction"])
    found = []
    for field in ("concentration", "shares"):
        low, high = (end[own] for end in intervals[field])
        found += list((low <= wanted[field]) & (wanted[field] <= high))
    return found[:3]


def lowest_error(name, region, n=ROWS):
    """The median error of the second centre, in degrees, of an estimate that reaches the Cramér–Rao bound."""
    model = MODEL.on(region.manifold)
    theta = model.natural_parameters(**truth(name))
    X, log_weights = nodes_of(model, region, theta)
    p = probabilities(model, theta, X, log_weights)
    s = model.tangent(theta).statistics(X)
    s = s - p @ s
    covariance = np.linalg.inv(n * (s.T @ (p[:, None] * s)))
    turn = model.parameter_jacobian(theta)["mean_direction_2"]
    draws = np.random.default_rng(0).standard_normal((100_000, len(theta))) @ np.linalg.cholesky(covariance).T @ turn.T
    return float(np.degrees(np.median(np.linalg.norm(draws, axis=1))))


def normal_rows(seed, n):
    """Rows in the half-plane."""
    return NORMALS.sample(n, HALF_PLANE, random_state=seed, **NORMAL_TRUTH)


def normal_numbers(values, own):
    """Share of the first component, means and covariances, in the order of the truth, as one vector of eleven."""
    upper = np.asarray(values["covariance"])[own][:, [0, 0, 1], [0, 1, 1]]
    return np.concatenate(
        [np.asarray(values["shares"])[own][:1], np.ravel(np.asarray(values["mean"])[own]), upper.ravel()]
    )


def normal_estimates(seeds, n):
    """Estimates less the truth, and whether intervals hold it, (seeds, 11) each."""
    wanted = normal_numbers(NORMAL_TRUTH, [0, 1])
    away, inside = [], []
    for seed in seeds:
        fit = tmsm.TruncatedMLE(NORMALS, HALF_PLANE).fit(normal_rows(seed, n))
        own = order_like(fit.params_.mean, np.array(NORMAL_TRUTH["mean"]))
        intervals = fit.confidence_interval()
        low, high = (normal_numbers({name: ends[side] for name, ends in intervals.items()}, own) for side in (0, 1))
        away.append(normal_numbers(fit.params_, own) - wanted)
        inside.append((low <= wanted) & (wanted <= high))
    return np.array(away), np.array(inside)
