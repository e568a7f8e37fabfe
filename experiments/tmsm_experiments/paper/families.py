"""Other families on the same storms: how each describes the rows inside, and what it says about the rows outside.

Every family is fitted to the rows inside the border, with the rows that depend on each other in groups.  The cyclones
were recorded outside of the border, too, so their number there is known.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tmsm
from tmsm_experiments.cells import Rows, Store, run_cells
from tmsm_experiments.paper.catalogues import (
    EARTH_RADIUS_KM,
    EMBEDDED,
    RESOLUTIONS,
    Catalogue,
    Files,
    catalogue,
)
from tmsm_experiments.paper.methods import GEODESIC

VMF = tmsm.VonMisesFisher()
RINGS = ((0, 250), (250, 500), (500, 1000))
PAPER, LIKELIHOOD, MAP = f"von Mises–Fisher, {GEODESIC} (the paper)", "von Mises–Fisher, likelihood", "density map"
ONE_BACKGROUND, TWO = "von Mises–Fisher and background", "two von Mises–Fisher"
THREE, TWO_BACKGROUND = "three von Mises–Fisher", "two von Mises–Fisher and background"
# A background ends at the border: outside of it only the clusters are expected.
BACKGROUNDS = (ONE_BACKGROUND, TWO_BACKGROUND)
KENT, FISHER_BINGHAM, HEAVY = "Kent", "Fisher–Bingham", "heavy tails"
COUNTED = "counted"
_MODELS = {
    LIKELIHOOD: VMF,
    ONE_BACKGROUND: tmsm.Mixture(VMF, 1, background=True),
    TWO: tmsm.Mixture(VMF, 2),
    TWO_BACKGROUND: tmsm.Mixture(VMF, 2, background=True),
    THREE: tmsm.Mixture(VMF, 3),
    KENT: tmsm.Kent(),
    FISHER_BINGHAM: tmsm.FisherBingham(),
    HEAVY: tmsm.HeavyTailed(),
}
FAMILIES = (PAPER, *_MODELS, MAP)


def with_dagger(family: str) -> str:
    """The name of a family in tables and pictures; a dagger where only its clusters count outside."""
    return f"{family} †" if family in BACKGROUNDS else family


def estimator(family: str, border) -> Any:
    if family == PAPER:
        return tmsm.ScoreMatching(VMF, border, "geodesic")
    return tmsm.DensityMap(border) if family == MAP else tmsm.TruncatedMLE(_MODELS[family], border)


def ring_regions(border) -> list:
    """What lies outside of the border, by its distance."""
    return [border.surroundings(low / EARTH_RADIUS_KM, high / EARTH_RADIUS_KM) for low, high in RINGS]


def _log_density(fit, border, X: np.ndarray) -> np.ndarray:
    """Of a fit inside the border."""
    return fit.logpdf(X) if isinstance(fit, tmsm.DensityMap) else fit.model.logpdf(X, border, **fit.params_)


def held_out(family: str, border, seen: Catalogue) -> np.ndarray:
    """Log density of each row under the fit to the other parts of the rows."""
    found = np.empty(len(seen.X))
    for part in np.unique(seen.part):
        own = seen.part == part
        fit = estimator(family, border).fit(seen.X[~own], groups=seen.group[~own])
        found[own] = _log_density(fit, border, seen.X[own])
    return found


def densest_place(fit) -> tuple[float, float]:
    """Longitude and latitude where the fitted density is highest on the whole Earth; a background is left out."""
    params = dict(fit.params_)
    model = fit.model
    if params.pop("background_share", None) is not None:
        model = tmsm.Mixture(VMF, len(params["shares"]))
        params["shares"] = np.asarray(params["shares"]) / np.sum(params["shares"])
    place, reach = np.array([0.0, 0.0]), np.array([180.0, 90.0])
    for steps in (181, 41, 41):
        lon, lat = (place[k] + reach[k] * np.linspace(-1.0, 1.0, steps) for k in range(2))
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(lon, np.clip(lat, -90.0, 90.0))])
        place = grid[np.argmax(model.logpdf(tmsm.lonlat_to_xyz(*grid.T), **params))]
        reach = 2.0 * reach / (steps - 1)
    return float((place[0] + 180.0) % 360.0 - 180.0), float(place[1])


@dataclass(frozen=True)
class Cell:
    """One family on one catalogue."""

    catalogue: str
    family: str
    files: Files

    @property
    def name(self) -> str:
        number = FAMILIES.index(self.family)
        return f"families/{self.catalogue.replace(' ', '-')}-{number}-{self.files.digest}"

    def compute(self) -> Rows:
        border = tmsm.datasets.load_border("usa", RESOLUTIONS[0])
        seen = catalogue(self.catalogue, self.files.folder).inside(border)
        row: dict[str, object] = {
            "catalogue": self.catalogue,
            "family": self.family,
            "rows": len(seen.X),
            "groups": len(np.unique(seen.group)),
            "bic": np.nan,
            "stein_p": np.nan,
            "background_share": np.nan,
            "longitude": np.nan,
            "latitude": np.nan,
            **_ring_columns([(np.nan, np.nan, np.nan, np.nan)] * len(RINGS)),
            "held_out_by_group": "",
            "files": self.files.digest,
            "source": self.files.words,
        }
        with suppress(tmsm.errors.EstimationError):  # where a component shrinks to a few rows there is no fit
            row.update(_judged(self.family, border, seen))
        return [{k: f"{v:.7g}" if isinstance(v, float) else str(v) for k, v in row.items()}]


def _judged(family: str, border, seen: Catalogue) -> dict[str, object]:
    fit = estimator(family, border).fit(seen.X, groups=seen.group)
    found: dict[str, object] = {}
    if family != MAP:
        found["stein_p"] = float(tmsm.stein_test(fit, seen.X, groups=seen.group).p_value)
        found["longitude"], found["latitude"] = densest_place(fit)
        found["background_share"] = float(fit.params_.get("background_share", np.nan))
        beyond = [fit.extrapolate(ring) for ring in ring_regions(border)]
        found |= _ring_columns([(one.value, one.std_error, *one.confidence_interval()) for one in beyond])
        if family != PAPER:
            found["bic"] = float(fit.bic_)
    values = held_out(family, border, seen)
    _, index = np.unique(seen.group, return_inverse=True)
    found["held_out_by_group"] = " ".join(f"{value:.9g}" for value in np.bincount(index, values))
    return found


def _ring_columns(values) -> dict[str, float]:
    names = ("outside", "error", "low", "high")
    return {
        f"{name}_{low}_{high}": float(number)
        for (low, high), numbers in zip(RINGS, values, strict=True)
        for name, number in zip(names, numbers, strict=True)
    }


def counted(border) -> dict[str, float]:
    """Cyclone fixes in each ring for each fix inside, with the standard error over storms."""
    whole = catalogue(EMBEDDED[0], None)
    storms = int(whole.group.max()) + 1
    inside = np.bincount(whole.group, border.contains(whole.X), storms)
    found = []
    for ring in ring_regions(border):
        there = np.bincount(whole.group, ring.contains(whole.X), storms)
        ratio = there.sum() / inside.sum()
        apart = (there - ratio * inside) / inside.sum()
        error = float(np.sqrt(storms / (storms - 1.0) * np.sum(apart**2)))
        found.append((ratio, error, ratio - 1.96 * error, ratio + 1.96 * error))
    return _ring_columns(found)


def mean_and_error(by_group: np.ndarray, rows: int) -> tuple[float, float]:
    """Mean over the rows of what is given as sums over groups, and its standard error."""
    groups, mean = len(by_group), float(by_group.sum() / rows)
    return mean, float(np.sqrt(groups / (groups - 1.0) * np.sum((by_group - by_group.mean()) ** 2)) / rows)


def run(store: Store, jobs: int, data: Path | None) -> list[dict[str, object]]:
    """A row for each catalogue and family, and for the cyclones one of what was counted."""
    files = Files.of(data)
    cells = [Cell(name, family, files) for name in files.catalogues for family in FAMILIES]
    found = run_cells(cells, store, jobs, f"Families{files.title}")
    rows = []
    for name in files.catalogues:
        chosen = [found[cell.name][0] for cell in cells if cell.catalogue == name]
        rows += _compared(chosen)
    if data is None:
        border = tmsm.datasets.load_border("usa", RESOLUTIONS[0])
        rows.append(dict.fromkeys(rows[0], np.nan) | {"catalogue": EMBEDDED[0], "family": COUNTED} | counted(border))
    return rows


def _compared(rows: list[dict[str, str]]) -> list[dict[str, object]]:
    """Held-out log densities as differences from the best and from the paper's fit."""
    sums = {r["family"]: np.array(r["held_out_by_group"].split(), dtype=float) for r in rows if r["held_out_by_group"]}
    best = max(sums, key=lambda family: sums[family].sum())
    found = []
    for row in rows:
        new: dict[str, object] = {name: value for name, value in row.items() if name != "held_out_by_group"}
        own, n = sums.get(row["family"]), int(row["rows"])
        for name, other in (("below_best", best), ("above_paper", PAPER)):
            pair = (np.nan, np.nan) if own is None else mean_and_error(own - sums[other], n)
            new[name], new[f"{name}_error"] = pair
        found.append(new)
    return found
