"""Data that come with the package; whose they are stands in data/README.md."""

from __future__ import annotations

import csv
import gzip
import io
import json
from importlib.resources import files
from typing import Any

import numpy as np

from tmsm.datasets.tables import GlobularClusters, StormFixes
from tmsm.foundation.validation import check_option
from tmsm.regions import SphericalPolygon

__all__ = ["load_atlantic_storms", "load_border", "load_globular_clusters", "load_land"]

_RESOLUTIONS = ("110m", "50m")
_BORDERS = ("usa",)
_FOLDER = files("tmsm.datasets") / "data"


def load_atlantic_storms() -> StormFixes:
    """Six-hourly positions of North Atlantic tropical cyclones, 1980 to 2024 (IBTrACS).

    Examples
    --------
    >>> import tmsm
    >>> storms = tmsm.datasets.load_atlantic_storms()
    >>> storms
    StormFixes(<20,428 rows: longitude, latitude, storm, time>)
    >>> len(storms.origins())
    730
    """
    rows = list(csv.reader(io.StringIO(_text("atlantic_storms.csv.gz"))))[1:]
    storm, time, longitude, latitude = zip(*rows, strict=True)
    return StormFixes(
        longitude=np.array(longitude, dtype=np.float64),
        latitude=np.array(latitude, dtype=np.float64),
        storm=np.array(storm),
        time=np.array(time, dtype="datetime64[s]"),
    )


def load_globular_clusters() -> GlobularClusters:
    """Positions of 150 globular clusters of the Milky Way, right ascension and declination in degrees (Harris 1996).

    Examples
    --------
    >>> import tmsm
    >>> clusters = tmsm.datasets.load_globular_clusters()
    >>> clusters
    GlobularClusters(<150 rows: longitude, latitude, name>)
    >>> int((clusters.declination > -20.0).sum())  # seen from an observatory in the north
    48
    """
    rows = list(csv.reader(io.StringIO((_FOLDER / "globular_clusters.csv").read_text(encoding="utf-8"))))[1:]
    name, longitude, latitude = zip(*rows, strict=True)
    return GlobularClusters(
        longitude=np.array(longitude, dtype=np.float64),
        latitude=np.array(latitude, dtype=np.float64),
        name=np.array(name),
    )


def load_border(name: str, resolution: str = "50m") -> SphericalPolygon:
    """The border of a country as a region (Natural Earth).

    Parameters
    ----------
    name
        "usa": the contiguous United States without islands.
    resolution
        "50m" (1 : 50 million, 1,987 vertices) or "110m" (1 : 110 million, 318 vertices).

    Examples
    --------
    >>> import tmsm
    >>> tmsm.datasets.load_border("usa").contains(tmsm.lonlat_to_xyz([-97.0, -75.0], [39.0, 31.0]))
    array([ True, False])
    """
    check_option(name, _BORDERS, "name")
    return SphericalPolygon.from_geojson(_outline(name, resolution))


def load_land(resolution: str = "110m") -> SphericalPolygon:
    """All land as a region (Natural Earth), for maps and masks.

    Parameters
    ----------
    resolution
        "110m" or "50m".

    Examples
    --------
    >>> import tmsm
    >>> bool(tmsm.datasets.load_land().contains(tmsm.lonlat_to_xyz([10.0], [50.0]))[0])
    True
    """
    return SphericalPolygon.from_geojson(_outline("land", resolution))


def _outline(name: str, resolution: str) -> Any:
    check_option(resolution, _RESOLUTIONS, "resolution")
    return json.loads(_text(f"{name}_{resolution}.geojson.gz"))


def _text(file: str) -> str:
    return gzip.decompress((_FOLDER / file).read_bytes()).decode()
