"""Where coverage is tried: a truth inside a region, a number of rows, and a way to fit them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import tmsm

SEEDS = 300
# Of settings that seem to miss what is asked for: chance alone would make some of so many seem so.
MORE_SEEDS = 1200
DEFAULT, GEODESIC, LIKELIHOOD, REFINED, NAIVE = "default", "g = d", "likelihood", "refined", "no border"
KNOWN = "κ known"
# Rows of each group of the settings with unequal groups.
GROUPS = "40 unequal groups"
GROUP_SIZES = np.round(np.geomspace(1, 40, 40)).astype(int)


@dataclass(frozen=True)
class Setting:
    """A truth inside a region.

    ``region`` and ``centre`` are names, `kind` says how rows are made from independent draws of the truth.  ``n`` is
    the number of rows, except in groups whose sizes are fixed, and part of the seed.
    """

    model: str
    region: str
    centre: str
    n: int
    method: str = DEFAULT
    kind: str = ""
    seeds: int = SEEDS

    @classmethod
    def of(cls, row: dict[str, str]) -> "Setting":
        """From a row of the results."""
        return cls(row["model"], row["region"], row["centre"], int(row["n"]), row["method"], row["kind"])

    @property
    def name(self) -> str:
        parts = [self.model, self.region, self.centre, f"n {self.n_rows}", self.method, self.kind]
        return ", ".join(part for part in parts if part)

    @property
    def n_rows(self) -> int:
        """How many rows a sample has."""
        return int(GROUP_SIZES.sum()) if self.kind == GROUPS else self.n

    @property
    def truth(self) -> dict[str, Any]:
        return _truth(self.model, self.region, self.centre)

    def estimator(self, region: Any) -> Any:
        model = MODELS[self.model]
        if self.kind == KNOWN:
            model = tmsm.VonMisesFisher(self.truth["concentration"])
        if self.method == LIKELIHOOD:
            return tmsm.TruncatedMLE(model, region)
        if self.method == NAIVE:
            return tmsm.NaiveMLE(model)
        weight = "geodesic" if self.method == GEODESIC else "auto"
        return tmsm.ScoreMatching(model, region, weight, refine="mle" if self.method == REFINED else None)


MODELS = {
    "vMF": tmsm.VonMisesFisher(),
    "Kent": tmsm.Kent(),
    "Fisher–Bingham": tmsm.FisherBingham(),
    "normal": tmsm.MultivariateNormal(),
}
# Concentrations for which enough of the mass lies inside, wherever the centre is.
CONCENTRATION = {
    "cap": 6.0, "hemisphere": 6.0, "box": 10.0, "band": 6.0, "sliver": 10.0, "polygon": 10.0, "archipelago": 8.0,
    "United States": 30.0, "S20": 20.0, "arc": 3.0, "small cap": 6.0,
}  # fmt: skip
# Longitude and latitude of a centre inside; of one on the border, and the direction that leads away from the region.
INSIDE = {
    "cap": (0.0, 80.0), "hemisphere": (180.0, 40.0), "box": (5.0, 20.0), "band": (40.0, 1.0), "sliver": (5.0, 0.5),
    "polygon": (27.0, 18.0), "archipelago": (3.0, 4.0), "United States": (-97.0, 39.0),
}  # fmt: skip
BORDER = {
    "cap": ((0.0, 90.0 - np.degrees(0.5)), (0.0, -1.0)),
    "hemisphere": ((-90.0, 0.0), (1.0, 0.0)),
    "box": ((30.0, 20.0), (1.0, 0.0)),
    "band": ((40.0, 2.0), (0.0, 1.0)),
    "sliver": ((20.0, 0.5), (1.0, 0.0)),
    "polygon": ((60.0, 5.0), (1.0, -0.3)),
    "archipelago": ((20.0, 4.0), (1.0, 0.0)),
    "United States": ((-80.1, 26.5), (0.6, -0.8)),
    "small cap": ((0.0, 90.0 - np.degrees(0.05)), (0.0, -1.0)),
}
# Boxes of longitude and latitude that hold the smaller regions.
BOUNDS = {
    "cap": (-180.0, 61.0, 180.0, 90.0), "box": (-30.0, 0.0, 30.0, 45.0), "band": (-180.0, 0.0, 180.0, 2.0),
    "sliver": (-20.0, 0.0, 20.0, 1.0), "polygon": (0.0, 0.0, 60.0, 50.0), "archipelago": (-20.0, -13.0, 20.0, 17.0),
    "United States": (-125.0, 24.0, -66.0, 50.0), "small cap": (-180.0, 87.0, 180.0, 90.0),
}  # fmt: skip
AWAY = {"border": 0.0, "10° off": 10.0, "30° off": 30.0, "60° off": 60.0}


@cache
def make_region(name: str) -> Any:
    """A region by its name."""
    north, west = np.array([0.0, 0.0, 1.0]), np.array([-1.0, 0.0, 0.0])
    box = (-30.0, 0.0, 30.0, 45.0)
    return {
        "cap": lambda: tmsm.Cap(north, 0.5),
        "small cap": lambda: tmsm.Cap(north, 0.05),
        "hemisphere": lambda: tmsm.Hemisphere(west),
        "box": lambda: tmsm.LonLatBox(*box),
        "band": lambda: tmsm.LonLatBox(-180.0, 0.0, 180.0, 2.0),
        "sliver": lambda: tmsm.LonLatBox(-20.0, 0.0, 20.0, 1.0),
        "polygon": lambda: tmsm.SphericalPolygon([tmsm.lonlat_to_xyz([0.0, 60.0, 25.0], [0.0, 5.0, 50.0])]),
        "archipelago": _archipelago,
        "United States": lambda: tmsm.datasets.load_border("usa", resolution="110m"),
        "S20": lambda: tmsm.Hemisphere(np.eye(21)[0]),
        "arc": lambda: tmsm.Cap([1.0, 0.0], 0.8),
        "plane, box": lambda: tmsm.Box([-1.0, -1.0], [1.0, 1.0]),
        "plane, half": lambda: tmsm.HalfSpace([1.0, 0.0], 0.0),
        "half-line": lambda: tmsm.Box([0.0], [np.inf]),
    }[name]()


def _archipelago() -> Any:
    """Twelve rough islands of some degrees, none of them round."""
    rng = np.random.default_rng(5)
    turn = np.linspace(0.0, 2.0 * np.pi, 10, endpoint=False)
    rings = []
    for lon in (-15.0, -5.0, 5.0, 15.0):
        for lat in (-8.0, 2.0, 12.0):
            radius = rng.uniform(1.5, 4.0, turn.size)
            rings.append(tmsm.lonlat_to_xyz(lon + radius * np.cos(turn), lat + radius * np.sin(turn)))
    return tmsm.SphericalPolygon(rings)


def _centre(region: str, centre: str) -> np.ndarray:
    if centre in ("inside", "flat"):
        return tmsm.lonlat_to_xyz(*INSIDE[region])
    place, away = BORDER[region]
    start = tmsm.lonlat_to_xyz(*place)
    east = np.cross([0.0, 0.0, 1.0], start)
    east /= np.linalg.norm(east)
    towards = away[0] * east + away[1] * np.cross(start, east)
    return tmsm.Sphere(2).exponential(start[None], np.radians(AWAY[centre]) * towards[None] / np.linalg.norm(towards))[
        0
    ]


def _truth(model: str, region: str, centre: str) -> dict[str, Any]:
    if region == "S20":
        return {"mean_direction": np.eye(21)[1], "concentration": 20.0}
    if region == "arc":
        angle = {"inside": 0.2, "30° off": 0.8 + np.radians(30.0)}[centre]
        return {"mean_direction": [np.cos(angle), np.sin(angle)], "concentration": 3.0}
    if model == "normal":
        if region == "half-line":
            return {"mean": [{"inside": 0.5, "off": -1.0}[centre]], "covariance": [[1.0]]}
        mean = {"inside": [0.3, 0.0], "off": [-0.5, 1.0]}[centre]
        return {"mean": mean, "covariance": [[0.5, 0.15], [0.15, 0.4]]}
    if model == "Fisher–Bingham":
        return {"linear": [-2.0, -5.0, 1.0], "quadratic": [[1.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, -3.0]]}
    mean = _centre(region, centre)
    kappa = CONCENTRATION[region] if centre != "flat" else 1e-9
    if centre == "60° off":
        kappa = min(kappa, 10.0)
    if model == "Kent":
        across = np.cross(mean, [1.0, 0.0, 0.0])
        return {
            "mean_direction": mean, "major_axis": across / np.linalg.norm(across),
            "concentration": max(kappa, 10.0), "ovalness": 3.0,
        }  # fmt: skip
    return {"mean_direction": mean, "concentration": kappa}


def settings() -> Iterator[Setting]:
    """Every setting."""
    regions = list(INSIDE)
    for k, region in enumerate(regions):
        for j, centre in enumerate(["inside", *AWAY, "flat"]):
            # Two of four sizes each, so that every size meets every region and every centre.
            for n in [(100, 1000), (300, 3000)][(k + j) % 2]:
                yield Setting("vMF", region, centre, n)
        for j, centre in enumerate(["inside", "30° off"]):
            yield Setting("vMF", region, centre, (100, 300, 1000)[(k + j) % 3], GEODESIC)
            yield Setting("vMF", region, centre, (300, 1000, 100)[(k + j) % 3], LIKELIHOOD)
    for centre in ("inside", "border", "30° off"):
        yield Setting("vMF", "United States", centre, 300, REFINED)
    for region in ("hemisphere", "polygon", "box", "cap"):
        for centre in ("inside", "border"):
            yield Setting("Kent", region, centre, 1000)
            yield Setting("Kent", region, centre, 1000 if centre == "inside" else 3000, LIKELIHOOD)
        yield Setting("Kent", region, "inside", 300)
    for n, method in ((1000, DEFAULT), (1000, REFINED), (1000, LIKELIHOOD), (3000, DEFAULT), (300, DEFAULT)):
        yield Setting("Fisher–Bingham", "hemisphere", "", n, method)
    for region, centre in (
        ("plane, box", "inside"),
        ("plane, half", "off"),
        ("half-line", "inside"),
        ("half-line", "off"),
    ):
        for n, method in ((300, DEFAULT), (1000, DEFAULT), (300, LIKELIHOOD)):
            yield Setting("normal", region, centre, n, method)
    for method in (DEFAULT, LIKELIHOOD, REFINED):
        yield Setting("vMF", "polygon", "inside", 1000, method, "weights that depend on x")
        yield Setting("vMF", "cap", "border", 1000, method, GROUPS)
    for region in ("cap", "United States"):
        yield Setting("vMF", region, "inside", 2000, DEFAULT, "every row ten times")
    yield Setting("vMF", "hemisphere", "border", 1000, DEFAULT, GROUPS)
    yield Setting("vMF", "S20", "border", 300)
    for centre in ("inside", "30° off"):
        yield Setting("vMF", "arc", centre, 300)
    yield Setting("vMF", "box", "inside", 10_000, DEFAULT, "rounded to 0.5°")
    for region, centre, n in (
        ("small cap", "30° off", 100),
        ("small cap", "30° off", 1000),
        ("cap", "30° off", 100),
        ("cap", "30° off", 1000),
        ("hemisphere", "border", 300),
        ("United States", "30° off", 300),
        ("United States", "30° off", 3000),
    ):
        yield Setting("vMF", region, centre, n, DEFAULT, KNOWN)
    yield Setting("vMF", "small cap", "30° off", 1000)
