"""Points from tables of text: with commas, semicolons, tabs, bars or blanks between their columns."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tmsm.data.point_rows import Gathered, Places, PointFile, Request
from tmsm.data.text_files import open_text
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import is_number

__all__ = ["TextStart", "read_text", "text_start"]

_BLOCK = 100_000
_LARGE = 20_000_000  # bytes
_BYTES_A_ROW = 40  # for the progress bar only
_DELIMITERS = ",;\t|"
# What a spreadsheet writes first, to tell itself which separator follows.
_SEPARATOR = re.compile(r'"?sep=(?P<sign>.)"?[,;\t|]*\s*', re.IGNORECASE)
# Names in a line of names: separated by two blanks or more; by any, where a unit in brackets belongs to its name.
_WIDE = re.compile(r"\s{2,}")
_WITH_UNITS = re.compile(r"\S+(?:[ \t]+[(\[][^)\]]*[)\]])?")

# Line number and cells.
_Row = tuple[int, list[str]]


@dataclass(frozen=True)
class TextStart:
    """What stands before the rows: the separator (None for blanks), the line of names, and how many lines there are.

    ``waiting`` is the first row where it had to be read to know.
    """

    delimiter: str | None
    names: str
    lines: int
    waiting: str
    remarks: bool

    @property
    def quoting(self) -> Any:
        """How cells may be quoted, as the csv module says it."""
        return csv.QUOTE_NONE if self.remarks and self.delimiter == "|" else csv.QUOTE_MINIMAL

    @property
    def quote(self) -> Any:
        """The same for pyarrow."""
        return False if self.quoting == csv.QUOTE_NONE else '"'

    @property
    def header(self) -> list[str]:
        """Names of the columns of a table with a separator."""
        return next(csv.reader([self.names], delimiter=self.delimiter or ",", quoting=self.quoting), [])


def read_text(path: Path, delimiter: str | None, request: Request) -> PointFile:
    """Points of a table of text; ``delimiter`` is what its ending says, or None."""
    try:
        with open_text(path) as file:
            start = text_start(file, delimiter, path.name)
            size = path.stat().st_size
            if start.delimiter is None:
                header, found = _blank_separated(start, file, request, path.name)
                rows = iter(found)
            else:
                header = start.header
                rows = _separated(start, file, size)
            places = request.places(header, path.name)
            if size > _LARGE and start.delimiter is not None and not places.wkt and not places.also:
                quick = _read_large(path, start, header, places, request)
                if quick is not None:
                    return quick
            return _gathered(path, header, rows, places, request, start.delimiter)
    except (OSError, EOFError, csv.Error, zlib.error) as error:
        raise InvalidInputError(f"{path.name} cannot be read: {error}.") from None


def text_start(file: TextIO, delimiter: str | None, name: str) -> TextStart:
    """What stands before the rows of a table of text; ``delimiter`` is what its ending says, or None."""
    line, lines = file.readline(), 1
    if "\0" in line:
        raise InvalidInputError(f"{name} is no plain text (UTF-16, or a workbook): save it as CSV in UTF-8.")
    told = _SEPARATOR.fullmatch(line)
    if told is not None:
        delimiter = told["sign"]
        line, lines = file.readline(), lines + 1
    remark = ""
    while line and (not line.strip() or line.lstrip().startswith("#")):
        remark = line if line.strip() else remark
        line, lines = file.readline(), lines + 1
    names, waiting = line, ""
    # Names may stand in a remark: then numbers follow.
    if remark and (not line or any(map(is_number, re.split(r"[,;\t|\s]+", line)))):
        names, waiting, lines = remark.lstrip().lstrip("#").lstrip(" "), line, lines - 1
    if told is None and (delimiter is None or delimiter not in names):
        delimiter = max(_DELIMITERS, key=names.count)
        delimiter = delimiter if delimiter in names else None
        if delimiter is None and len(names.split()) < 2:
            delimiter = ","
    return TextStart(delimiter, names, lines, waiting, bool(remark))


def _separated(start: TextStart, file: TextIO, size: int) -> Iterator[_Row]:
    """Rows that are not empty, with a progress bar for large files."""
    reader = csv.reader(
        chain([start.waiting] if start.waiting else [], file), delimiter=start.delimiter or ",", quoting=start.quoting
    )

    def blocks() -> Iterator[list[_Row]]:
        block: list[_Row] = []
        for row in reader:
            if row and not (start.remarks and row[0].lstrip().startswith("#")):
                block.append((reader.line_num + start.lines, row))
            if len(block) == _BLOCK:
                yield block
                block = []
        yield block

    expected = max(1, size // (_BYTES_A_ROW * _BLOCK))
    for block in with_progress(blocks(), expected, "Reading points"):
        yield from block


def _gathered(
    path: Path, header: Sequence[str], rows: Iterable[_Row], places: Places, request: Request, delimiter: str | None
) -> PointFile:
    found = Gathered(request, path.name, places.frame, "line")
    i, j, k = places.longitude, places.latitude, places.groups
    asked, filtered = list(places.asked.items()), request.where is not None
    for number, row in rows:
        if len(row) != len(header):
            found.complain(f"line {number} has {len(row)} of {len(header)} columns")
            continue
        if filtered and not found.matches({name: row[place].strip() for name, place in asked}):
            continue
        label = None if k is None else row[k].strip()
        also = [row[place].strip() for place in places.also]
        if delimiter != ",":
            also = [cell.replace(",", ".") for cell in also]
        if places.wkt:
            found.add_text(number, row[i].strip(), label, also)
            continue
        a, b = row[i].strip(), row[j].strip()
        if delimiter != ",":  # decimal commas
            a, b = a.replace(",", "."), b.replace(",", ".")
        found.add(number, a, b, label, also)
    return found.file(path, (header[i].strip(), header[j].strip()))


def _read_large(
    path: Path, start: TextStart, header: Sequence[str], places: Places, request: Request
) -> PointFile | None:
    """By pyarrow, which reads twenty times as fast; None where it is absent or finds anything amiss."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    names = [f"{place}" for place in range(len(header))]  # names in a file need not be unique
    both = names[places.longitude], names[places.latitude]
    types = {names[place]: pa.string() for place in places.all} | dict.fromkeys(both, pa.float64())
    if any(places.longitude == place or places.latitude == place for place in (places.groups, *places.asked.values())):
        return None  # one column, both as a number and as a text
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=names, skip_rows=start.lines),
            arrow.ParseOptions(delimiter=start.delimiter, newlines_in_values=True, quote_char=start.quote),
            arrow.ConvertOptions(include_columns=list(types), column_types=types),
        )
    except (pa.ArrowException, OSError):
        return None
    lon, lat = (table.column(name).to_numpy() for name in both)
    kept = np.ones(len(lon), dtype=bool)
    if request.where is not None:
        columns = {
            name: [text.strip() for text in table.column(names[place]).to_pylist()]
            for name, place in places.asked.items()
        }
        kept = request.where.select(columns, len(lon), path.name)
    if np.isinf(lon).any() or np.isinf(lat).any():
        return None
    there = ~np.isnan(lon) & ~np.isnan(lat)
    good = kept & there
    if request.bad == "skip" and ((np.abs(lon[good]) > 360.0).any() or (np.abs(lat[good]) > 90.0).any()):
        return None
    labels = None
    if places.groups is not None:
        labels = np.array(
            [label.strip() for label in table.column(names[places.groups]).filter(pa.array(good)).to_pylist()],
            dtype=str,
        )
    used = header[places.longitude].strip(), header[places.latitude].strip()
    without = int((kept & ~there).sum())
    return PointFile(path, lon[good], lat[good], labels, without, used, frame=places.frame, read_as=places.frame)


def _blank_separated(start: TextStart, file: TextIO, request: Request, name: str) -> tuple[list[str], list[_Row]]:
    """Names and rows of a table with blanks between its columns, or with columns of fixed width."""
    given = start.names.expandtabs().rstrip()
    found = [
        (number, line.expandtabs().rstrip())
        for number, line in enumerate(chain([start.waiting] if start.waiting else [], file), start.lines + 1)
        if line.strip() and not (start.remarks and line.lstrip().startswith("#"))
    ]
    splits = (
        (given.split(), str.split),
        (_WITH_UNITS.findall(given), str.split),
        (_WIDE.split(given.strip()), str.split),
        (_WIDE.split(given.strip()), lambda line: _WIDE.split(line.strip())),
    )
    best: tuple[int, list[str], list[_Row]] | None = None
    for header, split in splits:
        rows = [(number, split(line)) for number, line in found]
        suited = sum(len(row) == len(header) for _, row in rows) if len(header) > 1 else 0
        if suited == len(rows) and len(header) > 1:
            return header, rows
        if best is None or suited > best[0]:
            best = suited, header, rows
    assert best is not None
    return _fixed_columns(given, found, request, name) or (best[1], best[2])


def _fixed_columns(
    given: str, found: Sequence[tuple[int, str]], request: Request, name: str
) -> tuple[list[str], list[_Row]] | None:
    """Columns by their place in the line, where no line has anything between them; None where these are none."""
    lines = [given, *(line for _, line in found)]
    if not any("  " in line.strip() for line in lines):
        return None  # nothing shows that blanks pad the columns
    width = max(map(len, lines))
    used = np.zeros(width + 1, dtype=bool)
    for line in lines:
        used[: len(line)] |= np.frombuffer(line.encode("utf-32-le"), dtype=np.uint32) != ord(" ")
    edges = np.flatnonzero(np.diff(used.astype(np.int8), prepend=0))
    parts: list[tuple[int, int]] = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if parts and not given[begin:end].strip():  # a cell with blanks in it, such as a date with its time
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((begin, end))
    header = [given[begin:end].strip() for begin, end in parts]
    try:
        places = request.places(header, name)
    except InvalidInputError:
        return None
    rows = [(number, [line[begin:end].strip() for begin, end in parts]) for number, line in found]
    both = places.longitude, places.latitude
    for (_, row), (_, line) in zip(rows, found, strict=True):
        # A row that blanks tell apart must be the same by its places, and no number may lie beside its column.
        words = line.split()
        plausible = len(words) == len(header) and all(is_number(words[k]) for k in both)
        if plausible and any(words[k] != row[k] for k in both):
            return None
        for place in both:
            beside = row[max(place - 1, 0) : place + 2]
            if " " in row[place] or (not row[place] and any(" " in cell for cell in beside)):
                return None
    return header, rows
