"""Rows that come in groups, dependent within and independent between them: fixes of a storm, visits of a patient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import find_missing

__all__ = ["GroupSums", "Groups", "GroupsInBlocks", "PartialGroupSums", "require_groups"]

# Whole numbers within so many times their count are numbered without being sorted, some at a time.
_DENSE, _PIECE = 4, 65536


@dataclass(frozen=True)
class Groups:
    """Which group each row of a table belongs to.

    Attributes
    ----------
    codes
        Numbers from 0 on, shape (n,).
    count
        Number of groups.
    """

    codes: IntArray
    count: int

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def of(labels: Any, n: int) -> Groups:
        """From one label a row: numbers, text, dates."""
        missing = find_missing(labels)
        if missing.shape != (n,):
            hint = f" Give the column itself, such as table[{labels!r}]." if isinstance(labels, str) else ""
            raise InvalidInputError(
                f"groups must have one label for each of the {n} rows of X; got shape {missing.shape}.{hint}"
            )
        if missing.any():
            raise InvalidInputError(
                f"groups has {int(missing.sum())} of {n} labels missing (first: row {int(np.argmax(missing))}). "
                "Give every row a label of its own where it stands alone."
            )
        array = np.asarray(labels)
        if array.dtype.kind in "iu" and n and int(array.max()) - int(array.min()) < _DENSE * n:
            return _of_numbers(array)
        try:
            names, codes = np.unique(array, return_inverse=True)
        except TypeError:
            names, codes = np.unique(array.astype(str), return_inverse=True)
        return Groups(codes, len(names))

    def compact(self) -> Groups:
        """The same, numbered anew, without groups that have no row."""
        numbers, codes = np.unique(self.codes, return_inverse=True)
        return Groups(codes, len(numbers))

    def same_as(self, other: Groups) -> bool:
        """Whether both put the same rows together, whatever the groups are called."""
        if len(self.codes) != len(other.codes) or self.count != other.count:
            return False
        # As many pairs of numbers as there are groups: each group of one is a group of the other.
        return len(np.unique(self.codes * other.count + other.codes)) == self.count

    def effective_number(self, weight: FloatArray | None = None) -> float:
        """(ΣW)²/ΣW² with W the sum of the weights, or the number of rows, of each group."""
        totals = np.bincount(self.codes, weight, self.count)
        squares = float(totals @ totals)
        return float(totals.sum()) ** 2 / squares if squares > 0.0 else 0.0

    def resample(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Rows of as many groups as there are, drawn with replacement, and which draw each belongs to."""
        order = np.argsort(self.codes, kind="stable")
        starts = np.searchsorted(self.codes[order], np.arange(self.count + 1))
        drawn = rng.integers(self.count, size=self.count)
        rows = np.concatenate([order[starts[g] : starts[g + 1]] for g in drawn])
        return rows, np.repeat(np.arange(self.count), np.diff(starts)[drawn])


@final
class GroupsInBlocks(Groups):
    """Groups of rows that are read in blocks, which bring their numbers: those of all rows are read when asked for.

    Parameters
    ----------
    count
        Number of groups.
    read
        What gives the numbers of all rows, shape (n,).
    """

    def __init__(self, count: int, read: Callable[[], IntArray]) -> None:
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "_read", read)

    @cached_property
    def codes(self) -> IntArray:
        """Numbers from 0 on, shape (n,)."""
        found: IntArray = self._read()  # type: ignore[attr-defined]
        return found


def _of_numbers(labels: np.ndarray[Any, Any]) -> Groups:
    """From whole numbers that lie close together: without sorting them, which takes time and memory."""
    lowest = labels.min()

    def above(start: int) -> IntArray:
        """How far some labels are above the lowest; none of it fits into eight bits, nor a large one into 63."""
        some = labels[start : start + _PIECE]
        if labels.dtype.kind == "u":
            return np.asarray(some - lowest, dtype=np.intp)
        return np.asarray(some.astype(np.int64) - int(lowest), dtype=np.intp)

    present = np.zeros(int(labels.max()) - int(lowest) + 1, dtype=bool)
    for start in range(0, len(labels), _PIECE):
        present[above(start)] = True
    number = np.cumsum(present) - 1
    codes = np.empty(len(labels), dtype=np.intp)
    for start in range(0, len(labels), _PIECE):
        codes[start : start + _PIECE] = number[above(start)]
    return Groups(codes, int(number[-1]) + 1)


@final
@dataclass(frozen=True)
class PartialGroupSums:
    """Sums of the rows' numbers over those groups that some rows belong to.

    Attributes
    ----------
    codes
        Numbers of the groups, increasing, shape (k,).
    values
        Sums, shape (k, m).
    """

    codes: IntArray
    values: FloatArray

    @classmethod
    def of(cls, codes: IntArray, values: FloatArray) -> PartialGroupSums:
        """Of rows with these group numbers (n,) and values (n, m)."""
        here, place = np.unique(codes, return_inverse=True)
        columns = [np.bincount(place, column, len(here)) for column in values.T]
        return cls(here, np.stack(columns, axis=1))

    def __add__(self, other: PartialGroupSums) -> PartialGroupSums:
        codes = np.concatenate([self.codes, other.codes])
        return PartialGroupSums.of(codes, np.concatenate([self.values, other.values]))

    def totals(self, count: int) -> FloatArray:
        """The sums of all groups, zero for those without rows, shape (count, m)."""
        sums = GroupSums(count, self.values.shape[1])
        sums.add_sums(self)
        return sums.totals


@final
class GroupSums:
    """Sums of the rows' numbers by group, filled block by block; ``totals`` has the shape (count, m)."""

    def __init__(self, count: int, m: int) -> None:
        self.totals: FloatArray = np.zeros((count, m))

    def add(self, codes: IntArray, values: FloatArray) -> None:
        """Add rows with these group numbers (n,) and values (n, m)."""
        self.add_sums(PartialGroupSums.of(codes, values))

    def add_sums(self, sums: PartialGroupSums) -> None:
        """Add the sums of some rows."""
        self.totals[sums.codes] += sums.values


def require_groups(count: int) -> None:
    """Raise where there is nothing to compare."""
    if count < 2:
        raise EstimationError(
            "All rows belong to one group, and what differs between groups cannot be seen: give finer groups, or none."
        )
