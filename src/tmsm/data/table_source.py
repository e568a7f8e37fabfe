"""Rows of files and tables that are read block by block: only the columns that are wanted, and never all at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.arrow_tables import Batch, ColumnTable, MemoryTable, arrow_table, taken
from tmsm.data.column_names import column_at
from tmsm.data.covariates import Covariates, CovariatesInBlocks
from tmsm.data.groups import Groups, GroupsInBlocks
from tmsm.data.sources import RawBlock, Source, joined
from tmsm.data.streamed import StreamedSource
from tmsm.data.table_columns import Coordinates, Labels, numbers
from tmsm.data.table_files import TableFiles
from tmsm.data.table_rows import BadRows, NoPointsError, TableRows, covariate_columns, named_column
from tmsm.foundation.arrays import BoolArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.filters import Filter
from tmsm.foundation.progress import with_progress
from tmsm.foundation.validation import check_option, check_sample_weight
from tmsm.manifolds import Manifold, Sphere
from tmsm.manifolds.frames import Frame

__all__ = ["Chosen", "TableSource", "open_table"]

_S2 = Sphere(2)


@final
@dataclass(frozen=True)
class Chosen:
    """Which rows of a table are meant, and what was found when it was read for the first time.

    Attributes
    ----------
    kept
        For each batch which rows are taken, packed bits, or None for all of them.
    n_rows, n_matching, n_without, n_bad
        All rows, those that the filter takes, those of them without coordinates, and those beyond their range.
    first_bad
        What is wrong with the first of these.
    """

    kept: tuple[Any, ...]
    n_rows: int
    n_matching: int
    n_without: int
    n_bad: int
    first_bad: str | None


@final
@dataclass(frozen=True, eq=False)
class TableSource(StreamedSource):
    """Points in columns of a table; `open_table` makes it.

    Weights, labels of groups and covariates are in other columns of the same table.

    Attributes
    ----------
    origin
        The table, file or folder.
    coordinates
        The columns with the points.
    weight, labels, others
        Names of the columns with weights, labels of groups and covariates.
    titles
        What the covariates are called.
    where
        Which rows are taken; None for all.
    lenient
        Whether rows without coordinates are left out. Otherwise they are an error.
    skip_bad
        Whether, if ``lenient``, rows with coordinates beyond their range or with a covariate that is no number are left
        out as well.
    wanted
        The frame to convert points of the sky to; None leaves them as they are.
    """

    origin: ColumnTable
    coordinates: Coordinates
    weight: str | None = None
    labels: str | None = None
    others: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    where: Filter | None = None
    lenient: bool = False
    skip_bad: bool = False
    wanted: Frame | None = None

    @property
    def title(self) -> str:
        return self.origin.title

    @property
    def rereadable(self) -> bool:
        return self.origin.rereadable

    @property
    def reads_anywhere(self) -> bool:
        return isinstance(self.origin, TableFiles | MemoryTable)

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_columns

    @property
    def frame(self) -> Frame:
        return self.coordinates.frame if self.wanted is None else self.wanted

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @cached_property
    def groups(self) -> Groups | None:
        if self.labels is None:
            return None
        self._numbered.settle()
        return GroupsInBlocks(self._numbered.count, lambda: np.concatenate([block.groups for block in self.pieces()]))

    @cached_property
    def _numbered(self) -> Labels:
        """The labels of all rows, in a pass over their column alone."""
        assert self.labels is not None
        labels = Labels(self.labels)
        for batch in with_progress(self._batches([self.labels]), None, "reading groups", len):
            labels.see(batch)
        return labels

    @cached_property
    def covariates(self) -> Covariates | None:
        if not self.others:
            return None
        return CovariatesInBlocks(
            self.titles,
            lambda: np.concatenate([block.covariates for block in self.pieces()]),
        )

    def grouped(self, labels: Any) -> Source:
        if isinstance(self.origin, MemoryTable) and not isinstance(labels, str):
            origin, name = self.origin.with_column(Groups.of(labels, self.origin.length).codes)
            return replace(self, origin=origin, labels=name)
        return replace(self, labels=self._column(labels, "groups"))

    def described(self, covariates: Any) -> Source:
        names = [covariates] if isinstance(covariates, str) else covariates
        named = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        if isinstance(self.origin, MemoryTable) and not named:
            columns, origin, places = Covariates.of(covariates, self.origin.length), self.origin, list[str]()
            for column in columns.values.T:
                origin, name = origin.with_column(column)
                places.append(name)
            return replace(self, origin=origin, others=tuple(places), titles=columns.names)
        found = covariate_columns(self.origin.schema.names, covariates, self.coordinates, self.title)
        return replace(self, others=found, titles=found)

    def weighted_by(self, weight: Any) -> TableSource:
        """The same rows with weights from a column; of a table in memory from an array, too."""
        if isinstance(self.origin, MemoryTable) and not isinstance(weight, str):
            checked = check_sample_weight(weight, self.origin.length)
            assert checked is not None, "they were given"
            origin, name = self.origin.with_column(checked)
            return replace(self, origin=origin, weight=name)
        return replace(self, weight=self._column(weight, "sample_weight"))

    def _column(self, name: Any, what: str) -> str:
        return named_column(self.origin.schema.names, name, what, self.title)

    @property
    def known_length(self) -> int | None:
        return self._chosen_length if self._is_chosen else self.origin.length

    @property
    def _is_chosen(self) -> bool:
        """Whether some rows may be left out."""
        return self.lenient or self.where is not None

    @property
    def _chosen_length(self) -> int:
        chosen = self.chosen
        return chosen.n_matching - chosen.n_without - chosen.n_bad

    @cached_property
    def chosen(self) -> Chosen:
        """Which rows are taken: found by reading the table once."""
        asked = {} if self.where is None else self.where.find_columns(self.origin.schema.names, self.title)
        kept: list[Any] = []
        seen: list[Any] = []
        n_rows = n_matching = n_without = n_bad = 0
        first_bad: str | None = None
        further = self.others if self.skip_bad else ()
        names = list(dict.fromkeys([*self.coordinates.names, *asked.values(), *further]))
        for batch in with_progress(self.origin.batches(names), None, "choosing rows", len):
            good = np.ones(len(batch), dtype=bool)
            if self.where is not None:
                cells = {name: _cells(batch, column) for name, column in asked.items()}
                good = _matching(self.where, cells, len(batch))
                if not n_matching and not good.any() and len(seen) < 1000 and cells:
                    seen += cells[self.where.columns[0]]
            n_rows, n_matching = n_rows + len(batch), n_matching + int(good.sum())
            columns = self._places.columns(batch)
            if self.lenient:
                there = ~np.isnan(np.sum(columns, axis=0))
                n_without += int((good & ~there).sum())
                good &= there
            while self.skip_bad and (found := self.coordinates.complaint(columns, good)) is not None:
                row = int(np.argmax(found[1]))
                values = ", ".join(f"{column[row]:.6g}" for column in columns)
                first_bad = first_bad or f"{batch.place_of(row)} ({values})"
                n_bad += int(found[1].sum())
                good &= ~found[1]
            for name in further:
                lacks = good & ~np.isfinite(numbers(batch, name, strict=False))
                if lacks.any():
                    first_bad = first_bad or f"{batch.place_of(int(np.argmax(lacks)))} (no number in {name!r})"
                    n_bad += int(lacks.sum())
                    good &= ~lacks
            kept.append(None if good.all() else np.packbits(good))
        if self.where is not None and n_rows and not n_matching:
            raise InvalidInputError(self.where.describe_absence(n_rows, seen, self.title))
        return Chosen(tuple(kept), n_rows, n_matching, n_without, n_bad, first_bad)

    def sample(self, n: int) -> RawBlock:
        length = self.known_length
        if length is None:
            return super().sample(n)
        stride = self.stride(n)
        if self._is_chosen:
            first, parts = 0, []
            for batch in self._batches():
                own = np.arange((-first) % stride, len(batch), stride)
                first += len(batch)
                if len(own):
                    parts.append(self._piece(taken(batch, own)))
            return joined(parts)
        return joined([self._piece(batch) for batch in self.origin.thinned(self._rows.names, stride)])

    @property
    def _places(self) -> TableRows:
        """What reads the coordinates alone."""
        return TableRows(self.coordinates, strict=not self.skip_bad)

    @cached_property
    def _rows(self) -> TableRows:
        """What makes rows of the columns that are read."""
        labels = None if self.labels is None else self._numbered
        if labels is not None:
            assert self.groups is not None, "the labels are numbered now"
        return TableRows(self.coordinates, self.weight, labels, self.others, self.wanted, not self.skip_bad)

    def _batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """The rows that are taken, of some columns."""
        for k, batch in enumerate(self.origin.batches(self._rows.names if names is None else names)):
            own = np.flatnonzero(self._meant(k, len(batch))) if self._is_chosen else None
            if own is None or len(own) == len(batch):
                yield batch
            elif len(own):
                yield taken(batch, own)

    def pieces(self) -> Iterator[RawBlock]:
        for batch in self._batches():
            if len(batch):
                yield self._piece(batch)

    def loop_blocks(self, size: int) -> Iterator[RawBlock]:
        if not self._rows.in_degrees:
            return self.blocks(size)
        return self._counted((self._rows.degrees(batch) for batch in self._batches() if len(batch)), size)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        if raw.X.shape[1] == self.n_columns:
            return raw
        with self._explaining():
            return replace(raw, X=self._rows.points(list(raw.X.T)))

    def _piece(self, batch: Batch) -> RawBlock:
        with self._explaining():
            return self._rows.rows(batch)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Rows that are no points are counted, and the first of them named."""
        try:
            yield
        except NoPointsError:
            if self.rereadable:
                self._complain()
            raise

    def _complain(self) -> None:
        """Read all rows again to say which are wrong: how many, and where the first one is."""
        batches = self.origin.batches(list(self.coordinates.names))
        found = BadRows(0)
        for k, batch in enumerate(with_progress(batches, None, "looking for bad rows", len)):
            found += BadRows.of(self._places, batch, self._meant(k, len(batch)))
        if found.what:
            raise InvalidInputError(found.describe(self.title, self.coordinates))

    def _meant(self, k: int, n: int) -> BoolArray:
        """Which of the n rows of a batch are taken."""
        bits = self.chosen.kept[k] if self._is_chosen and k < len(self.chosen.kept) else None
        return np.ones(n, dtype=bool) if bits is None else np.unpackbits(bits, count=n).astype(bool)

    def place_of(self, row: int) -> str:
        n = 0
        for batch in self._batches():
            if row < n + len(batch):
                return batch.place_of(row - n)
            n += len(batch)
        return super().place_of(row)


def _cells(batch: Batch, name: str) -> list[Any]:
    cells: list[Any] = batch.column(name).to_pylist()
    return [cell.strip() if isinstance(cell, str) else cell for cell in cells]


def _matching(where: Filter, cells: dict[str, list[Any]], n: int) -> BoolArray:
    names = list(cells)
    rows = zip(*cells.values(), strict=True) if names else ((),) * n
    return np.fromiter((where.holds(dict(zip(names, row, strict=True))) for row in rows), dtype=bool, count=n)


def open_table(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    manifold: Manifold | None = _S2,
    sample_weight: str | None = None,
    groups: str | None = None,
    covariates: Sequence[str] = (),
    where: Filter | str | None = None,
    missing: str = "raise",
) -> TableSource:
    """A file, a folder or a table as rows that estimators read block by block, however many there are.

    `fit` does this by itself; here columns can be named, and rows chosen.

    Parameters
    ----------
    table
        A Parquet or CSV file or a folder of them; a table of pyarrow, a dataset, or whatever has an Arrow stream.
    columns
        Names of the columns with longitude and latitude, or with the coordinates of points; by default found by names.
    manifold
        Where the points lie; None where any will do.
    sample_weight, groups, covariates
        Names of the columns with weights, labels of groups, and covariates.
    where
        Which rows are meant, such as ``mag >= 5 and depth < 70``; by default all.
    missing
        Rows without coordinates: "raise" an error, or "drop" them.

    Returns
    -------
    What an estimator's `fit` takes for X.

    Examples
    --------
    >>> import pyarrow as pa, tmsm
    >>> from tmsm.data.table_source import open_table
    >>> table = pa.table({"east": [0.0, 90.0, 10.0], "north": [0.0, 0.0, 45.0], "mag": [5.1, 6.0, 4.0]})
    >>> rows = open_table(table, columns=("east", "north"), where="mag > 5")
    >>> len(rows), rows.n_columns
    (2, 3)
    """
    found = TableFiles(table) if isinstance(table, str | os.PathLike) else table
    if not isinstance(found, ColumnTable):
        found = arrow_table(found)
    if found is None:
        raise InvalidTypeError(
            "table must be the path of a file or a folder, or a table with an Arrow stream; got "
            f"{type(table).__name__}."
        )
    header = found.schema.names
    given = [(sample_weight, "sample_weight"), (groups, "groups"), *((one, "covariates") for one in covariates)]
    others = [header[column_at(header, name, what, found.title)] for name, what in given if name is not None]
    check_option(missing, ["raise", "drop"], "missing")
    source: Source = TableSource(
        found,
        Coordinates.find(found, manifold, columns, others=others),
        where=Filter.of(where),
        lenient=missing == "drop",
    )
    if sample_weight is not None:
        assert isinstance(source, TableSource)
        source = source.weighted_by(sample_weight)
    if groups is not None:
        source = source.grouped(groups)
    if len(covariates):
        source = source.described(covariates)
    assert isinstance(source, TableSource)
    return source
