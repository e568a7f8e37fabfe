"""Rings of great-circle arcs on S² as polygons in the plane of longitude and latitude, cut at the antimeridian.

They are what GeoJSON can hold: within ±180 and ±90 degrees, a region round a pole reaching up to the edge at that pole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.manifolds.lonlat import lonlat_of, point_at

__all__ = ["cut_at_antimeridian", "flat_polygons"]

# Arcs are cut into pieces of at most so many degrees of length, and of longitude where they pass close to a pole.
_LENGTH, _TURN = 1.0, 2.0
_MAX_HALVINGS = 24
# Nearer to a pole than this a point has no longitude.
_AT_POLE = 1e-12
# Vertices within so many degrees (1 m on the Earth) of the line between others are left out; of a ring that is smaller
# than a hundredth of a degree, within such a share of it.
_STRAIGHT, _STRAIGHT_SHARE = 1e-5, 1e-3
# No edge of the result is longer than so many degrees.
_LONGEST = 10.0
# Slivers below such a share of the smallest ring come from rounding.
_SLIVER = 1e-9


def flat_polygons(rings: Sequence[FloatArray], contains: Callable[[FloatArray], BoolArray]) -> list[Any]:
    """Polygons in degrees, as coordinates of a MultiPolygon: outer rings anticlockwise, holes clockwise, all closed.

    Parameters
    ----------
    rings
        Unit vectors, (m, 3) each, not closed: the whole border of the region, no two of them crossing.
    contains
        Whether points (n, 3) belong to the region, asked for a point off the border.

    Returns
    -------
    Nested lists: polygons, rings, [longitude, latitude].
    """
    import shapely
    from shapely.geometry.polygon import orient

    window = shapely.box(-180.0, -90.0, 180.0, 90.0)
    # Each ring has two sides; a point is in the region, or in the rest, if it is on this side of an odd number of them.
    found = _odd_cover([_one_side(ring) for ring in rings])
    if shapely.is_empty(found):
        return []
    largest = max(_polygons(found), key=lambda one: one.area)
    inside = largest.representative_point()
    if not contains(point_at(np.array([inside.x]), np.array([inside.y])))[0]:
        found = shapely.difference(window, found)
    # Of points on a line, as along a parallel, a few are enough; programs that draw great circles want some.
    smallest = float(np.degrees(min(np.ptp(ring, axis=0).max() for ring in rings)))
    found = shapely.segmentize(shapely.simplify(found, min(_STRAIGHT, _STRAIGHT_SHARE * smallest)), _LONGEST)
    turned = [orient(one, 1.0) for one in _polygons(found) if one.area > _SLIVER * smallest**2]
    return [[np.asarray(ring.coords).tolist() for ring in (one.exterior, *one.interiors)] for one in turned]


def _odd_cover(shapes: list[Any]) -> Any:
    """What an odd number of shapes cover; in pairs, since most of them are small."""
    import shapely

    while len(shapes) > 1:
        pairs = shapely.symmetric_difference(shapes[: len(shapes) // 2 * 2 : 2], shapes[1::2])
        shapes = [*pairs, *shapes[len(shapes) // 2 * 2 :]]
    return shapes[0] if shapes else shapely.Polygon()


def _polygons(shape: Any) -> list[Any]:
    import shapely

    return [part for part in shapely.get_parts([shape]) if part.geom_type == "Polygon"]


def _one_side(ring: FloatArray) -> Any:
    """One of the two sides of a ring, within ±180 degrees."""
    import shapely

    lon, lat = _unrolled(_in_pieces(np.vstack([ring, ring[:1]])))
    turn = lon[-1] - lon[0]
    if abs(turn) > 180.0:  # round a pole: three times round, and up to the nearer pole
        pole = 90.0 if lat.mean() >= 0.0 else -90.0
        by = 360.0 * np.sign(turn)
        lon, lat = np.concatenate([lon[:-1] - by, lon[:-1], lon + by]), np.concatenate([lat[:-1], lat[:-1], lat])
        lon, lat = np.append(lon, [lon[-1], lon[0]]), np.append(lat, [pole, pole])
        first, last = 0, 1
    else:
        first, last = int(np.floor((lon.min() + 180.0) / 360.0)), int(np.ceil((lon.max() + 180.0) / 360.0))
    shape = shapely.make_valid(shapely.Polygon(np.column_stack([lon, lat])))
    return _odd_cover(_turns(shape, first, last))


def cut_at_antimeridian(shape: Any) -> Any:
    """A shape whose longitudes go beyond ±180 degrees as one within them."""
    import shapely

    west, _, east, _ = shapely.bounds(shape)
    if not (west < -180.0 or east > 180.0):
        return shape
    first, last = int(np.floor((west + 180.0) / 360.0)), int(np.ceil((east + 180.0) / 360.0))
    return shapely.union_all(_turns(shape, first, last))


def _turns(shape: Any, first: int, last: int) -> list[Any]:
    """The parts of a shape on each turn round the sphere, all within ±180 degrees."""
    import shapely

    pieces = []
    for middle in 360.0 * np.arange(first, last):
        piece = shapely.intersection(shape, shapely.box(middle - 180.0, -90.0, middle + 180.0, 90.0))
        pieces += [shapely.transform(one, lambda xy, by=middle: xy - [by, 0.0]) for one in _polygons(piece)]
    return pieces


def _unrolled(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Longitudes that do not jump and latitudes along a closed chain; a pole is entered and left along meridians."""
    lon, lat = lonlat_of(X)
    at_pole = np.hypot(X[:, 0], X[:, 1]) < _AT_POLE
    if at_pole.any() and not at_pole.all():
        # The chain begins off the poles; then every pole stands twice, with the longitudes before and after it.
        start = int(np.argmin(at_pole))
        order = np.append((start + np.arange(len(X) - 1)) % (len(X) - 1), start)
        lon, lat, at_pole = lon[order], lat[order], at_pole[order]
        off = np.flatnonzero(~at_pole)
        places = np.flatnonzero(at_pole)
        before, after = off[np.searchsorted(off, places) - 1], off[np.searchsorted(off, places)]
        lat[places] = np.where(lat[places] > 0.0, 90.0, -90.0)
        lon[places] = lon[before]
        lon, lat = np.insert(lon, places + 1, lon[after]), np.insert(lat, places + 1, lat[places])
    return np.unwrap(lon, period=360.0), lat


def _in_pieces(X: FloatArray) -> FloatArray:
    """A chain of arcs with points in between, so that straight lines in longitude and latitude stay close to it."""
    for _ in range(_MAX_HALVINGS):
        a, b = X[:-1], X[1:]
        length = np.degrees(np.arccos(np.clip((a * b).sum(axis=1), -1.0, 1.0)))
        lon = lonlat_of(X)[0]
        turn = np.abs(np.remainder(np.diff(lon) + 180.0, 360.0) - 180.0)
        at_pole = np.hypot(X[:, 0], X[:, 1]) < 1e-9
        long = (length > _LENGTH) | ((turn > _TURN) & ~at_pole[:-1] & ~at_pole[1:] & (length > 1e-7))
        if not long.any():
            break
        middle = a[long] + b[long]
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        X = np.insert(X, np.flatnonzero(long) + 1, middle, axis=0)
    return X
