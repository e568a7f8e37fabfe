"""Points at many longitudes and latitudes, by a compiled loop."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import compiled
from tmsm.foundation.threads import in_threads
from tmsm.numerics.elementary import sincos_of_degrees

__all__ = ["place_row", "points_of_degrees"]

# Fewer rows than this are converted before another thread has started.
_ROWS_PER_THREAD = 500_000


def points_of_degrees(lon: FloatArray, lat: FloatArray) -> FloatArray | None:
    """Unit vectors, shape (n, 3), for degrees (n,); None where some are not finite, or beyond ±360 or ±90."""
    lon, lat = np.ascontiguousarray(lon), np.ascontiguousarray(lat)
    points = np.empty((len(lon), 3))
    wrong: list[int] = []

    def part(piece: slice) -> None:
        wrong.append(_convert(lon[piece], lat[piece], points[piece].reshape(-1)))

    in_threads(part, len(lon), _ROWS_PER_THREAD)
    return None if any(wrong) else points


@compiled(inline="always")
def place_row(lon, lat):  # type: ignore[no-untyped-def]
    """The point at a longitude and a latitude in degrees."""
    sin_lon, cos_lon = sincos_of_degrees(lon)
    sin_lat, cos_lat = sincos_of_degrees(lat)
    return cos_lat * cos_lon, cos_lat * sin_lon, sin_lat


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def _convert(lon, lat, flat):  # type: ignore[no-untyped-def]
    """Put the points into an array (3 n,); how many places are no places."""
    wrong = 0
    for i in range(len(lon)):
        a, b = lon[i], lat[i]
        wrong += not ((abs(a) <= 360.0) & (abs(b) <= 90.0))
        flat[3 * i], flat[3 * i + 1], flat[3 * i + 2] = place_row(a, b)
    return wrong
