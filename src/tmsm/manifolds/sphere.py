"""The unit sphere, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_dots, row_norms, safe_divide, safe_inverse
from tmsm.foundation.validation import check_count, check_random_state
from tmsm.manifolds.base import DistanceUnit, Manifold, WrittenCoordinates
from tmsm.manifolds.charts import CubeChart, Curve, SurfaceChart, Window
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.lonlat import lonlat_of
from tmsm.manifolds.nearest import NearestPoints
from tmsm.manifolds.solid_charts import SolidChart, ThreeSphereChart
from tmsm.manifolds.sphere_views import sphere_view
from tmsm.manifolds.views import View

__all__ = ["Sphere"]

_NEAR_POLE = 0.9998


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sphere(Manifold):
    """The unit sphere S^dim in R^(dim+1).

    Parameters
    ----------
    dim
        Dimension of the sphere itself: 1 for the circle, 2 for the ordinary sphere.

    Examples
    --------
    >>> import tmsm
    >>> sphere = tmsm.Sphere(2)
    >>> sphere.reason([[0.0, 0.0, 1.2]])  # doctest: +ELLIPSIS
    'X has 1 of 1 rows off the sphere (worst: row 0, norm 1.2). Normalise them, or ...'
    """

    dim: int = 2

    # Rows may be off by rounding in float32 or by six printed digits, not more.
    _TOLERANCE = 2e-6
    _ROUNDING = 1e-14

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_count(self.dim, "dim"))

    @property
    def embedding_dim(self) -> int:
        return self.dim + 1

    def contains(self, X: FloatArray) -> BoolArray:
        return np.abs(row_dots(X, X) - 1.0) <= self._TOLERANCE

    def settle(self, X: FloatArray) -> tuple[bool, bool]:
        squared = row_dots(X, X)
        low, high = squared.min(), squared.max()
        if not (low >= 1.0 - self._TOLERANCE and high <= 1.0 + self._TOLERANCE):
            return False, False
        # A norm off by 1e-6 would move a concentration of 1e5 by a tenth of itself.
        moved = max(1.0 - low, high - 1.0) > self._ROUNDING
        if moved:
            X /= np.sqrt(squared)[:, None]
        return True, bool(moved)

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        norms = row_norms(X)
        worst = int(np.argmax(np.where(bad, np.abs(norms - 1.0), -1.0)))
        return (
            f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows off the sphere "
            f"(worst: row {worst}, norm {norms[worst]:.6g}). "
            "Normalise them, or use lonlat_to_xyz if these are degrees."
        )

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return V - X * row_dots(X, V)[:, None]  # P = I − x xᵀ

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        angle = row_norms(V)[:, None]
        return np.cos(angle) * X + np.sinc(angle / np.pi) * V  # np.sinc(a/π) = sin(a)/a

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        across = self.project_tangent(X, Y - X)
        return safe_divide(across, row_norms(across)) * self.geodesic_distance(X, Y)[:, None]

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return X * -float(self.dim)

    @property
    def has_loops(self) -> bool:
        return self.dim == 2

    @property
    def has_quarter_turn(self) -> bool:
        return self.dim == 2

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return _cross(X, V) if self.dim == 2 else super().quarter_turn(X, V)

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return X * -row_dots(V, V)[:, None]

    def second_form(self, X: FloatArray, G: FloatArray, V: FloatArray) -> FloatArray:
        return V * -row_dots(G, X)[:, None]  # II(u, v) = −⟨u, v⟩ x

    def tangent_map(self, X: FloatArray) -> FloatArray:
        return np.eye(X.shape[1]) - X[:, :, None] * X[:, None, :]

    def unit_tangent(self, X: FloatArray) -> FloatArray:
        return np.column_stack([-X[:, 1], X[:, 0]]) if self.dim == 1 else super().unit_tangent(X)

    @property
    def diameter(self) -> float:
        return float(np.pi)

    @property
    def injectivity_radius(self) -> float:
        return float(np.pi)

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        rho = self.geodesic_distance(X, Y)
        # Δ(ρ²/2) = 1 + (dim − 1) ρ cot ρ
        return 1.0 + (self.dim - 1.0) * np.cos(rho) * safe_inverse(np.sinc(rho / np.pi))

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        # asin and acos lose half the digits next to the antipode and to the point itself.
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        return 2.0 * np.arctan2(row_norms(X - Y), row_norms(X + Y))

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        half = 0.5 * distance
        return 2.0 * np.sin(half), np.cos(half)

    @property
    def has_longitudes(self) -> bool:
        return self.dim == 2

    @property
    def distance_unit(self) -> DistanceUnit:
        return DistanceUnit(180.0 / np.pi, "°", "degrees")

    def written_coordinates(self, X: FloatArray) -> WrittenCoordinates | None:
        if self.dim != 2:
            return None
        lon, lat = lonlat_of(np.ascontiguousarray(X))
        # Next to a pole a longitude in degrees loses its digits.
        lon = lon[np.abs(X[:, 2]) < _NEAR_POLE]
        return WrittenCoordinates(("longitudes", "latitudes"), (lon, lat), "°", np.pi / 180.0)

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        return NearestPoints(points, None)

    def charts(self, window: Window | None) -> SolidChart | SurfaceChart | Curve | None:
        if self.dim == 1:
            return Curve(-np.pi, np.pi, _from_angle, lengths=_to_angle, name="angle")
        if self.dim == 2:
            return CubeChart()
        return ThreeSphereChart() if self.dim == 3 else None

    def view(
        self, name: str | None, X: FloatArray, centres: FloatArray, curves: FloatArray, frame: Frame | None = None
    ) -> View:
        return (sphere_view if self.dim == 2 else super().view)(name, X, centres, curves, frame)

    def width_hint(self, n_columns: int) -> str:
        if self.dim == 2 and n_columns == 2:
            return " Longitude and latitude in degrees become unit vectors with lonlat_to_xyz(lon, lat)."
        return ""

    def log_bell_mass(self, kappa: FloatArray) -> FloatArray:
        # r² = 2 (1 − cos ρ): von Mises–Fisher densities, times e^κ.
        if self.dim == 2:
            return np.asarray(np.log(2.0 * np.pi / kappa) + np.log1p(-np.exp(-2.0 * kappa)))
        if self.dim > 2:
            return super().log_bell_mass(kappa)
        from scipy.special import i0e

        return np.asarray(np.log(2.0 * np.pi * i0e(kappa)))

    def bell_draws(self, X: FloatArray, kappa: FloatArray, rng: np.random.Generator) -> FloatArray:
        if self.dim > 2:
            return super().bell_draws(X, kappa, rng)
        if self.dim == 1:
            angle = rng.vonmises(0.0, kappa)
            return np.cos(angle)[:, None] * X + np.sin(angle)[:, None] * self.unit_tangent(X)
        # 1 − cos ρ keeps its digits where draws are close.
        deficit = -np.log1p(rng.uniform(size=len(X)) * np.expm1(-2.0 * kappa)) / kappa
        towards = self.project_tangent(X, rng.standard_normal(X.shape))
        towards *= (np.sqrt(np.maximum(deficit * (2.0 - deficit), 0.0)) * safe_inverse(row_norms(towards)))[:, None]
        points: FloatArray = (1.0 - deficit)[:, None] * X + towards
        return points / row_norms(points)[:, None]

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        rng = check_random_state(random_state)
        draws = rng.standard_normal((check_count(n, "n", at_least=0), self.embedding_dim))
        points: FloatArray = draws / np.linalg.norm(draws, axis=1)[:, None]
        return points


def _cross(X: FloatArray, V: FloatArray) -> FloatArray:
    """X × V row by row, column-major: three times as fast as numpy.cross on blocks."""
    out = np.empty(X.shape, order="F")
    x, y, z = X.T
    u, v, w = V.T
    out[:, 0] = y * w - z * v
    out[:, 1] = z * u - x * w
    out[:, 2] = x * v - y * u
    return out


def _from_angle(s: FloatArray) -> FloatArray:
    return np.column_stack([np.cos(s), np.sin(s)])


def _to_angle(X: FloatArray) -> FloatArray:
    return np.arctan2(X[:, 1], X[:, 0])
