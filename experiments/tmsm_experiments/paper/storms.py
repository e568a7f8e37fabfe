"""The paper's real data: storms seen inside the United States only, and where their centre may be."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tmsm
from tmsm_experiments.cells import Store, run_cells
from tmsm_experiments.paper import drawing
from tmsm_experiments.paper.catalogues import (
    EARTH_RADIUS_KM,
    EMBEDDED,
    RESOLUTIONS,
    Files,
    area_inside,
    catalogue,
    east_coast,
    kilometres,
    km_to_east_coast,
    mean_direction,
    share_by_the_coast,
)
from tmsm_experiments.paper.methods import COMBINED, DEFAULT, EXACT, GEODESIC, NAIVE, PROJECTED
from tmsm_experiments.paper.origins import density_levels

SATURATING = "saturating weight"
MODEL = tmsm.VonMisesFisher()
_MEAN_ORIGIN = {"marker": "D", "ms": 8, "mfc": "white", "mec": drawing.PURPLE, "mew": 1.6, "ls": "none", "zorder": 6}
TITLES = {
    "cyclones": "Cyclone fixes inside the US, 1980–2024",
    "events": "Storm Events 2017–2020, all",
    "fatal events": "Storm Events 2017–2020, with fatalities",
}


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


@dataclass(frozen=True)
class Cell:
    """All methods on one catalogue inside one border."""

    catalogue: str
    resolution: str
    files: Files

    @property
    def name(self) -> str:
        return f"storms/{self.catalogue.replace(' ', '-')}-{self.resolution}-{self.files.digest}"

    def compute(self) -> list[dict[str, str]]:
        border = tmsm.datasets.load_border("usa", self.resolution)
        whole = catalogue(self.catalogue, self.files.folder)
        seen, origins = whole.inside(border), whole.origins.X
        truth = mean_direction(whole.X) if self.catalogue in EMBEDDED else None
        naive, rows = mean_direction(seen.X), []
        rows_by_the_coast = share_by_the_coast(seen.X, self.resolution)
        nodes, area = area_inside(self.resolution)
        area_by_the_coast = share_by_the_coast(nodes, self.resolution, area)
        for method, estimator in estimators(border).items():
            independent = np.degrees(estimator.fit(seen.X).std_errors_.mean_direction)
            fit = estimator.fit(seen.X, groups=seen.group)
            centre = fit.params_.mean_direction
            lon, lat = tmsm.xyz_to_lonlat(centre)
            low, high = fit.confidence_interval().concentration
            region = fit.confidence_region()
            covers_truth = np.nan if truth is None else bool(region.contains(truth[None, :])[0])
            # The test is of the family, and says nothing about an estimate that ignores the border.
            stein = np.nan if method == NAIVE else tmsm.stein_test(fit, seen.X, groups=seen.group).p_value
            row = {
                "catalogue": self.catalogue,
                "border": self.resolution,
                "rows": len(seen.X),
                "groups": len(np.unique(seen.group)),
                "method": method,
                "longitude": float(lon),
                "latitude": float(lat),
                "standard_error_degrees": float(np.degrees(fit.std_errors_.mean_direction)),
                "independent_error_degrees": float(independent),
                "concentration": fit.params_.concentration,
                "concentration_low": low,
                "concentration_high": high,
                "stein_p": float(stein),
                "km_to_mean_of_rows": float(kilometres(centre, naive)),
                "km_to_origins": float(np.mean(kilometres(centre, origins))),
                "km_to_truth": np.nan if truth is None else float(kilometres(centre, truth)),
                "km_inside": EARTH_RADIUS_KM * float(border.border_distance(centre[None, :])[0][0]),
                "covers_mle": bool(region.contains(naive[None, :])[0]),
                "covers_truth": covers_truth,
                "reaches_coast": bool(np.any(region.contains(east_coast(self.resolution)))),
                "km_to_east_coast": float(km_to_east_coast(centre, self.resolution)[0]),
                "rows_by_the_coast": rows_by_the_coast,
                "area_by_the_coast": area_by_the_coast,
                "origins_by_the_coast": share_by_the_coast(origins, self.resolution),
                "km_of_origins_to_the_coast": float(np.median(km_to_east_coast(origins, self.resolution))),
                "files": self.files.digest,
                "source": self.files.words,
            }
            rows.append({k: f"{v:.7g}" if isinstance(v, float) else str(v) for k, v in row.items()})
        return rows


def run(store: Store, jobs: int, data: Path | None) -> list[dict[str, str]]:
    """One row for each catalogue, border and method: the embedded catalogue, or those of a folder."""
    files = Files.of(data)
    cells = [Cell(name, resolution, files) for name in files.catalogues for resolution in RESOLUTIONS]
    found = run_cells(cells, store, jobs, f"Storms{files.title}")
    return [row for cell in cells for row in found[cell.name]]


def draw(names: tuple[str, ...], data: Path | None, folder: Path, name: str) -> None:
    """A map for each catalogue: what was seen, both estimates with their 95 % regions, where storms begin."""
    border = tmsm.datasets.load_border("usa")
    with drawing.Drawing(folder, name, 7.4, 4.6 + 3.7 * (len(names) - 1), len(names), 1) as picture:
        for ax, which in zip(picture.axes[:, 0], names, strict=True):
            _draw_catalogue(ax, border, which, data)
        picture.legend(columns=3)


def _draw_catalogue(ax, border, which: str, data: Path | None) -> None:
    whole = catalogue(which, None if data is None else str(data))
    seen, origins = whole.inside(border), whole.origins
    inside = seen.X
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
        fit = estimators(border)[method].fit(inside, groups=seen.group)
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
            *tmsm.xyz_to_lonlat(mean_direction(whole.X)),
            **{**drawing.TRUTH, "marker": "*", "ms": 12, "mfc": "white"},
            label="mean of all fixes",
        )
    ax.set_title(f"{TITLES[which]} ({len(inside):,} rows)")
