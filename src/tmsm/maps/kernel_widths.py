"""Widths of kernels from a pilot density: the distance to the k-th nearest place, or group, of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.text import ordinal

__all__ = ["Neighbours", "Widths"]

# Neighbours that are asked for at first, for each unit that is wanted, and up to how many.
_FIRST, _MOST = 3, 4096
_BLOCK = 2**16
# No width is below this share of the rows' extent.
_NARROWEST = 1e-9


@final
@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest units of each row other than its own, nearest first.

    A unit is a place, with all copies of a row in it, or a group.  Where a place has rows of several groups it counts
    for one of these, and not for the rows in it.

    Attributes
    ----------
    units
        Of each row, shape (n,).
    nearest
        Units, shape (n, m); −1 where there are fewer.
    distances
        Shape (n, m); infinite where there are fewer.
    """

    units: IntArray
    nearest: IntArray
    distances: FloatArray

    @classmethod
    def of(cls, Y: FloatArray, units: IntArray, m: int, place_units: IntArray | None = None) -> Neighbours:
        """Of rows by their coordinates Y (n, E), at most m units; places count for units (n,), if not for their own."""
        from scipy.spatial import cKDTree

        # Of the copies in a place one is enough to look for.
        different, first = np.unique(Y + 0.0, axis=0, return_index=True)
        tree, labels = cKDTree(different), (units if place_units is None else place_units)[first]
        count = len(np.unique(labels))
        m = max(min(m, count - 1), 1)
        # Where each unit is one place, the nearest places are those of the nearest units.
        first_asked = m + 1 if len(different) == count else _FIRST * m + 1
        nearest, distances = np.full((len(Y), m), -1), np.full((len(Y), m), np.inf)
        for start in range(0, len(Y), _BLOCK):
            todo, asked = np.arange(start, min(start + _BLOCK, len(Y))), first_asked
            while len(todo):
                asked = min(asked, len(different))
                d, found = (np.reshape(one, (len(todo), -1)) for one in tree.query(Y[todo], k=asked))
                enough = _first_of_each(labels[found.astype(np.intp)], d, units[todo], m)
                nearest[todo], distances[todo] = enough[:2]
                if asked == len(different) or asked >= _MOST:
                    break
                todo, asked = todo[~enough[2]], 4 * asked
        lonely = ~np.isfinite(distances[:, 0])
        if lonely.any():
            nearest[lonely, 0], distances[lonely, 0] = _nearest_other(tree, labels, Y[lonely], units[lonely])
        extent = float(np.linalg.norm(np.ptp(Y, axis=0)))
        return cls(units, nearest, np.maximum(distances, _NARROWEST * extent))


def _nearest_other(tree: Any, labels: IntArray, Y: FloatArray, own: IntArray) -> tuple[IntArray, FloatArray]:
    """The nearest unit of rows (k, E) round which thousands of places are their own units', and its distance, (k,).

    Where no place counts for another unit, the nearest place does.
    """
    from scipy.spatial import cKDTree

    nearest, distances = np.full(len(Y), -1), tree.query(Y, k=[2])[0][:, 0]
    for unit in np.unique(own):
        rows, others = np.flatnonzero(own == unit), np.flatnonzero(labels != unit)
        if len(others) == 0:
            continue
        d, found = (np.atleast_2d(one) for one in cKDTree(tree.data[others]).query(Y[rows], k=2))
        # Its own place may count for another unit.
        at = np.arange(len(rows)), (d[:, 0] == 0.0).astype(np.intp)
        there = np.isfinite(d[at])
        nearest[rows[there]], distances[rows[there]] = labels[others[found[at][there]]], d[at][there]
    return nearest, distances


def _first_of_each(
    labels: IntArray, d: FloatArray, own: IntArray, m: int
) -> tuple[IntArray, FloatArray, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """The first m different units of each row, besides its own, their distances, and whether there were so many."""
    labels = np.where(d > 0.0, labels, own[:, None])  # its own place may count for another unit
    order = np.argsort(labels, axis=1, kind="stable")
    ranked = np.take_along_axis(labels, order, axis=1)
    new = np.ones(labels.shape, dtype=bool)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    fresh = np.empty(labels.shape, dtype=bool)
    np.put_along_axis(fresh, order, new, axis=1)
    fresh &= labels != own[:, None]
    count = fresh.sum(axis=1)
    # Fresh ones to the front, in the order of their distance.
    front = np.argsort(~fresh, axis=1, kind="stable")[:, :m]
    there = np.arange(front.shape[1]) < count[:, None]
    nearest, distances = np.full((len(labels), m), -1), np.full((len(labels), m), np.inf)
    nearest[:, : front.shape[1]] = np.where(there, np.take_along_axis(labels, front, axis=1), -1)
    distances[:, : front.shape[1]] = np.where(there, np.take_along_axis(d, front, axis=1), np.inf)
    return nearest, distances, count >= m


@final
@dataclass(frozen=True)
class Widths:
    """How widths follow the pilot: h = factor · d_k^power · m^(1 − power), m the geometric mean of all d_k.

    Attributes
    ----------
    k
        The neighbour whose distance counts.
    power
        1: widths follow the distances; 0: all are equal.
    factor
        Positive.
    widest
        No width is larger: the extent of the region.
    """

    k: int
    power: float
    factor: float
    widest: float = np.inf

    @property
    def in_words(self) -> str:
        """What they follow."""
        d = f"the distance to the {'' if self.k == 1 else ordinal(self.k) + ' '}nearest place"
        if self.power == 1.0:
            return f"{self.factor:.3g} times {d}"
        follow = "√(d · m)" if self.power == 0.5 else f"d^{self.power:g} · m^{1.0 - self.power:g}"
        return f"{self.factor:.3g} · {follow}, d being {d} and m the geometric mean of d over all rows"

    def of(self, neighbours: Neighbours) -> FloatArray:
        """Widths of all rows, shape (n,)."""
        return self._of(self.reach(neighbours), self._mean(neighbours))

    def without_one(self, neighbours: Neighbours) -> FloatArray:
        """What they would be without one of the k nearest units, shape (n,)."""
        return self._of(_column(neighbours.distances, self.k), self._mean(neighbours))

    def reach(self, neighbours: Neighbours) -> FloatArray:
        """How far the k nearest units of each row are away at most, shape (n,)."""
        return _column(neighbours.distances, self.k - 1)

    def _mean(self, neighbours: Neighbours) -> float:
        return float(np.exp(np.log(self.reach(neighbours)).mean()))

    def _of(self, d: FloatArray, mean: float) -> FloatArray:
        return np.asarray(np.minimum(self.factor * d**self.power * mean ** (1.0 - self.power), self.widest))


def _column(distances: FloatArray, k: int) -> FloatArray:
    """The k-th distance of each row, or the last that there is."""
    d = distances[:, min(k, distances.shape[1] - 1)]
    if np.isfinite(d).all():
        return d
    last = np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
    return np.where(np.isfinite(d), d, last)
