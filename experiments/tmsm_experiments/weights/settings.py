"""Where the weights are tried."""

from collections.abc import Iterator

import numpy as np

import tmsm
from tmsm_experiments.weights.any_manifold import any_manifold
from tmsm_experiments.weights.setting import Setting


def axis(D: int, j: int) -> np.ndarray:
    return np.eye(D)[j]


def settings() -> Iterator[Setting]:
    """Every setting."""
    yield from classical()
    yield from any_manifold()


def classical() -> Iterator[Setting]:
    """Spheres, flat space and country borders."""
    mises, pole = tmsm.VonMisesFisher(), -axis(3, 0)
    beside = {"mean_direction": -axis(3, 1), "concentration": 6.0}
    scalar = ("geodesic", "chordal", "saturating", "combined")
    smooth = (*scalar, "projected", "normal")
    yield Setting("hemisphere", mises, tmsm.Hemisphere(pole), beside, weights=smooth)
    yield Setting("cap", mises, tmsm.Cap(pole, np.pi / 2 - 0.2), beside, weights=smooth)
    yield Setting(
        "S4", mises, tmsm.Hemisphere(axis(5, 0)), {"mean_direction": axis(5, 1), "concentration": 10.0},
        exact=False, weights=smooth,
    )  # fmt: skip
    yield Setting(
        "S9", mises, tmsm.Hemisphere(axis(10, 0)), {"mean_direction": axis(10, 1), "concentration": 20.0},
        exact=False, weights=smooth,
    )  # fmt: skip
    normal = tmsm.MultivariateNormal(np.eye(2))
    flat = ("geodesic", "saturating", "combined")
    yield Setting("ball", normal, tmsm.Ball([0.0, 0.0], 1.5), {"mean": [1.0, 0.0]}, "mean", weights=(*flat, "normal"))
    # Boxes round the mean that hold half of the mass.
    for d, half in ((2, 1.052), (3, 1.264), (5, 1.516)):
        box = tmsm.Box(np.full(d, -half), np.full(d, half))
        yield Setting(
            f"box in R{d}", tmsm.MultivariateNormal(np.eye(d)), box, {"mean": np.zeros(d)}, "mean",
            exact=d == 2, weights=(*flat, "componentwise"),
        )  # fmt: skip
    yield Setting(
        "lon/lat box", mises, tmsm.LonLatBox(-30, 0, 30, 45),
        {"mean_direction": tmsm.lonlat_to_xyz(25.0, 10.0), "concentration": 10.0},
        weights=(*scalar, "projected", "componentwise"),
    )  # fmt: skip
    yield Setting("band", mises, tmsm.LonLatBox(-180, 0, 180, 40), {**beside, "mean_direction": axis(3, 1)},
        weights=(*scalar, "projected", "normal", "componentwise"),
    )  # fmt: skip
    usa = tmsm.datasets.load_border("usa")
    for place, lonlat, kappa in (
        ("plains", (-97.0, 39.0), 30.0),
        ("Atlantic", (-80.0, 31.0), 60.0),
        ("Arizona", (-112.0, 34.0), 200.0),
    ):
        truth = {"mean_direction": tmsm.lonlat_to_xyz(*lonlat), "concentration": kappa}
        yield Setting(f"US, {place}", mises, usa, truth, weights=(*scalar, "projected"))
