"""Manifolds embedded in R^D: membership, tangent projection, distances, uniform draws."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.arrays import BoolArray, FloatArray, row_dots, row_norms
from tmsm.errors import InvalidInputError
from tmsm.validation import as_float_array, as_rows, check_count, check_random_state
from tmsm.values import ValueObject

__all__ = ["Euclidean", "Manifold", "Sphere"]


class Manifold(ValueObject, ABC):
    """A smooth manifold of dimension ``dim``, embedded in ``embedding_dim`` coordinates.

    Methods without a check in their name trust their rows; `check_points` is the gate.
    """

    dim: int

    @property
    @abstractmethod
    def embedding_dim(self) -> int:
        """Number D of embedding coordinates."""

    @abstractmethod
    def contains(self, X: FloatArray) -> BoolArray:
        """Whether each row lies on the manifold, to rounding; False for NaN and infinities."""

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
        """P(x) v for each row: the tangent part of V, shape (n, D)."""

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Where the geodesics from rows X with tangent V end after the length of V, shape (n, D)."""
        raise InvalidInputError(f"{self!r} has no exponential map.")

    @abstractmethod
    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        """Laplace–Beltrami operator of each embedding coordinate, which is also div(P e_j), shape (n, D)."""

    @property
    def has_quarter_turn(self) -> bool:
        """Whether `quarter_turn` is defined."""
        return False

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Tangent rows V (n, D) turned by a right angle in their tangent planes: only in dimension two."""
        raise InvalidInputError(f"Tangent vectors can be turned by a right angle in dimension two only, not in {self}.")

    @property
    def diameter(self) -> float:
        """The largest geodesic distance of two points."""
        return float("inf")

    @abstractmethod
    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Length of the shortest path on the manifold between matching rows, shape (n,)."""

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Straight-line distance at a (signed) geodesic distance, and its derivative.

        Only where the one is a function of the other, as on a sphere.
        """
        raise InvalidInputError(
            f"On {self!r} the straight-line distance is not a function of the geodesic one, so this region "
            "has no metric 'chordal'. Use 'geodesic'."
        )

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        """Uniform draws, shape (n, D), where a uniform distribution exists."""
        raise InvalidInputError(f"There is no uniform distribution on all of {self!r}: draw inside a bounded region.")

    def chordal_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Straight-line distance in the embedding space between matching rows, shape (n,)."""
        return row_norms(np.atleast_2d(X - Y))

    def as_rows(self, X: Any, name: str = "X", *, empty: bool = False) -> np.ndarray[Any, Any]:
        """Return X as a numeric table of the right width, as it is; the points are not checked."""
        return as_rows(X, name, self.embedding_dim, angles=self == Sphere(2), empty=empty)

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
        """Return X as an (n, D) float64 array of points of this manifold, or raise with the reason."""
        rows = as_float_array(self.as_rows(X, name, empty=True), name)
        if not self.contains(rows).all():
            raise InvalidInputError(str(self.reason(rows, name)))
        return rows


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

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return X * -float(self.dim)

    @property
    def has_quarter_turn(self) -> bool:
        return self.dim == 2

    def quarter_turn(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return np.cross(X, V) if self.dim == 2 else super().quarter_turn(X, V)

    @property
    def diameter(self) -> float:
        return float(np.pi)

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        # asin and acos lose half the digits next to the antipode and to the point itself.
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        return 2.0 * np.arctan2(row_norms(X - Y), row_norms(X + Y))

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        half = 0.5 * distance
        return 2.0 * np.sin(half), np.cos(half)

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        rng = check_random_state(random_state)
        draws = rng.standard_normal((check_count(n, "n", at_least=0), self.embedding_dim))
        points: FloatArray = draws / np.linalg.norm(draws, axis=1)[:, None]
        return points


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
