"""Interpolation of smooth functions on an interval by their values at Chebyshev points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray

__all__ = ["Interpolation"]


@final
@dataclass(frozen=True)
class Interpolation:
    """The polynomial through the values at ``count + 1`` Chebyshev points of the second kind from ``low`` to ``high``.

    Those of twice the count are the same points and one more in each gap.
    """

    low: float
    high: float
    count: int

    @property
    def points(self) -> FloatArray:
        """Where the values are needed, from ``low`` to ``high``, shape (count + 1,)."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        found: FloatArray = middle - half * np.cos(np.pi * np.arange(self.count + 1) / self.count)
        found[0], found[-1] = self.low, self.high
        return found

    @property
    def between(self) -> FloatArray:
        """A point in each gap, where the error may be looked at, shape (count,)."""
        return Interpolation(self.low, self.high, 2 * self.count).points[1::2]

    def covers(self, at: FloatArray) -> BoolArray:
        """Which numbers lie in the interval, but for rounding."""
        slack = 1e-12 * (self.high - self.low)
        inside: BoolArray = (at >= self.low - slack) & (at <= self.high + slack)
        return inside

    def matrix(self, at: FloatArray) -> FloatArray:
        """L with f(at) = L f(points), shape (n, count + 1), by the barycentric formula."""
        weight = np.where(np.arange(self.count + 1) % 2 == 0, 1.0, -1.0)
        weight[[0, -1]] *= 0.5
        away = at[:, None] - self.points
        exact = away == 0.0
        found: FloatArray = weight / np.where(exact, 1.0, away)
        known = exact.any(axis=1)
        found[known] = exact[known]
        found /= found.sum(axis=1)[:, None]
        return found
