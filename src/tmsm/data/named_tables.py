"""Tables in memory whose columns have names: frames of pandas, Polars and geopandas, and astropy's SkyCoord."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.column_names import column_at, find_pair, frames_of
from tmsm.foundation.angles import parse_angle
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, UnknownColumnsError
from tmsm.foundation.filters import named_list
from tmsm.foundation.validation import find_missing, parse_number
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS, PLAIN, Frame

__all__ = ["FramedPoints", "framed_points", "table_to_xyz"]


@final
@dataclass(frozen=True, eq=False)
class FramedPoints:
    """Unit vectors, shape (n, 3), and the frame that they are in; columns of other factors may follow."""

    X: FloatArray
    frame: Frame

    def __len__(self) -> int:
        return len(self.X)


def table_to_xyz(table: Any, columns: Sequence[str] | None = None) -> FloatArray:
    """Unit vectors from a table whose columns have names.

    Parameters
    ----------
    table
        A pandas, Polars or pyarrow table with two columns in degrees that are called longitude and latitude (lon, lat
        and other common names), right ascension and declination (ra, dec), or galactic longitude and latitude (l, b).
        A GeoDataFrame or GeoSeries of points in any known coordinate reference system.  An astropy SkyCoord: one that
        is neither ICRS nor galactic is transformed to ICRS.
    columns
        Names of the two columns, longitude first, where they cannot be found by their names.

    Returns
    -------
    Unit vectors, shape (n, 3).

    Notes
    -----
    Estimators take such tables as they are.  Missing coordinates are an error: drop those rows first.

    Examples
    --------
    >>> import pandas, tmsm
    >>> table = pandas.DataFrame({"name": ["a", "b"], "Longitude": [0.0, 90.0], "Latitude": [0.0, 90.0]})
    >>> tmsm.table_to_xyz(table)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    found = framed_points(table, columns)
    if found is None:
        raise InvalidTypeError(
            "table must have columns with names, as frames of pandas and Polars have, or be a GeoDataFrame or a "
            f"SkyCoord; got {type(table).__name__}. Two arrays in degrees become unit vectors with lonlat_to_xyz."
        )
    return found.X


def framed_points(table: Any, columns: Sequence[str] | None = None, *, on_sphere: bool = True) -> FramedPoints | None:
    """The points of a table and their frame; None of what has no columns with names, or three that are x, y and z.

    Without ``on_sphere``, where nobody knows yet that the points are on S², None of other columns that are not known.
    """
    if isinstance(table, FramedPoints):
        return table
    if table is None or isinstance(table, np.ndarray | list | tuple):
        return None
    if _is_a(table, "geopandas", "GeoDataFrame") or _is_a(table, "geopandas", "GeoSeries"):
        if columns is None:
            return FramedPoints(_geometry_points(table), EARTH)
    elif _is_a(table, "astropy.coordinates", "SkyCoord") or _is_a(table, "astropy.coordinates", "BaseCoordinateFrame"):
        return _sky_points(table)
    return _frame_points(table, columns, on_sphere)


def _is_a(table: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a package, which nobody has to import: who made it has."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(table, kind)


def _frame_points(table: Any, columns: Sequence[str] | None, on_sphere: bool) -> FramedPoints | None:
    import narwhals as nw

    try:
        frame = nw.from_native(table, pass_through=True)
        header = [] if isinstance(frame, nw.LazyFrame) else [str(name) for name in getattr(frame, "columns", ())]
    except nw.exceptions.DuplicateError:
        raise InvalidInputError("The table has several columns of the same name; rename all but one.") from None
    if isinstance(frame, nw.LazyFrame):
        raise InvalidTypeError("The table is lazy, and its rows are not there yet: pass table.collect().")
    if not isinstance(frame, nw.DataFrame):
        return None
    if columns is not None:
        if len(columns) != 2:
            raise InvalidInputError(f"columns must be two names, longitude first; got {list(columns)!r}.")
        lon, lat = (
            column_at(header, name, what, "The table") for name, what in zip(columns, PLAIN.coordinates, strict=True)
        )
        named = frames_of([header[lon], header[lat]])
        kind = named[0] if len(named) == 1 else PLAIN
    else:
        found = _pair_of(header, on_sphere)
        if found is None:
            return None
        lon, lat, kind = found
    names = header[lon], header[lat]
    angles = [_angles(frame[:, place], kind, axis) for axis, place in enumerate((lon, lat))]
    missing = np.isnan(angles[0]) | np.isnan(angles[1])
    if missing.any():
        raise InvalidInputError(
            f"The table has {_counted(missing)} without coordinates in {named_list(names)}. Drop them first: "
            f"table.dropna(subset={list(names)!r}) in pandas; drop_nulls and drop_nans in Polars."
        )
    try:
        return FramedPoints(lonlat_to_xyz(*angles), kind)
    except InvalidInputError as error:
        raise InvalidInputError(f"The columns {names[0]!r} and {names[1]!r} of the table: {error}") from None


def _pair_of(header: Sequence[str], on_sphere: bool) -> tuple[int, int, Frame] | None:
    """Places of longitude and latitude, and their frame; None of three columns that may be x, y and z."""
    frames = frames_of(header)
    if len(frames) > 1:
        shown = []
        for frame in frames:
            pair = find_pair(header, "The table", frame, plane=False)
            shown.append((header[pair.longitude], header[pair.latitude]))
        listed = " and ".join(named_list(names) for names in shown)
        raise UnknownColumnsError(
            f"The table has coordinates in several frames, {listed}.",
            f"Pass the two that the region is in alone, such as table[{list(shown[0])!r}].",
        )
    if frames:
        pair = find_pair(header, "The table", frames[0], plane=False)
        return pair.longitude, pair.latitude, pair.frame
    if len(header) == 3 or not on_sphere:
        return None
    raise UnknownColumnsError(
        f"The table has no columns that look like longitude and latitude, ra and dec, or l and b; it has "
        f"{named_list(header)}.",
        "Name two with table_to_xyz(table, columns=(longitude, latitude)), or pass the three columns of unit vectors "
        "alone.",
    )


def _angles(column: Any, frame: Frame, axis: int) -> FloatArray:
    """A column as degrees, shape (n,), what is missing as NaN."""
    values = column.to_numpy() if column.dtype.is_numeric() and column.null_count() == 0 else None
    if values is not None and values.dtype.kind in "fiu":
        return np.asarray(values, dtype=np.float64)
    cells = column.to_list()
    out = np.full(len(cells), np.nan)
    missing = find_missing(np.array([*cells, None], dtype=object)[:-1])
    for row in np.flatnonzero(~missing).tolist():
        out[row] = _angle(cells[row], frame, axis, column.name, row)
    return out


def _angle(cell: Any, frame: Frame, axis: int, name: str, row: int) -> float:
    try:
        if isinstance(cell, str):
            if frame.is_sky:
                return parse_angle(cell, hours=frame == ICRS and axis == 0)
            return parse_number(cell)
        if isinstance(cell, bool | np.bool_):
            raise TypeError
        return float(cell)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"The table has {cell!r} in the column {name!r}, row {row}, which is no {frame.coordinates[axis]}."
        ) from None


def _geometry_points(table: Any) -> FloatArray:
    if table.crs is None:
        raise InvalidInputError(
            "The table of points has no coordinate reference system. If it is in degrees, say so: "
            ".set_crs('EPSG:4326')."
        )
    series = table.geometry
    missing = (series.is_empty | series.isna()).to_numpy()
    if missing.any():
        raise InvalidInputError(
            f"The table has {_counted(missing)} without a point. Drop them first: "
            "table[~(table.geometry.is_empty | table.geometry.isna())]."
        )
    kinds = sorted(set(series.geom_type) - {"Point"})
    if kinds:
        raise InvalidInputError(
            f"The table holds {', '.join(kinds)}; points are wanted. Use table.geometry.representative_point(), or "
            "table.explode() of several points."
        )
    if series.crs.to_epsg() != 4326:
        try:
            series = series.to_crs(4326)
        except Exception as error:  # pyproj raises errors of its own
            raise InvalidInputError(f"The table cannot be turned into longitude and latitude: {error}.") from None
    return lonlat_to_xyz(series.x.to_numpy(), series.y.to_numpy())


def _sky_points(table: Any) -> FramedPoints:
    table = sys.modules["astropy.coordinates"].SkyCoord(table)  # loaded by whoever made the table
    name = str(table.name)
    if name not in (ICRS.name, GALACTIC.name):
        try:
            table, name = table.icrs, ICRS.name
        except Exception as error:  # astropy raises errors of its own
            raise InvalidInputError(f"Coordinates in the frame {name!r} cannot be turned into ICRS: {error}") from None
    lon, lat = (table.ra, table.dec) if name == ICRS.name else (table.l, table.b)
    angles = [np.ma.filled(np.ma.asarray(np.atleast_1d(angle.deg)), np.nan) for angle in (lon, lat)]
    if angles[0].ndim != 1:
        raise InvalidInputError(
            f"The coordinates have shape {angles[0].shape}; one direction a row is wanted: .ravel()."
        )
    missing = np.isnan(angles[0]) | np.isnan(angles[1])
    if missing.any():
        raise InvalidInputError(f"The coordinates have {_counted(missing)} with NaN. Drop or repair them.")
    return FramedPoints(lonlat_to_xyz(*angles), ICRS if name == ICRS.name else GALACTIC)


def _counted(missing: BoolArray) -> str:
    n = int(np.count_nonzero(missing))
    return f"{n:,} of {missing.size:,} rows (first: row {int(np.argmax(missing))})"
