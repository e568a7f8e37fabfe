"""Longitudes along a ring: made continuous where they jump, and refused where two readings are possible."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError

__all__ = ["continuous", "point_of_large_polygons", "turns"]

# A jump to a neighbour across the antimeridian: no file has a wider gap between vertices there.
_NEAR = 30.0


def continuous(ring: FloatArray, name: str, *, straight: bool) -> FloatArray:
    """The ring (m, 2), not closed, with longitudes that change by less than a half turn from vertex to vertex.

    A step of more than half a turn can mean two things: the long way, as GeoJSON says (an edge is straight in longitude
    and latitude), or the short way across the antimeridian, as many files have it.  Where only one of them gives a ring
    that does not cross itself, that one is meant.  Where both do, a jump between neighbours goes the short way, and a
    wider one is an error.  Great circles (not ``straight``) go the short way.
    """
    steps = np.diff(ring[:, 0], append=ring[0, 0])
    # A step along a pole, by which some files close their rings, is none.
    at_pole = (np.abs(ring[:, 1]) == 90.0) & (np.abs(np.roll(ring[:, 1], -1)) == 90.0)
    wide = (np.abs(steps) > 180.0) & ~at_pole
    if not wide.any():
        return ring
    short = np.where(wide, steps - 360.0 * np.round(steps / 360.0), steps)
    moved = ring.copy()
    moved[:, 0] = ring[0, 0] + np.concatenate([[0.0], np.cumsum(short[:-1])])
    jump = np.abs(short[wide])
    to_neighbours = bool(((jump > 1e-9) & (jump <= _NEAR)).all())  # a whole turn may be an edge along a parallel
    if not straight or to_neighbours or not _is_simple(ring):
        return moved
    if (turns(moved) or _is_simple(moved)) and jump.max() > _NEAR:
        vertex = int(np.argmax(np.where(wide, np.abs(short), 0.0)))
        a, b = ring[vertex, 0], ring[(vertex + 1) % len(ring), 0]
        raise InvalidInputError(
            f"{name} has an edge of {abs(steps[vertex]):.6g}° of longitude, from vertex {vertex} at {a:.6g} to "
            f"{b:.6g}, and it can be read in two ways. For the {abs(steps[vertex]):.6g}° between them put vertices in "
            f"between, such as {0.5 * (a + b):.6g}. For the {abs(short[vertex]):.6g}° across the antimeridian write "
            f"{a + short[vertex]:.6g} for {b:.6g}, and go on from there."
        )
    # As written, and begun so that the closing edge is not wide: it is folded into one turn later.
    return np.roll(ring, -int(np.argmin(np.abs(steps))) - 1, axis=0)


def turns(ring: FloatArray) -> bool:
    """Whether a ring with continuous longitudes goes round a pole instead of closing."""
    return abs(ring[-1, 0] - ring[0, 0]) > 180.0 and not (np.abs(ring[:, 1]) == 90.0).any()


def point_of_large_polygons(polygons: list[list[FloatArray]]) -> FloatArray | None:
    """A point (longitude, latitude) inside polygons that may cover more than half of the sphere, else None.

    Their inside is where it lies in the plane of longitude and latitude, though it is the larger side.
    """
    areas = _areas([ring for polygon in polygons for ring in polygon])
    signs = np.array([1.0 if k == 0 else -1.0 for polygon in polygons for k in range(len(polygon))])
    if areas @ signs < 1.9 * np.pi or any(turns(ring) for polygon in polygons for ring in polygon):
        return None
    import shapely

    firsts = np.cumsum([0, *map(len, polygons)])[:-1]
    largest = polygons[int(np.argmax(np.add.reduceat(areas * signs, firsts)))]
    point = shapely.Polygon(largest[0], largest[1:]).representative_point()
    return np.array([point.x, point.y])


def _areas(rings: list[FloatArray]) -> FloatArray:
    """Steradians inside each ring in the plane: |∮ sin φ dλ|, with φ linear in λ along each edge."""
    lon, lat = np.radians(np.vstack(rings).T)
    firsts = np.cumsum([0, *map(len, rings)])
    following = np.arange(1, len(lon) + 1)
    following[firsts[1:] - 1] = firsts[:-1]
    half = 0.5 * (lat[following] - lat)
    # The mean of sin φ along an edge is sin(its middle) sin(half)/half.
    mean = np.sin(lat + half) * np.sinc(half / np.pi)
    areas: FloatArray = np.abs(np.add.reduceat(mean * (lon[following] - lon), firsts[:-1]))
    return areas


def _is_simple(ring: FloatArray) -> bool:
    import shapely

    polygon = shapely.Polygon(ring)
    return bool(polygon.is_valid and polygon.area > 0.0)
