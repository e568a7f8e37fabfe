"""What is asked of a file of points, and the points that it gave."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from tmsm.data.column_names import column_at, find_pair, find_wkt
from tmsm.data.named_tables import FramedPoints
from tmsm.foundation.angles import parse_angle
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, UnknownColumnsError
from tmsm.foundation.filters import Filter
from tmsm.foundation.validation import is_missing, is_number, parse_number
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import EARTH, Frame, change_frame

__all__ = ["BadCellError", "Gathered", "Places", "PointFile", "Request"]

_POINT = re.compile(
    r"\s*(?:SRID\s*=\s*(?P<srid>\d+)\s*;)?\s*POINT\s*(?:ZM|Z|M)?\s*"
    r"(?:(?P<empty>EMPTY)|\(\s*(?P<x>\S+)\s+(?P<y>[^\s)]+)(?:\s+[^\s)]+)*\s*\))\s*",
    re.IGNORECASE,
)


@final
@dataclass(frozen=True)
class PointFile:
    """Points of a file.

    Attributes
    ----------
    longitude, latitude
        Degrees, shape (n,), in the frame.
    groups
        Labels of groups, shape (n,), or None.
    n_without
        Rows that had no coordinates and were left out.
    columns
        The names of the two columns that were read.
    n_bad, first_bad
        Rows that could not be read and were left out, and what is wrong with the first of them, or None.
    frame
        What the coordinates are.
    read_as
        The frame that the columns of the file are in: another one where they were converted.
    also
        Numbers of further columns that were asked for, shape (n,) each, in their order.
    covariates
        Those of columns that no row may lack, by their names.
    """

    path: Path
    longitude: FloatArray
    latitude: FloatArray
    groups: Any
    n_without: int
    columns: tuple[str, str]
    n_bad: int = 0
    first_bad: str | None = None
    frame: Frame = EARTH
    read_as: Frame = EARTH
    also: tuple[FloatArray, ...] = ()
    covariates: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.longitude.size

    @cached_property
    def X(self) -> FloatArray:
        """Unit vectors, shape (n, 3)."""
        return lonlat_to_xyz(self.longitude, self.latitude)

    def points(self, chosen: BoolArray) -> FramedPoints:
        """Some of the points, with their frame."""
        return FramedPoints(self.X[chosen], self.frame)

    def in_frame(self, frame: Frame) -> PointFile:
        """The same directions in another frame of the sky."""
        if frame == self.frame:
            return self
        lon, lat = frame.lonlat(change_frame(self.X, self.frame, frame))
        return replace(self, longitude=lon, latitude=lat, frame=frame)


class BadCellError(ValueError):
    """A cell that is no coordinate; its text says why."""


@dataclass(frozen=True)
class Places:
    """Where in a row the coordinates are, or a point as WKT, the group, what a filter asks for, and further columns."""

    longitude: int
    latitude: int
    frame: Frame
    groups: int | None
    asked: Mapping[str, int]
    also: tuple[int, ...]
    wkt: bool = False

    @property
    def all(self) -> list[int]:
        """Every place, each once."""
        both = [self.longitude, self.latitude, *([] if self.groups is None else [self.groups]), *self.asked.values()]
        return list(dict.fromkeys([*both, *self.also]))


@dataclass(frozen=True)
class Request:
    """How a file is to be read: the arguments of `read_points`."""

    columns: Sequence[str] | None
    groups: str | None
    where: Filter | None
    bad: str
    frame: Frame
    also: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    @property
    def further(self) -> tuple[str, ...]:
        """Names of all further columns of numbers."""
        return (*self.also, *self.covariates)

    def what_for(self, name: str) -> str:
        """What a further column is asked for, for an error message."""
        return "covariates" if name in self.covariates else "numbers beside the place"

    def places(self, header: Sequence[str], whose: str) -> Places:
        """Where it stands, among the columns."""
        if header and all(is_number(name) for name in header):
            raise InvalidInputError(
                f"The first line of {whose} holds numbers alone: put a line with the names of the columns before it."
            )
        asked = {}
        groups = None if self.groups is None else column_at(header, self.groups, "groups", whose)
        also = tuple(column_at(header, name, self.what_for(name), whose) for name in self.further)
        if self.where is not None:
            # Names as they are looked for; the first of several that are the same.
            stripped = [column.strip() for column in header]
            asked = {name: stripped.index(column) for name, column in self.where.find_columns(stripped, whose).items()}
        if self.columns is not None:
            names = zip(self.columns, self.frame.coordinates, strict=True)
            lon, lat = (column_at(header, wanted, what, whose) for wanted, what in names)
            return self._checked(Places(lon, lat, self.frame, groups, asked, also), header)
        try:
            pair = find_pair(header, whose, self.frame)
        except UnknownColumnsError:
            wkt = find_wkt(header)
            if wkt is None:
                raise
            return Places(wkt, wkt, self.frame, groups, asked, also, wkt=True)
        return self._checked(Places(pair.longitude, pair.latitude, pair.frame, groups, asked, also), header)

    def _checked(self, places: Places, header: Sequence[str]) -> Places:
        """Raise where a covariate is a coordinate."""
        for place in places.also[len(self.also) :]:
            if place in (places.longitude, places.latitude):
                raise InvalidInputError(
                    f"The column {header[place].strip()!r} is a coordinate of the points, and cannot be a covariate of "
                    "them."
                )
        return places


@dataclass
class Gathered:
    """Points as they are read, one row after the other; ``unit`` is what a row is called: line, row, feature."""

    request: Request
    name: str
    frame: Frame
    unit: str
    lon: array[float] = field(default_factory=lambda: array("d"))
    lat: array[float] = field(default_factory=lambda: array("d"))
    labels: list[str] = field(default_factory=list)
    also: array[float] = field(default_factory=lambda: array("d"))
    n_without: int = 0
    n_bad: int = 0
    first_bad: str | None = None
    n_rows: int = 0
    n_matching: int = 0
    seen: list[Any] = field(default_factory=list)
    unusable: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)

    def matches(self, values: Mapping[str, Any]) -> bool:
        """Whether the filter takes a row, which is counted."""
        where = self.request.where
        self.n_rows += 1
        if where is not None:
            if not where.holds(values):
                if not self.n_matching and values and len(self.seen) < 1000:
                    self.seen.append(values[where.columns[0]])
                return False
            self.n_matching += 1
        return True

    def complain(self, problem: str) -> None:
        """Count a bad row, or raise; ``problem`` begins with its place."""
        if self.request.bad == "raise":
            raise InvalidInputError(f"{self.name}, {problem}.")
        self.n_bad += 1
        self.first_bad = self.first_bad or problem

    def add(self, number: int, a: Any, b: Any, label: str | None = None, also: Sequence[Any] = ()) -> None:
        """Take a longitude and a latitude in degrees, texts or numbers, of the row of this number, and more numbers."""
        if is_missing(a) or is_missing(b) or any(map(is_missing, also[: len(self.request.also)])):
            self.n_without += 1
            return
        if self.request.bad == "raise" and self._lacks(number, also):
            return
        try:
            x, y = self._angle(a, 0), self._angle(b, 1)
            if self.request.bad == "skip":
                for value, limit, what in ((x, 360.0, 0), (y, 90.0, 1)):
                    if not abs(value) <= limit:
                        raise BadCellError(f"the {self.frame.coordinates[what]} {value:g} is beyond ±{limit:g} degrees")
            more = [self._number(cell, name) for cell, name in zip(also, self.request.further, strict=True)]
        except BadCellError as error:
            self.complain(f"{self.unit} {number}: {error}")
            return
        self.lon.append(x)
        self.lat.append(y)
        self.also.extend(more)
        if label is not None:
            self.labels.append(label)

    def add_cells(
        self,
        rows: Iterable[int],
        places: Places,
        cells: Sequence[Sequence[Any]],
        labels: Any,
        also: Sequence[Sequence[Any]] = (),
    ) -> None:
        """Take some rows of two columns, or of one with WKT in it, their labels and further columns."""
        for row in rows:
            label = None if labels is None else str(labels[row])
            more = [column[row] for column in also]
            if places.wkt:
                self.add_text(row, cells[0][row], label, more)
            else:
                self.add(row, cells[0][row], cells[1][row], label, more)

    def add_text(self, number: int, text: Any, label: str | None = None, also: Sequence[Any] = ()) -> None:
        """Take a point as WKT."""
        if is_missing(text):
            self.n_without += 1
            return
        found = _POINT.fullmatch(str(text))
        if found is None or (found["srid"] or "4326") != "4326":
            shown = str(text) if len(str(text)) <= 60 else f"{str(text)[:57]}..."
            self.complain(f"{self.unit} {number}: {shown!r} is no POINT (x y) in degrees")
        elif found["empty"]:
            self.n_without += 1
        else:
            self.add(number, found["x"], found["y"], label, also)

    def _lacks(self, number: int, also: Sequence[Any]) -> bool:
        """Whether a row has no number for a covariate, which is noted: all such rows are told at once."""
        lacks = False
        for cell, name in zip(also[len(self.request.also) :], self.request.covariates, strict=True):
            try:
                self._number(cell, name)
            except BadCellError:
                self.unusable.setdefault(name, []).append((number, cell))
                lacks = True
        return lacks

    def _complain_of_covariates(self) -> None:
        """Raise where rows lack a covariate."""
        for name, rows in self.unusable.items():
            shown = ", ".join(str(number) for number, _ in rows[:3]) + (", …" if len(rows) > 3 else "")
            total = f"{len(self.lon) + len({number for some in self.unusable.values() for number, _ in some}):,}"
            blank = [cell for _, cell in rows if is_missing(cell)]
            if len(blank) == len(rows):
                problem = f"{len(rows):,} of {total} points without a value of the covariate {name!r}"
            else:
                text = next(cell for _, cell in rows if not is_missing(cell))
                problem = f"{len(rows):,} of {total} points whose covariate {name!r} is no number, such as {text!r}"
            raise InvalidInputError(
                f"{self.name} has {problem} ({self.unit}{'s' * (len(rows) > 1)} {shown}). Fill in the numbers, or "
                "leave such points out."
            )

    def _number(self, value: Any, name: str) -> float:
        try:
            if isinstance(value, bool | np.bool_) or is_missing(value):
                raise ValueError
            number = parse_number(value.strip()) if isinstance(value, str) else float(value)
        except (TypeError, ValueError):
            raise BadCellError(f"{value!r} in the column {name!r} is no number") from None
        if not np.isfinite(number):
            raise BadCellError(f"{value!r} in the column {name!r} is not finite")
        return number

    def _angle(self, value: Any, axis: int) -> float:
        name = self.frame.coordinates[axis]
        if not isinstance(value, str):
            if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
                raise BadCellError(f"the {name} {value!r} is no number")
            return float(value)
        try:
            if self.frame.is_sky:
                return parse_angle(value, hours=axis == 0 and name == "right ascension")
            return parse_number(value)
        except ValueError:
            what = "angle" if self.frame.is_sky else "number"
            raise BadCellError(f"the {name} {value!r} is no {what}") from None

    def file(self, path: Path, columns: tuple[str, str]) -> PointFile:
        """The points, in the frame that their columns are in."""
        where = self.request.where
        if where is not None and not self.n_matching and self.n_rows:
            raise InvalidInputError(where.describe_absence(self.n_rows, self.seen, path.name))
        self._complain_of_covariates()
        labels = None if self.request.groups is None else np.array(self.labels, dtype=str)
        names, n_also = self.request.further, len(self.request.also)
        more = tuple(np.array(self.also).reshape(-1, len(names)).T) if names else ()
        return PointFile(
            path, np.array(self.lon), np.array(self.lat), labels, self.n_without, columns,
            self.n_bad, self.first_bad, self.frame, self.frame, more[:n_also],
            dict(zip(self.request.covariates, more[n_also:], strict=True)),
        )  # fmt: skip
