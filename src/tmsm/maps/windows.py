"""Rectangles of longitude and latitude, or of the plane, round a region."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import PLAIN, Frame
from tmsm.manifolds.lonlat import lonlat_of
from tmsm.maps.nodes import even_plan
from tmsm.regions import Region

__all__ = ["flat_window", "lonlat_extent", "lonlat_window"]

# Beyond the outermost nodes of a region, as a share of its size.
_ROOM = 0.02
# A gap in longitude that is wider than this is where a window ends.
_GAP = 20.0
# Points that stand for a region.
_POINTS = 200


def lonlat_extent(region: Region, frame: Frame = PLAIN) -> tuple[float, float, float, float]:
    """West, east, south and north of a region in degrees; east may be beyond 180 (on the sky 360) where it crosses it.

    All the way round where the region leaves no wide gap in longitude, or holds a pole.
    """
    X = even_plan(region, _POINTS).nodes().X
    curves = region.border_curves if region.has_border else None
    if curves:
        X = np.vstack([X, *curves])
    lon, lat = lonlat_of(np.ascontiguousarray(X))
    room = _ROOM * max(float(np.ptp(lat)), 1e-3)
    south, north = max(float(lat.min()) - room, -90.0), min(float(lat.max()) + room, 90.0)
    poles = [pole for pole in (-1.0, 1.0) if region.contains(np.array([[0.0, 0.0, pole]]))[0]]
    if -1.0 in poles:
        south = -90.0
    if 1.0 in poles:
        north = 90.0
    ordered = np.sort(lon)
    gaps = np.diff(np.append(ordered, ordered[0] + 360.0))
    widest = int(np.argmax(gaps))
    if poles or gaps[widest] < _GAP:
        first = 0.0 if frame.is_sky else -180.0
        return first, first + 360.0, south, north
    west = float(ordered[(widest + 1) % len(ordered)])
    east = west + 360.0 - float(gaps[widest])
    room = _ROOM * max(east - west, 1e-3)
    return west - room, east + room, south, north


def lonlat_window(region: Region, n: int) -> tuple[FloatArray, FloatArray]:
    """Longitudes and latitudes in degrees of a grid with n points along its longer side; those of `lonlat_extent`."""
    west, east, south, north = lonlat_extent(region)
    long = max(east - west, north - south)
    counts = [max(int(np.ceil(n * side / long)), 16) + 1 for side in (east - west, north - south)]
    return np.linspace(west, east, counts[0]), np.linspace(south, north, counts[1])


def flat_window(region: Region, n: int) -> tuple[FloatArray, FloatArray]:
    """X and y of a grid with n points along the longer side of a box round a region of the plane."""
    low, high = region.bounds
    if not np.isfinite([low, high]).all():
        X = even_plan(region, _POINTS).nodes().X
        low, high = X.min(axis=0), X.max(axis=0)
    if not (high > low).all():
        raise InvalidInputError(f"{region!r} has no area.")
    room = _ROOM * (high - low)
    low, high = low - room, high + room
    counts = np.maximum(np.ceil(n * (high - low) / (high - low).max()).astype(int), 16) + 1
    return np.linspace(low[0], high[0], counts[0]), np.linspace(low[1], high[1], counts[1])
