"""Where the weights are tried: truth, region, and what an efficient estimate would reach."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import tmsm

BOUND_ROWS = 4_000_000


@dataclass(frozen=True)
class Setting:
    """A truth inside a region; ``size`` names the parameter whose interval and bias are reported."""

    name: str
    model: Any
    region: Any
    params: dict[str, Any]
    size: str = "concentration"
    exact: bool = True  # whether the likelihood's integral is in reach
    weights: tuple[str, ...] = field(default=())

    def sample(self, n: int, seed: int) -> np.ndarray:
        return self.model.sample(n, self.region, random_state=seed, **self.params)

    @cached_property
    def theta(self) -> np.ndarray:
        return self.model.natural_parameters(**self.params)

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tangent T of the family (p, k), and mean and covariance of Tᵀt under the truth."""
        tangent = self.model.on(self.region.manifold).constraint.tangent(self.theta)
        t = self.model.statistics(self.sample(BOUND_ROWS, 987_654_321)) @ tangent
        return tangent, t.mean(axis=0), np.atleast_2d(np.cov(t.T))

    def efficient_error(self, X: np.ndarray) -> np.ndarray:
        """I⁻¹ (mean t − E t): the error of an estimate that attains the Cramér–Rao bound on these rows, shape (p,)."""
        tangent, mean, information = self.moments
        return tangent @ np.linalg.solve(information, (self.model.statistics(X) @ tangent).mean(axis=0) - mean)


def axis(D: int, j: int) -> np.ndarray:
    return np.eye(D)[j]


def settings() -> Iterator[Setting]:
    """Every setting."""
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
