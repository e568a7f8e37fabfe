"""Data to try things on: some are embedded, some are read from the agencies' files, some are downloaded.

Examples
--------
>>> import tmsm
>>> storms, border = tmsm.datasets.load_atlantic_storms(), tmsm.datasets.load_border("usa")
>>> len(storms), len(storms[border.contains(storms.X)])
(20428, 1264)
"""

from tmsm.datasets.download import fetch_hurdat2, fetch_storm_events
from tmsm.datasets.embedded import load_atlantic_storms, load_border, load_globular_clusters, load_land
from tmsm.datasets.hurdat2 import read_hurdat2
from tmsm.datasets.storm_events import StormEvents, read_storm_events
from tmsm.datasets.tables import GlobularClusters, StormFixes

__all__ = [
    "GlobularClusters",
    "StormEvents",
    "StormFixes",
    "fetch_hurdat2",
    "fetch_storm_events",
    "load_atlantic_storms",
    "load_border",
    "load_globular_clusters",
    "load_land",
    "read_hurdat2",
    "read_storm_events",
]
