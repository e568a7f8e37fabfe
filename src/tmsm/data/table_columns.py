"""Columns of Arrow tables as numbers and labels, and what is wrong with those that are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.arrow_tables import Batch, ColumnTable, arrow
from tmsm.data.column_names import column_at, find_pair, frames_of
from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.filters import named_list
from tmsm.foundation.validation import is_missing, parse_number, short_repr
from tmsm.manifolds import Manifold
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import PLAIN, Frame

__all__ = ["Coordinates", "Labels", "numbers"]

_AXES = ("x", "y", "z", "w")


@final
@dataclass(frozen=True)
class Coordinates:
    """Which columns hold the points, and what they are.

    Attributes
    ----------
    names
        Of the columns: longitude and latitude, or as many as points have coordinates.
    degrees
        Whether they are angles in degrees, of which unit vectors are made.
    frame
        The frame that their names stand for.
    """

    names: tuple[str, ...]
    degrees: bool
    frame: Frame

    @property
    def n_columns(self) -> int:
        """Number of coordinates of a point."""
        return 3 if self.degrees else len(self.names)

    @staticmethod
    def find(
        table: ColumnTable,
        manifold: Manifold | None,
        columns: Sequence[str] | None = None,
        *,
        others: Iterable[str] = (),
        on_sphere: bool | None = None,
    ) -> Coordinates:
        """Those that are named, or that names show: longitude and latitude, then x, y, z or x1, x2, …, then all.

        ``manifold`` is None where any will do; ``on_sphere`` says then whether S² is one of them.  ``others`` are
        columns that hold something else.
        """
        others = set(others)
        header = [name for name in table.schema.names if name not in others]
        on_sphere = manifold.has_longitudes if manifold is not None else on_sphere in (None, True)
        width = None if manifold is None else manifold.embedding_dim
        if columns is not None:
            return _named(header, columns, table.title, on_sphere, width)
        if on_sphere and frames_of(header):
            pair = _pair(header, table)
            return Coordinates((header[pair[0]], header[pair[1]]), True, pair[2])
        plain = {name.strip().lower(): name for name in header}
        for n in (width,) if width is not None else (4, 3, 2):
            for axes in (_AXES[:n], tuple(f"x{k + 1}" for k in range(n))):
                if len(axes) == n and all(axis in plain for axis in axes):
                    return Coordinates(tuple(plain[axis] for axis in axes), False, PLAIN)
        if width is None or len(header) == width:
            return Coordinates(tuple(header), False, PLAIN)
        wanted = "longitude and latitude, ra and dec, l and b, or x, y and z" if on_sphere else _axes_of(width)
        raise UnknownColumnsError(
            f"{table.title} has no columns that look like {wanted}; it has {named_list(header)}.",
            table.naming,
        )

    def points(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Points (n, D), a column of which is in one piece, from the numbers of their columns."""
        if self.degrees:
            return lonlat_to_xyz(*columns)
        return np.stack(columns).T

    def complaint(self, columns: Sequence[FloatArray], meant: BoolArray | bool = True) -> tuple[str, BoolArray] | None:
        """What is wrong with some of the rows that are meant, and with which; None if they can be points."""
        finite: BoolArray = np.isfinite(columns[0])
        for column in columns[1:]:
            finite &= np.isfinite(column)
        missing = meant & ~finite
        if missing.any():
            return f"without finite numbers in {named_list(self.names)}", missing
        for column, limit, what in zip(columns, (360.0, 90.0), self.frame.coordinates, strict=False):
            beyond = meant & (np.abs(column) > limit)
            if self.degrees and beyond.any():
                return f"whose {what} is beyond ±{limit:g} degrees", beyond
        return None


def _named(
    header: Sequence[str], columns: Sequence[str], whose: str, on_sphere: bool, width: int | None
) -> Coordinates:
    if isinstance(columns, str) or len(columns) not in {width or len(columns), 2 if on_sphere else width or 0}:
        two = "two names, longitude first, or " if on_sphere else ""
        raise InvalidInputError(f"columns must be {two}{width} names of coordinates; got {columns!r}.")
    found = tuple(header[column_at(header, name, "coordinates", whose)] for name in columns)
    if not (on_sphere and len(found) == 2):
        return Coordinates(found, False, PLAIN)
    frames = frames_of(found)
    return Coordinates(found, True, frames[0] if len(frames) == 1 else PLAIN)


def _pair(header: Sequence[str], table: ColumnTable) -> tuple[int, int, Frame]:
    """Places of longitude and latitude, and their frame."""
    frames = frames_of(header)
    if len(frames) > 1:
        raise UnknownColumnsError(
            f"{table.title} has coordinates in several frames, {' and '.join(frame.name for frame in frames)}.",
            table.choosing,
        )
    pair = find_pair(header, table.title, frames[0], plane=False)
    return pair.longitude, pair.latitude, pair.frame


def _axes_of(width: int) -> str:
    first = f"x1 to x{width}"
    return f"{', '.join(_AXES[:width])}, or {first}" if 1 < width <= len(_AXES) else first


def numbers(batch: Batch, name: str, *, strict: bool = True) -> FloatArray:
    """A column as numbers, shape (n,); what is missing is NaN, and so is a text that is none unless ``strict``."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    column = batch.column(name)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if _is_text(kind):
        try:
            column = pc.cast(pc.utf8_trim_whitespace(column), pa.float64())
        except pa.ArrowInvalid:
            return _read_numbers(batch, column.to_pylist(), name, strict)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        if pa.types.is_null(kind):
            return np.full(len(batch), np.nan)
        raise InvalidInputError(f"{batch.whose}: the column {name!r} holds {kind}, and numbers are wanted.")
    if not pa.types.is_float64(column.type):
        column = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_text(kind: Any) -> bool:
    pa = arrow()
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def _read_numbers(batch: Batch, cells: list[Any], name: str, strict: bool) -> FloatArray:
    """Texts as numbers, one by one."""
    out = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        try:
            out[row] = parse_number(cell.strip())
        except ValueError:
            if strict:
                raise InvalidInputError(
                    f"{batch.place_of(row)}: {short_repr(cell)} in the column {name!r} is no number."
                ) from None
    return out


class Labels:
    """The labels of a column, which are numbered in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[Any] = []
        self._kind: Any = None
        self._known: np.ndarray[Any, Any] = np.empty(0)

    def see(self, batch: Batch) -> None:
        """Take note of those of some rows; one that is missing is an error."""
        column = self._column(batch)
        self._parts.append(column.unique())
        if sum(map(len, self._parts)) > 2 * len(self._parts[0]) + 10_000:
            self._gather()

    def _gather(self) -> None:
        pa = arrow()
        self._parts = [pa.concat_arrays(self._parts).unique()] if self._parts else []

    def __add__(self, other: Labels) -> Labels:
        """What both have seen."""
        found = Labels(self.name)
        for one in (self, other):
            if one._kind is not None:
                found._check_kind(one._kind, "The table")
                found._parts += one._parts
        found._gather()
        return found

    def settle(self) -> None:
        """Number what was seen."""
        pc = arrow("pyarrow.compute")
        self._gather()
        self._parts = [part.take(pc.sort_indices(part)) for part in self._parts]
        if self._is_number:
            self._known = self._parts[0].to_numpy(zero_copy_only=False)

    @property
    def count(self) -> int:
        """How many labels there are."""
        return len(self._parts[0]) if self._parts else 0

    @property
    def _is_number(self) -> bool:
        pa = arrow()
        return self._kind is not None and bool(pa.types.is_integer(self._kind) or pa.types.is_floating(self._kind))

    def codes(self, batch: Batch) -> IntArray:
        """The number of the label of each row."""
        column = self._column(batch)
        if self._is_number:  # nothing has to be built anew for each batch
            return np.asarray(np.searchsorted(self._known, column.to_numpy(zero_copy_only=False)), dtype=np.intp)
        found = arrow("pyarrow.compute").index_in(column, value_set=self._parts[0])
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.intp)

    def _column(self, batch: Batch) -> Any:
        pa, pc = arrow(), arrow("pyarrow.compute")
        column = batch.column(self.name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if _is_text(column.type):
            column = pc.utf8_trim_whitespace(pc.cast(column, pa.large_string()))
        elif pa.types.is_signed_integer(column.type):  # which differ in their width from file to file
            column = pc.cast(column, pa.int64())
        self._check_kind(column.type, batch.whose)
        missing = pc.is_null(column, nan_is_null=True)
        if _is_text(column.type):
            missing = pc.or_kleene(missing, pc.equal(column, ""))
        if pc.any(missing).as_py():
            place = batch.place_of(pc.index(missing, True).as_py())
            raise InvalidInputError(
                f"{place} has no value in the column {self.name!r} of the groups. Give every row a "
                "label of its own where it stands alone."
            )
        return column

    def _check_kind(self, kind: Any, whose: str) -> None:
        """Raise where labels are of another type than those before them."""
        if self._kind is None:
            self._kind = kind
        if kind != self._kind:
            raise InvalidInputError(
                f"{whose}: the column {self.name!r} of the groups holds {kind}, and {self._kind} before."
            )
