"""Where rows come from: points with their weights and groups, in blocks and in a fixed order.

An array is the first kind.  A new kind gives `blocks`, `sample` and a few facts; everything after it sees `Rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast, final

import numpy as np

from tmsm.data.groups import Groups
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.progress import with_progress

__all__ = ["ArraySource", "RawBlock", "Source"]

T = TypeVar("T")


@dataclass(frozen=True)
class RawBlock:
    """Some rows as they came: points (n, D) of any numeric type, weights (n,) and numbers of groups (n,) or None.

    ``start`` is the number of the first row.
    """

    start: int
    X: np.ndarray[Any, Any]
    weight: FloatArray | None
    groups: IntArray | None


class Source(ABC):
    """A table of points that is read in blocks."""

    #: Whether it can be read more than once.
    rereadable: bool = True

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number D of coordinates."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether the rows have weights."""

    @property
    @abstractmethod
    def groups(self) -> Groups | None:
        """Which group each row belongs to; None where rows stand alone."""

    @abstractmethod
    def blocks(self, size: int) -> Iterator[RawBlock]:
        """All rows in order, so many at a time; the last block may be shorter."""

    @abstractmethod
    def sample(self, n: int) -> RawBlock:
        """At most n rows, spread evenly over the table: one of every `stride`."""

    def stride(self, n: int) -> int:
        """A `sample` of at most n rows takes one row of every so many."""
        return -(-len(self) // n)

    def reduce(self, function: Callable[[RawBlock], T | None], size: int) -> T | None:
        """The sum, in order, of what a function gives for every block; None adds nothing."""
        total: Any = None
        n_blocks = -(-len(self) // size)
        for block in with_progress(self.blocks(size), n_blocks, "reading rows"):
            part = function(block)
            if part is not None:
                total = part if total is None else total + part
        return cast("T | None", total)

    @property
    @abstractmethod
    def equally_weighted(self) -> bool:
        """Whether all rows that count at all count alike."""

    @property
    @abstractmethod
    def effective_number(self) -> float:
        """(Σw)²/Σw² of all rows, their number where they have no weights; zero if all weights are.

        Of rows in groups that of the groups: as if the rows of a group told the same.
        """

    @property
    @abstractmethod
    def counts(self) -> bool:
        """Whether any row has a weight."""

    @abstractmethod
    def all_identical(self) -> bool:
        """Whether every row is the same point."""

    @abstractmethod
    def table(self) -> tuple[FloatArray, FloatArray | None]:
        """All rows at once, shape (n, D), and their weights: for what draws from them."""

    @abstractmethod
    def with_groups(self, groups: Groups | None) -> Source:
        """The same rows, known to come in these groups."""


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
    """

    X: np.ndarray[Any, Any]
    weight: FloatArray | None = None
    labels: Groups | None = None

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return len(self.X)

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @property
    def groups(self) -> Groups | None:
        return self.labels

    def _piece(self, piece: slice) -> RawBlock:
        weight = None if self.weight is None else self.weight[piece]
        groups = None if self.labels is None else self.labels.codes[piece]
        return RawBlock(piece.start or 0, self.X[piece], weight, groups)

    def blocks(self, size: int) -> Iterator[RawBlock]:
        return (self._piece(slice(start, start + size)) for start in range(0, len(self.X), size))

    def sample(self, n: int) -> RawBlock:
        return self._piece(slice(None, None, self.stride(n)))

    @property
    def equally_weighted(self) -> bool:
        if self.weight is None:
            return True
        counted = self.weight[self.weight > 0.0]
        return bool(counted.size == 0 or (counted == counted[0]).all())

    @property
    def effective_number(self) -> float:
        if self.labels is not None:
            return self.labels.effective_number(self.weight)
        if self.weight is None:
            return float(len(self.X))
        squares = float(self.weight @ self.weight)
        return float(self.weight.sum()) ** 2 / squares if squares > 0.0 else 0.0

    @property
    def counts(self) -> bool:
        return self.weight is None or bool(self.weight.any())

    def all_identical(self) -> bool:
        return bool((np.asarray(self.X) == self.X[:1]).all())

    def table(self) -> tuple[FloatArray, FloatArray | None]:
        return np.asarray(self.X), self.weight

    def with_groups(self, groups: Groups | None) -> Source:
        return ArraySource(self.X, self.weight, groups)
