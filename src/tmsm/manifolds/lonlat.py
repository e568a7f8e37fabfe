"""Longitude and latitude in degrees, without checks: for points that are known to be unit vectors."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["EARTH_RADIUS_KM", "lonlat_of", "point_at", "sincos_degrees"]

EARTH_RADIUS_KM = 6371.0088


def point_at(lon: FloatArray | float, lat: FloatArray | float) -> FloatArray:
    """Unit vectors at places that broadcast against each other, shape (…, 3)."""
    lon, lat = np.broadcast_arrays(np.asarray(lon, dtype=np.float64), np.asarray(lat, dtype=np.float64))
    sin_lon, cos_lon = sincos_degrees(lon)
    sin_lat, cos_lat = sincos_degrees(lat)
    return np.stack([cos_lat * cos_lon, cos_lat * sin_lon, sin_lat], axis=-1)


def lonlat_of(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Longitude in (−180, 180], 0 at a pole, and latitude of unit vectors, shape (…, 3)."""
    x, y, z = X[..., 0], X[..., 1], X[..., 2]
    at_pole = (x == 0.0) & (y == 0.0)
    lon = np.where(at_pole, 0.0, np.degrees(np.arctan2(y, x)))
    lat = np.degrees(np.arctan2(z, np.hypot(x, y)))
    return np.where(lon <= -180.0, lon + 360.0, lon)[()], lat


def sincos_degrees(angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sine and cosine of degrees, exact at every multiple of 90."""
    quarter = np.rint(angle / 90.0)
    rest = np.radians(angle - 90.0 * quarter)  # |rest| <= 45 degrees, the subtraction is exact
    s, c = np.sin(rest), np.cos(rest)
    turn = np.nan_to_num(quarter).astype(np.int64) % 4
    sine = np.choose(turn, [s, c, -s, -c])
    cosine = np.choose(turn, [c, -s, -c, s])
    return sine + 0.0, cosine + 0.0
