"""Public points of natural hazards, split at random into rows to fit and rows to judge by."""

import os
from pathlib import Path
from typing import NamedTuple

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


def split(X, seed):
    """80 % to fit, 10 % that are not used, 10 % to judge by, at random."""
    order = np.random.default_rng(seed).permutation(len(X))
    first, second = int(0.8 * len(X)), int(0.9 * len(X))
    return X[order[:first]], X[order[second:]]


def copies(judged, fitted):
    """Which of the rows to judge by, shape (m,), are exact copies of rows that were fitted."""
    known = {row.tobytes() for row in fitted}
    return np.array([row.tobytes() in known for row in judged])


class Scores(NamedTuple):
    """Mean negative log densities of the rows to judge by: of each map, and without copies of rows that were fitted.

    ``chosen`` is the map that is chosen, with the rows to fit alone; ``copies`` the share of copies.
    """

    every: dict
    without_copies: dict
    chosen: str
    copies: float


def scores(X, region, seed):
    """What our maps score with a split; all that is chosen is chosen with the rows to fit alone."""
    fitted, judged = split(X, seed)
    known = copies(judged, fitted)
    maps = {"series": tmsm.DensityMap(region, degree=12), "kernels": tmsm.AdaptiveKernel(region)}
    for one in maps.values():
        one.fit(fitted)
    logs = {name: one.logpdf(judged) for name, one in maps.items()}
    return Scores(
        {name: -float(one.mean()) for name, one in logs.items()},
        {name: -float(one[~known].mean()) for name, one in logs.items()},
        max(maps, key=lambda name: maps[name].held_out_),
        float(known.mean()),
    )


def score_without_border(X, seed):
    """What kernels score that are fitted to rows inside a border as if there were none."""
    fitted, judged = split(X, seed)
    return -tmsm.AdaptiveKernel(tmsm.Everywhere(tmsm.Sphere(2))).fit(fitted).score(judged)
