"""Hyperbolic space, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_dots, row_norms, safe_divide
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, as_rows, check_count
from tmsm.manifolds.charted import Charted, CoordinateChart
from tmsm.manifolds.charts import Curve, SurfaceChart, Window
from tmsm.manifolds.solid_charts import SolidChart, SolidWindow

__all__ = ["Hyperbolic"]

# Rows may be off the hyperboloid by rounding in float32 or by six printed digits, relative to x₀².
_TOLERANCE = 2e-6
# The exponential of more overflows.
_FARTHEST = 700.0


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hyperbolic(Charted):
    """Hyperbolic space of constant curvature −1.

    A point of the hyperboloid {x₀² − |x|² = 1, x₀ > 0} is given by its last ``dim`` coordinates x in R^dim;
    x₀ = √(1 + |x|²).  `from_lorentz` and `from_poincare` make points of the two usual forms.

    Parameters
    ----------
    dim
        Dimension: 2 for the hyperbolic plane.

    Notes
    -----
    The metric is G = I − xxᵀ/x₀² with ½ log det G = −log x₀.  Tangents are written in the orthonormal frame
    E = I + xxᵀ/(x₀ + 1), that at x = 0 moved along the geodesic from there.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> plane = tmsm.Hyperbolic(2)
    >>> X = plane.from_poincare([[0.0, 0.5]])
    >>> round(float(plane.geodesic_distance(X, np.zeros((1, 2)))[0]), 6)  # 2 artanh ½
    1.098612
    """

    dim: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", check_count(self.dim, "dim"))

    # The frame.

    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return V + X * (row_dots(X, V) / (_time(X) + 1.0))[:, None]  # E = I + xxᵀ/(x₀ + 1)

    def tangent_of(self, X: FloatArray, U: FloatArray) -> FloatArray:
        time = _time(X)
        return U - X * (row_dots(X, U) / (time * (time + 1.0)))[:, None]  # E⁻¹ = I − xxᵀ/(x₀ (x₀ + 1))

    def tangent_gradient(self, X: FloatArray, G: FloatArray) -> FloatArray:
        return self.velocity(X, G)  # E is symmetric

    def plain_gradient(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.tangent_of(X, V)

    def log_volume(self, X: FloatArray) -> FloatArray:
        return -0.5 * np.log1p(row_dots(X, X))

    # The coordinates of the hyperboloid satisfy Hess t(v, v) = t |v|².

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return X * row_dots(V, V)[:, None]

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return X * float(self.dim)

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        length = row_norms(V)
        return X * np.cosh(length)[:, None] + self.velocity(X, V) * _sinhc(length)[:, None]

    def retract(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.exponential(X, V)

    @property
    def horizon(self) -> float:
        return 30.0  # coordinates grow like eᵈ, and doubles have sixteen digits

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        moved = self.seen_from(X, Y)
        return safe_divide(moved, row_norms(moved)) * self.geodesic_distance(X, Y)[:, None]

    def seen_from(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Rows Y after the Lorentz boost that takes the matching rows of X to the origin, shape (n, dim).

        They have the direction of the logarithm, and the length sinh ρ.
        """
        away = Y - X
        time = row_dots(away, X + Y) / (_time(X) + _time(Y))  # y₀ − x₀
        # (y − x) + x x·(y − x)/(x₀ + 1) − x (y₀ − x₀), with x·(y − x) = x₀ (y₀ − x₀) − q/2.
        return away - X * ((time + 0.5 * self.square_chord(X, Y)) / (_time(X) + 1.0))[:, None]

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return 2.0 * np.arcsinh(0.5 * np.sqrt(self.square_chord(X, Y)))

    def square_chord(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Between matching rows q = 4 sinh²(ρ/2) = 2 (cosh ρ − 1) = |y − x|² − (y₀ − x₀)², shape (n,)."""
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        away, middle = Y - X, X + Y
        a, b = _time(X), _time(Y)
        both = a + b
        # The part of y − x along x + y, which alone changes x₀, and the part across it.
        unit = safe_divide(middle, row_norms(middle))
        along = row_dots(away, unit)
        across = away - unit * along[:, None]
        # q = (|across|² + 4 along²/m₀²) / (1 − along²/m₀²), m₀ = x₀ + y₀: no digit is lost between neighbours.
        share = along / both
        left = np.maximum((1.0 - share) * (1.0 + share), 1e-300)
        near: FloatArray = (row_dots(across, across) + 4.0 * share**2) / left
        # cosh ρ = x₀y₀ − x·y is better for points at very different distances from the origin.
        product = a * b
        less_one = product - row_dots(X, Y) - 1.0
        return np.where(product * left < less_one, 2.0 * less_one, near)

    @property
    def injectivity_radius(self) -> float:
        return float("inf")

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        rho = self.geodesic_distance(X, Y)
        # Δ(ρ²/2) = 1 + (dim − 1) ρ coth ρ
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(rho > 0.0, rho / np.tanh(rho), 1.0)
        return 1.0 + (self.dim - 1.0) * share

    def grown_box(self, low: FloatArray, high: FloatArray, distance: float) -> tuple[FloatArray, FloatArray]:
        # arsinh x_j is the distance from the plane x_j = 0, which changes by no more than the way that is gone.
        return _far_sinh(np.arcsinh(low) - distance), _far_sinh(np.arcsinh(high) + distance)

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.exponential(np.zeros((n, self.dim)), rng.standard_normal((n, self.dim)) + 0.2)

    def charts(self, window: Window | None) -> SolidChart | SurfaceChart | Curve | None:
        if window is None or self.dim > 3:
            return None
        if self.dim == 1:
            low, high = (float(np.arcsinh(corner[0])) for corner in window)
            return Curve(low, high, _from_length, high - low, lengths=_to_length, name="s")
        lower, upper = map(np.array, window)
        if self.dim == 2:
            return CoordinateChart(lower, upper, self)
        return SolidWindow(lower, upper, self.tangent_of, lambda X: np.exp(self.log_volume(X)))

    def width_hint(self, n_columns: int) -> str:
        if n_columns == self.dim + 1:
            return f" Points of the hyperboloid, (x₀, x), become rows with Hyperbolic({self.dim}).from_lorentz."
        return ""

    # Other forms of points.

    def to_lorentz(self, X: Any) -> FloatArray:
        """Points of the hyperboloid (x₀, x).

        Parameters
        ----------
        X
            Points, shape (n, dim).

        Returns
        -------
        Shape (n, dim + 1), with x₀ = √(1 + |x|²) first.
        """
        rows = self.check_points(X)
        return np.column_stack([_time(rows), rows])

    def from_lorentz(self, points: Any) -> FloatArray:
        """Rows from points of the hyperboloid x₀² − |x|² = 1, x₀ > 0.

        Parameters
        ----------
        points
            Shape (n, dim + 1), x₀ first.

        Returns
        -------
        Shape (n, dim).
        """
        rows = _finite(as_rows(points, "points", self.dim + 1, empty=True), "points")
        time, X = rows[:, 0], rows[:, 1:]
        excess = time**2 - row_dots(X, X)
        bad = (np.abs(excess - 1.0) > _TOLERANCE * np.maximum(time**2, 1.0)) | (time <= 0.0)
        if bad.any():
            worst = int(np.argmax(np.where(bad, np.where(time <= 0.0, np.inf, np.abs(excess - 1.0)), -1.0)))
            raise InvalidInputError(
                f"points has {int(bad.sum())} of {len(rows)} rows off the hyperboloid x₀² − |x|² = 1, x₀ > 0 "
                f"(worst: row {worst}, x₀ = {time[worst]:.6g}, x₀² − |x|² = {excess[worst]:.6g}). "
                "x₀ comes first; if the columns are x alone, they are rows of this manifold already."
            )
        return np.array(X)

    def to_poincare(self, X: Any) -> FloatArray:
        """Points b = x/(x₀ + 1) of the Poincaré ball.

        Parameters
        ----------
        X
            Points, shape (n, dim).

        Returns
        -------
        Shape (n, dim), of length below one.
        """
        rows = self.check_points(X)
        return rows / (_time(rows) + 1.0)[:, None]

    def from_poincare(self, points: Any) -> FloatArray:
        """Rows x = 2b/(1 − |b|²) from points b of the Poincaré ball |b| < 1.

        Parameters
        ----------
        points
            Shape (n, dim).

        Returns
        -------
        Shape (n, dim).
        """
        rows = _finite(as_rows(points, "points", self.dim, empty=True), "points")
        length = row_norms(rows)
        bad = ~(length < 1.0)
        if bad.any():
            worst = int(np.argmax(length))
            raise InvalidInputError(
                f"points has {int(bad.sum())} of {len(rows)} rows outside the Poincaré ball, whose points are shorter "
                f"than one (worst: row {worst}, length {length[worst]:.6g}). Points of the hyperboloid are converted "
                "by from_lorentz."
            )
        return rows * (2.0 / ((1.0 - length) * (1.0 + length)))[:, None]


def _time(X: FloatArray) -> FloatArray:
    """x₀ = √(1 + |x|²), shape (n,)."""
    time: FloatArray = np.sqrt(1.0 + row_dots(X, X))
    return time


def _sinhc(a: FloatArray) -> FloatArray:
    """sinh(a)/a."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a > 1e-4, np.sinh(a) / a, 1.0 + a * a / 6.0)


def _far_sinh(s: FloatArray) -> FloatArray:
    """sinh(s), at most about 1e304."""
    sinh: FloatArray = np.sinh(np.clip(s, -_FARTHEST, _FARTHEST))
    return sinh


def _finite(rows: Any, name: str) -> FloatArray:
    array = as_float_array(rows, name)
    bad: BoolArray = np.asarray(~np.isfinite(array).all(axis=1))
    if bad.any():
        first = int(np.argmax(bad))
        raise InvalidInputError(
            f"{name} has {int(bad.sum())} of {len(array)} rows with NaN or infinite entries "
            f"(first: row {first}, {array[first].tolist()}). Drop or repair them."
        )
    return array


def _from_length(s: FloatArray) -> FloatArray:
    return np.sinh(s)[:, None]


def _to_length(X: FloatArray) -> FloatArray:
    return np.arcsinh(X[:, 0])
