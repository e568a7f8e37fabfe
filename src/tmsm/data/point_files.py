"""Points from files: tables of text, Parquet, GeoJSON, GeoPackage and whatever geopandas reads."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.data.point_rows import Gathered, PointFile, Request
from tmsm.data.point_tables import read_text
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.foundation.filters import Filter, named_list
from tmsm.foundation.geo_files import read_frame, selected_frame
from tmsm.foundation.given_files import check_file
from tmsm.foundation.json_text import read_json
from tmsm.foundation.optional import load_package
from tmsm.foundation.validation import check_option, is_missing
from tmsm.manifolds.frames import FRAMES, PLAIN
from tmsm.regions.polygon.geojson import check_crs

__all__ = ["PointFile", "read_points"]

# None: whatever the line of names holds most of.
_TEXT = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None, ".dat": None, ".psv": "|"}
_GEOMETRY = (".gpkg", ".shp", ".fgb")
# Tables of astronomers, and how astropy calls their formats.
_ASTRONOMY = {".fits": "fits", ".fit": "fits", ".vot": "votable", ".votable": "votable", ".ecsv": "ascii.ecsv"}


def read_points(
    path: Any,
    columns: Sequence[str] | None = None,
    groups: str | None = None,
    *,
    where: Filter | str | None = None,
    bad: str = "raise",
    frame: str = "earth",
    also: Sequence[str] = (),
    covariates: Sequence[str] = (),
) -> PointFile:
    """Read a file of points.

    Parameters
    ----------
    path
        A .csv, .tsv, .txt, .dat (also with .gz), .parquet, .geojson, .json, .gpkg, .shp or .fgb file.  Columns of text
        may be separated by commas, semicolons, tabs, bars or blanks, or have fixed places.
    columns
        Names of the columns with longitude and latitude; by default found by their names, in any case.
    groups
        Name of a column whose values say which rows belong together.
    where
        Which rows are meant, such as ``mag >= 5 and depth < 70``; by default all.
    bad
        Rows whose coordinates are no numbers, or beyond ±90 and ±360 degrees, and lines with a wrong number of columns:
        "raise" an error, or "skip" and count them.
    frame
        "earth": longitude and latitude.  "icrs": right ascension and declination.  "galactic": galactic longitude and
        latitude.  Columns of the other frame of the sky are converted where a file has no others.
    also
        Names of further columns of numbers; rows that lack one are left out like those without coordinates.
    covariates
        Names of columns of numbers that no row may lack: an error names those that do, unless bad rows are skipped.
    """
    check_option(bad, ["raise", "skip"], "bad")
    check_option(frame, [name for name in FRAMES if name != PLAIN.name], "frame")
    request = Request(columns, groups, Filter.of(where), bad, FRAMES[frame], tuple(also), tuple(covariates))
    path = check_file(path, "the points")
    ending = (path.suffixes or [""])[-2 if path.suffix == ".gz" and len(path.suffixes) > 1 else -1].lower()
    if ending in _TEXT:
        found = read_text(path, _TEXT[ending], request)
    elif ending in (".geojson", ".json"):
        found = _from_geojson(path, request)
    elif ending in (".parquet", ".pq"):
        found = _from_parquet(path, request)
    elif ending in _GEOMETRY:
        found = _from_geometry(path, request)
    elif ending in _ASTRONOMY:
        found = _from_astronomy(path, _ASTRONOMY[ending], request)
    else:
        raise InvalidInputError(
            f"{path.name} has an ending that is not known. Give .csv, .tsv, .txt, .dat, .parquet, .geojson, .gpkg, "
            ".shp, .fgb, .fits, .vot or .ecsv."
        )
    if len(found) == 0:
        why = f": all {found.n_bad:,} rows are bad, the first: {found.first_bad}" if found.n_bad else ""
        raise InvalidInputError(f"{path.name} holds no points{why}.")
    if found.groups is not None:
        blank = np.array([is_missing(label) for label in found.groups.astype(str).tolist()])
        if blank.any():
            raise InvalidInputError(
                f"{path.name} has {int(blank.sum()):,} of {len(found):,} points without a value in {groups!r}: fill it "
                "in, with a value of its own where a point stands alone."
            )
    try:
        found.X  # noqa: B018  degrees are checked here
    except InvalidInputError as error:
        raise InvalidInputError(f"{path.name}: {error}") from None
    return found.in_frame(request.frame)


def _from_geojson(path: Path, request: Request) -> PointFile:
    loaded = read_json(path)
    try:
        check_crs(loaded)
        return _points_of_geojson(path, loaded, request)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path.name} is JSON, but no GeoJSON of points.") from None


def _points_of_geojson(path: Path, loaded: Any, request: Request) -> PointFile:
    groups = request.groups
    features = loaded.get("features", [loaded])
    found = Gathered(request, path.name, request.frame, "feature")
    asked = _asked_properties(features, request.where, path.name)
    for number, feature in enumerate(features):
        geometry = feature.get("geometry", feature)
        properties = feature.get("properties") or {}
        if not found.matches({name: properties.get(column) for name, column in asked.items()}):
            continue
        if geometry is None:
            found.n_without += 1
            continue
        kind = geometry["type"]
        if not isinstance(kind, str):
            raise TypeError
        if kind not in ("Point", "MultiPoint"):
            raise InvalidInputError(f"{path.name} holds a {kind}; points are wanted.")
        label = None
        if groups is not None:
            if groups not in properties:
                raise InvalidInputError(
                    f"{path.name} has a point without the property {groups!r} for the groups; "
                    f"it has {named_list(list(properties))}."
                )
            label = str(properties[groups])
        for name in request.further:
            if name not in properties and not any(name in (other.get("properties") or {}) for other in features):
                raise InvalidInputError(
                    f"{path.name} has no property {name!r} for the {request.what_for(name)}; "
                    f"it has {named_list(list(properties))}."
                )
        also = [properties.get(name) for name in request.further]
        places = [geometry["coordinates"]] if kind == "Point" else geometry["coordinates"]
        for place in places:
            if request.bad == "raise" or _is_pair(place):
                found.add(number, _number(place[0]), _number(place[1]), label, also)
            else:
                found.complain(f"feature {number}: the coordinates {place!r} are no two numbers")
    return found.file(path, ("longitude", "latitude"))


def _asked_properties(features: Any, where: Filter | None, name: str) -> Mapping[str, str]:
    if where is None:
        return {}
    names = dict.fromkeys(key for feature in features for key in feature.get("properties") or {})
    if not names:
        raise InvalidInputError(f"{name} has no properties: the filter {where.text!r} cannot be used on it.")
    return where.find_columns(list(names), name)


def _is_pair(place: Any) -> bool:
    try:
        _number(place[0]), _number(place[1])
    except (TypeError, IndexError, KeyError, OverflowError):
        return False
    return True


def _number(value: Any) -> float:
    """A number of JSON: text that would convert is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _from_parquet(path: Path, request: Request) -> PointFile:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingDependencyError("Parquet files need pyarrow: pip install 'tmsm[geo]'.") from None
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path.name} is no Parquet file: {error}.") from None
    names = table.column_names
    places = request.places(names, path.name)
    used = names[places.longitude], names[places.latitude]
    if places.wkt and pa.types.is_binary(table.schema.field(places.longitude).type):
        return _from_geometry(path, request)
    kept = np.ones(table.num_rows, dtype=bool)
    if request.where is not None:
        columns = {name: table.column(place).to_pylist() for name, place in places.asked.items()}
        kept = request.where.select(columns, table.num_rows, path.name)
    labels = None
    if places.groups is not None:
        labels = np.array([str(label) for label in table.column(places.groups).to_pylist()], dtype=str)
    if not places.wkt and not places.also:
        quick = _numbers(table.column(places.longitude)), _numbers(table.column(places.latitude))
        if quick[0] is not None and quick[1] is not None:
            lon, lat = quick[0], quick[1]
            there = np.isfinite(lon) & np.isfinite(lat)
            good = kept & there
            if request.bad == "raise" or bool((np.abs(lon[good]) <= 360.0).all() and (np.abs(lat[good]) <= 90.0).all()):
                without = int((kept & ~there).sum())
                chosen = None if labels is None else labels[good]
                whole = PointFile(path, lon[good], lat[good], chosen, without, used)
                return replace(whole, frame=places.frame, read_as=places.frame)
        elif not places.frame.is_sky and request.bad == "raise":
            name = used[0] if quick[0] is None else used[1]
            raise InvalidInputError(f"{path.name}: the column {name!r} is not made of numbers.")
    found = Gathered(replace(request, where=None), path.name, places.frame, "row")
    cells = [table.column(place).to_pylist() for place in (places.longitude, places.latitude)]
    also = [table.column(place).to_pylist() for place in places.also]
    found.add_cells(np.flatnonzero(kept).tolist(), places, cells, labels, also)
    return found.file(path, used)


def _from_astronomy(path: Path, kind: str, request: Request) -> PointFile:
    """A table in FITS, a VOTable or ECSV; columns with a unit are taken in it."""
    tables = load_package("astropy.table", f"{path.name} is a table that", "sky")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = tables.Table.read(path, format=kind)
    except Exception as error:  # astropy's readers raise errors of their own
        raise InvalidInputError(f"{path.name} cannot be read as a table: {error}.") from None
    names = list(table.colnames)
    places = request.places(names, path.name)
    used = names[places.longitude], names[places.latitude]
    asked = {name: _plain_cells(table, place) for name, place in places.asked.items()}
    labels = None if places.groups is None else _plain_cells(table, places.groups)
    found = Gathered(request, path.name, places.frame, "row")
    cells = [_plain_cells(table, place, degrees=True) for place in (places.longitude, places.latitude)]
    wanted = (row for row in range(len(table)) if found.matches({name: cell[row] for name, cell in asked.items()}))
    found.add_cells(wanted, places, cells, labels, [_plain_cells(table, place) for place in places.also])
    return found.file(path, used)


def _plain_cells(table: Any, place: int, *, degrees: bool = False) -> list[Any]:
    """A column of astropy's as numbers and texts, None where it is masked; angles in degrees."""
    column = table.columns[place]
    unit = str(getattr(column, "unit", None) or "")
    cells = column.tolist()
    if degrees and unit and column.dtype.kind in "fiu":
        factor = 15.0 if unit == "h" else _in_degrees(column.unit, table.colnames[place])
        cells = [None if cell is None else factor * cell for cell in cells]
    return [cell.decode(errors="replace") if isinstance(cell, bytes) else cell for cell in cells]


def _in_degrees(unit: Any, name: str) -> float:
    """How many degrees one of a unit is."""
    try:
        return float(unit.to("deg"))
    except Exception:  # astropy has an error for every kind of unit
        raise InvalidInputError(f"The column {name!r} has the unit {str(unit)!r}, which is none of an angle.") from None


def _numbers(column: Any) -> Any:
    """A column of Parquet as numbers, missing ones as NaN; None where it is made of something else."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return None
    try:
        return column.cast("float64").to_numpy()
    except (ValueError, TypeError, NotImplementedError):
        return None


def _from_geometry(path: Path, request: Request) -> PointFile:
    groups = request.groups
    frame = read_frame(path)
    if groups is not None and groups not in frame.columns:
        raise InvalidInputError(f"{path.name} has no column {groups!r} for the groups; it has {list(frame.columns)}.")
    frame = selected_frame(frame, request.where, path.name)
    if frame.crs is not None and not request.frame.is_sky:
        frame = frame.to_crs(4326)
    geometry = frame.geometry
    good = ~(geometry.is_empty | geometry.isna()).to_numpy()
    kinds = set(geometry[good].geom_type)
    if kinds - {"Point"}:
        raise InvalidInputError(f"{path.name} holds {', '.join(sorted(kinds))}; points are wanted.")
    lon, lat = geometry.x.to_numpy(), geometry.y.to_numpy()
    labels = None if groups is None else frame[groups].astype(str).to_numpy()
    also = []
    for name in request.further:
        if name not in frame.columns:
            raise InvalidInputError(
                f"{path.name} has no column {name!r} for the {request.what_for(name)}; it has {list(frame.columns)}."
            )
        also.append(frame[name].tolist())
    found = Gathered(replace(request, where=None), path.name, request.frame, "row")
    found.n_without = int((~good).sum())
    for row in np.flatnonzero(good).tolist():
        label = None if labels is None else labels[row]
        found.add(row, float(lon[row]), float(lat[row]), label, [column[row] for column in also])
    return found.file(path, ("longitude", "latitude"))
