"""Where rows come from: points with their weights and groups, in blocks and in a fixed order.

An array is the first kind.  A new kind gives `blocks`, `sample` and a few facts; everything after it sees `Rows`.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast, final

import numpy as np

from tmsm.data.covariates import Covariates
from tmsm.data.groups import Groups, GroupSums, PartialGroupSums
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.frames import PLAIN, Frame

__all__ = ["ArraySource", "RawBlock", "Source", "WeightSums", "joined", "taken_rows"]

T = TypeVar("T")

# Rows that are read at a time where a source gives nothing faster.
_READ_ROWS = 65536
# Bytes of a memory map that stay in memory behind the rows that are read.
_MAPPED_BYTES = 2**25


@dataclass(frozen=True)
class RawBlock:
    """Some rows as they came: points (n, D) of any numeric type, weights (n,) and numbers of groups (n,) or None.

    ``start`` is the number of the first row; covariates (n, q) are what else is known of each.
    """

    start: int
    X: np.ndarray[Any, Any]
    weight: FloatArray | None
    groups: IntArray | None
    covariates: FloatArray | None = None


class Source(ABC):
    """A table of points that is read in blocks. All of them can be read again, in the same order.

    For a source of your own, give its size and `blocks`. The other methods follow from these, and may be overridden by
    faster ones.
    """

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number D of coordinates."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def blocks(self, size: int) -> Iterator[RawBlock]:
        """All rows in order, at most so many at a time; each call begins anew, with the same blocks.

        Parameters
        ----------
        size
            The largest number of rows in a block.
        """

    def loop_blocks(self, size: int) -> Iterator[RawBlock]:
        """The same for compiled loops, which take rows as they are: on a graphics card, or as degrees (n, 2).

        Parameters
        ----------
        size
            The largest number of rows in a block.
        """
        return self.blocks(size)

    def in_memory(self, raw: RawBlock) -> RawBlock:
        """One of the `loop_blocks` as points in memory.

        Parameters
        ----------
        raw
            One of the `loop_blocks`.
        """
        return raw

    def in_memory_by(self, size: int, raw: RawBlock) -> Iterator[RawBlock]:
        """The same, so many rows at a time where they are read from elsewhere.

        Parameters
        ----------
        size
            The largest number of rows at a time.
        raw
            One of the `loop_blocks`.
        """
        yield self.in_memory(raw)

    @property
    def is_costly(self) -> bool:
        """Whether reading the rows takes so long that one pass is better than two."""
        return False

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once."""
        return True

    @property
    def reads_anywhere(self) -> bool:
        """Whether any thread may go on with reading: what a user's own program gives may be bound to one of them."""
        return False

    @property
    def frame(self) -> Frame:
        """What the points stand for, as far as their columns say."""
        return PLAIN

    def place_of(self, row: int) -> str:
        """Where a row is, for an error message.

        Parameters
        ----------
        row
            The number of the row, from 0.
        """
        return f"row {row:,}"

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return False

    @property
    def groups(self) -> Groups | None:
        """Which group each row belongs to; None where rows stand alone."""
        return None

    def with_groups(self, groups: Groups | None) -> Source:
        """The same rows, known to come in these groups.

        Parameters
        ----------
        groups
            The group of each row; None for no groups.
        """
        raise InvalidInputError(f"{type(self).__name__} does not take groups: its blocks would have to name them.")

    def grouped(self, labels: Any) -> Source:
        """The same rows in groups: one label a row, or what else this kind of source takes for them.

        Parameters
        ----------
        labels
            One label for each row, or what this kind of source takes instead.
        """
        return self.with_groups(Groups.of(labels, len(self)))

    @property
    def covariates(self) -> Covariates | None:
        """What else is known of every row; None where nothing is."""
        return None

    def with_covariates(self, covariates: Covariates | None) -> Source:
        """The same rows with these covariates.

        Parameters
        ----------
        covariates
            The covariates of each row; None for no covariates.
        """
        raise InvalidInputError(f"{type(self).__name__} does not take covariates: its blocks would have to hold them.")

    def described(self, covariates: Any) -> Source:
        """The same rows with covariates: a table with a row for each, or what else this kind of source takes.

        Parameters
        ----------
        covariates
            A table with a row for each row, or what this kind of source takes instead.
        """
        return self.with_covariates(Covariates.of(covariates, len(self)))

    def stride(self, n: int) -> int:
        """A `sample` of at most n rows takes one row of every so many.

        Parameters
        ----------
        n
            The largest number of rows in the sample.
        """
        return -(-len(self) // n)

    def sample(self, n: int) -> RawBlock:
        """At most n rows, spread evenly over the table: one of every `stride`.

        Parameters
        ----------
        n
            The largest number of rows in the sample.
        """
        return self._gathered(partial(_thinned, self.stride(n)))

    def _gathered(self, choose: Callable[[RawBlock], Pieces]) -> RawBlock:
        """What is chosen of every block, as one block."""
        found = self.reduce(choose, _READ_ROWS)
        assert found is not None, "a source has rows"
        return found.joined()

    @property
    def lies_elsewhere(self) -> bool:
        """Whether other processes read the rows: functions of blocks are then sent to them, and must change nothing."""
        return False

    def reduce(
        self,
        function: Callable[[RawBlock], T | None],
        size: int = 65536,
        *,
        loop: Callable[[RawBlock], T | None] | None = None,
    ) -> T | None:
        """The sum, in order, of what a function gives for every block; None adds nothing.

        With a ``loop`` what that gives for the `loop_blocks`; a block of which it gives None is one for the function.

        Parameters
        ----------
        function
            From a block to what is added; it must not change anything.
        size
            The largest number of rows in a block.
        loop
            The same for the `loop_blocks`.
        """
        total: Any = None
        for block in self.blocks(size) if loop is None else self.loop_blocks(size):
            part = None if loop is None else loop(block)
            if part is None:
                part = function(block if loop is None else self.in_memory(block))
            if part is not None:
                total = part if total is None else total + part
        return cast("T | None", total)

    @property
    def _weight_sums(self) -> WeightSums:
        """What all weights are like, in a pass over them."""
        found = self.reduce(WeightSums.of, _READ_ROWS)
        assert found is not None, "a source has rows"
        return found

    @property
    def equally_weighted(self) -> bool:
        """Whether all rows that count at all count alike."""
        if not self.weighted:
            return True
        found = self._weight_sums
        return found.high == 0.0 or found.low == found.high

    @property
    def effective_number(self) -> float:
        """(Σw)²/Σw² of all rows, their number where they have no weights; zero if all weights are.

        Of rows in groups that of the groups: as if the rows of a group told the same.
        """
        if self.groups is not None:
            sums = self._weights_by_group(self.groups.count)
            total, squares = float(sums.sum()), float(sums @ sums)
        elif not self.weighted:
            return float(len(self))
        else:
            total, squares = self._weight_sums.total, self._weight_sums.squares
        return total**2 / squares if squares > 0.0 else 0.0

    def _weights_by_group(self, count: int) -> FloatArray:
        """Σ w over the rows of each group, shape (count,)."""
        if self.lies_elsewhere:
            found = self.reduce(_weights_of_groups, _READ_ROWS)
            assert found is not None, "a source has rows"
            return found.totals(count)[:, 0]
        sums = GroupSums(count, 1)  # filled in place: there may be many groups
        for block in self.blocks(_READ_ROWS):
            sums.add_sums(_weights_of_groups(block))
        return sums.totals[:, 0]

    @property
    def counts(self) -> bool:
        """Whether any row has a weight."""
        return not self.weighted or self._weight_sums.high > 0.0

    def all_identical(self) -> bool:
        """Whether every row is the same point."""
        found = self.reduce(SamePoint.of, _READ_ROWS)
        return found is not None and found.same

    def table(self) -> tuple[FloatArray, FloatArray | None]:
        """All rows at once, shape (n, D), and their weights: for what draws from them."""
        whole = self._gathered(Pieces.of)
        return np.asarray(whole.X, dtype=np.float64), whole.weight


@final
@dataclass(frozen=True)
class Pieces:
    """Some rows of each block, in their order."""

    parts: tuple[RawBlock, ...]

    @classmethod
    def of(cls, block: RawBlock) -> Pieces:
        """All rows of one block."""
        return cls((block,))

    def __add__(self, other: Pieces) -> Pieces:
        return Pieces(self.parts + other.parts)

    def joined(self) -> RawBlock:
        """All of them as one block."""
        return joined([part for part in self.parts if len(part.X)] or list(self.parts[:1]))


def _thinned(step: int, block: RawBlock) -> Pieces:
    """One row of every so many of a table."""
    return Pieces((taken_rows(block, np.arange((-block.start) % step, len(block.X), step)),))


def joined(parts: list[RawBlock]) -> RawBlock:
    """Several blocks as one; columns are kept together, as passes over rows want them."""
    if len(parts) == 1:
        return parts[0]
    X = np.concatenate([part.X.T for part in parts], axis=1).T if parts else np.empty((0, 0))
    return RawBlock(0, X, *(_joined_column(parts, name) for name in ("weight", "groups", "covariates")))


def _joined_column(parts: list[RawBlock], name: str) -> Any:
    columns = [getattr(part, name) for part in parts]
    return None if not columns or columns[0] is None else np.concatenate(columns)


def taken_rows(block: RawBlock, chosen: Any) -> RawBlock:
    """Some rows of a block, by their numbers or a slice."""
    columns = (block.weight, block.groups, block.covariates)
    return RawBlock(0, block.X[chosen], *(None if column is None else column[chosen] for column in columns))


@final
@dataclass(frozen=True)
class WeightSums:
    """The smallest weight that counts, the largest, Σ w and Σ w²."""

    low: float
    high: float
    total: float
    squares: float

    @classmethod
    def of(cls, block: RawBlock) -> WeightSums:
        """Of the rows of one block."""
        w = np.ones(len(block.X)) if block.weight is None else block.weight
        return cls(float(w[w > 0.0].min(initial=np.inf)), float(w.max(initial=0.0)), float(w.sum()), float(w @ w))

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(
            min(self.low, other.low),
            max(self.high, other.high),
            self.total + other.total,
            self.squares + other.squares,
        )


def _weights_of_groups(block: RawBlock) -> PartialGroupSums:
    w = np.ones(len(block.X)) if block.weight is None else block.weight
    return PartialGroupSums.of(cast(IntArray, block.groups), w[:, None])


@final
@dataclass(frozen=True)
class SamePoint:
    """The first row, and whether all others are the same."""

    first: FloatArray
    same: bool

    @classmethod
    def of(cls, block: RawBlock) -> SamePoint:
        """Of the rows of one block."""
        X = np.asarray(block.X)
        return cls(X[:1], bool((X[:1] == X).all()))

    def __add__(self, other: SamePoint) -> SamePoint:
        return SamePoint(self.first, self.same and other.same and bool((self.first == other.first).all()))


def _pages_of(X: np.ndarray[Any, Any]) -> Callable[[int], None]:
    """What gives the pages of a memory map back to the system, up to a row: it keeps those that were read, else.

    Of anything but a whole map that nobody changes in memory alone, nothing is done.
    """
    base = X.base
    if not (isinstance(X, np.memmap) and isinstance(base, mmap.mmap) and X.mode in ("r", "r+")):
        return lambda row: None
    if not X.flags.c_contiguous or not hasattr(mmap, "MADV_DONTNEED") or not len(X):
        return lambda row: None
    done, ahead, row_bytes = 0, X.offset % mmap.ALLOCATIONGRANULARITY, X.nbytes // len(X)

    def let_go(row: int) -> None:
        nonlocal done
        end = min((ahead + row * row_bytes) // mmap.PAGESIZE * mmap.PAGESIZE, len(base))
        if end - done >= _MAPPED_BYTES or (row >= len(X) and end > done):
            base.madvise(mmap.MADV_DONTNEED, done, end - done)
            done = end

    return let_go


@final
@dataclass(frozen=True, eq=False)
class ArraySource(Source):
    """An array in memory, or mapped into it, that is never copied whole.

    Attributes
    ----------
    X
        Shape (n, D), of any numeric type.
    weight
        Shape (n,), or None.
    labels
        Which group each row belongs to, or None.
    columns
        What else is known of each row, or None.
    """

    X: np.ndarray[Any, Any]
    weight: FloatArray | None = None
    labels: Groups | None = None
    columns: Covariates | None = None

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return len(self.X)

    @property
    def reads_anywhere(self) -> bool:
        return True

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @property
    def groups(self) -> Groups | None:
        return self.labels

    @property
    def covariates(self) -> Covariates | None:
        return self.columns

    def piece(self, piece: slice) -> RawBlock:
        """Some rows."""
        weight = None if self.weight is None else self.weight[piece]
        groups = None if self.labels is None else self.labels.codes[piece]
        covariates = None if self.columns is None else self.columns.values[piece]
        return RawBlock(piece.start or 0, self.X[piece], weight, groups, covariates)

    def blocks(self, size: int) -> Iterator[RawBlock]:
        let_go = _pages_of(self.X)
        for start in range(0, len(self.X), size):
            yield self.piece(slice(start, start + size))
            let_go(start + size)
        let_go(len(self.X))

    def sample(self, n: int) -> RawBlock:
        stride = self.stride(n)
        found = self.piece(slice(None, None, stride))
        if not isinstance(self.X, np.memmap):
            return found
        # The system fetches the surroundings of each row, too: of all of them together that is the whole map.
        let_go, size, parts = _pages_of(self.X), stride * max(1, _READ_ROWS // stride), []
        for start in range(0, len(self.X), size):
            parts.append(np.array(self.X[start : start + size : stride]))
            let_go(start + size)
        let_go(len(self.X))
        return replace(found, X=np.concatenate(parts))

    def all_identical(self) -> bool:
        return bool((np.asarray(self.X) == self.X[:1]).all())

    def table(self) -> tuple[FloatArray, FloatArray | None]:
        return np.asarray(self.X), self.weight

    def with_groups(self, groups: Groups | None) -> Source:
        return ArraySource(self.X, self.weight, groups, self.columns)

    def with_covariates(self, covariates: Covariates | None) -> Source:
        return ArraySource(self.X, self.weight, self.labels, covariates)
