"""The nearest of many points, by the distance along a manifold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.spatial import KDTree

__all__ = ["NearestPoints"]

_CHUNK = 65536


@final
class NearestPoints:
    """A tree of points (m, D) that is asked for the nearest to each row.

    The straight line between two points is never longer than the path along the manifold.  So the nearest point along
    the path is among those whose straight line is no longer than the path to the nearest by straight line.  Where the
    one distance grows with the other, as on a sphere, ``along`` is None and that point is the answer.  Straight lines
    are those of ``place``, the `functions` of a manifold, where its embedding coordinates do not keep lengths.
    """

    def __init__(
        self,
        points: FloatArray,
        along: Callable[[FloatArray, FloatArray], FloatArray] | None,
        *,
        place: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self.points, self._along, self._place = points, along, place

    def _placed(self, X: FloatArray) -> FloatArray:
        return X if self._place is None else self._place(X)

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree

        return KDTree(self._placed(self.points))

    def neighbours(self, k: int) -> FloatArray:
        """Straight-line distances from each point to its k nearest, itself included, shape (m, k)."""
        return np.asarray(self._tree.query(self._placed(self.points), k=k)[0]).reshape(len(self.points), -1)

    def index(self, X: FloatArray) -> IntArray:
        """The number of the nearest point to each row, shape (n,)."""
        found = np.empty(len(X), dtype=np.intp)
        for start in range(0, len(X), _CHUNK):
            rows = slice(start, start + _CHUNK)
            found[rows] = self._tree.query(self._placed(X[rows]))[1]
            if self._along is not None:
                self._improve(X[rows], found[rows])
        return found

    def _improve(self, X: FloatArray, found: IntArray) -> None:
        assert self._along is not None
        best = self._along(X, self.points[found])
        near = self._tree.query_ball_point(self._placed(X), best * (1.0 + 1e-12))
        counts = np.array([len(one) for one in near])
        row, candidate = np.repeat(np.arange(len(X)), counts), np.concatenate(near).astype(np.intp)
        length = self._along(X[row], self.points[candidate])
        order = np.lexsort((candidate, length, row))
        first = np.concatenate([[True], np.diff(row[order]) > 0])
        found[row[order][first]] = candidate[order][first]
