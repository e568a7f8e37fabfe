"""Picture planes: what a manifold looks like when it is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.charts import SurfaceChart

__all__ = ["ChartView", "View"]


class View(ABC):
    """A picture plane."""

    @abstractmethod
    def prepare(self, ax: Any) -> None:
        """Limits, ticks and background."""

    @abstractmethod
    def forward(self, X: FloatArray) -> FloatArray:
        """Places in the picture, shape (n, 2); NaN where a point is not to be seen."""

    @abstractmethod
    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X (n,), y (n,) and the points under their grid, shape (n, n, D); NaN beside the manifold."""

    @property
    def longest_step(self) -> float:
        """Neighbours on a line that are farther apart are not joined."""
        return np.inf

    @property
    def shape(self) -> float | None:
        """Height of the picture for a width of one; None where any will do."""
        return None

    def scatter(self, ax: Any, X: FloatArray, **style: Any) -> None:
        """Draw points."""
        ax.scatter(*self.forward(X).T, **style)

    def line(self, ax: Any, X: FloatArray, *, closed: bool = False, **style: Any) -> None:
        """Draw a chain of points; hidden parts and jumps are left out."""
        flat = self.forward(np.vstack([X, X[:1]]) if closed else X)
        steps = np.linalg.norm(np.diff(flat, axis=0), axis=1)
        far = np.flatnonzero(steps > self.longest_step) + 1
        ax.plot(*np.insert(flat, far, np.nan, axis=0).T, **style)


@final
@dataclass(frozen=True)
class ChartView(View):
    """A surface in the coordinates of one of its charts."""

    chart: SurfaceChart

    def prepare(self, ax: Any) -> None:
        (left, bottom), (right, top) = self.chart.extent
        across, up = self.chart.names
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=across, ylabel=up)

    def forward(self, X: FloatArray) -> FloatArray:
        return self.chart.coordinates(np.asarray(X, dtype=np.float64))

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        low, high = self.chart.extent
        x, y = (np.linspace(low[k], high[k], n) for k in range(2))
        u, v = (s.ravel() for s in np.meshgrid(*2 * [self.chart.low + self.chart.side * np.linspace(0.0, 1.0, n)]))
        return x, y, self.chart.points(np.zeros(u.size, dtype=np.intp), u, v).reshape(n, n, -1)

    @property
    def longest_step(self) -> float:
        low, high = self.chart.extent
        return 0.5 * float(np.max(high - low))
