"""Flat coordinates on manifolds of dimension one and two, in which to integrate and to draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, row_dots
from tmsm.foundation.errors import InvalidInputError

__all__ = ["CubeChart", "Curve", "FlatChart", "PlaneChart", "SurfaceChart", "Window"]

# Corners of a box of the embedding space.
Window = tuple[tuple[float, ...], tuple[float, ...]]

# Of differences that stand for derivatives, as a share of a side.
_STEP = 1e-6


@final
@dataclass(frozen=True)
class Curve:
    """A manifold of dimension one, by its length s from ``low`` to ``high``.

    Attributes
    ----------
    low, high
        Where it begins and ends.
    points
        The points (n, D) at lengths (n,).
    unit
        The length that is divided: one, or all of a window.
    lengths
        The lengths of points; None if they are not known.
    name
        The name of the length in a picture.
    """

    low: float
    high: float
    points: Callable[[FloatArray], FloatArray]
    unit: float = 1.0
    lengths: Callable[[FloatArray], FloatArray] | None = None
    name: str = "s"


class SurfaceChart(ABC):
    """A way to write a surface in flat coordinates (u, v) on a few square faces, in which integrals are computed.

    A subclass gives `points` and `radius`. The rest follows by differences, and can be overridden by exact formulae. In
    the methods ``face`` is the number of the face, u and v are coordinates, X and Y points, ``d`` the signed distance
    of a border at X, and ``inward`` its gradient.
    """

    faces: int = 1
    low: float = 0.0
    side: float = 1.0
    has_coordinates: bool = False
    names: tuple[str, str] = ("u", "v")

    @abstractmethod
    def points(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        """Points of the surface, shape (n, D)."""

    @abstractmethod
    def radius(self, half: float) -> float:
        """A distance from the centre of a square cell, by half its side, within which all of it lies."""

    def slopes(self, face: IntArray, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the points by u and by v, shape (n, D) each."""
        h = _STEP * self.side
        along_u = (self.points(face, u + h, v) - self.points(face, u - h, v)) / (2.0 * h)
        along_v = (self.points(face, u, v + h) - self.points(face, u, v - h)) / (2.0 * h)
        return along_u, along_v

    def density(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        """Area of the surface for one unit of (u, v), shape (n,)."""
        a, b = self.slopes(face, u, v)
        return np.sqrt(np.maximum(row_dots(a, a) * row_dots(b, b) - row_dots(a, b) ** 2, 0.0))

    def line(
        self, face: IntArray, u: FloatArray, v: FloatArray, X: FloatArray, d: FloatArray, inward: FloatArray
    ) -> FloatArray:
        """(a, b, c), shape (n, 3): a + bu + cv > 0 is inside the border, seen from X at (u, v) as a straight line.

        ``d`` is the signed distance at X and ``inward`` its gradient.
        """
        b, c = (row_dots(inward, slope) for slope in self.slopes(face, u, v))
        return np.column_stack([d - b * u - c * v, b, c])

    def tangent(self, X: FloatArray, d: FloatArray, inward: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """The border's tangent nearest to X as (n, c): close to it n·y + c is the signed distance of a point y."""
        return inward, d - row_dots(inward, X)

    def straight(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The way from points X to points Y next to them, as tangents at X, shape (n, D)."""
        return Y - X

    def coordinates(self, X: FloatArray) -> FloatArray:
        """(u, v) of points, shape (n, 2), where ``has_coordinates``."""
        raise InvalidInputError(f"{type(self).__name__} does not know the coordinates of points.")

    @property
    def unit(self) -> float:
        """The length on the surface of one unit of u or of v, at most."""
        return float(np.sqrt(2.0) * self.radius(0.5))

    @property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        """Corners of the chart in `coordinates`, shape (2,) each."""
        return np.full(2, self.low), np.full(2, self.low + self.side)


@dataclass(frozen=True)
class FlatChart(SurfaceChart):
    """A surface that can be rolled out flat without changing lengths and areas: s in a window of the plane.

    Attributes
    ----------
    lower, upper
        Corners of the window, shape (2,).
    embed
        The points, shape (n, D), at s, shape (n, 2).
    unroll
        The coordinates s of points, for pictures; None if they are not known.
    names
        The names of the two coordinates of s.
    """

    lower: FloatArray
    upper: FloatArray
    embed: Callable[[FloatArray], FloatArray]
    unroll: Callable[[FloatArray], FloatArray] | None = None
    names: tuple[str, str] = ("u", "v")

    @property
    def has_coordinates(self) -> bool:  # type: ignore[override]
        """Whether there is a way back from points."""
        return self.unroll is not None

    def points(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return self.embed(self._window(u, v))

    def _window(self, u: FloatArray, v: FloatArray) -> FloatArray:
        return np.asarray(self.lower) + np.column_stack([u, v]) * self._size

    @property
    def _size(self) -> FloatArray:
        return np.asarray(self.upper) - np.asarray(self.lower)

    def density(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return np.full(u.shape, float(np.prod(self._size)))

    def radius(self, half: float) -> float:
        return float(half * np.linalg.norm(self._size))

    @property
    def unit(self) -> float:
        return float(self._size.max())

    def coordinates(self, X: FloatArray) -> FloatArray:
        return super().coordinates(X) if self.unroll is None else self.unroll(X)

    @property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.lower), np.asarray(self.upper)


@final
class PlaneChart(FlatChart):
    """A window of the plane itself."""

    def __init__(self, lower: FloatArray, upper: FloatArray) -> None:
        super().__init__(lower, upper, _itself, _itself, ("x₁", "x₂"))

    def line(
        self, face: IntArray, u: FloatArray, v: FloatArray, X: FloatArray, d: FloatArray, inward: FloatArray
    ) -> FloatArray:
        nearest = X - d[:, None] * inward
        offset = np.einsum("nd,nd->n", inward, self.lower - nearest)
        return np.column_stack([offset, inward * self._size])


@final
class CubeChart(SurfaceChart):
    """S² on the faces of the cube [−1, 1]³, projected from the centre: great circles are straight lines."""

    faces, low, side = 6, -1.0, 2.0

    def __init__(self) -> None:
        axes = np.eye(3)
        # The first row points to the middle of the face.
        self._frames = np.array(
            [[s * axes[k], axes[(k + 1) % 3], axes[(k + 2) % 3]] for k in range(3) for s in (1, -1)]
        )

    def points(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        flat = np.column_stack([np.ones_like(u), u, v])
        flat /= np.sqrt(1.0 + u * u + v * v)[:, None]
        points: FloatArray = np.einsum("nk,nkd->nd", flat, self._frames[face])
        return points

    def density(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        density: FloatArray = (1.0 + u * u + v * v) ** -1.5
        return density

    def radius(self, half: float) -> float:
        return float(np.sqrt(2.0) * half)

    def line(
        self, face: IntArray, u: FloatArray, v: FloatArray, X: FloatArray, d: FloatArray, inward: FloatArray
    ) -> FloatArray:
        line: FloatArray = np.einsum("nd,nkd->nk", self.tangent(X, d, inward)[0], self._frames[face])
        return line

    def tangent(self, X: FloatArray, d: FloatArray, inward: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        # At the nearest point q = cos d x − sin d ν the inward normal is cos d ν + sin d x.
        return np.cos(d)[:, None] * inward + np.sin(d)[:, None] * X, 0.0


def _itself(s: FloatArray) -> FloatArray:
    return s
