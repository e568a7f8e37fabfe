"""Public points of natural hazards, split at random into rows to fit and rows to judge by."""

import os
from pathlib import Path

import numpy as np

import tmsm

NAMES = ("earthquakes", "floods", "fires")
SPLITS = 5
FOLDER = Path(os.environ.get("TMSM_DATA", Path(__file__).parents[2] / "shared" / "data")) / "hazards"


def borders():
    """A part of the Earth for each, with words: a border makes a second benchmark."""
    land = tmsm.datasets.load_land()
    return {
        "earthquakes": ("in the Pacific", ~land & tmsm.LonLatBox(130.0, -55.0, -110.0, 60.0)),
        "floods": ("in the United States", tmsm.datasets.load_border("usa")),
        "fires": ("in Africa south of the Sahara", land & tmsm.LonLatBox(-20.0, -36.0, 52.0, 18.0)),
    }


def at_hand():
    """Whether the files are there, which do not belong to the project."""
    return all(_file(name).is_file() for name in NAMES)


def _file(name):
    return FOLDER / f"{name}.csv"


def rows(name):
    """Places as unit vectors, shape (n, 3)."""
    lonlat = np.loadtxt(_file(name), delimiter=",", skiprows=1)
    return tmsm.lonlat_to_xyz(lonlat[:, 0], lonlat[:, 1])


def copies(X):
    """The share of rows that have an exact copy before them."""
    return 1.0 - len(np.unique(X, axis=0)) / len(X)


def split(X, seed):
    """80 % to fit, 10 % that are not used, 10 % to judge by, at random."""
    order = np.random.default_rng(seed).permutation(len(X))
    first, second = int(0.8 * len(X)), int(0.9 * len(X))
    return X[order[:first]], X[order[second:]]


def scores(X, region, seed):
    """Mean negative log density of the rows to judge by, for each of our maps, and the name of the one that is chosen.

    All that is chosen, which of the two maps too, is chosen with the rows to fit alone.
    """
    fitted, judged = split(X, seed)
    maps = {"series": tmsm.DensityMap(region, degree=12), "kernels": tmsm.AdaptiveKernel(region)}
    for one in maps.values():
        one.fit(fitted)
    chosen = max(maps, key=lambda name: maps[name].held_out_)
    return {name: -one.score(judged) for name, one in maps.items()}, chosen


def score_without_border(X, seed):
    """What kernels score that are fitted to rows inside a border as if there were none."""
    fitted, judged = split(X, seed)
    return -tmsm.AdaptiveKernel(tmsm.Everywhere(tmsm.Sphere(2))).fit(fitted).score(judged)
