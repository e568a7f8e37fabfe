"""Manifolds that are known by global coordinates and a metric: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray, row_dots
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.base import Manifold
from tmsm.manifolds.charts import SurfaceChart
from tmsm.manifolds.nearest import NearestPoints

__all__ = ["Charted", "CoordinateChart"]


class Charted(Manifold):
    """A manifold with global coordinates x in R^dim and a metric G(x), so that |ẋ|² = ẋᵀ G ẋ.

    A point is the row of its coordinates.  Tangents are written in an orthonormal frame: the columns of E(x), with
    EᵀGE = I, are ``dim`` tangent vectors, and the row v stands for the velocity E v.  So the dot product of two
    rows is the Riemannian one.
    """

    @property
    def embedding_dim(self) -> int:
        return self.dim

    @property
    def is_embedded(self) -> bool:
        return False

    def contains(self, X: FloatArray) -> BoolArray:
        return np.asarray(np.isfinite(X).all(axis=1))

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        # Every finite row is a point, so `reason` never gets here.
        return f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows with entries that are not finite."

    @abstractmethod
    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """E v: tangents V as velocities of the coordinates, shape (n, dim)."""

    @abstractmethod
    def tangent_of(self, X: FloatArray, U: FloatArray) -> FloatArray:
        """E⁻¹ u: velocities U of the coordinates as tangents, shape (n, dim)."""

    @abstractmethod
    def tangent_gradient(self, X: FloatArray, G: FloatArray) -> FloatArray:
        """Eᵀ g: the tangent gradient of a function from its derivatives by the coordinates, shape (n, dim)."""

    @abstractmethod
    def plain_gradient(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """E⁻ᵀ v: derivatives by the coordinates of a function with tangent gradient V, shape (n, dim)."""

    @abstractmethod
    def log_volume(self, X: FloatArray) -> FloatArray:
        """½ log det G: logarithm of the volume of the manifold for one unit of that of the coordinates, shape (n,)."""

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return V

    def retract(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return X + self.velocity(X, V) + 0.5 * self.acceleration(X, V)

    def tangent_frame(self, X: FloatArray) -> list[FloatArray]:
        return [np.broadcast_to(axis, X.shape) for axis in np.eye(self.dim)]

    def unit_tangent(self, X: FloatArray) -> FloatArray:
        return np.ones_like(X) if self.dim == 1 else super().unit_tangent(X)

    @property
    def has_quarter_turn(self) -> bool:
        return self.dim == 2

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return np.column_stack([-V[:, 1], V[:, 0]]) if self.dim == 2 else super().quarter_turn(X, V)

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        raise InvalidInputError(
            f"{self!r} is known by its coordinates and not as a part of a flat space, so that there is no metric "
            "'chordal'. Use 'geodesic'."
        )

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        raise InvalidInputError(
            f"There is no search for the nearest of many points on {self!r}, whose coordinates are no lengths. "
            "Use a region that is known by a formula, such as GeodesicBall or Implicit."
        )


@final
@dataclass(frozen=True)
class CoordinateChart(SurfaceChart):
    """A window of the coordinates of a surface whose metric is G ≤ I: nothing is longer than in the coordinates.

    Attributes
    ----------
    lower, upper
        Corners of the window, shape (2,).
    manifold
        The surface.
    """

    lower: FloatArray
    upper: FloatArray
    manifold: Charted

    has_coordinates = True
    names = ("x₁", "x₂")

    @property
    def _size(self) -> FloatArray:
        return self.upper - self.lower

    def points(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return self.lower + np.column_stack([u, v]) * self._size

    def coordinates(self, X: FloatArray) -> FloatArray:
        return X

    @property
    def extent(self) -> tuple[FloatArray, FloatArray]:
        return self.lower, self.upper

    def radius(self, half: float) -> float:
        return float(half * np.linalg.norm(self._size))

    @property
    def unit(self) -> float:
        return float(self._size.max())

    def slopes(self, face: IntArray, u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        X = self.points(face, u, v)
        first, second = (self.manifold.tangent_of(X, np.broadcast_to(axis, X.shape)) for axis in np.diag(self._size))
        return first, second

    def density(self, face: IntArray, u: FloatArray, v: FloatArray) -> FloatArray:
        volume: FloatArray = np.exp(self.manifold.log_volume(self.points(face, u, v)))
        return volume * float(np.prod(self._size))

    def tangent(self, X: FloatArray, d: FloatArray, inward: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        normal = self.manifold.plain_gradient(X, inward)
        return normal, d - row_dots(normal, X)

    def straight(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self.manifold.tangent_of(X, Y - X)
