"""The paper's real data: storms seen inside the United States only, and where their centre may be.

Cyclone fixes come with the package.  Storm Events and HURDAT2, the paper's own data, are read from the agency's
files in a folder.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tmsm
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.origins import density_levels

YEARS = range(2017, 2021)
RESOLUTIONS = ("50m", "110m")
SATURATING = "saturating weight"
EARTH_RADIUS_KM = 6371.0088
MODEL = tmsm.VonMisesFisher()
EMBEDDED, AGENCY = ("cyclones",), ("events", "fatal events")
_MEAN_ORIGIN = {"marker": "D", "ms": 8, "mfc": "white", "mec": drawing.PURPLE, "mew": 1.6, "ls": "none", "zorder": 6}
TITLES = {
    "cyclones": "Cyclone fixes inside the US, 1980–2024",
    "events": "Storm Events 2017–2020, all",
    "fatal events": "Storm Events 2017–2020, with fatalities",
}


def catalogue(name: str, data: str | None) -> tuple[np.ndarray, tmsm.datasets.StormFixes]:
    """Places of the storms, shape (n, 3), and the first fixes of the cyclones to compare with."""
    if name in EMBEDDED:
        fixes = tmsm.datasets.load_atlantic_storms()
        return fixes.X, fixes.origins()
    events = tmsm.datasets.read_storm_events(data)
    events = events[np.isin(events.year, YEARS)]
    origins = tmsm.datasets.read_hurdat2(data).origins()
    chosen = events if name == "events" else events[events.fatalities > 0]
    return chosen.X, origins[np.isin(origins.year, YEARS)]


def estimators(border) -> dict[str, object]:
    return {
        NAIVE: tmsm.NaiveMLE(MODEL),
        GEODESIC: tmsm.ScoreMatching(MODEL, border, "geodesic"),
        PROJECTED: tmsm.ScoreMatching(MODEL, border, "projected"),
        SATURATING: tmsm.ScoreMatching(MODEL, border, "saturating"),
        COMBINED: tmsm.ScoreMatching(MODEL, border, "combined"),
        DEFAULT: tmsm.ScoreMatching(MODEL, border),
        EXACT: tmsm.TruncatedMLE(MODEL, border),
    }


def kilometres(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Great-circle distance on the Earth, between single points or along the last axis."""
    return EARTH_RADIUS_KM * 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def mean_direction(X: np.ndarray) -> np.ndarray:
    mean = X.mean(axis=0)
    return mean / np.linalg.norm(mean)


@dataclass(frozen=True)
class Cell:
    """All methods on one catalogue inside one border; ``digest`` is that of the files it is read from."""

    catalogue: str
    resolution: str
    data: str | None
    digest: str
    source: str

    @property
    def name(self) -> str:
        return f"storms/{self.catalogue.replace(' ', '-')}-{self.resolution}-{self.digest}"

    def compute(self) -> list[dict[str, str]]:
        X, origins = catalogue(self.catalogue, self.data)
        border = tmsm.datasets.load_border("usa", self.resolution)
        inside = X[border.contains(X)]
        truth = mean_direction(X) if self.catalogue in EMBEDDED else None
        rows = []
        for method, estimator in estimators(border).items():
            fit = estimator.fit(inside)
            lon, lat = tmsm.xyz_to_lonlat(fit.params_.mean_direction)
            low, high = fit.confidence_interval().concentration
            row = {
                "catalogue": self.catalogue,
                "border": self.resolution,
                "rows": len(inside),
                "method": method,
                "longitude": float(lon),
                "latitude": float(lat),
                "standard_error_degrees": float(np.degrees(fit.std_errors_.mean_direction)),
                "concentration": fit.params_.concentration,
                "concentration_low": low,
                "concentration_high": high,
                "goodness_of_fit_p": fit.goodness_of_fit_.p_value if fit.goodness_of_fit_ else np.nan,
                "km_to_origins": float(np.mean(kilometres(fit.params_.mean_direction, origins.X))),
                "km_to_truth": np.nan if truth is None else float(kilometres(fit.params_.mean_direction, truth)),
                "km_inside": EARTH_RADIUS_KM * float(border.border_distance(fit.params_.mean_direction[None, :])[0][0]),
                "files": self.digest,
                "source": self.source,
            }
            rows.append({k: f"{v:.7g}" if isinstance(v, float) else str(v) for k, v in row.items()})
        return rows


def files_digest(data: Path | None) -> str:
    """What identifies the files; the embedded ones go with the version."""
    if data is None:
        return f"tmsm-{tmsm.__version__}"
    digest = hashlib.sha256()
    for path in sorted(path for path in data.iterdir() if path.name.endswith((".csv", ".csv.gz", ".txt", ".txt.gz"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def files_description(data: Path | None) -> str:
    """What was read, in words: how many events a year, and whether they come with their kinds."""
    if data is None:
        return "embedded"
    events = tmsm.datasets.read_storm_events(data)
    counts = [f"{int((events.year == year).sum()):,} in {year}" for year in YEARS]
    kinds = "" if any(events.kind) else "; an extract without the kinds of events, in which some events are missing"
    return f"events with a place, {', '.join(counts)}{kinds}"


def check(data: Path) -> None:
    """Read a folder's files once, so that bad ones are told of before the work begins."""
    for name in AGENCY:
        found, origins = catalogue(name, str(data))
        if not len(found) or not len(origins):
            years = f"{YEARS[0]} to {YEARS[-1]}"
            raise tmsm.errors.InvalidInputError(f"The files in {str(data)!r} hold no {name} or no storms of {years}.")


def run(store: Store, jobs: int, data: Path | None) -> list[dict[str, str]]:
    """One row for each catalogue, border and method: the embedded catalogue, or those of a folder."""
    names = EMBEDDED if data is None else AGENCY
    folder = None if data is None else str(data)
    digest, source = files_digest(data), files_description(data)
    cells = [Cell(name, resolution, folder, digest, source) for name in names for resolution in RESOLUTIONS]
    found = run_cells(cells, store, jobs, "Storms" if data is None else "Storms, agency's files")
    return [row for cell in cells for row in found[cell.name]]


def draw(names: tuple[str, ...], data: Path | None, folder: Path, name: str) -> None:
    """A map for each catalogue: what was seen, both estimates with their 95 % regions, where storms begin."""
    border = tmsm.datasets.load_border("usa")
    with drawing.Drawing(folder, name, 7.4, 4.6 + 3.7 * (len(names) - 1), len(names), 1) as picture:
        for ax, which in zip(picture.axes[:, 0], names, strict=True):
            _draw_catalogue(ax, border, which, data)
        picture.legend(columns=3)


def _draw_catalogue(ax, border, which: str, data: Path | None) -> None:
    X, origins = catalogue(which, None if data is None else str(data))
    inside = X[border.contains(X)]
    drawing.draw_map(ax, -127.0, -14.0, -10.0, 52.0)
    lon, lat, density, levels = density_levels(origins.X, (-105.0, -5.0), (2.0, 50.0))
    ax.contour(lon, lat, density, levels=levels, colors=drawing.PURPLE, linewidths=(0.8, 1.1, 1.5), zorder=2)
    ax.plot([], [], color=drawing.PURPLE, lw=1.2, label="storm origins: 90, 50, 25 % of the mass")
    size = 8.0 if len(inside) < 2000 else 0.25
    ax.scatter(
        *tmsm.xyz_to_lonlat(inside), s=size, color=drawing.GREEN, alpha=0.5 if size > 1 else 0.12, linewidths=0,
        rasterized=True, zorder=1,
    )  # fmt: skip
    ax.scatter([], [], s=12, color=drawing.GREEN, label="observed")
    border.plot(ax, color=drawing.BLACK, lw=0.8)
    for method in (NAIVE, GEODESIC, PROJECTED, EXACT):
        fit = estimators(border)[method].fit(inside)
        style = drawing.marker_style(method)
        rings = fit.confidence_region().rings if method != PROJECTED else []  # it would cover the other one
        for ring in rings:
            ax.fill(*tmsm.xyz_to_lonlat(ring), fc=style["color"], ec=style["color"], lw=1.2, alpha=0.25, zorder=3)
        size = 6 if method == PROJECTED else 9
        ax.plot(*tmsm.xyz_to_lonlat(fit.params_.mean_direction), label=method, zorder=5, **{**style, "ms": size})
    ax.fill([], [], fc=drawing.GREY, alpha=0.5, label="95 % region, in the colour of its method")
    ax.plot(*tmsm.xyz_to_lonlat(mean_direction(origins.X)), label="mean of the storm origins", **_MEAN_ORIGIN)
    if which in EMBEDDED:
        ax.plot(
            *tmsm.xyz_to_lonlat(mean_direction(X)),
            **{**drawing.TRUTH, "marker": "*", "ms": 12, "mfc": "white"},
            label="mean of all fixes",
        )
    ax.set_title(f"{TITLES[which]} ({len(inside):,} rows)")
