"""Rows of a Dask array or frame: they stay where its parts are, and sums come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn, TypeVar, cast, final

import numpy as np

from tmsm.data.covariates import Covariates, CovariatesInBlocks
from tmsm.data.groups import Groups, GroupsInBlocks
from tmsm.data.sources import RawBlock, Source, joined, taken_rows
from tmsm.data.streamed import StreamedSource
from tmsm.data.table_columns import Labels
from tmsm.data.table_rows import NoPointsError
from tmsm.foundation.clusters import add_up, in_order
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.threads import single_threaded, threads_of

__all__ = ["DaskSource", "PartReader", "label_numbers"]

T = TypeVar("T")

# Small parts share a task with those after them up to so many rows, which outweigh what a task costs.  Larger ones do
# not: they would have to be brought to one place first.
_ROWS_IN_TASK = 2**18
# Rows that a sample is taken from, of all parts together, and the fewest of each part.
_SURVEYED, _FEWEST = 2**18, 64


class PartReader(ABC):
    """What makes rows of a part of a collection, in any process.

    It knows all that the rows are to be, but holds none of them.
    """

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number D of coordinates."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the collection is, for an error message."""

    @abstractmethod
    def length(self, part: Any) -> int:
        """Number of rows of a part."""

    @abstractmethod
    def rows(self, k: int, part: Any) -> RawBlock:
        """The rows of the k-th part, as points."""

    def loop_rows(self, k: int, part: Any) -> RawBlock:
        """The same for compiled loops, which take degrees (n, 2), too."""
        return self.rows(k, part)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        """One of the `loop_rows`, or some of them, as points."""
        return raw

    def place_of(self, k: int, row: int) -> str:
        """Where a row of the k-th part is, for an error message."""
        return f"{self.title}, partition {k:,}, row {row:,}"


@final
@dataclass(frozen=True)
class _Part(Source):
    """One part, as a source of its own whose rows are numbered as those of the whole."""

    reader: PartReader
    k: int
    first: int
    part: Any

    @property
    def n_columns(self) -> int:
        return self.reader.n_columns

    def __len__(self) -> int:
        return self.reader.length(self.part)

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return self._cut(self.reader.rows(self.k, self.part), size)

    def loop_blocks(self, size: int) -> Iterator[RawBlock]:
        return self._cut(self.reader.loop_rows(self.k, self.part), size)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        return replace(self.reader.in_memory(raw), start=raw.start)

    def _cut(self, rows: RawBlock, size: int) -> Iterator[RawBlock]:
        for start in range(0, len(rows.X), size):
            yield replace(taken_rows(rows, slice(start, start + size)), start=self.first + start)


@final
@dataclass(frozen=True)
class _Surveyed:
    """Numbers of rows of some parts, and one of every so many rows of each."""

    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    kept: tuple[RawBlock, ...]

    def __add__(self, other: _Surveyed) -> _Surveyed:
        return _Surveyed(self.lengths + other.lengths, self.steps + other.steps, self.kept + other.kept)


class DaskSource(StreamedSource):
    """The parts of a Dask collection, each of which is a task, or some that share one.

    What a pass does with a block is sent to where the parts are, and only sums come back, added in a fixed order.  A
    subclass gives the parts and what makes rows of them.
    """

    def __reduce__(self) -> NoReturn:
        raise TypeError("rows of a Dask collection stay where they are")

    @property
    @abstractmethod
    def parts(self) -> Sequence[Any]:
        """Dask's delayed values, or lists of them: what the reader makes rows of."""

    @property
    @abstractmethod
    def reader(self) -> PartReader:
        """What makes rows of a part."""

    @property
    def lengths_before(self) -> tuple[int, ...] | None:
        """Rows in each part, where they are known without reading them."""
        return None

    @property
    @abstractmethod
    def numbered(self) -> Labels | None:
        """The labels of all rows, numbered in a pass over them; None where rows stand alone."""

    @property
    @abstractmethod
    def covariate_names(self) -> tuple[str, ...]:
        """What the covariates are called; empty where there are none."""

    @cached_property
    def groups(self) -> Groups | None:
        if self.numbered is None:
            return None
        return GroupsInBlocks(
            self.numbered.count, lambda: np.concatenate([cast(Any, rows.groups) for rows in self.pieces()])
        )

    @cached_property
    def covariates(self) -> Covariates | None:
        if not self.covariate_names:
            return None
        return CovariatesInBlocks(
            self.covariate_names, lambda: np.concatenate([cast(Any, rows.covariates) for rows in self.pieces()])
        )

    def explain(self, error: NoPointsError) -> InvalidInputError:
        """An error that says which rows are no points, where one of a task says that some are not."""
        return error

    @property
    def n_columns(self) -> int:
        return self.reader.n_columns

    @property
    def lies_elsewhere(self) -> bool:
        return True

    @property
    def known_length(self) -> int:
        return sum(self.lengths)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows in each part."""
        return self.lengths_before or self._surveyed.lengths

    @cached_property
    def _surveyed(self) -> _Surveyed:
        """All parts, read once: how many rows they have, and some of them."""
        most = max(_FEWEST, _SURVEYED // len(self.parts))
        found = self.over_parts(partial(_survey, self.reader, most))
        assert found is not None, "a collection has parts"
        return found

    def sample(self, n: int) -> RawBlock:
        """At most n rows, spread evenly: of those that were surveyed the ones next to every so many of the whole.

        Where a part is so much larger than the others that too few of its rows were, all parts are read again.
        """
        stride, first, parts = self.stride(n), 0, list[RawBlock]()
        if self.lengths_before is not None or max(self._surveyed.steps) > stride:
            return super(StreamedSource, self).sample(n)
        found = self._surveyed
        for length, step, kept in zip(found.lengths, found.steps, found.kept, strict=True):
            wanted = np.arange((-first) % stride, length, stride)
            parts.append(taken_rows(kept, np.unique(wanted // step)))
            first += length
        return joined([part for part in parts if len(part.X)])

    def pieces(self) -> Iterator[RawBlock]:
        with self._explaining():
            for k, part in enumerate(in_order(self.parts)):
                rows = self.reader.rows(k, part)
                if len(rows.X):
                    yield rows

    def reduce(
        self,
        function: Callable[[RawBlock], T | None],
        size: int = 65536,
        *,
        loop: Callable[[RawBlock], T | None] | None = None,
    ) -> T | None:
        """The sum over all blocks, some of each part; the function and the loop are sent to where the parts are."""
        return self.over_parts(partial(_sum_part, self.reader, function, loop, size))

    def over_parts(self, function: Callable[[int, int, Any], T | None]) -> T | None:
        """The sum of what a function gives for the number of every part, its first row and its content."""
        with self._explaining():
            if self.lengths_before is None and "_surveyed" not in self.__dict__:  # rows are still to be counted
                return _over_parts(function, self.parts)
            return _over_parts(function, self.parts, self.lengths)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except NoPointsError as error:
            raise self.explain(error) from None

    def place_of(self, row: int) -> str:
        for k, length in enumerate(self.lengths):
            if row < length:
                return self.reader.place_of(k, row)
            row -= length
        return super().place_of(row)


def label_numbers(function: Callable[[int, int, Any], Labels], parts: Sequence[Any]) -> Labels:
    """The numbered labels of all rows, from what a function sees in every part."""
    found = _over_parts(function, parts)
    assert found is not None, "a collection has parts"
    found.settle()
    return found


def _over_parts(
    function: Callable[[int, int, Any], T | None], parts: Sequence[Any], lengths: Sequence[int] | None = None
) -> T | None:
    """The sum over parts, with their numbers of rows where they are known."""
    known = (_ROWS_IN_TASK,) * len(parts) if lengths is None else lengths
    firsts = [0] * len(parts) if lengths is None else np.cumsum([0, *lengths[:-1]]).tolist()
    tasks = _tasks(known)
    content = [[(k, firsts[k], parts[k]) for k in task] for task in tasks]
    n_rows = [0 if lengths is None else sum(lengths[k] for k in task) for task in tasks]
    return add_up(partial(_sum_task, function), content, n_rows)


def _tasks(lengths: Sequence[int]) -> list[list[int]]:
    """Numbers of parts that follow each other, those of one task together."""
    tasks, n = [list[int]()], 0
    for k, length in enumerate(lengths):
        if n + length > _ROWS_IN_TASK and tasks[-1]:
            tasks.append([])
            n = 0
        tasks[-1].append(k)
        n += length
    return tasks


def _sum_task(function: Callable[[int, int, Any], Any], parts: Sequence[tuple[int, int, Any]]) -> Any:
    """The sum over the parts of one task, on one thread: there are other tasks."""
    total: Any = None
    with threads_of(1), single_threaded(_ROWS_IN_TASK):
        for k, first, part in parts:
            found = function(k, first, part)
            if found is not None:
                total = found if total is None else total + found
    return total


def _sum_part(
    reader: PartReader,
    function: Callable[[RawBlock], T | None],
    loop: Callable[[RawBlock], T | None] | None,
    size: int,
    k: int,
    first: int,
    part: Any,
) -> T | None:
    return _Part(reader, k, first, part).reduce(function, size, loop=loop)


def _survey(reader: PartReader, most: int, k: int, first: int, part: Any) -> _Surveyed:
    """How many rows a part has, and one of every so many of them, at most so many."""
    rows = reader.rows(k, part)
    n = len(rows.X)
    step = max(1, -(-n // most))
    return _Surveyed((n,), (step,), (taken_rows(rows, np.arange(0, n, step)),))
