"""What a manifold is: all that depends on the space that points live in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_dots, row_norms
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, as_rows, check_count
from tmsm.foundation.values import ValueObject
from tmsm.manifolds.charts import Curve, SurfaceChart, Window
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.nearest import NearestPoints
from tmsm.manifolds.solid_charts import SolidChart
from tmsm.manifolds.units import DistanceUnit
from tmsm.manifolds.views import ChartView, View

__all__ = ["DistanceUnit", "Manifold", "WrittenCoordinates", "multiplied"]


@dataclass(frozen=True)
class WrittenCoordinates:
    """Points in the numbers that people write down, and may round.

    Attributes
    ----------
    names
        What to call each coordinate, in the plural.
    columns
        Its values, one array for each coordinate.
    unit
        A symbol behind a number.
    length
        Geodesic length of a step by one unit, where it is longest.
    """

    names: tuple[str, ...]
    columns: tuple[FloatArray, ...]
    unit: str = ""
    length: float = 1.0


class Manifold(ValueObject, ABC):
    """A smooth manifold of dimension ``dim``, with points in ``embedding_dim`` coordinates.

    What a manifold does not offer raises an error that says so, or is None. Only `check_points` checks its rows.

    In the methods X and Y are points, V and U tangent vectors, G plain derivatives, all of shape (n, D); ``name`` is
    what an error message calls the rows, or the name of a view; ``empty`` says whether there may be no rows; ``low``
    and ``high`` are corners of a box; ``kappa`` is κ; ``n_columns`` is the number of columns; ``rng`` and
    ``random_state`` give random numbers.
    """

    dim: int

    @property
    @abstractmethod
    def embedding_dim(self) -> int:
        """Number D of embedding coordinates."""

    @abstractmethod
    def contains(self, X: FloatArray) -> BoolArray:
        """Whether each row lies on the manifold, to rounding; False for NaN and infinities.

        Parameters
        ----------
        X
            Rows of coordinates, shape (n, D).
        """

    def settle(self, X: FloatArray) -> tuple[bool, bool]:
        """Whether every row lies on the manifold to rounding, and whether any had to be moved onto it.

        Rows are moved in place, by no more than `contains` forgives.
        """
        return bool(self.contains(X).all()), False

    @abstractmethod
    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        """Say what is wrong with the finite rows marked ``bad`` and how to mend them."""

    @abstractmethod
    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """P(x) v for each row: the tangent part of V, shape (n, D).

        Parameters
        ----------
        X
            Points, shape (n, D).
        V
            Vectors of R^D at them, shape (n, D).
        """

    @abstractmethod
    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        """Laplace–Beltrami operator of each embedding coordinate, which is also div(P e_j), shape (n, D)."""

    @abstractmethod
    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Length of the shortest path on the manifold between matching rows, shape (n,).

        Parameters
        ----------
        X, Y
            Points, shape (n, D); each row of X is compared with the same row of Y.
        """

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Where the geodesics from rows X with tangent V end after the length of V, shape (n, D).

        Parameters
        ----------
        X
            Points, shape (n, D).
        V
            Tangent vectors at them, shape (n, D).
        """
        raise InvalidInputError(f"{self!r} has no exponential map.")

    def retract(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Points of the manifold near X + V, shape (n, D), that agree with the exponential map to second order."""
        return self.exponential(X, V)

    def velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Tangent rows V as velocities in the embedding coordinates, shape (n, D): V itself, but for `Chart`."""
        return V

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Second derivative of the geodesics from X with tangent V in the embedding coordinates, shape (n, D).

        So the Hessian of a function along the manifold is D²t(v, v) + Dt·acceleration with plain derivatives D.
        """
        raise InvalidInputError(f"{self!r} does not say how its geodesics bend.")

    def tangent_gradient(self, X: FloatArray, G: FloatArray) -> FloatArray:
        """The tangent gradient of a function from its plain derivatives G by the embedding coordinates, (n, D)."""
        return self.project_tangent(X, G)

    def tangent_map(self, X: FloatArray) -> FloatArray:
        """The matrices T of `tangent_gradient`, T g = tangent_gradient(g), shape (n, D, D).

        The Laplace–Beltrami operator of a function is ⟨TᵀT, D²t⟩ + Dt·coordinate_laplacian; in an embedding T = P.
        """
        columns = [self.tangent_gradient(X, np.broadcast_to(e, X.shape)) for e in np.eye(X.shape[1])]
        return np.stack(columns, axis=2)

    def second_form(self, X: FloatArray, G: FloatArray, V: FloatArray) -> FloatArray:
        """Tangent rows b with ⟨b, u⟩ = G·II(u, v) for all tangents u, where II(v, v) is the acceleration, (n, D).

        So the Hessian of a function along the manifold, applied to v, is tangent_gradient(D²t v) + second_form(Dt, v).
        """
        total = np.zeros_like(X)
        for u in self.tangent_frame(X):
            form = 0.25 * (self.acceleration(X, u + V) - self.acceleration(X, u - V))
            total += u * row_dots(G, form)[:, None]
        return total

    def same_points(self, X: FloatArray) -> list[FloatArray]:
        """Other coordinates of the same points, arrays (n, D); none where coordinates are unique."""
        return []

    @property
    def is_embedded(self) -> bool:
        """Whether lengths are those of the embedding space: tangents are velocities, straight lines the shortest paths.

        Not so for manifolds that are known by coordinates and a metric, such as `Chart`.
        """
        return True

    def tangent_of(self, X: FloatArray, U: FloatArray) -> FloatArray:
        """The tangents whose `velocity` is U, shape (n, D); where embedded, the part of U along the manifold."""
        return self.project_tangent(X, U)

    def plain_gradient(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Derivatives by the embedding coordinates of a function with tangent gradient V, shape (n, D)."""
        return V

    def grown_box(self, low: FloatArray, high: FloatArray, distance: float) -> tuple[FloatArray, FloatArray]:
        """Corners (D,) of a box of coordinates that holds all points within a distance of those in a box."""
        return low - distance, high + distance

    @property
    def n_functions(self) -> int:
        """How many `functions` there are."""
        return self.embedding_dim

    def functions(self, X: FloatArray) -> FloatArray:
        """Smooth functions that tell points apart and keep lengths, shape (n, E).

        They are the embedding coordinates, but for manifolds on which several of those are one point, such as a
        quaternion and its opposite.
        """
        return X

    def function_gradient(self, X: FloatArray, a: FloatArray) -> FloatArray:
        """The tangent gradient of a·functions for one vector a (E,), shape (n, D)."""
        return self.tangent_gradient(X, np.broadcast_to(a, X.shape))

    def function_laplacians(self, X: FloatArray) -> FloatArray:
        """Their Laplace–Beltrami operators, shape (n, E)."""
        return self.coordinate_laplacian(X)

    def function_velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Their derivatives along tangent rows V (n, D), shape (n, E)."""
        return self.velocity(X, V)

    def function_acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Their second derivatives along the geodesics from X with tangent V, shape (n, E)."""
        return self.acceleration(X, V)

    @property
    def factors(self) -> tuple[Manifold, ...]:
        """The manifolds of which this is the product; itself alone where it is none."""
        return (self,)

    @property
    def columns(self) -> tuple[slice, ...]:
        """Which columns of a point belong to each factor."""
        ends = np.cumsum([0, *(factor.embedding_dim for factor in self.factors)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    def within(self, columns: slice) -> Manifold:
        """The factor, or the product of factors, whose coordinates are in these columns."""
        inside = [
            factor
            for factor, own in zip(self.factors, self.columns, strict=True)
            if columns.start <= own.start and own.stop <= columns.stop
        ]
        product = inside[0]
        for factor in inside[1:]:
            product = product * factor
        return product

    def __mul__(self, other: Manifold) -> Manifold:
        if not isinstance(other, Manifold):
            return NotImplemented
        return multiplied(self, other)

    def __pow__(self, times: int) -> Manifold:
        product: Manifold = self
        for _ in range(check_count(times, "the power of a manifold") - 1):
            product = product * self
        return product

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """The tangent V at rows X with exponential(X, V) = Y along the shortest path, shape (n, D).

        Parameters
        ----------
        X, Y
            Points, shape (n, D): from each row of X to the same row of Y.
        """
        raise InvalidInputError(f"{self!r} has no logarithm, the inverse of the exponential map.")

    @property
    def is_flat(self) -> bool:
        """Whether the coordinates are lengths along straight axes, each in units of its own."""
        return False

    @property
    def has_loops(self) -> bool:
        """Whether compiled loops over rows are written for its coordinates."""
        return False

    @property
    def has_quarter_turn(self) -> bool:
        """Whether `quarter_turn` is defined."""
        return False

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Tangent rows V (n, D) turned by a right angle in their tangent planes: only in dimension two."""
        raise InvalidInputError(f"Tangent vectors can be turned by a right angle in dimension two only, not in {self}.")

    def unit_tangent(self, X: FloatArray) -> FloatArray:
        """In dimension one: tangents of length one that all go the same way round, shape (n, D)."""
        raise InvalidInputError(f"There is one direction along {self!r} in dimension one only.")

    def tangent_frame(self, X: FloatArray) -> list[FloatArray]:
        """Orthonormal tangents at each row, ``dim`` arrays (n, D); they need not vary smoothly."""
        P = np.stack([self.project_tangent(X, np.broadcast_to(e, X.shape)) for e in np.eye(X.shape[1])], axis=2)
        return list(np.moveaxis(np.linalg.eigh(P)[1][:, :, -self.dim :], 2, 0))

    @property
    def diameter(self) -> float:
        """The largest geodesic distance of two points."""
        return float("inf")

    @property
    def horizon(self) -> float:
        """Beyond this distance from a point others cannot be told apart by their coordinates."""
        return float("inf")

    @property
    def injectivity_radius(self) -> float:
        """Up to this distance from a point there is one shortest path; zero where it is not known."""
        return 0.0

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Laplace–Beltrami operator in x of half the squared distance to the matching row of Y, shape (n,)."""
        raise InvalidInputError(f"{self!r} does not know the curvature of its distance balls.")

    @property
    def is_closed(self) -> bool:
        """Whether the whole manifold has a finite area."""
        return bool(np.isfinite(self.diameter))

    @property
    def has_longitudes(self) -> bool:
        """Whether points have a longitude and a latitude, as on the Earth and the sky."""
        return False

    @property
    def distance_unit(self) -> DistanceUnit:
        """The unit that people read geodesic distances in."""
        return DistanceUnit()

    def written_coordinates(self, X: FloatArray) -> WrittenCoordinates | None:
        """The rows in the coordinates that people write down and may round; None where there is no such habit."""
        return None

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Straight-line distance at a (signed) geodesic distance, and its derivative.

        Only where the one is a function of the other, as on a sphere.
        """
        raise InvalidInputError(
            f"On {self!r} the straight-line distance is not a function of the geodesic one, so this region "
            "has no metric 'chordal'. Use 'geodesic'."
        )

    def chordal_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Straight-line distance in the embedding space between matching rows, shape (n,)."""
        if not self.is_embedded:
            raise InvalidInputError(
                f"{self!r} is known by its coordinates and not as a part of a flat space, so that there are no "
                "straight lines between its points. Use the geodesic distance."
            )
        return row_norms(np.atleast_2d(X - Y))

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        """A search for the nearest of some points (m, D) along the manifold."""
        return NearestPoints(points, self.geodesic_distance)

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        """Uniform draws, shape (n, D), where a uniform distribution exists.

        Parameters
        ----------
        n
            Number of points.
        random_state
            None, an int or a `numpy.random.Generator`.
        """
        raise InvalidInputError(f"There is no uniform distribution on all of {self!r}: draw inside a bounded region.")

    def log_bell_mass(self, kappa: FloatArray) -> FloatArray:
        """Logarithms of ∫ exp(−κ r²/2) around a point, r the straight-line distance in `functions`, shape of κ."""
        raise InvalidInputError(
            f"There are no kernels on {self!r}: they are for circles, S², flat space and products of these."
        )

    def bell_draws(self, X: FloatArray, kappa: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw of the density ∝ exp(−κ r²/2) around each row, with a κ (n,) for each, shape (n, D)."""
        raise InvalidInputError(f"There are no kernels on {self!r}.")

    def scattered(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Some points all over the manifold, shape (n, D), on which to try functions; uniform where that exists."""
        return self.uniform(n, rng)

    def charts(self, window: Window | None) -> SolidChart | SurfaceChart | Curve | None:
        """Flat coordinates in which to integrate, up to dimension three; None where only draws are left.

        ``window``, corners of a box of the embedding space, says where, on a manifold without end.
        """
        return None

    def view(
        self, name: str | None, X: FloatArray, centres: FloatArray, curves: FloatArray, frame: Frame | None = None
    ) -> View:
        """How to draw points: the view that is asked for, or that suits rows X (n, D) and some centres (k, D).

        It has room for points of curves, too, shape (m, D).  ``frame`` says what directions on S² stand for.

        By default the manifold's own chart, where it has one of dimension two that knows its coordinates.
        """
        everything = np.vstack([X, centres, curves])
        chart = None
        if self.dim == 2:
            low, high = everything.min(axis=0), everything.max(axis=0)
            room = 0.12 * np.maximum(high - low, 1e-12)
            chart = self.charts((tuple((low - room).tolist()), tuple((high + room).tolist())))
        if not isinstance(chart, SurfaceChart) or not chart.has_coordinates:
            raise InvalidInputError(
                f"There is no picture of a fit on {self!r}: it has no chart in the plane. plot_diagnostics draws any."
            )
        if name is not None:
            raise InvalidInputError(f"view={name!r} is for the sphere S²; points on {self!r} have one view only.")
        return ChartView(chart)

    def width_hint(self, n_columns: int) -> str:
        """What a table with another number of columns may hold, as the end of an error message."""
        return ""

    def as_rows(self, X: Any, name: str = "X", *, empty: bool = False) -> np.ndarray[Any, Any]:
        """Return X as a numeric table of the right width, as it is; the points are not checked."""
        return as_rows(X, name, self.embedding_dim, width_hint=self.width_hint, empty=empty)

    def reason(self, X: Any, name: str = "X") -> str | None:
        """Why some row of X is not a point of this manifold, in one sentence; None if all are."""
        rows = as_float_array(self.as_rows(X, name), name)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            first = int(np.argmin(finite))
            count = int(np.count_nonzero(~finite))
            return (
                f"{name} has {count} of {len(rows)} rows with NaN or infinite entries "
                f"(first: row {first}, {rows[first].tolist()}). Drop or repair them."
            )
        bad = ~self.contains(rows)
        return self.complaint(rows, name, bad) if bad.any() else None

    def check_points(self, X: Any, name: str = "X") -> FloatArray:
        """Return X as an (n, D) float64 array of points of this manifold, or raise with the reason.

        Parameters
        ----------
        X
            Rows of coordinates, shape (n, D).
        name
            What to call them in an error message.
        """
        rows = as_float_array(self.as_rows(X, name, empty=True), name)
        if not self.contains(rows).all():
            raise InvalidInputError(str(self.reason(rows, name)))
        return rows


@singledispatch
def multiplied(first: Manifold, second: Manifold) -> Manifold:
    """``first * second``; the module of products registers it."""
    raise NotImplementedError
