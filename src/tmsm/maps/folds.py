"""Parts of the rows that are held out in turn: copies of a row, and rows of its group, are held out with it.

Where rows have groups, a place may hold rows of several.  Then one of these groups, drawn at random, stands for the
place: where it is held out so are all rows in the place, and these are judged by what is left.  A fold is fitted
without its groups and without its places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, IntArray

__all__ = ["FOLDS", "Folds"]

FOLDS = 10


@final
@dataclass(frozen=True)
class Folds:
    """In which fold each row inside the region is held out.

    Attributes
    ----------
    labels
        By which each row is judged, shape (n,), from 0 on.
    group_labels
        Which leaves each row out because of its group, shape (n,): the same but where a place has several groups.
    count
        Number of folds.
    units
        Number of different places, or of groups, among the rows.
    unit_labels
        To which of them each row belongs, shape (n,).
    place_units
        To which of them the place of each row belongs, shape (n,).
    places
        Number of different places.
    """

    labels: IntArray
    group_labels: IntArray
    count: int
    units: int
    unit_labels: IntArray
    place_units: IntArray
    places: int

    @classmethod
    def of(cls, rows: Rows, seed: int) -> Folds:
        """At most ten folds, each with as many places or groups as the others, dealt by a seed."""
        found = list(rows.map(lambda block: (_place_keys(block, seed), _group_keys(block, seed))))
        places = np.concatenate([np.zeros(0, dtype=np.uint64), *(place for place, _ in found)])
        n_places = len(np.unique(places))
        keys = places if rows.groups is None else np.concatenate([group for _, group in found])
        # Sorted by keys that look random, the units are dealt out in turn.
        different, unit = np.unique(keys, return_inverse=True)
        owner = unit if rows.groups is None else _owners(places, keys, unit)
        count = max(min(FOLDS, len(different)), 1)
        return cls(owner % count, unit % count, count, len(different), unit, owner, n_places)

    @property
    def is_simple(self) -> bool:
        """Whether no place has rows of several groups."""
        return np.array_equal(self.unit_labels, self.place_units)

    def totals(self, start: int, values: FloatArray) -> FloatArray:
        """Sums over rows that each fold judges, (count, m), of values (b, m) of rows from a number on."""
        return self._sums(self.labels[start : start + len(values)], values)

    def left_out_besides(self, start: int, values: FloatArray) -> FloatArray:
        """Sums over rows that each fold leaves out and does not judge, (count, m), of values (b, m)."""
        rows = slice(start, start + len(values))
        own = np.where(self.group_labels[rows] == self.labels[rows], -1, self.group_labels[rows])
        return self._sums(own, values)

    def _sums(self, own: IntArray, values: FloatArray) -> FloatArray:
        here = (own == np.arange(self.count)[:, None]).astype(np.float64)
        return np.asarray(here @ values)


def _owners(places: NDArray[np.uint64], groups: NDArray[np.uint64], unit: IntArray) -> IntArray:
    """The unit of one of the groups in the place of each row, as if drawn at random, shape (n,)."""
    order = np.lexsort((_mixed(places, groups), places))
    first = np.ones(len(places), dtype=bool)
    first[1:] = places[order][1:] != places[order][:-1]
    owner = np.empty_like(unit)
    owner[order] = unit[order][first][np.cumsum(first) - 1]
    return owner


def _group_keys(block: Block, seed: int) -> NDArray[np.uint64]:
    """A number for each row, the same for all rows of its group; none where there are no groups."""
    if block.groups is None:
        return np.zeros(0, dtype=np.uint64)
    return _mixed(np.full(len(block.X), np.uint64(seed)), block.groups.astype(np.uint64))


def _place_keys(block: Block, seed: int) -> NDArray[np.uint64]:
    """A number for each row, the same for copies of it."""
    mixed = np.full(len(block.X), np.uint64(seed))
    for column in block.X.T:
        # + 0.0: minus zero is zero.
        mixed = _mixed(mixed, (np.ascontiguousarray(column) + 0.0).view(np.uint64))
    return mixed


def _mixed(keys: NDArray[np.uint64], values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys that no one can tell from random ones (splitmix64)."""
    with np.errstate(over="ignore"):
        z = (keys ^ values) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed
