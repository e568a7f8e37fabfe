"""Flat space, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.validation import check_count
from tmsm.manifolds.base import Manifold, WrittenCoordinates
from tmsm.manifolds.charts import Curve, PlaneChart, SurfaceChart, Window
from tmsm.manifolds.nearest import NearestPoints
from tmsm.manifolds.solid_charts import SolidChart, SolidWindow

__all__ = ["Euclidean"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Euclidean(Manifold):
    """Flat space R^dim.

    Parameters
    ----------
    dim
        Number of coordinates.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Euclidean(3).embedding_dim
    3
    """

    dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_count(self.dim, "dim"))

    @property
    def embedding_dim(self) -> int:
        return self.dim

    def contains(self, X: FloatArray) -> BoolArray:
        return np.asarray(np.isfinite(X).all(axis=1))

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        # Every finite row is a point of R^d, so `reason` never gets here.
        return f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows with entries that are not finite."

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return V

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return X + V

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return np.zeros_like(X)

    def second_form(self, X: FloatArray, G: FloatArray, V: FloatArray) -> FloatArray:
        return np.zeros_like(X)

    def tangent_map(self, X: FloatArray) -> FloatArray:
        return np.broadcast_to(np.eye(self.dim), (len(X), self.dim, self.dim))

    def unit_tangent(self, X: FloatArray) -> FloatArray:
        return np.ones_like(X) if self.dim == 1 else super().unit_tangent(X)

    @property
    def injectivity_radius(self) -> float:
        return float("inf")

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return np.full(len(X), float(self.dim))

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return np.zeros_like(X)

    @property
    def has_quarter_turn(self) -> bool:
        return self.dim == 2

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return np.column_stack([-V[:, 1], V[:, 0]]) if self.dim == 2 else super().quarter_turn(X, V)

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self.chordal_distance(X, Y)

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        return distance, np.ones_like(distance)

    @property
    def is_flat(self) -> bool:
        return True

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return Y - X

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        return NearestPoints(points, None)

    def written_coordinates(self, X: FloatArray) -> WrittenCoordinates | None:
        return WrittenCoordinates(tuple(f"column {j}" for j in range(self.dim)), tuple(X.T))

    def log_bell_mass(self, kappa: FloatArray) -> FloatArray:
        return np.asarray(0.5 * self.dim * np.log(2.0 * np.pi / kappa))

    def bell_draws(self, X: FloatArray, kappa: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.asarray(X + rng.standard_normal(X.shape) / np.sqrt(kappa)[:, None])

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        return 2.0 * rng.standard_normal((n, self.dim)) + 0.5

    def charts(self, window: Window | None) -> SolidChart | SurfaceChart | Curve | None:
        if window is None or self.dim > 3:
            return None
        (low, *_), (high, *_) = window
        if self.dim == 1:
            return Curve(low, high, _as_column, high - low, lengths=_only_column, name="x")
        lower, upper = map(np.array, window)
        if self.dim == 2:
            return PlaneChart(lower, upper)
        return SolidWindow(lower, upper, self.tangent_of, _ones)


def _as_column(s: FloatArray) -> FloatArray:
    return s[:, None]


def _ones(X: FloatArray) -> FloatArray:
    return np.ones(len(X))


def _only_column(X: FloatArray) -> FloatArray:
    return X[:, 0]
