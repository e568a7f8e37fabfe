"""How the paper's estimate for its storms changes: in a plane, with the reference code's distance, by the groups.

TMSM with the geodesic distance is compared with TruncSM, its predecessor, in two planes: one of equal areas, in which
the country is hardly distorted, and the plane of longitude and latitude.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tmsm
from tmsm_experiments.cells import Rows, Store, run_cells
from tmsm_experiments.paper.catalogues import (
    AGENCY,
    EARTH_RADIUS_KM,
    REPORTS_IN_A_ROW,
    RESOLUTIONS,
    Files,
    area_inside,
    catalogue,
    east_coast,
    kilometres,
    mean_direction,
)
from tmsm_experiments.paper.errata import linear_fit, printed_haversine, tangent_projectors
from tmsm_experiments.paper.methods import GEODESIC

EQUAL_AREA, DEGREES, CODE = "TruncSM, equal-area plane", "TruncSM, longitude and latitude", "distance of the code"
# So many reports in a row are treated as one group.
GROUP_SIZES = (300, REPORTS_IN_A_ROW, 3000)
_CHUNK = 4096


@dataclass(frozen=True)
class EqualArea:
    """Lambert's azimuthal equal-area plane, in radians from a centre."""

    centre: np.ndarray

    @property
    def _axes(self) -> np.ndarray:
        east = np.cross([0.0, 0.0, 1.0], self.centre)
        east /= np.linalg.norm(east)
        return np.array([east, np.cross(self.centre, east)])

    def flat(self, X: np.ndarray) -> np.ndarray:
        return np.sqrt(2.0 / (1.0 + X @ self.centre))[:, None] * (X @ self._axes.T)

    def back(self, point: np.ndarray) -> np.ndarray:
        square = float(point @ point)
        return (1.0 - 0.5 * square) * self.centre + np.sqrt(1.0 - 0.25 * square) * (point @ self._axes)


@dataclass(frozen=True)
class Degrees:
    """Longitude and latitude as if they were lengths."""

    def flat(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack(tmsm.xyz_to_lonlat(X))

    def back(self, point: np.ndarray) -> np.ndarray:
        return tmsm.lonlat_to_xyz(*point)


def truncsm(X: np.ndarray, border, plane: EqualArea | Degrees) -> np.ndarray:
    """The mean of an isotropic normal density in a plane, as a point of the sphere."""
    outline = tmsm.Polygon(plane.flat(border.rings[0]))
    model = tmsm.MultivariateNormal(isotropic=True)
    rows = plane.flat(X)
    rows = rows[outline.contains(rows)]  # sides are straight here and arcs on the sphere: a few rows change sides
    fit = tmsm.ScoreMatching(model, outline, "geodesic", standard_errors=False).fit(rows)
    return plane.back(fit.params_.mean)


def nearest_vertices(X: np.ndarray, border) -> np.ndarray:
    """The border's vertex that is nearest to each row."""
    vertices = np.vstack(border.rings)
    chunks = np.array_split(X, max(1, len(X) // _CHUNK))
    return vertices[np.concatenate([(rows @ vertices.T).argmax(axis=1) for rows in chunks])]


def as_coded(X: np.ndarray, border) -> np.ndarray:
    """The mean direction with the true distance to the nearest vertex and the printed haversine's gradient."""
    nearest = nearest_vertices(X, border)
    distance = 2.0 * np.arcsin(0.5 * np.linalg.norm(X - nearest, axis=1))
    vector = linear_fit(tangent_projectors(X), -2.0 * X, distance, printed_haversine(X, nearest)[1])
    return vector / np.linalg.norm(vector)


def _methods(border) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    nodes, area = area_inside(RESOLUTIONS[0])
    middle = EqualArea(mean_direction(nodes * area[:, None]))
    return {
        EQUAL_AREA: lambda X: truncsm(X, border, middle),
        DEGREES: lambda X: truncsm(X, border, Degrees()),
        CODE: lambda X: as_coded(X, border),
    }


@dataclass(frozen=True)
class Cell:
    """The other estimates of one catalogue's centre, and TMSM's error for each size of the groups."""

    catalogue: str
    files: Files

    @property
    def name(self) -> str:
        return f"variants/{self.catalogue.replace(' ', '-')}-{self.files.digest}"

    def compute(self) -> Rows:
        border = tmsm.datasets.load_border("usa", RESOLUTIONS[0])
        fits, rows = {}, []
        for size in GROUP_SIZES:
            seen = catalogue(self.catalogue, self.files.folder, size).inside(border)
            fit = tmsm.ScoreMatching(tmsm.VonMisesFisher(), border, "geodesic").fit(seen.X, groups=seen.group)
            fits[size] = fit
            reaches = bool(np.any(fit.confidence_region().contains(east_coast(RESOLUTIONS[0]))))
            rows.append(self._row(GEODESIC, fit.params_.mean_direction, fit, size, reaches))
        for name, centre in _methods(border).items():
            rows.append(self._row(name, centre(seen.X), fits[REPORTS_IN_A_ROW], REPORTS_IN_A_ROW, None))
        return [{k: f"{v:.7g}" if isinstance(v, float) else str(v) for k, v in row.items()} for row in rows]

    def _row(self, variant: str, centre: np.ndarray, fit, reports: int, reaches: bool | None) -> dict[str, object]:
        """A centre beside TMSM's and its standard error, for groups of so many reports."""
        lon, lat = tmsm.xyz_to_lonlat(centre)
        error = float(fit.std_errors_.mean_direction)
        return {
            "catalogue": self.catalogue,
            "variant": variant,
            "reports": reports,
            "longitude": float(lon),
            "latitude": float(lat),
            "km_from_tmsm": float(kilometres(centre, fit.params_.mean_direction)),
            "tmsm_error_degrees": float(np.degrees(error)),
            "tmsm_error_km": EARTH_RADIUS_KM * error,
            "reaches_coast": "" if reaches is None else reaches,
            "files": self.files.digest,
        }


def run(store: Store, jobs: int, data: Path) -> Rows:
    """Rows of both catalogues of the paper."""
    cells = [Cell(name, Files.of(data)) for name in AGENCY]
    found = run_cells(cells, store, jobs, "Variants, agency's files")
    return [row for cell in cells for row in found[cell.name]]
