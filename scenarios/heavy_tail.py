"""A cluster with heavy tails whose centre lies at sea, seen inside the contiguous United States."""

import numpy as np

import tmsm
from scenarios.efficiency import nodes_of, probabilities

TRUTH = {
    "mean_direction": tmsm.lonlat_to_xyz(-79.0, 30.0),
    "concentration": 80.0,
    "degrees_of_freedom": 3.0,
}
ROWS = 10_000


def border():
    """The border of the contiguous United States."""
    return tmsm.datasets.load_border("usa")


def rows(region, seed, n=ROWS):
    """Rows inside the border."""
    return tmsm.HeavyTailed().sample(n, region, random_state=seed, **TRUTH)


def centre_error(params):
    """How far a centre is from the true one, in degrees."""
    return float(np.degrees(2.0 * np.arcsin(0.5 * np.linalg.norm(params.mean_direction - TRUTH["mean_direction"]))))


def covered(fit, level=0.95):
    """Whether the region of the centre and the intervals of κ and ν hold the truth."""
    intervals = fit.confidence_interval(level)
    names = ("concentration", "degrees_of_freedom")
    inside = [intervals[name][0] <= TRUTH[name] <= intervals[name][1] for name in names]
    return [fit.covers(TRUTH["mean_direction"], level), *inside]


def lowest_error(region, n=ROWS):
    """The median error of the centre, in degrees, of an estimate that reaches the Cramér–Rao bound."""
    model = tmsm.HeavyTailed().on(region.manifold)
    theta = model.natural_parameters(**TRUTH)
    X, log_weights = nodes_of(model, region, theta)
    p = probabilities(model, theta, X, log_weights)
    s = model.tangent(theta).statistics(X)
    s -= p @ s
    covariance = np.linalg.inv(n * (s.T @ (p[:, None] * s)))
    turn = model.parameter_jacobian(theta)["mean_direction"]
    draws = np.random.default_rng(0).standard_normal((100_000, len(theta))) @ np.linalg.cholesky(covariance).T @ turn.T
    return float(np.degrees(np.median(np.linalg.norm(draws, axis=1))))
