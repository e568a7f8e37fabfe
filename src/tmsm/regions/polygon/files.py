"""Polygons from files: GeoJSON, WKT, and whatever geopandas reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.filters import Filter
from tmsm.foundation.geo_files import read_frame, selected_frame
from tmsm.foundation.given_files import check_file
from tmsm.foundation.json_text import read_json
from tmsm.foundation.validation import short_repr
from tmsm.regions.polygon.geojson import LonLatPolygon, geojson_polygons, geometry_polygons

__all__ = ["file_polygons"]

_SRID = re.compile(r"\s*SRID\s*=\s*(\d+)\s*;", re.IGNORECASE)


def file_polygons(path: Any, where: Filter | str | None) -> tuple[list[LonLatPolygon], FloatArray | None]:
    """All polygons of a file that a filter matches, and the point inside that a GeoJSON may keep."""
    if not isinstance(path, str | Path):
        raise InvalidTypeError(f"from_file takes the path of a file; got {type(path).__name__}.")
    chosen, path = Filter.of(where), check_file(path, "the border", folders=(".gdb",))
    ending = path.suffix.lower()
    if ending == ".wkt":
        if chosen is not None:
            raise InvalidInputError(
                f"{path.name} is WKT, which has no properties: the filter {chosen.text!r} cannot be used on it."
            )
        return geometry_polygons(_wkt_geometry(path)), None
    if ending in (".geojson", ".json"):
        return geojson_polygons(path if chosen is None else _selected(read_json(path), chosen, path.name))
    return geometry_polygons(selected_frame(read_frame(path), chosen, path.name)), None


def _selected(loaded: Any, chosen: Filter, name: str) -> Mapping[str, Any]:
    """A GeoJSON object with those of its features that a filter matches."""
    kind = loaded.get("type") if isinstance(loaded, Mapping) else None
    if kind not in ("FeatureCollection", "Feature"):
        raise InvalidInputError(
            f"{name} has no features with properties, as a FeatureCollection has: the filter {chosen.text!r} cannot "
            "be used on it."
        )
    features = loaded.get("features") if kind == "FeatureCollection" else [loaded]
    if not isinstance(features, list):
        raise InvalidInputError(f"The 'features' of a FeatureCollection must be a list; got {short_repr(features)}.")
    rows = [(feature.get("properties") if isinstance(feature, Mapping) else None) or {} for feature in features]
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInputError(f"The 'properties' of a feature of {name} are no object with names and values.")
    names = list(dict.fromkeys(key for row in rows for key in row))
    found = chosen.find_columns(names, name)
    columns = {wanted: [row.get(column) for row in rows] for wanted, column in found.items()}
    kept = chosen.select(columns, len(rows), name, "features").tolist()
    # A point inside that the file keeps is one of the whole.
    members = {key: value for key, value in loaded.items() if key != "inside" or all(kept)}
    if kind == "Feature":
        return members
    return {**members, "features": [feature for feature, good in zip(features, kept, strict=True) if good]}


def _wkt_geometry(path: Path) -> Any:
    """One geometry: a file may hold one, on many lines, or one a line."""
    import shapely

    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path.name} is no WKT: it is not text in UTF-8.") from None
    try:
        return _one_geometry(text, path.name)
    except shapely.errors.GEOSException as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return shapely.GeometryCollection([_one_geometry(line, path.name) for line in lines])
        except shapely.errors.GEOSException:
            raise InvalidInputError(f"{path.name} is no WKT: {short_repr(str(error))}.") from None


def _one_geometry(text: str, name: str) -> Any:
    import shapely

    srid = _SRID.match(text)
    if srid is not None and srid.group(1) != "4326":
        raise InvalidInputError(
            f"{name} is in the coordinate reference system {srid.group(1)}; longitude and latitude in degrees (4326) "
            "are wanted."
        )
    return shapely.from_wkt(text[srid.end() :] if srid is not None else text)
