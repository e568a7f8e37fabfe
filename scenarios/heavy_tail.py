"""A cluster with heavy tails whose centre lies at sea, seen inside the contiguous United States."""

import numpy as np

import tmsm

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
