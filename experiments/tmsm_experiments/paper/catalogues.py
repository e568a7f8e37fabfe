"""The storms: which places, which of them depend on each other, and where storms begin.

Cyclone fixes come with the package.  Storm Events and HURDAT2, the paper's own data, are read from the agency's
files in a folder.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

import tmsm

YEARS = range(2017, 2021)
RESOLUTIONS = ("50m", "110m")
EARTH_RADIUS_KM = 6371.0088
EMBEDDED, AGENCY = ("cyclones",), ("events", "fatal events")
# Reports of one outbreak have numbers that follow one another; so many in a row are treated as dependent.
REPORTS_IN_A_ROW = 1000
PARTS = 5
# On the coast: no farther from it than this.
COAST_KM = 200.0
_COAST_LATITUDES = np.arange(25.25, 45.0, 0.25)
_COAST_LONGITUDES = np.arange(-65.0, -85.0, -0.05)
# A grid over the country, in degrees, for shares of its area.
_GRID_LONGITUDES, _GRID_LATITUDES = np.arange(-125.0, -66.0, 0.1), np.arange(24.0, 50.0, 0.1)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Places of storms.

    Attributes
    ----------
    X
        The places, shape (n, 3).
    group
        Rows of one group may depend on each other: fixes of one storm, or reports in a row.
    part
        Rows that are left out together when models are judged: some storms, or a year.
    origins
        The first fixes of cyclones.
    """

    X: np.ndarray
    group: np.ndarray
    part: np.ndarray
    origins: tmsm.datasets.StormFixes

    def inside(self, border) -> "Catalogue":
        seen = border.contains(self.X)
        return replace(self, X=self.X[seen], group=self.group[seen], part=self.part[seen])


def catalogue(name: str, data: str | None, in_a_row: int = REPORTS_IN_A_ROW) -> Catalogue:
    """The storms of a name, from the package or from the files in a folder; so many reports make a group."""
    if name in EMBEDDED:
        fixes = tmsm.datasets.load_atlantic_storms()
        names, group = np.unique(fixes.storm, return_inverse=True)
        part = np.random.default_rng(0).permutation(len(names))[group] % PARTS
        return Catalogue(fixes.X, group, part, fixes.origins())
    events = tmsm.datasets.read_storm_events(data)
    events = events[np.isin(events.year, YEARS)]
    group = np.arange(len(events)) // in_a_row
    origins = tmsm.datasets.read_hurdat2(data).origins()
    chosen = np.full(len(events), True) if name == "events" else events.fatalities > 0
    return Catalogue(events.X[chosen], group[chosen], events.year[chosen], origins[np.isin(origins.year, YEARS)])


def kilometres(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Great-circle distance on the Earth, between single points or along the last axis."""
    return EARTH_RADIUS_KM * 2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def mean_direction(X: np.ndarray) -> np.ndarray:
    mean = X.mean(axis=0)
    return mean / np.linalg.norm(mean)


@lru_cache(maxsize=2)
def east_coast(resolution: str) -> np.ndarray:
    """The easternmost place inside the border at each latitude from 25° to 45° N, shape (m, 3)."""
    border = tmsm.datasets.load_border("usa", resolution)
    lon, lat = np.meshgrid(_COAST_LONGITUDES, _COAST_LATITUDES)
    nodes = tmsm.lonlat_to_xyz(lon.ravel(), lat.ravel())
    inside = border.contains(nodes).reshape(lon.shape)
    found = inside.any(axis=1)
    return nodes.reshape(*lon.shape, 3)[found, inside[found].argmax(axis=1)]


def km_to_east_coast(X: np.ndarray, resolution: str) -> np.ndarray:
    """Distance of each row to the nearest place of the East Coast."""
    return kilometres(np.atleast_2d(X)[:, None, :], east_coast(resolution)).min(axis=1)


def share_by_the_coast(X: np.ndarray, resolution: str, size: np.ndarray | None = None) -> float:
    """The share of the rows, or of their sizes, within 200 km of the East Coast."""
    near = (X @ east_coast(resolution).T).max(axis=1) > np.cos(COAST_KM / EARTH_RADIUS_KM)
    return float(np.average(near, weights=size))


@lru_cache(maxsize=2)
def area_inside(resolution: str) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid inside the border, shape (m, 3), and areas in proportion to theirs, shape (m,)."""
    lon, lat = (axis.ravel() for axis in np.meshgrid(_GRID_LONGITUDES, _GRID_LATITUDES))
    nodes = tmsm.lonlat_to_xyz(lon, lat)
    inside = tmsm.datasets.load_border("usa", resolution).contains(nodes)
    return nodes[inside], np.cos(np.radians(lat[inside]))


def vertices_in_file(resolution: str) -> int:
    """Vertices of the border as Natural Earth gives it, before long edges are split."""
    text = gzip.decompress((files("tmsm.datasets") / "data" / f"usa_{resolution}.geojson.gz").read_bytes())
    content = json.loads(text)
    geometry = content["features"][0]["geometry"] if "features" in content else content.get("geometry", content)
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return sum(len(ring) - 1 for polygon in polygons for ring in polygon)


@dataclass(frozen=True)
class Files:
    """Where catalogues are read from: a folder, or None for the package; a digest, and what is in them in words."""

    folder: str | None
    digest: str
    words: str

    @classmethod
    def of(cls, data: Path | None) -> "Files":
        if data is None:
            return cls(None, f"tmsm-{tmsm.__version__}", "embedded")
        return cls(str(data), _digest(data), _in_words(data))

    @property
    def catalogues(self) -> tuple[str, ...]:
        return EMBEDDED if self.folder is None else AGENCY

    @property
    def title(self) -> str:
        return "" if self.folder is None else ", agency's files"


def _digest(data: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in data.iterdir() if path.name.endswith((".csv", ".csv.gz", ".txt", ".txt.gz"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _in_words(data: Path) -> str:
    """How many events a year, and whether they come with their kinds."""
    events = tmsm.datasets.read_storm_events(data)
    counts = [f"{int((events.year == year).sum()):,} in {year}" for year in YEARS]
    kinds = "" if any(events.kind) else "; an extract without the kinds of events"
    return f"events with a place, {', '.join(counts)}{kinds}"


def check(data: Path) -> None:
    """Read a folder's files once, so that bad ones are told of before the work begins."""
    for name in AGENCY:
        found = catalogue(name, str(data))
        if not len(found.X) or not len(found.origins):
            years = f"{YEARS[0]} to {YEARS[-1]}"
            raise tmsm.errors.InvalidInputError(f"The files in {str(data)!r} hold no {name} or no storms of {years}.")
