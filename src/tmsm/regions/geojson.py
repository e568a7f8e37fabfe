"""GeoJSON and shapely geometries to rings of unit vectors, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.arrays import BoolArray, FloatArray
from tmsm.coordinates import lonlat_to_xyz, xyz_to_lonlat
from tmsm.errors import InvalidInputError, InvalidTypeError
from tmsm.progress import with_progress
from tmsm.regions.outlines import collapse, open_ring, split_lonlat_rings, stacked
from tmsm.validation import as_float_array

__all__ = ["geojson_polygons", "geometry_polygons", "groups_to_geojson", "polygons_to_rings"]

# One polygon: its outer ring and its holes, each (m, 2) in degrees, not closed.
LonLatPolygon = list[FloatArray]


def geojson_polygons(source: Any) -> tuple[list[LonLatPolygon], FloatArray | None]:
    """All polygons in a GeoJSON file (its path), text or mapping, and the point inside that it may keep."""
    loaded = _load(source)
    inside = loaded.get("inside")
    return _checked(list(_walk(loaded))), None if inside is None else lonlat_to_xyz(*inside)


def geometry_polygons(geometry: Any) -> list[LonLatPolygon]:
    """All polygons in a shapely geometry, GeoSeries or GeoDataFrame."""
    if hasattr(geometry, "geometry") and hasattr(geometry, "crs"):  # geopandas, which is not imported here
        if geometry.crs is None:
            raise InvalidInputError(
                "The geometry has no coordinate reference system. If it is in degrees, say so: .set_crs('EPSG:4326')."
            )
        series = geometry.geometry
        if series.crs.is_projected:
            # Edges are straight in that projection: give long ones vertices before they are bent.
            low_x, low_y, high_x, high_y = series.total_bounds
            series = series.segmentize(max(high_x - low_x, high_y - low_y) / 1000.0)
        if series.crs.to_epsg() != 4326:
            series = series.to_crs("EPSG:4326")
        shapes = [shape for shape in series if shape is not None]
    else:
        shapes = [geometry]
    found: list[LonLatPolygon] = []
    for shape in shapes:
        if shape is None or not hasattr(shape, "__geo_interface__"):
            raise InvalidTypeError(
                f"from_geometry takes a shapely geometry, a GeoSeries or a GeoDataFrame; got {type(shape).__name__}."
            )
        found.extend(_walk(shape.__geo_interface__))
    return _checked(found)


def polygons_to_rings(polygons: list[LonLatPolygon], edges: str, tolerance: float) -> list[FloatArray]:
    """Rings of unit vectors; parts that touch or overlap are dissolved.

    Straight edges are dissolved where they are straight, in the plane of longitude and latitude.
    A ring round a pole has no place in that plane and is taken as it is.  ``tolerance`` is in radians.
    """
    polygons = [[polygon[0], *(_beside_shell(hole, polygon[0]) for hole in polygon[1:])] for polygon in polygons]
    if edges == "geodesic":
        return [collapse(lonlat_to_xyz(*_folded(ring))) for polygon in polygons for ring in polygon]
    flat = [polygon for polygon in polygons if not any(map(_turns, polygon))]
    rings = _union(flat, tolerance) if flat else []
    rings += [ring for polygon in polygons if any(map(_turns, polygon)) for ring in polygon]
    return split_lonlat_rings(rings, tolerance)


def groups_to_geojson(groups: list[list[FloatArray]], inside: FloatArray) -> dict[str, Any]:
    """A GeoJSON MultiPolygon with great-circle edges from outer rings with their holes.

    ``inside`` is kept as a foreign member.
    """
    lon, lat = xyz_to_lonlat(inside)
    return {
        "type": "MultiPolygon",
        "coordinates": [
            [_closed_lonlat(ring) for ring in group] for group in with_progress(groups, len(groups), "writing polygons")
        ],
        "inside": [float(lon), float(lat)],
    }


def _closed_lonlat(ring: FloatArray) -> list[list[float]]:
    closed: list[list[float]] = np.column_stack(xyz_to_lonlat(np.vstack([ring, ring[:1]]))).tolist()
    return closed


def _load(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text, name = source, "the GeoJSON text"
    elif isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise InvalidInputError(f"There is no file {str(path)!r}.")
        try:
            text, name = path.read_text(encoding="utf-8"), str(path)
        except UnicodeDecodeError:
            raise InvalidInputError(
                f"{str(path)!r} is not text. Shapefiles, GeoPackages and FlatGeobufs are read with "
                "geopandas.read_file and from_geometry."
            ) from None
    else:
        raise InvalidTypeError(f"from_geojson takes a path, text or a mapping; got {type(source).__name__}.")
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{name} is not JSON: {error}.") from None
    if not isinstance(loaded, Mapping):
        raise InvalidInputError(f"{name} is JSON but no GeoJSON object.")
    return loaded


def _walk(node: Mapping[str, Any]) -> Iterator[LonLatPolygon]:
    kind = node.get("type")
    if kind == "FeatureCollection":
        for feature in node.get("features", ()):
            yield from _walk(feature)
    elif kind == "Feature":
        if node.get("geometry") is not None:
            yield from _walk(node["geometry"])
    elif kind == "GeometryCollection":
        for geometry in node.get("geometries", ()):
            yield from _walk(geometry)
    elif kind == "Polygon":
        yield [as_float_array(ring, "A ring") for ring in node.get("coordinates", ())]
    elif kind == "MultiPolygon":
        for rings in node.get("coordinates", ()):
            yield [as_float_array(ring, "A ring") for ring in rings]
    else:
        raise InvalidInputError(
            f"A region is made of Polygon and MultiPolygon geometries; got {kind!r}. Drop points and lines first."
        )


def _checked(polygons: list[LonLatPolygon]) -> list[LonLatPolygon]:
    polygons = [polygon for polygon in polygons if polygon]
    if not polygons:
        raise InvalidInputError("There is no polygon in it: the collection is empty.")
    number = 0
    out: list[LonLatPolygon] = []
    for polygon in with_progress(polygons, len(polygons), "reading polygons"):
        checked = []
        for ring in polygon:
            checked.append(_check_ring(ring, f"Ring {number}"))
            number += 1
        out.append(checked)
    return out


def _check_ring(ring: FloatArray, name: str) -> FloatArray:
    if ring.ndim != 2 or ring.shape[1] < 2:
        raise InvalidInputError(f"{name} must be a list of [longitude, latitude] pairs; got shape {ring.shape}.")
    ring = np.array(ring[:, :2])
    if not np.isfinite(ring).all():
        vertex = int(np.argmin(np.isfinite(ring).all(axis=1)))
        raise InvalidInputError(f"{name}, vertex {vertex} is not finite: {ring[vertex].tolist()}.")
    if (np.abs(ring[:, 1]) > 90.0).any():
        vertex = int(np.argmax(np.abs(ring[:, 1])))
        hint = " Longitude comes first: the two look swapped." if (np.abs(ring[:, 0]) <= 90.0).all() else ""
        if np.abs(ring).max() > 720.0:
            hint = " These look like metres: transform them to longitude and latitude first."
        raise InvalidInputError(f"{name}, vertex {vertex} has latitude {ring[vertex, 1]:.6g}, beyond ±90.{hint}")
    if np.abs(ring[:, 0]).max() > 540.0:
        vertex = int(np.argmax(np.abs(ring[:, 0])))
        raise InvalidInputError(f"{name}, vertex {vertex} has longitude {ring[vertex, 0]:.6g}, beyond ±540.")
    ring = open_ring(ring, name)
    # A step of more than half a turn goes the short way, across the antimeridian; one of exactly
    # a turn runs along a pole, as some files close theirs.
    steps = np.diff(ring[:, 0], append=ring[0, 0])
    short = np.where(np.abs(steps) > 180.0, steps - 360.0 * np.round(steps / 360.0), steps)
    at_pole = (np.abs(ring[:, 1]) == 90.0) & (np.abs(np.roll(ring[:, 1], -1)) == 90.0)
    short = np.where(at_pole, steps, short)
    ring[:, 0] = ring[0, 0] + np.concatenate([[0.0], np.cumsum(short[:-1])])
    return ring


def _turns(ring: FloatArray) -> bool:
    """Whether a ring with continuous longitudes goes round a pole instead of closing."""
    return abs(ring[-1, 0] - ring[0, 0]) > 180.0 and not (np.abs(ring[:, 1]) == 90.0).any()


def _folded(ring: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.remainder(ring[:, 0] + 180.0, 360.0) - 180.0, ring[:, 1]


def _beside_shell(hole: FloatArray, shell: FloatArray) -> FloatArray:
    """The hole in the turn of longitude in which its shell lies."""
    middle = 0.5 * (shell[:, 0].min() + shell[:, 0].max())
    off = 0.5 * (hole[:, 0].min() + hole[:, 0].max()) - middle
    moved: FloatArray = hole - [360.0 * np.round(off / 360.0), 0.0]
    return moved


def _union(polygons: list[LonLatPolygon], tolerance: float) -> list[FloatArray]:
    import shapely

    shapes = _shapes(polygons)
    if len(shapes) == 1:
        return polygons[0]
    # All copies into one turn of longitude, cut at its ends; the cut is cancelled on the sphere.
    bounds = shapely.bounds(shapes)
    turns = np.floor((bounds[:, 0] + 180.0) / 360.0), np.ceil((bounds[:, 2] + 180.0) / 360.0)
    whole = (turns[0] == 0) & (turns[1] == 1)
    pieces = []
    for k in np.flatnonzero(~whole):
        for turn in range(int(turns[0][k]), int(turns[1][k])):
            window = shapely.box(-180.0 + 360.0 * turn, -91.0, 180.0 + 360.0 * turn, 91.0)
            piece = shapely.intersection(shapes[k], window)
            pieces.append(shapely.transform(piece, lambda xy, turn=turn: xy - [360.0 * turn, 0.0]))
    # On a grid of a hundredth of the tolerance (1 m): neighbours whose common edge has
    # other vertices, or was rounded otherwise, then leave no sliver between them.
    grid = 10.0 ** np.round(np.log10(np.degrees(tolerance) / 100.0))  # a power of ten, so that ±180 stays
    # What has no neighbour stays as it is.
    apart = _standing_apart([*shapes[whole], *pieces], grid)[: np.count_nonzero(whole)]
    alone = np.zeros(len(shapes), dtype=bool)
    alone[np.flatnonzero(whole)[apart]] = True
    rings = [ring for k in np.flatnonzero(alone) for ring in polygons[k]]
    if alone.all():
        return rings
    merged = shapely.union_all([*shapes[whole & ~alone], *pieces], grid_size=grid)
    for part in shapely.get_parts(merged):
        if part.geom_type == "Polygon":
            rings.extend(np.array(ring.coords)[:-1] for ring in [part.exterior, *part.interiors])
    return rings


def _shapes(polygons: list[LonLatPolygon]) -> Any:
    """Polygons of shapely, all valid and with an area."""
    import shapely

    rings = [ring for polygon in polygons for ring in polygon]
    vertices, lengths = stacked(rings)
    linear = shapely.linearrings(vertices, indices=np.repeat(np.arange(len(rings)), lengths))
    counts = np.array([len(polygon) for polygon in polygons])
    shapes = shapely.polygons(linear, indices=np.repeat(np.arange(len(polygons)), counts))
    invalid, empty = ~shapely.is_valid(shapes), shapely.area(shapes) == 0.0
    if (invalid | empty).any():
        k = int(np.argmax(invalid | empty))
        number = int(counts[:k].sum())
        if invalid[k]:
            _explain_invalid(polygons[k], number, shapely.is_valid_reason(shapes[k]))
        raise InvalidInputError(f"Ring {number} has no area.")
    return shapes


def _standing_apart(shapes: list[Any], margin: float) -> BoolArray:
    """Which shapes lie, with their bounding boxes, apart from all others and from the antimeridian."""
    import shapely

    west, south, east, north = shapely.bounds(shapes).T
    boxes = shapely.box(west - margin, south - margin, east + margin, north + margin)
    first, second = shapely.STRtree(boxes).query(boxes)
    apart: BoolArray = (west > margin - 180.0) & (east < 180.0 - margin)
    apart[first[first != second]] = False
    return apart


def _explain_invalid(polygon: LonLatPolygon, number: int, reason: str) -> None:
    from tmsm.regions.flat import check_simple

    for k, ring in enumerate(polygon):
        try:
            check_simple(ring)
        except InvalidInputError as error:
            text = str(error).replace("The polygon", f"Ring {number + k}")
            raise InvalidInputError(text) from None
    raise InvalidInputError(f"The polygon of ring {number} is not valid: {reason}.")
