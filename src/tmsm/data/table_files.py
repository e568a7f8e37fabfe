"""Parquet and CSV files, and folders of them, as tables that are read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final
from urllib.parse import unquote

import numpy as np

from tmsm.data.arrow_tables import BATCH_ROWS, Batch, ColumnTable, arrow, reading, taken
from tmsm.data.point_tables import text_start
from tmsm.data.text_files import open_text
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.filters import named_list
from tmsm.foundation.given_files import check_file
from tmsm.foundation.threads import map_in_order

__all__ = ["TableFiles", "is_table_file"]

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv", ".tab", ".psv", ".csv.gz", ".tsv.gz", ".tab.gz", ".psv.gz")
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
# Bytes of text that are parsed at a time.
_TEXT_BYTES = 2**22
# A sample of a Parquet file is taken from this share of each of its row groups, where it has so many of them.
_GROUPS, _GROUP_SHARE = 16, 0.125
# How long a list of other files may be in a message.
_SHOWN = 3


def is_table_file(path: Path) -> bool:
    """Whether a file's ending says that it is read batch by batch."""
    return path.name.lower().endswith((*_PARQUET, *_TEXT))


@dataclass(frozen=True)
class _Stamp:
    """What shows that a file has changed."""

    size: int
    time: int

    @staticmethod
    def of(path: Path) -> _Stamp:
        found = path.stat()
        return _Stamp(found.st_size, found.st_mtime_ns)


@dataclass(frozen=True)
class _File:
    """One file: where it is, what to call it, its columns, its rows where they are known, what its folders say."""

    path: Path
    name: str
    stamp: _Stamp
    schema: Any
    n_rows: int | None
    folders: dict[str, str]
    text: Any = None


@final
class TableFiles(ColumnTable):
    """A Parquet or text file, or all of a folder in the order of their names, as one table.

    Folders with names such as ``year=2020`` are columns, as Hive writes them.

    Parameters
    ----------
    path
        The file or folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        if self._path.is_dir():
            found = _files_in(self._path)
            self._files = [_opened(file, str(file.relative_to(self._path)), _hive(file, self._path)) for file in found]
        else:
            check_file(self._path, "the rows")
            if not is_table_file(self._path):
                raise InvalidInputError(
                    f"{self._path.name} has an ending that is not known. Give a Parquet or CSV file, that is one of "
                    f"{', '.join((*_PARQUET, *_TEXT[:4]))} (text also with .gz), or a folder of them."
                )
            self._files = [_opened(self._path, self._path.name, {})]

    @property
    def title(self) -> str:
        return self._path.name or str(self._path)

    @cached_property
    def schema(self) -> Any:
        pa, first = arrow(), self._files[0]
        found = first.schema
        for name in first.folders:
            if name not in found.names:
                found = found.append(pa.field(name, pa.string()))
        return found

    @property
    def length(self) -> int | None:
        rows = [file.n_rows for file in self._files]
        return None if None in rows else sum(n for n in rows if n is not None)

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        for file in self._files:
            first = 0
            for columns in self._read(file, names):
                yield Batch(columns, file.name, first)
                first += columns.num_rows

    def thinned(self, names: Sequence[str], stride: int) -> Iterator[Batch]:
        if any(file.n_rows is None for file in self._files):
            return super().thinned(names, stride)
        groups = [(file, k, n) for file in self._files for k, n in enumerate(_row_groups(file)) if n]
        if len(groups) < _GROUPS:
            return super().thinned(names, stride)
        return (batch for _, batch in map_in_order(partial(self._thinned_run, names), _runs(groups, stride)))

    def _thinned_run(self, names: Sequence[str], run: _Run) -> Batch:
        columns = next(self._read(run.file, names, run))
        return taken(Batch(columns, run.file.name, 0), np.arange(run.wanted) * columns.num_rows // run.wanted)

    def _read(self, file: _File, names: Sequence[str], run: _Run | None = None) -> Iterator[Any]:
        """Batches of one file, some of its columns; of a Parquet file instead one run, as one batch."""
        pa = arrow()
        asked = [name for name in names if name in file.schema.names]
        for name in names:
            if name not in file.schema.names and name not in file.folders:
                raise InvalidInputError(
                    f"{file.name} has no column {name!r}, which {self._files[0].name} has; it has "
                    f"{named_list(file.schema.names)}."
                )
        with reading(file.name):
            if _Stamp.of(file.path) != file.stamp:
                raise InvalidInputError(
                    f"{file.name} has changed since reading began: fit again when nobody writes to it."
                )
            reader = _parquet(file, asked, run) if file.text is None else _text(file, asked)
            for batch in reader:
                if not batch.num_rows:
                    continue
                columns = [
                    batch.column(batch.schema.names.index(name))
                    if name in asked
                    else pa.array([file.folders[name]]).take(pa.nulls(batch.num_rows, pa.int8()).fill_null(0))
                    for name in names
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))


@dataclass(frozen=True)
class _Run:
    """The beginning of a row group: how many rows of it are read, and how many of these are wanted."""

    file: _File
    group: int
    size: int
    wanted: int


def _runs(groups: list[tuple[_File, int, int]], stride: int) -> Iterator[_Run]:
    """As many rows as every stride-th, from the beginning of each row group: the rest need not be read."""
    first = 0
    for file, k, n in groups:
        wanted = -(-(first + n) // stride) - -(-first // stride)
        first += n
        if wanted:
            yield _Run(file, k, min(n, max(wanted, int(_GROUP_SHARE * n))), wanted)


def _files_in(folder: Path) -> list[Path]:
    """Files of a folder and the folders in it that hold rows: all Parquet, or all text."""
    everything = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    found = [path for path in everything if is_table_file(path)]
    if not found:
        others = [path.name for path in everything]
        what = f"; it has {named_list(others, _SHOWN)}" if others else ""
        raise InvalidInputError(f"The folder {str(folder)!r} holds no Parquet or CSV files{what}.")
    kinds = {path.name.lower().endswith(_PARQUET): path for path in reversed(found)}
    if len(kinds) == 2:
        raise InvalidInputError(
            f"{str(folder)!r} is a folder; give the file that holds the points, or a folder with files of one kind: it "
            f"has both Parquet and text files, such as {kinds[True].name} and {kinds[False].name}, "
            "which would count twice."
        )
    return found


def _hive(path: Path, folder: Path) -> dict[str, str]:
    """What the names of the folders round a file say, such as year=2020."""
    pairs = (part.partition("=") for part in path.relative_to(folder).parts[:-1])
    return {name: unquote(value) for name, sign, value in pairs if sign}


def _opened(path: Path, name: str, folders: dict[str, str]) -> _File:
    """A file, with what its beginning or its end says of it."""
    if path.stat().st_size == 0:
        raise InvalidInputError(f"{name} is empty.")
    if path.name.lower().endswith(_PARQUET):
        with reading(name, " as Parquet"):
            # A file that was cut off has no end, where all this stands.
            metadata = arrow("pyarrow.parquet").read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
        return _File(path, name, _Stamp.of(path), schema, metadata.num_rows, folders)
    suffix = path.suffixes[-2 if path.suffix.lower() == ".gz" else -1].lower()
    with reading(name):
        with open_text(path) as file:
            start = text_start(file, _DELIMITERS.get(suffix), name)
        if start.delimiter is None:
            raise InvalidInputError(
                f"{name} has blanks between its columns, and only tables with commas or other signs between them are "
                "read block by block: convert it to CSV or Parquet."
            )
        header = [one.strip() for one in start.header]
        several = [one for one in header if header.count(one) > 1]
        if several:
            raise InvalidInputError(f"{name} has several columns {several[0]!r}; rename all but one.")
        pa = arrow()
        schema = pa.schema([pa.field(one, pa.null()) for one in header])
        return _File(path, name, _Stamp.of(path), schema, None, folders, start)


def _row_groups(file: _File) -> list[int]:
    """Rows of each row group of a Parquet file."""
    with reading(file.name):
        metadata = arrow("pyarrow.parquet").read_metadata(file.path)
        return [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]


def _parquet(file: _File, names: Sequence[str], run: _Run | None) -> Iterator[Any]:
    # Without a buffer of its own a whole column of a row group is fetched at a time, which may be any size.
    with arrow("pyarrow.parquet").ParquetFile(file.path, pre_buffer=False, buffer_size=2**20) as opened:
        if names:
            size, groups = (BATCH_ROWS, None) if run is None else (run.size, [run.group])
            yield from opened.iter_batches(size, row_groups=groups, columns=list(names), use_threads=False)
            return
        pa = arrow()
        sizes = [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]
        for n in sizes if run is None else [run.size]:
            yield pa.RecordBatch.from_struct_array(pa.nulls(n, pa.struct([])))


def _text(file: _File, names: Sequence[str]) -> Iterator[Any]:
    csv = arrow("pyarrow.csv")
    reader = csv.open_csv(
        file.path,
        csv.ReadOptions(
            column_names=file.schema.names, skip_rows=file.text.lines, block_size=_TEXT_BYTES, use_threads=False
        ),
        csv.ParseOptions(
            delimiter=file.text.delimiter, newlines_in_values=True, quote_char=file.text.quote, ignore_empty_lines=True
        ),
        # As text: what is no number is found with its row, and a column need not look the same in every file.
        csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, arrow().string())),
    )
    with reader:
        yield from reader
