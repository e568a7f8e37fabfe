"""Products of manifolds: points of several manifolds side by side, such as a direction with an energy; the torus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_dots
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_random_state
from tmsm.manifolds.base import Manifold, multiplied
from tmsm.manifolds.charts import Curve, FlatChart, SurfaceChart, Window
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.nearest import NearestPoints
from tmsm.manifolds.solid_charts import SideBySide, SolidChart
from tmsm.manifolds.sphere import Sphere
from tmsm.manifolds.views import AngleView, ChartView, View

__all__ = ["Product", "Torus"]


@dataclass(frozen=True, eq=False, repr=False)
class Product(Manifold):
    """The product of manifolds: a point is one of each, its coordinates one after the other.

    ``a * b`` is the product of two manifolds and ``a ** k`` that of k copies.

    Parameters
    ----------
    *factors
        Manifolds. A factor that is itself a product is replaced by its factors.

    Examples
    --------
    >>> import tmsm
    >>> place_and_size = tmsm.Sphere(2) * tmsm.Euclidean(1)
    >>> place_and_size.dim, place_and_size.embedding_dim
    (3, 4)
    >>> tmsm.Sphere(1) ** 2 == tmsm.Torus(2)
    True
    """

    parts: tuple[Manifold, ...]

    def __init__(self, *factors: Manifold) -> None:
        for factor in factors:
            if not isinstance(factor, Manifold):
                raise InvalidTypeError(f"A product is one of manifolds, such as Sphere(2); got {factor!r}.")
        flat = tuple(single for factor in factors for single in factor.factors)
        if len(flat) < 2:
            raise InvalidInputError(f"A product has at least two factors; got {len(flat)}.")
        object.__setattr__(self, "parts", flat)

    def _value(self) -> tuple[Any, ...]:
        # A torus equals the product that it is.
        return Product, self.parts

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.parts))})"

    def to_arguments(self) -> dict[str, Any]:
        return {"parts": self.parts}

    @classmethod
    def from_arguments(cls, *, parts: tuple[Manifold, ...]) -> Self:  # type: ignore[override]
        return cls(*parts)

    @property
    def factors(self) -> tuple[Manifold, ...]:
        return self.parts

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """Which columns of a point belong to each factor; asked for in every block of rows."""
        return super().columns

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Dimension: the sum of those of the factors."""
        return sum(factor.dim for factor in self.parts)

    @property
    def embedding_dim(self) -> int:
        return sum(factor.embedding_dim for factor in self.parts)

    def _pieces(self) -> Iterator[tuple[Manifold, slice]]:
        return zip(self.parts, self.columns, strict=True)

    def contains(self, X: FloatArray) -> BoolArray:
        inside = np.ones(len(X), dtype=bool)
        for factor, own in self._pieces():
            inside &= factor.contains(X[:, own])
        return inside

    def same_points(self, X: FloatArray) -> list[FloatArray]:
        found = []
        for factor, own in self._pieces():
            for other in factor.same_points(X[:, own]):
                Y = X.copy()
                Y[:, own] = other
                found.append(Y)
        return found

    def settle(self, X: FloatArray) -> tuple[bool, bool]:
        found = [factor.settle(X[:, own]) for factor, own in self._pieces()]
        return all(fine for fine, _ in found), any(moved for _, moved in found)

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        for number, (factor, own) in enumerate(self._pieces(), start=1):
            wrong = bad & ~factor.contains(X[:, own])
            if wrong.any():
                which = f"column {own.start}" if own.stop - own.start == 1 else f"columns {own.start} to {own.stop - 1}"
                return factor.complaint(
                    X[:, own], f"{name}, in factor {number} of {len(self.parts)}, {factor!r} ({which}),", wrong
                )
        return f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows off {self!r}."

    def width_hint(self, n_columns: int) -> str:
        listed = ", ".join(f"{factor.embedding_dim} of {factor!r}" for factor in self.parts)
        return f" The columns of a product are those of its factors, one after the other: {listed}."

    def _blocks(self, function: Callable[[Manifold, slice], FloatArray]) -> FloatArray:
        return np.concatenate([function(factor, own) for factor, own in self._pieces()], axis=1)

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.project_tangent(X[:, own], V[:, own]))

    def tangent_gradient(self, X: FloatArray, G: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.tangent_gradient(X[:, own], G[:, own]))

    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.velocity(X[:, own], V[:, own]))

    @property
    def is_embedded(self) -> bool:
        return all(factor.is_embedded for factor in self.parts)

    def tangent_of(self, X: FloatArray, U: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.tangent_of(X[:, own], U[:, own]))

    def plain_gradient(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.plain_gradient(X[:, own], V[:, own]))

    def grown_box(self, low: FloatArray, high: FloatArray, distance: float) -> tuple[FloatArray, FloatArray]:
        grown = [factor.grown_box(low[own], high[own], distance) for factor, own in self._pieces()]
        return np.concatenate([box[0] for box in grown]), np.concatenate([box[1] for box in grown])

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.acceleration(X[:, own], V[:, own]))

    def second_form(self, X: FloatArray, G: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.second_form(X[:, own], G[:, own], V[:, own]))

    def tangent_map(self, X: FloatArray) -> FloatArray:
        total = np.zeros((len(X), X.shape[1], X.shape[1]))
        for factor, own in self._pieces():
            total[:, own, own] = factor.tangent_map(X[:, own])
        return total

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.coordinate_laplacian(X[:, own]))

    @property
    def n_functions(self) -> int:
        return sum(factor.n_functions for factor in self.parts)

    def functions(self, X: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.functions(X[:, own]))

    def function_gradient(self, X: FloatArray, a: FloatArray) -> FloatArray:
        ends = np.cumsum([factor.n_functions for factor in self.parts])[:-1]
        pieces = iter(np.split(a, ends))
        return self._blocks(lambda factor, own: factor.function_gradient(X[:, own], next(pieces)))

    def function_laplacians(self, X: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.function_laplacians(X[:, own]))

    def function_velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.function_velocity(X[:, own], V[:, own]))

    def function_acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.function_acceleration(X[:, own], V[:, own]))

    def log_bell_mass(self, kappa: FloatArray) -> FloatArray:
        return np.asarray(sum(factor.log_bell_mass(kappa) for factor in self.parts))

    def bell_draws(self, X: FloatArray, kappa: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self._blocks(lambda factor, own: factor.bell_draws(X[:, own], kappa, rng))

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.exponential(X[:, own], V[:, own]))

    def retract(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.retract(X[:, own], V[:, own]))

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self._blocks(lambda factor, own: factor.logarithm(X[:, own], Y[:, own]))

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        parts = [factor.geodesic_distance(X[:, own], Y[:, own]) for factor, own in self._pieces()]
        return np.asarray(np.linalg.norm(parts, axis=0))

    def chordal_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        parts = [factor.chordal_distance(X[:, own], Y[:, own]) for factor, own in self._pieces()]
        return np.asarray(np.linalg.norm(parts, axis=0))

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        for factor, own in self._pieces():
            factor.nearest_points(points[:, own])  # raises where there is no such search
        return NearestPoints(points, self.geodesic_distance, place=self.functions)

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        total = np.zeros(len(X))
        for factor, own in self._pieces():
            total += factor.half_square_laplacian(X[:, own], Y[:, own])
        return total

    @property
    def diameter(self) -> float:
        return float(np.linalg.norm([factor.diameter for factor in self.parts]))

    @property
    def injectivity_radius(self) -> float:
        return min(factor.injectivity_radius for factor in self.parts)

    @property
    def is_flat(self) -> bool:
        return all(factor.is_flat for factor in self.parts)

    @property
    def _is_of_curves(self) -> bool:
        return len(self.parts) == 2 and all(factor.dim == 1 for factor in self.parts)

    @property
    def has_quarter_turn(self) -> bool:
        return self._is_of_curves

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        if not self._is_of_curves:
            return super().quarter_turn(X, V)
        (first, second), (left, right) = self.parts, self.columns
        a, b = first.unit_tangent(X[:, left]), second.unit_tangent(X[:, right])
        along_a, along_b = row_dots(V[:, left], a), row_dots(V[:, right], b)
        return np.concatenate([-along_b[:, None] * a, along_a[:, None] * b], axis=1)

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        rng = check_random_state(random_state)
        return np.concatenate([factor.uniform(n, rng) for factor in self.parts], axis=1)

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        return np.concatenate([factor.scattered(n, rng) for factor in self.parts], axis=1)

    def charts(self, window: Window | None) -> SolidChart | SurfaceChart | Curve | None:
        if self.dim == 3:
            return self._solid_chart(window)
        if not self._is_of_curves or not self.is_embedded:
            return None
        curves = [factor.charts(_of_columns(window, own)) for factor, own in self._pieces()]
        first, second = curves
        if not isinstance(first, Curve) or not isinstance(second, Curve):
            return None
        (left, right), unroll = self.columns, None
        if first.lengths is not None and second.lengths is not None:
            to_first, to_second = first.lengths, second.lengths

            def unroll(X: FloatArray) -> FloatArray:
                return np.column_stack([to_first(X[:, left]), to_second(X[:, right])])

        def embed(s: FloatArray) -> FloatArray:
            return np.concatenate([first.points(s[:, 0]), second.points(s[:, 1])], axis=1)

        names = (first.name, second.name)
        if names[0] == names[1]:
            names = (f"{names[0]} 1", f"{names[1]} 2")
        low, high = np.array([first.low, second.low]), np.array([first.high, second.high])
        return FlatChart(low, high, embed, unroll, names)

    def _solid_chart(self, window: Window | None) -> SolidChart | None:
        parts: list[Curve | SurfaceChart] = []
        for factor, own in self._pieces():
            chart = factor.charts(_of_columns(window, own))
            if not isinstance(chart, Curve | SurfaceChart):
                return None
            parts.append(chart)
        return SideBySide(parts, self.tangent_of)

    def view(
        self, name: str | None, X: FloatArray, centres: FloatArray, curves: FloatArray, frame: Frame | None = None
    ) -> View:
        found = super().view(name, X, centres, curves, frame)
        first, second = (factor.is_closed for factor in self.parts[:2])
        if not isinstance(found, ChartView) or not (first or second):
            return found
        return AngleView.of(found.chart, np.vstack([X, centres, curves]), (first, second))


@multiplied.register(Manifold)
def _product(first: Manifold, second: Manifold) -> Manifold:
    factors = (*first.factors, *second.factors)
    circles = all(factor == Sphere(1) for factor in factors)
    return Torus(len(factors)) if circles else Product(*factors)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Torus(Product):
    """The torus of ``dim`` angles: the product of as many circles.

    A point has the cosine and the sine of each angle in turn; `angles_to_torus` makes points of angles.

    Parameters
    ----------
    dim
        Number of angles, at least two; one angle is a point of `Sphere(1)`.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> X = tmsm.angles_to_torus([[0.0, np.pi / 2]])
    >>> bool(tmsm.Torus(2).contains(X).all()), X.shape
    (True, (1, 4))
    """

    def __init__(self, dim: int) -> None:
        super().__init__(*check_count(dim, "dim", at_least=2) * (Sphere(1),))

    def __repr__(self) -> str:
        return f"Torus(dim={self.dim})"

    def to_arguments(self) -> dict[str, Any]:
        return {"dim": self.dim}

    @classmethod
    def from_arguments(cls, *, dim: int) -> Self:  # type: ignore[override]
        return cls(dim)

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        problem = super().complaint(X, name, bad).partition(" Normalise")[0]
        return f"{problem} Angles become points with angles_to_torus."

    def width_hint(self, n_columns: int) -> str:
        if n_columns == self.dim:
            return " Angles in radians become points with angles_to_torus."
        return super().width_hint(n_columns)


def _of_columns(window: Window | None, own: slice) -> Window | None:
    return None if window is None else (window[0][own], window[1][own])
