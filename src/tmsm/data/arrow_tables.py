"""Tables of columns with names, read batch by batch: of Arrow, of whatever hands them on, datasets of pyarrow."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.optional import load_package

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "ColumnTable",
    "DatasetTable",
    "MemoryTable",
    "ReaderTable",
    "arrow",
    "arrow_table",
    "reading",
]

# Rows that are read at a time: some megabytes for each column.
BATCH_ROWS = 2**17
# What a dataset calls the column with the file that a row is from.
_FILE = "__filename"


def arrow(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or a sentence that says how to get it."""
    return load_package(module, "Reading files and tables block by block", "geo")


@final
@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    columns
        A RecordBatch of Arrow with the columns that were asked for, in their order.
    whose
        The file or table that they are of.
    first
        The number of the first one there.
    chosen
        Which rows from there on these are, where they do not follow each other.
    """

    columns: Any
    whose: str
    first: int
    chosen: IntArray | None = None

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def place_of(self, k: int) -> str:
        """Where one of the rows is, for an error message."""
        return f"{self.whose}, row {self.first + (k if self.chosen is None else int(self.chosen[k])):,}"

    def column(self, name: str) -> Any:
        """A column, as Arrow's array."""
        return self.columns.column(self.columns.schema.names.index(name))


class ColumnTable(ABC):
    """Columns with names, in files or in memory, read batch by batch and in a fixed order."""

    rereadable = True
    # How a user says which columns are meant.
    naming = "Rename them, or name them in tmsm.data.table_source.open_table(table, columns=(...))."
    choosing = "Name two columns in tmsm.data.table_source.open_table(table, columns=(longitude, latitude))."

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, for an error message."""

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of its columns, as Arrow's schema."""

    @property
    def length(self) -> int | None:
        """Number of rows, where it is known before they are read."""
        return None

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """All rows of some columns, in order; each call begins anew."""

    def thinned(self, names: Sequence[str], stride: int) -> Iterator[Batch]:
        """One row of every so many; of a large file, where that spares reading it, runs that are spread evenly."""
        n = 0
        for batch in self.batches(names):
            chosen = np.arange((-n) % stride, len(batch), stride)
            n += len(batch)
            if len(chosen):
                yield taken(batch, chosen)


def taken(batch: Batch, chosen: IntArray) -> Batch:
    """Some rows of a batch."""
    own = chosen if batch.chosen is None else batch.chosen[chosen]
    return Batch(batch.columns.take(arrow().array(chosen)), batch.whose, batch.first, own)


@contextmanager
def reading(whose: str, what: str = "") -> Iterator[None]:
    """Whatever pyarrow says of what it cannot read, as one sentence."""
    pa = arrow()
    try:
        yield
    except pa.ArrowCancelled:
        raise KeyboardInterrupt from None
    except FileNotFoundError:
        raise InvalidInputError(f"{whose} is not there any more: it went away while it was read.") from None
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        text = text if len(text) <= 200 else f"{text[:197]}..."
        raise InvalidInputError(f"{whose} cannot be read{what}: {text}.") from None


@final
class MemoryTable(ColumnTable):
    """A table that can be sliced: of Arrow, or of what hands its memory on to Arrow, such as a frame of Polars."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def title(self) -> str:
        return "The table"

    @property
    def schema(self) -> Any:
        return self._table.schema

    @property
    def length(self) -> int:
        return int(self._table.num_rows)

    def with_column(self, values: np.ndarray[Any, Any]) -> tuple[MemoryTable, str]:
        """The same table with one more column (n,), and the name that it was given."""
        name, taken = "beside", self.schema.names
        while name in taken:
            name += "_"
        return MemoryTable(self._table.append_column(name, arrow().array(values))), name

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        first = 0
        for batch in self._table.select(list(names)).to_batches(max_chunksize=BATCH_ROWS):
            yield Batch(batch, self.title, first)
            first += batch.num_rows


@final
class ReaderTable(ColumnTable):
    """What gives a stream of batches: anew each time that it is asked, or once.

    Parameters
    ----------
    begin
        A function that returns a RecordBatchReader.
    rereadable
        Whether it can be called again.
    """

    def __init__(self, begin: Callable[[], Any], rereadable: bool) -> None:
        self._begin = begin
        self.rereadable = rereadable
        self._first: Any = None

    @property
    def title(self) -> str:
        return "The table" if self.rereadable else "A RecordBatchReader"

    @property
    def schema(self) -> Any:
        return self._reader().schema

    def _reader(self) -> Any:
        if self.rereadable:
            return self._begin()
        self._first = self._first or self._begin()
        return self._first

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        first = 0
        with reading(self.title):
            for whole in self._reader():
                for start in range(0, whole.num_rows, BATCH_ROWS):
                    batch = whole.select(list(names)).slice(start, BATCH_ROWS)
                    yield Batch(batch, self.title, first)
                    first += batch.num_rows


@final
class DatasetTable(ColumnTable):
    """A `pyarrow.dataset.Dataset`, read a little ahead."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    @property
    def title(self) -> str:
        return "The dataset"

    @property
    def schema(self) -> Any:
        return self._dataset.schema

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        # By default files are fetched ahead, whole.
        parquet = arrow("pyarrow.dataset").ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        options = {"fragment_scan_options": parquet} if self._is_parquet else {}
        whose, first = self.title, 0
        with reading(self.title):
            found = self._dataset.to_batches(
                columns=[*names, _FILE], batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1,
                use_threads=False, **options,
            )  # fmt: skip
            for batch in found:
                if not batch.num_rows:
                    continue
                file = batch.column(len(names))[0].as_py() or self.title
                whose, first = file, (first if file == whose else 0)
                yield Batch(batch.select(list(names)), whose, first)
                first += batch.num_rows

    @property
    def _is_parquet(self) -> bool:
        kind = getattr(self._dataset, "format", None)
        return _is_a(kind, "pyarrow.dataset", "ParquetFileFormat")


def arrow_table(X: Any) -> ColumnTable | None:
    """The table that an object of Arrow is, or hands on; None of anything else."""
    if _is_a(X, "pyarrow", "Table"):
        return MemoryTable(X)
    if _is_a(X, "pyarrow", "RecordBatch"):
        return MemoryTable(arrow().Table.from_batches([X]))
    if _is_a(X, "pyarrow", "RecordBatchReader"):
        return ReaderTable(lambda: X, rereadable=False)
    if _is_a(X, "pyarrow.dataset", "Dataset"):
        return DatasetTable(X)
    if not hasattr(X, "__arrow_c_stream__"):
        return None
    once = hasattr(X, "__next__") or hasattr(X, "read_next_batch")
    return ReaderTable(lambda: arrow().RecordBatchReader.from_stream(X), rereadable=not once)


def _is_a(X: Any, module: str, name: str) -> bool:
    """Whether it is of a class of pyarrow, which nobody has to import: who made it has."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(X, kind)
