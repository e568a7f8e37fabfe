"""GeoJSON and shapely geometries to rings of unit vectors, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.filters import named_list
from tmsm.foundation.json_text import parse_json, read_json
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import as_float_array, short_repr
from tmsm.manifolds.coordinates import lonlat_to_xyz, xyz_to_lonlat
from tmsm.regions.polygon.longitudes import continuous, turns
from tmsm.regions.polygon.outlines import collapse, open_ring, split_lonlat_rings, stacked

__all__ = [
    "LonLatPolygon",
    "check_crs",
    "continuous_polygons",
    "geojson_polygons",
    "geometry_polygons",
    "groups_to_geojson",
    "polygons_to_rings",
]

# One polygon: its outer ring and its holes, each (m, 2) in degrees, not closed.
LonLatPolygon = list[FloatArray]

# Names of longitude and latitude in degrees (WGS 84), as files have them.
_DEGREES = re.compile(
    r"(urn:(x-)?ogc:def:crs:)?(OGC:[\d.]*:?CRS84h?|EPSG:[\d.]*:?4326)"
    r"|https?://(www\.)?opengis\.net/(def/crs/(OGC/[\d.]+/CRS84h?|EPSG/[\d.]+/4326)|gml/srs/epsg\.xml#4326)"
    r"|4326|CRS:?84|WGS ?84",
    re.IGNORECASE,
)
_OTHER_FORMATS = "Shapefiles, GeoPackages and FlatGeobufs are read with SphericalPolygon.from_file."


def geojson_polygons(source: Any) -> tuple[list[LonLatPolygon], FloatArray | None]:
    """All polygons in a GeoJSON file (its path), text or mapping, and the point inside that it may keep."""
    loaded = _load(source)
    return _checked(list(_walk(loaded))), _kept_inside(loaded.get("inside"))


def check_crs(node: Mapping[str, Any]) -> None:
    """Raise where a GeoJSON object names another coordinate reference system than longitude and latitude in degrees."""
    crs = node.get("crs")
    properties = crs.get("properties") if isinstance(crs, Mapping) else None
    name = properties.get("name", properties.get("code")) if isinstance(properties, Mapping) else None
    if crs is None or _DEGREES.fullmatch(str(name).strip()):
        return
    shown = name if isinstance(name, str) else short_repr(crs)
    raise InvalidInputError(
        f"The GeoJSON is in the coordinate reference system {shown!r}; longitude and latitude in degrees are wanted. "
        "Convert it with geopandas.read_file(path).to_crs(4326), or ogr2ogr -t_srs EPSG:4326 new.geojson old.geojson."
    )


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
        if shape is not None and hasattr(shape, "columns"):
            raise InvalidTypeError(
                f"A border has polygons, and this is a table with the columns {named_list(list(shape.columns), 8)}. "
                "Give a file or an object with polygons."
            )
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
    flat = [polygon for polygon in polygons if not any(map(turns, polygon))]
    rings = _union(flat, tolerance) if flat else []
    rings += [ring for polygon in polygons if any(map(turns, polygon)) for ring in polygon]
    return split_lonlat_rings(rings, tolerance)


def continuous_polygons(polygons: list[LonLatPolygon], edges: str) -> list[LonLatPolygon]:
    """The polygons with continuous longitudes along each ring."""
    numbers = count()
    return [
        [continuous(ring, f"Ring {next(numbers)}", straight=edges == "lonlat") for ring in polygon]
        for polygon in polygons
    ]


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
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
        loaded, name = parse_json(source, "the GeoJSON text"), "the GeoJSON text"
    elif isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise InvalidInputError(f"There is no file {str(path)!r}.")
        loaded, name = read_json(path, _OTHER_FORMATS), str(path)
    else:
        raise InvalidTypeError(f"from_geojson takes a path, text or a mapping; got {type(source).__name__}.")
    if not isinstance(loaded, Mapping):
        raise InvalidInputError(f"{name} is JSON but no GeoJSON object.")
    return loaded


def _kept_inside(inside: Any) -> FloatArray | None:
    if inside is None:
        return None
    point = as_float_array(inside, "The member 'inside' of the GeoJSON")
    if point.shape != (2,):
        raise InvalidInputError(
            f"The member 'inside' of the GeoJSON must be [longitude, latitude]; got {short_repr(inside)}."
        )
    try:
        return lonlat_to_xyz(*point)
    except InvalidInputError as error:
        raise InvalidInputError(f"The member 'inside' of the GeoJSON: {error}") from None


def _walk(root: Any) -> Iterator[LonLatPolygon]:
    """Polygons in the order of the file; a loop, for collections may lie in each other at any depth."""
    pending = [root]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping):
            raise InvalidInputError(f"GeoJSON has objects with a 'type' in its collections; got {short_repr(node)}.")
        check_crs(node)
        kind = node.get("type")
        if kind == "FeatureCollection":
            pending.extend(reversed(_members(node, "features")))
        elif kind == "GeometryCollection":
            pending.extend(reversed(_members(node, "geometries")))
        elif kind == "Feature":
            if node.get("geometry") is not None:
                pending.append(node["geometry"])
        elif kind == "Polygon":
            yield _rings(_members(node, "coordinates"))
        elif kind == "MultiPolygon":
            for rings in _members(node, "coordinates"):
                yield _rings(rings)
        else:
            raise InvalidInputError(
                f"A region is made of Polygon and MultiPolygon geometries; got {short_repr(kind)}. "
                "Drop points and lines first."
            )


def _members(node: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = node.get(name)
    if not isinstance(found, list | tuple):
        raise InvalidInputError(f"The {name!r} of a {node['type']} must be a list; got {short_repr(found)}.")
    return found


def _rings(found: Any) -> LonLatPolygon:
    if not isinstance(found, list | tuple):
        raise InvalidInputError(f"A polygon must be a list of rings; got {short_repr(found)}.")
    return [as_float_array(ring, "A ring") for ring in found]


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
    return open_ring(ring, name)


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
    from tmsm.regions.polygon.planar import check_simple

    for k, ring in enumerate(polygon):
        try:
            check_simple(ring)
        except InvalidInputError as error:
            text = str(error).replace("The polygon", f"Ring {number + k}")
            raise InvalidInputError(text) from None
    raise InvalidInputError(f"The polygon of ring {number} is not valid: {reason}.")
