"""Points from files: longitude and latitude in CSV, TSV, Parquet, GeoJSON, GeoPackage and whatever geopandas reads."""

from __future__ import annotations

import csv
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.data.text_files import open_text
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError, UnknownColumnsError
from tmsm.foundation.json_text import read_json
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import parse_number
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.regions.polygon.geojson import check_crs

__all__ = ["PointFile", "read_points"]

LONGITUDES = ("lon", "longitude", "long", "lng", "decimallongitude", "x")
LATITUDES = ("lat", "latitude", "decimallatitude", "y")
_MISSING = ("", "nan", "na", "n/a", "null", "none", "-", ".")
# None: whatever the first line holds most of.
_TEXT = {".csv": None, ".tsv": "\t", ".txt": None}
_GEOMETRY = (".gpkg", ".shp", ".fgb")
_BLOCK = 100_000
_LARGE = 20_000_000  # bytes
_BYTES_A_ROW = 40  # for the progress bar only


@final
@dataclass(frozen=True)
class PointFile:
    """Points of a file.

    Attributes
    ----------
    longitude, latitude
        Degrees, shape (n,).
    groups
        Labels of groups, shape (n,), or None.
    n_without
        Rows that had no coordinates and were left out.
    columns
        The names of the two columns that were read.
    """

    path: Path
    longitude: FloatArray
    latitude: FloatArray
    groups: Any
    n_without: int
    columns: tuple[str, str]

    def __len__(self) -> int:
        return self.longitude.size

    @cached_property
    def X(self) -> FloatArray:
        """Unit vectors, shape (n, 3)."""
        return lonlat_to_xyz(self.longitude, self.latitude)


def read_points(path: Any, columns: Sequence[str] | None = None, groups: str | None = None) -> PointFile:
    """Read a file of points.

    Parameters
    ----------
    path
        A .csv, .tsv, .txt (also with .gz), .parquet, .geojson, .json, .gpkg, .shp or .fgb file.
    columns
        Names of the columns with longitude and latitude; by default found by their names, in any case.
    groups
        Name of a column whose values say which rows belong together.
    """
    path = Path(path)
    if not path.exists():
        raise InvalidInputError(f"There is no file {str(path)!r}.")
    if path.is_dir():
        raise InvalidInputError(f"{str(path)!r} is a folder; give a file of points.")
    if path.is_file() and path.stat().st_size == 0:
        raise InvalidInputError(f"{path.name} is empty.")
    ending = (path.suffixes or [""])[-2 if path.suffix == ".gz" and len(path.suffixes) > 1 else -1].lower()
    if ending in _TEXT:
        found = _from_text(path, _TEXT[ending], columns, groups)
    elif ending in (".geojson", ".json"):
        found = _from_geojson(path, groups)
    elif ending in (".parquet", ".pq"):
        found = _from_frame(path, _read_parquet(path), columns, groups)
    elif ending in _GEOMETRY:
        found = _from_geometry(path, groups)
    else:
        raise InvalidInputError(
            f"{path.name} has an ending that is not known. Give .csv, .tsv, .parquet, .geojson, .gpkg, .shp or .fgb."
        )
    if len(found) == 0:
        raise InvalidInputError(f"{path.name} holds no points.")
    if found.groups is not None:
        blank = np.isin(np.char.lower(found.groups.astype(str)), _MISSING)
        if blank.any():
            raise InvalidInputError(
                f"{path.name} has {int(blank.sum()):,} of {len(found):,} points without a value in {groups!r}: fill it "
                "in, with a value of its own where a point stands alone."
            )
    try:
        found.X  # noqa: B018  degrees are checked here
    except InvalidInputError as error:
        raise InvalidInputError(f"{path.name}: {error}") from None
    return found


def _find(header: Sequence[str], columns: Sequence[str] | None, groups: str | None, name: str) -> list[int | None]:
    """Places of longitude, latitude and groups among the columns."""
    plain = [column.strip().lower() for column in header]

    def place(wanted: str, what: str) -> int:
        if plain.count(wanted.strip().lower()) > 1:
            raise InvalidInputError(f"{name} has several columns {wanted!r}; rename all but one.")
        if wanted.strip().lower() not in plain:
            raise InvalidInputError(f"{name} has no column {wanted!r} for the {what}; it has {_listed(header)}.")
        return plain.index(wanted.strip().lower())

    if columns is not None:
        lon, lat = (place(wanted, what) for wanted, what in zip(columns, ("longitude", "latitude"), strict=True))
    else:
        both = [[k for k, column in enumerate(plain) if column in names] for names in (LONGITUDES, LATITUDES)]
        if not both[0] or not both[1]:
            raise UnknownColumnsError(
                f"{name} has no columns that look like longitude and latitude; it has {_listed(header)}.",
                "Name them with columns=(longitude, latitude).",
            )
        # x and y beside better names are something else.
        both = [[k for k in found if plain[k] not in ("x", "y")] or found for found in both]
        if len(both[0]) > 1 or len(both[1]) > 1:
            several = [header[k].strip() for found in both for k in found]
            raise UnknownColumnsError(
                f"{name} has several columns that look like longitude and latitude: {_listed(several)}.",
                "Name two with columns=(longitude, latitude).",
            )
        lon, lat = both[0][0], both[1][0]
    return [lon, lat, None if groups is None else place(groups, "groups")]


def _listed(header: Sequence[str]) -> str:
    shown = ", ".join(repr(column.strip()) for column in header[:12])
    return shown + (", …" if len(header) > 12 else "")


def _from_text(path: Path, delimiter: str | None, columns: Sequence[str] | None, groups: str | None) -> PointFile:
    lon, lat, labels, without = array("d"), array("d"), [], 0
    try:
        with open_text(path) as file:
            first = file.readline()
            if "\0" in first:
                raise InvalidInputError(
                    f"{path.name} is no plain text (UTF-16, or a workbook): save it as CSV in UTF-8."
                )
            if delimiter is None:
                delimiter = max(",;\t", key=first.count)
            header = next(csv.reader([first], delimiter=delimiter), [])
            i, j, k = _find(header, columns, groups, path.name)
            assert i is not None
            assert j is not None
            if path.stat().st_size > _LARGE:
                quick = _from_large_text(path, delimiter, header, i, j, k)
                if quick is not None:
                    return quick
            for number, row in _rows(file, delimiter, path.stat().st_size):
                if len(row) != len(header):
                    raise InvalidInputError(f"{path.name}, line {number} has {len(row)} of {len(header)} columns.")
                a, b = row[i].strip(), row[j].strip()
                if a.lower() in _MISSING or b.lower() in _MISSING:
                    without += 1
                    continue
                if delimiter != ",":  # decimal commas
                    a, b = a.replace(",", "."), b.replace(",", ".")
                try:
                    x, y = parse_number(a), parse_number(b)
                except ValueError:
                    what, text = ("longitude", a) if not _is_number(a) else ("latitude", b)
                    raise InvalidInputError(f"{path.name}, line {number}: the {what} {text!r} is no number.") from None
                lon.append(x)
                lat.append(y)
                if k is not None:
                    labels.append(row[k].strip())
    except (OSError, EOFError, csv.Error, zlib.error) as error:
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None
    used = (header[i].strip(), header[j].strip())
    return PointFile(path, np.array(lon), np.array(lat), np.array(labels) if k is not None else None, without, used)


def _from_large_text(
    path: Path, delimiter: str, header: Sequence[str], i: int, j: int, k: int | None
) -> PointFile | None:
    """By pyarrow, which reads twenty times as fast; None where it is absent or finds anything amiss."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    names = [f"{place}" for place in range(len(header))]  # names in a file need not be unique
    wanted = [names[place] for place in (i, j, k) if place is not None]
    types = {names[i]: pa.float64(), names[j]: pa.float64(), **({names[k]: pa.string()} if k is not None else {})}
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=names, skip_rows=1),
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow.ConvertOptions(include_columns=wanted, column_types=types),
        )
    except (pa.ArrowException, OSError):
        return None
    found = _from_frame(
        path, table.rename_columns([header[int(name)].strip() for name in wanted]), None, None, (0, 1, 2)
    )
    return found if k is not None else replace(found, groups=None)


def _rows(file: Any, delimiter: str, size: int) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and rows that are not empty, with a progress bar for large files."""
    reader = csv.reader(file, delimiter=delimiter)

    def blocks() -> Iterator[list[tuple[int, list[str]]]]:
        block: list[tuple[int, list[str]]] = []
        for row in reader:
            if row:
                block.append((reader.line_num + 1, row))
            if len(block) == _BLOCK:
                yield block
                block = []
        yield block

    expected = max(1, size // (_BYTES_A_ROW * _BLOCK))
    for block in with_progress(blocks(), expected, "Reading points"):
        yield from block


def _is_number(text: str) -> bool:
    try:
        parse_number(text)
    except ValueError:
        return False
    return True


def _from_geojson(path: Path, groups: str | None) -> PointFile:
    loaded = read_json(path)
    try:
        check_crs(loaded)
        return _points_of_geojson(path, loaded, groups)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{path.name} is JSON, but no GeoJSON of points.") from None


def _points_of_geojson(path: Path, loaded: Any, groups: str | None) -> PointFile:
    lon, lat, labels, without = [], [], [], 0
    features = loaded.get("features", [loaded])
    for feature in features:
        geometry = feature.get("geometry", feature)
        if geometry is None:
            without += 1
            continue
        kind = geometry["type"]
        if not isinstance(kind, str):
            raise TypeError
        if kind not in ("Point", "MultiPoint"):
            raise InvalidInputError(f"{path.name} holds a {kind}; points are wanted.")
        places = [geometry["coordinates"]] if kind == "Point" else geometry["coordinates"]
        for place in places:
            lon.append(_number(place[0]))
            lat.append(_number(place[1]))
            if groups is not None:
                properties = feature.get("properties") or {}
                if groups not in properties:
                    raise InvalidInputError(
                        f"{path.name} has a point without the property {groups!r} for the groups; "
                        f"it has {_listed(list(properties))}."
                    )
                labels.append(str(properties[groups]))
    named = np.array(labels) if groups is not None else None
    return PointFile(path, np.array(lon), np.array(lat), named, without, ("longitude", "latitude"))


def _number(value: Any) -> float:
    """A number of JSON: text that would convert is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _read_parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingDependencyError("Parquet files need pyarrow: pip install 'tmsm[geo]'.") from None
    try:
        return pq.read_table(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path.name} is no Parquet file: {error}.") from None


def _from_frame(
    path: Path,
    table: Any,
    columns: Sequence[str] | None,
    groups: str | None,
    places: Sequence[int | None] | None = None,
) -> PointFile:
    names = table.column_names
    i, j, k = _find(names, columns, groups, path.name) if places is None else places
    both = []
    for place in (i, j):
        column = table.column(place)
        try:
            both.append(column.cast("float64").to_numpy())
        except (ValueError, TypeError, NotImplementedError):
            raise InvalidInputError(f"{path.name}: the column {names[place]!r} is not made of numbers.") from None
    good = np.isfinite(both[0]) & np.isfinite(both[1])
    labels = (
        None if k is None or k >= len(names) else np.array([str(label) for label in table.column(k).to_pylist()])[good]
    )
    used = (names[i], names[j])
    return PointFile(path, both[0][good], both[1][good], labels, int((~good).sum()), used)


def _from_geometry(path: Path, groups: str | None) -> PointFile:
    frame = read_frame(path)
    if groups is not None and groups not in frame.columns:
        raise InvalidInputError(f"{path.name} has no column {groups!r} for the groups; it has {list(frame.columns)}.")
    if frame.crs is not None:
        frame = frame.to_crs(4326)
    geometry = frame.geometry
    good = ~(geometry.is_empty | geometry.isna()).to_numpy()
    kinds = set(geometry[good].geom_type)
    if kinds - {"Point"}:
        raise InvalidInputError(f"{path.name} holds {', '.join(sorted(kinds))}; points are wanted.")
    labels = None if groups is None else frame[groups].astype(str).to_numpy()[good]
    lon, lat = geometry.x.to_numpy()[good], geometry.y.to_numpy()[good]
    return PointFile(path, lon, lat, labels, int((~good).sum()), ("longitude", "latitude"))


def read_frame(path: Path) -> Any:
    """A GeoDataFrame from any file that geopandas reads."""
    try:
        import geopandas
    except ImportError:
        raise MissingDependencyError(f"{path.name} needs geopandas: pip install 'tmsm[geo]'.") from None
    try:
        return geopandas.read_file(path)
    except Exception as error:  # the engines raise errors of their own
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None
