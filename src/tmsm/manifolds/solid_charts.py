"""Flat coordinates on manifolds of dimension three, in which to integrate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray, row_dots
from tmsm.manifolds.charts import Curve, SurfaceChart

__all__ = ["SideBySide", "SolidChart", "SolidWindow", "ThreeSphereChart"]

# Of differences that stand for derivatives, as a share of a side.
_STEP = 1e-6
# A curve above a surface is cut into so many pieces at most.
_PIECES = 8
_FIRST = np.zeros(1, dtype=np.intp)


class SolidChart(ABC):
    """A way to write a manifold of dimension three in flat coordinates s = (u, v, w) on a few cubes, the faces.

    All cubes are [low, low + side]³. A subclass gives `points`, `slopes`, `density` and `radius`. In the methods
    ``face`` is the number of the face, s are coordinates (n, 3), X points, ``d`` the signed distance of a border at X,
    and ``inward`` its gradient.
    """

    faces: int = 1
    low: float = 0.0
    side: float = 1.0

    @abstractmethod
    def points(self, face: IntArray, s: FloatArray) -> FloatArray:
        """Points of the manifold, shape (n, D), from coordinates (n, 3)."""

    @abstractmethod
    def radius(self, half: float) -> float:
        """A geodesic distance from the centre of a cubic cell, by half its side, within which all of it lies."""

    @abstractmethod
    def slopes(self, face: IntArray, s: FloatArray) -> tuple[FloatArray, ...]:
        """Derivatives of the points by each coordinate, as three tables of tangents, shape (n, D) each."""

    @abstractmethod
    def density(self, face: IntArray, s: FloatArray) -> FloatArray:
        """Volume of the manifold for one unit of that of s, shape (n,)."""

    def plane(self, face: IntArray, s: FloatArray, X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
        """(a, b), shape (n, 4): a + b·(t − s) > 0 is inside the border as a plane, seen from X at s; t next to s.

        ``d`` is the signed distance at X and ``inward`` its gradient.  Next to s the form is the signed distance.
        """
        return np.column_stack([d, *(row_dots(inward, slope) for slope in self.slopes(face, s))])

    @property
    @abstractmethod
    def scales(self) -> FloatArray:
        """For each column of a point, the length on the manifold of one unit of the coordinates it depends on, (D,)."""


@final
@dataclass(frozen=True)
class SolidWindow(SolidChart):
    """A window of coordinates x whose metric is G ≤ I: nothing is longer than in them.  Flat space has G = I.

    Attributes
    ----------
    lower, upper
        Corners of the window, shape (3,).
    tangent_of
        From points and velocities of x to tangents, shape (n, 3).
    volume
        √det G at points, shape (n,).
    """

    lower: FloatArray
    upper: FloatArray
    tangent_of: Callable[[FloatArray, FloatArray], FloatArray]
    volume: Callable[[FloatArray], FloatArray]

    @property
    def _size(self) -> FloatArray:
        return self.upper - self.lower

    def points(self, face: IntArray, s: FloatArray) -> FloatArray:
        return self.lower + s * self._size

    def radius(self, half: float) -> float:
        return float(half * np.linalg.norm(self._size))

    @property
    def scales(self) -> FloatArray:
        return self._size

    def slopes(self, face: IntArray, s: FloatArray) -> tuple[FloatArray, ...]:
        X = self.points(face, s)
        return tuple(self.tangent_of(X, np.broadcast_to(axis, X.shape)) for axis in np.diag(self._size))

    def density(self, face: IntArray, s: FloatArray) -> FloatArray:
        return self.volume(self.points(face, s)) * float(np.prod(self._size))


@final
class ThreeSphereChart(SolidChart):
    """S³ on the eight faces of the cube [−1, 1]⁴, projected from the centre: great spheres are planes.

    ``faces=4`` is one half of it: one of every two opposite points, so all rotations as quaternions modulo sign.
    """

    low, side = -1.0, 2.0

    def __init__(self, faces: int = 8) -> None:
        self.faces = faces
        axes = np.eye(4)
        # The first row points to the middle of the face.
        self._frames = np.array(
            [[sign * axes[k], *(axes[(k + j) % 4] for j in (1, 2, 3))] for sign in (1, -1) for k in range(4)]
        )

    def points(self, face: IntArray, s: FloatArray) -> FloatArray:
        flat = np.column_stack([np.ones(len(s)), s])
        flat /= np.sqrt(1.0 + row_dots(s, s))[:, None]
        points: FloatArray = np.einsum("nk,nkd->nd", flat, self._frames[face])
        return points

    def radius(self, half: float) -> float:
        return float(np.sqrt(3.0) * half)

    @property
    def scales(self) -> FloatArray:
        return np.ones(4)

    def slopes(self, face: IntArray, s: FloatArray) -> tuple[FloatArray, ...]:
        X, frames = self.points(face, s), self._frames[face]
        length = np.sqrt(1.0 + row_dots(s, s))[:, None]
        # x = y/|y| with y = frame·(1, s)
        return tuple((e - X * row_dots(X, e)[:, None]) / length for e in (frames[:, 1], frames[:, 2], frames[:, 3]))

    def density(self, face: IntArray, s: FloatArray) -> FloatArray:
        density: FloatArray = (1.0 + row_dots(s, s)) ** -2.0
        return density

    def plane(self, face: IntArray, s: FloatArray, X: FloatArray, d: FloatArray, inward: FloatArray) -> FloatArray:
        # At the nearest point q = cos d x − sin d ν the inward normal is n = cos d ν + sin d x, and n·y = |y| sin d.
        normal = np.cos(d)[:, None] * inward + np.sin(d)[:, None] * X
        form = np.einsum("nd,nkd->nk", normal, self._frames[face])
        form[:, 0] += row_dots(form[:, 1:], s)
        plane: FloatArray = form / np.sqrt(1.0 + row_dots(s, s))[:, None]
        return plane


@final
class SideBySide(SolidChart):
    """A product of three curves, or of a surface and a curve, in the coordinates of the parts.

    Above a surface of several faces a long curve is cut into pieces, so that it does not force small cells onto it.

    Parameters
    ----------
    parts
        Charts of the factors, in the order of their columns.
    tangent_of
        From points and velocities in the embedding coordinates to tangents.
    """

    def __init__(
        self, parts: list[Curve | SurfaceChart], tangent_of: Callable[[FloatArray, FloatArray], FloatArray]
    ) -> None:
        self._parts, self._tangent_of = parts, tangent_of
        surface = next((part for part in parts if isinstance(part, SurfaceChart)), None)
        self._pieces, self._surface_faces = 1, 1
        if surface is not None:
            curve = next(part for part in parts if isinstance(part, Curve))
            length = curve.high - curve.low
            if surface.faces > 1:
                # In a window the whole of it is the unit, and it is some 20 widths of a density.
                wanted = _PIECES if curve.unit == length else np.ceil(length / surface.side)
                self._pieces = int(np.clip(wanted, 1, _PIECES))
            self.low, self.side = surface.low, surface.side
            self._surface_faces = surface.faces
            self.faces = surface.faces * self._pieces

    def _lengths(self, curve: Curve, face: IntArray, s: FloatArray) -> FloatArray:
        piece = face // self._surface_faces
        return curve.low + (s - self.low + piece * self.side) * self._rate(curve)

    def _rate(self, curve: Curve) -> float:
        """Length of a curve for one unit of its coordinate."""
        return (curve.high - curve.low) / (self._pieces * self.side)

    def points(self, face: IntArray, s: FloatArray) -> FloatArray:
        blocks, k = [], 0
        for part in self._parts:
            if isinstance(part, Curve):
                blocks.append(part.points(self._lengths(part, face, s[:, k])))
                k += 1
            else:
                blocks.append(part.points(face % self._surface_faces, s[:, k], s[:, k + 1]))
                k += 2
        return np.concatenate(blocks, axis=1)

    def radius(self, half: float) -> float:
        along = [half * self._rate(part) if isinstance(part, Curve) else part.radius(half) for part in self._parts]
        return float(np.linalg.norm(along))

    @property
    def scales(self) -> FloatArray:
        middle = np.full((1, 3), self.low + 0.5 * self.side)
        columns: list[float] = []
        for part in self._parts:
            point = part.points(middle[:, 0]) if isinstance(part, Curve) else part.points(_FIRST, *middle[:, :2].T)
            columns += [self._rate(part) if isinstance(part, Curve) else part.unit] * point.shape[1]
        return np.array(columns)

    def slopes(self, face: IntArray, s: FloatArray) -> tuple[FloatArray, ...]:
        X, h = self.points(face, s), _STEP * self.side
        differences = [(self.points(face, s + h * e) - self.points(face, s - h * e)) / (2.0 * h) for e in np.eye(3)]
        return tuple(self._tangent_of(X, U) for U in differences)

    def density(self, face: IntArray, s: FloatArray) -> FloatArray:
        density, k = np.ones(len(s)), 0
        for part in self._parts:
            if isinstance(part, Curve):
                density *= self._rate(part)
                k += 1
            else:
                density *= part.density(face % self._surface_faces, s[:, k], s[:, k + 1])
                k += 2
        return density
