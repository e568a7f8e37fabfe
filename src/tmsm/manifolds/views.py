"""Picture planes: what a manifold looks like when it is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.charts import PlaneChart, SurfaceChart

__all__ = ["AngleView", "ChartView", "View"]

# Round what is to be seen, as a share of it.
_ROOM = 0.12


class View(ABC):
    """A picture plane: how points of a manifold are drawn.

    In the methods ``ax`` are Matplotlib axes, X are points (n, D), ``closed`` says whether a chain returns to its first
    point, and ``style`` are options of Matplotlib.
    """

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
        if isinstance(self.chart, PlaneChart):  # no line can jump from one side to the other
            return np.inf
        low, high = self.chart.extent
        return 0.5 * float(np.max(high - low))


@final
@dataclass(frozen=True)
class AngleView(View):
    """Two curves side by side, at least one of them a circle, whose angle is in radians.

    A circle is cut where the gap between points is largest, and shown whole where no gap is large.

    Attributes
    ----------
    chart
        Rolls the two out.
    low, high
        Corners of the picture, shape (2,).
    turns
        Which of the two are circles.
    """

    chart: SurfaceChart
    low: FloatArray
    high: FloatArray
    turns: tuple[bool, bool]

    @classmethod
    def of(cls, chart: SurfaceChart, X: FloatArray, turns: tuple[bool, bool]) -> AngleView:
        """The view that has room for points X (n, D)."""
        corners = np.column_stack(chart.extent).astype(np.float64)
        for k, s in enumerate(chart.coordinates(X).T):
            if turns[k]:
                corners[k] = _arc(s)
        return cls(chart, corners[:, 0], corners[:, 1], turns)

    def prepare(self, ax: Any) -> None:
        ax.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        for axis, turns, low, high, name in zip(
            (ax.xaxis, ax.yaxis), self.turns, self.low, self.high, self.chart.names, strict=True
        ):
            axis.set_label_text(f"{name} (radians)" if turns else name)
            if turns and high - low > 2.0 * np.pi - 1e-9:
                axis.set_ticks(np.pi * np.linspace(-1.0, 1.0, 5), ["−π", "−π/2", "0", "π/2", "π"])
            elif turns and max(-low, high) > np.pi:
                axis.set_ticks(*_ticks_across(low, high, np.ptp(axis.get_ticklocs()[:2])))

    def forward(self, X: FloatArray) -> FloatArray:
        s = np.array(self.chart.coordinates(np.asarray(X, dtype=np.float64)))
        for k in range(2):
            if self.turns[k]:
                first = 0.5 * (self.low[k] + self.high[k]) - np.pi
                s[:, k] = first + np.remainder(s[:, k] - first, 2.0 * np.pi)
        return s

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        x, y = (np.linspace(self.low[k], self.high[k], n) for k in range(2))
        lower, upper = self.chart.extent
        u, v = (
            ((s - lower[k]) / (upper[k] - lower[k])).ravel() * self.chart.side + self.chart.low
            for k, s in enumerate(np.meshgrid(x, y))
        )
        return x, y, self.chart.points(np.zeros(u.size, dtype=np.intp), u, v).reshape(n, n, -1)

    @property
    def longest_step(self) -> float:
        return 0.5 * float(np.max(self.high - self.low))


def _arc(angles: FloatArray) -> tuple[float, float]:
    """Where an arc with some room round all angles begins and ends; the whole turn where they leave no large gap."""
    ordered = np.sort(angles)
    gaps = np.diff(np.append(ordered, ordered[0] + 2.0 * np.pi))
    widest = int(np.argmax(gaps))
    length = 2.0 * np.pi - float(gaps[widest])
    room = _ROOM * max(length, 1e-9)
    if length + 2.0 * room > 1.5 * np.pi:
        return -np.pi, np.pi
    middle = _reduced(float(ordered[(widest + 1) % len(ordered)]) + 0.5 * length)
    return middle - 0.5 * length - room, middle + 0.5 * length + room


def _reduced(angle: float) -> float:
    """The same angle in (−π, π]."""
    return float(np.pi - np.remainder(np.pi - angle, 2.0 * np.pi))


def _ticks_across(low: float, high: float, step: float) -> tuple[FloatArray, list[str]]:
    """Multiples of a step where a picture of angles goes across ±π, and the angles in (−π, π] that they are."""
    multiples = step * np.arange(np.ceil(-np.pi / step), np.floor(np.pi / step) + 1.0)
    places = np.concatenate([multiples + turn for turn in (-2.0 * np.pi, 0.0, 2.0 * np.pi)])
    texts = 3 * [f"{angle:.4g}".replace("-", "−") for angle in multiples]
    shown = np.flatnonzero((places > low) & (places < high))
    return places[shown], [texts[k] for k in shown]
