"""Parts of the rows that are held out in turn: copies of a row, and rows of a group, always together."""

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
        Shape (n,), from 0 on.
    count
        Number of folds.
    units
        Number of different places, or of groups, among the rows.
    unit_labels
        To which of them each row belongs, shape (n,).
    places
        Number of different places.
    """

    labels: IntArray
    count: int
    units: int
    unit_labels: IntArray
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
        count = max(min(FOLDS, len(different)), 1)
        return cls(unit % count, count, len(different), unit, n_places)

    def totals(self, start: int, values: FloatArray) -> FloatArray:
        """Sums over rows of each fold, (count, m), of values (b, m) of rows from a number on."""
        own = self.labels[start : start + len(values)]
        here = np.zeros((self.count, len(values)))
        here[own, np.arange(len(values))] = 1.0
        return np.asarray(here @ values)


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
