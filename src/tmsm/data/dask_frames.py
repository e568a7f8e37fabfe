"""Dask frames as sources: points in columns with names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast, final

import numpy as np

from tmsm.data.arrow_tables import Batch, ColumnTable, arrow
from tmsm.data.dask_source import DaskSource, PartReader, label_numbers
from tmsm.data.sources import RawBlock, Source
from tmsm.data.table_columns import Coordinates, Labels
from tmsm.data.table_rows import BadRows, NoPointsError, TableRows, covariate_columns, named_column
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import Frame

__all__ = ["FrameHeader", "FrameSource"]

_TITLE = "The Dask frame"


@final
class FrameHeader(ColumnTable):
    """The names of a frame's columns, among which coordinates are found."""

    title = _TITLE
    naming = "Rename them: frame.rename(columns={...})."
    choosing = "Take the columns that are meant: frame[[longitude, latitude]]."

    def __init__(self, collection: Any) -> None:
        self._names = [str(name) for name in collection.columns]

    @property
    def twice(self) -> list[str]:
        """Names that several columns have."""
        return sorted({name for name in self._names if self._names.count(name) > 1})

    @property
    def schema(self) -> Any:
        pa = arrow()
        return pa.schema([pa.field(name, pa.null()) for name in self._names])

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        raise NotImplementedError("the rows of a frame stay where they are")


@final
@dataclass(frozen=True, eq=False)
class FrameReader(PartReader):
    """Makes rows of a partition with the columns that are wanted."""

    table: TableRows

    title = _TITLE

    @property
    def n_columns(self) -> int:
        return self.table.coordinates.n_columns

    def batch(self, k: int, part: Any) -> Batch:
        """A partition as a batch of Arrow."""
        pa, columns = arrow(), list[Any]()
        names = [str(name) for name in part.columns]
        for place in range(len(names)):
            column = part.iloc[:, place]
            # Of numbers no copy is made, and nobody looks whether some are missing.
            plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiu"
            columns.append(pa.array(column.to_numpy()) if plain else pa.array(column, from_pandas=True))
        return Batch(pa.RecordBatch.from_arrays(columns, names=names), f"{self.title}, partition {k:,}", 0)

    def length(self, part: Any) -> int:
        return len(part)

    def rows(self, k: int, part: Any) -> RawBlock:
        return self.table.rows(self.batch(k, part))

    def loop_rows(self, k: int, part: Any) -> RawBlock:
        return self.table.degrees(self.batch(k, part)) if self.table.in_degrees else self.rows(k, part)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        if raw.X.shape[1] == self.n_columns:
            return raw
        return replace(raw, X=self.table.points(list(raw.X.T)))


@final
@dataclass(frozen=True, eq=False)
class FrameSource(DaskSource):
    """Points in columns of a Dask frame, with weights, labels of groups and covariates in others.

    Attributes
    ----------
    collection
        The frame.
    coordinates
        The columns with the points.
    weight, labels, others
        Names of the columns with weights, labels of groups and covariates.
    """

    collection: Any
    coordinates: Coordinates
    weight: str | None = None
    labels: str | None = None
    others: tuple[str, ...] = ()

    title = _TITLE

    @property
    def frame(self) -> Frame:
        return self.coordinates.frame

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @property
    def _header(self) -> list[str]:
        return [str(name) for name in self.collection.columns]

    def _parts_of(self, names: Sequence[str]) -> list[Any]:
        """The partitions of some columns."""
        header = self._header
        wanted = [self.collection.columns[header.index(name)] for name in names]
        return cast("list[Any]", self.collection[wanted].to_delayed())

    @cached_property
    def parts(self) -> Sequence[Any]:
        return self._parts_of(self.reader.table.names)

    @cached_property
    def reader(self) -> FrameReader:
        return FrameReader(TableRows(self.coordinates, self.weight, self.numbered, self.others))

    @cached_property
    def numbered(self) -> Labels | None:
        if self.labels is None:
            return None
        reader = FrameReader(TableRows(self.coordinates))
        return label_numbers(partial(_labels, reader, self.labels), self._parts_of([self.labels]))

    @property
    def covariate_names(self) -> tuple[str, ...]:
        return self.others

    def _name_of(self, column: Any) -> Any:
        """The name of a column of this frame, where one is given; else what is given."""
        name = getattr(column, "name", None)
        own = self.collection[name] if name in list(self.collection.columns) else None
        return str(name) if own is not None and getattr(column, "_name", None) == getattr(own, "_name", "") else column

    def grouped(self, labels: Any) -> Source:
        return replace(self, labels=named_column(self._header, self._name_of(labels), "groups", self.title))

    def described(self, covariates: Any) -> Source:
        names = self._name_of(covariates)
        return replace(self, others=covariate_columns(self._header, names, self.coordinates, self.title))

    def weighted_by(self, weight: Any) -> Source:
        return replace(self, weight=named_column(self._header, self._name_of(weight), "sample_weight", self.title))

    def explain(self, error: NoPointsError) -> InvalidInputError:
        bare = FrameReader(TableRows(self.coordinates))
        found = self.over_parts(partial(_bad_rows, bare))
        if found is None or not found.what:
            return error
        return InvalidInputError(found.describe(self.title, self.coordinates))


def _labels(reader: FrameReader, name: str, k: int, first: int, part: Any) -> Labels:
    found = Labels(name)
    found.see(reader.batch(k, part))
    return found


def _bad_rows(reader: FrameReader, k: int, first: int, part: Any) -> BadRows:
    return BadRows.of(reader.table, reader.batch(k, part))
