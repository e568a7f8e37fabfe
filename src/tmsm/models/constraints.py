"""Where a model's natural parameter θ may lie: what is known restricts θ, never the statistics.

So (A, b) of one pass serves a model with a known and with an unknown concentration alike, and a
curved family changes the solve only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.numerics.newton import Minimum, Objective, Point, minimise

__all__ = [
    "AffineSubspace",
    "Best",
    "Constraint",
    "FixedNorm",
    "HalfLine",
    "PinnedPoint",
    "Unrestricted",
    "minimise_over",
]


# From an objective, a point and minima that are known to a minimum.
Search = Callable[[Objective, Point, Sequence[FloatArray]], Minimum | None]


class Constraint(ABC):
    """A smooth set of natural parameters in R^p: where θ may lie.

    In the methods ``theta`` is θ, shape (p,), and ``on_border`` says whether it lies on a border of the set.
    """

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Dimension k of the set: the number of parameters to estimate."""

    @property
    def is_flat(self) -> bool:
        """Whether the set is a linear space, so that the best of its points by a quadratic is found in closed form."""
        return False

    @property
    def only_turns(self) -> bool:
        """Whether all of the set is one density turned on the sphere, with one normalising constant."""
        return False

    @abstractmethod
    def point(self, theta: FloatArray) -> Point:
        """The point of the set at θ, or the nearest one where θ is not in it."""

    def starts(self, theta: FloatArray) -> list[Point]:
        """Points of the set from which a search for the best one near θ should begin."""
        return [self.point(theta)]

    def allows(self, theta: FloatArray) -> bool:
        """Whether a θ of the set is wanted."""
        return True

    def borders(self) -> Sequence[Constraint]:
        """The borders of what is wanted, as sets of their own."""
        return ()

    def on_border(self, theta: FloatArray) -> bool:
        """Whether θ lies on a border of what is wanted."""
        size = float(np.linalg.norm(theta))
        return any(np.linalg.norm(border.point(theta).theta - theta) <= 1e-7 * size for border in self.borders())

    def describe(self, theta: FloatArray, on_border: bool) -> str:
        """One sentence about the best θ that was found."""
        return ""

    def tangent(self, theta: FloatArray) -> FloatArray:
        """Orthonormal basis of the directions in which θ may move, shape (p, k)."""
        basis: FloatArray = np.linalg.qr(self.point(theta).jacobian)[0]
        return basis


@final
@dataclass(frozen=True)
class Unrestricted(Constraint):
    """All of R^size.

    Parameters
    ----------
    size
        Number of entries of θ.
    """

    size: int

    @property
    def is_flat(self) -> bool:
        return True

    @property
    def n_free(self) -> int:
        return self.size

    def point(self, theta: FloatArray) -> Point:
        return _FlatPoint(theta, np.eye(self.size))


@final
@dataclass(frozen=True)
class AffineSubspace(Constraint):
    """The set {offset + basis φ} for all φ.

    Parameters
    ----------
    offset
        Shape (p,).
    basis
        Orthonormal columns, shape (p, k).
    """

    offset: FloatArray
    basis: FloatArray

    @property
    def is_flat(self) -> bool:
        return True

    @property
    def n_free(self) -> int:
        return int(self.basis.shape[1])

    def point(self, theta: FloatArray) -> Point:
        return _FlatPoint(self.offset + self.basis @ (self.basis.T @ (theta - self.offset)), self.basis)


@final
@dataclass(frozen=True)
class HalfLine(Constraint):
    """{offset + c·direction, c ≥ 0}, both of shape (p,), the direction of length one."""

    offset: FloatArray
    direction: FloatArray

    @property
    def n_free(self) -> int:
        return 1

    @property
    def basis(self) -> FloatArray:
        """The direction as a column, shape (p, 1)."""
        return self.direction[:, None]

    def point(self, theta: FloatArray) -> Point:
        return _FlatPoint(self.offset + max(self._length(theta), 0.0) * self.direction, self.basis)

    def allows(self, theta: FloatArray) -> bool:
        return self._length(theta) >= 0.0

    def borders(self) -> Sequence[Constraint]:
        return [AffineSubspace(self.offset, np.zeros((self.offset.size, 0)))]

    def _length(self, theta: FloatArray) -> float:
        return float(self.direction @ (theta - self.offset))


@final
@dataclass(frozen=True)
class FixedNorm(Constraint):
    """The set {θ : ‖θ‖ = radius}.

    Parameters
    ----------
    radius
        The length of θ.
    size
        Number of entries of θ.
    """

    radius: float
    size: int

    @property
    def n_free(self) -> int:
        return self.size - 1

    def point(self, theta: FloatArray) -> Point:
        length = float(np.linalg.norm(theta))
        return _NormPoint(theta * (self.radius / length) if length > 0.0 else self.radius * np.eye(self.size)[0])


@dataclass(frozen=True)
class Best:
    """The lowest minimum over a set, and whether it lies on a border of what is wanted."""

    minimum: Minimum
    on_border: bool


def minimise_over(
    constraint: Constraint,
    objective: Objective,
    near: Sequence[FloatArray],
    search: Search = minimise,
    *,
    widely: bool = True,
) -> Best | None:
    """The lowest of the minima that searches near some θ end in, the first one ``widely``; None if none ends.

    Where the lowest is not wanted, the best of the others and of those on the borders.
    """
    found = _minima(constraint, objective, near, search, widely)
    if found and constraint.allows(found[0].point.theta):
        return Best(found[0], on_border=False)
    inside = [Best(minimum, False) for minimum in found if constraint.allows(minimum.point.theta)]
    beside = [
        Best(minimum, True)
        for border in constraint.borders()
        for minimum in _minima(border, objective, near, search, widely)
        if constraint.allows(minimum.point.theta)
    ]
    return min([*inside, *beside], key=lambda best: best.minimum.value, default=None)


def _minima(
    constraint: Constraint, objective: Objective, near: Sequence[FloatArray], search: Search, widely: bool
) -> list[Minimum]:
    """Minima from every start, lowest first."""
    first = constraint.starts(near[0]) if widely else [constraint.point(near[0])]
    starts = [*(constraint.point(theta) for theta in near[1:]), *first]
    found: list[Minimum] = []
    for start in starts:
        minimum = search(objective, start, [other.point.theta for other in found])
        if minimum is not None and minimum.reached:
            found.append(minimum)
    return sorted(found, key=lambda minimum: minimum.value)


@dataclass(frozen=True)
class PinnedPoint(Point):
    """A point of which one local coordinate is held."""

    inner: Point
    pinned: int

    @property
    def theta(self) -> FloatArray:  # type: ignore[override]
        """θ of the point, shape (p,)."""
        return self.inner.theta

    @property
    def jacobian(self) -> FloatArray:
        return np.delete(self.inner.jacobian, self.pinned, axis=1)

    def bend(self, covector: FloatArray) -> FloatArray:
        rows = np.delete(self.inner.bend(covector), self.pinned, axis=0)
        return np.delete(rows, self.pinned, axis=1)

    def moved(self, step: FloatArray) -> Point:
        return PinnedPoint(self.inner.moved(np.insert(step, self.pinned, 0.0)), self.pinned)


@dataclass(frozen=True)
class _FlatPoint(Point):
    theta: FloatArray
    basis: FloatArray

    @property
    def jacobian(self) -> FloatArray:
        return self.basis

    def bend(self, covector: FloatArray) -> FloatArray:
        return np.zeros((self.basis.shape[1], self.basis.shape[1]))

    def moved(self, step: FloatArray) -> Point:
        return _FlatPoint(self.theta + self.basis @ step, self.basis)


@dataclass(frozen=True)
class _NormPoint(Point):
    theta: FloatArray

    @property
    def jacobian(self) -> FloatArray:
        # The right singular vectors of θᵀ after the first span its orthogonal complement.
        complement: FloatArray = np.linalg.svd(self.theta[None, :])[2][1:].T
        return complement

    def bend(self, covector: FloatArray) -> FloatArray:
        # θ(s) = θ + T s − ½ ‖s‖² θ / r² + …
        k = self.theta.size - 1
        return np.eye(k) * float(-(covector @ self.theta) / (self.theta @ self.theta))

    def moved(self, step: FloatArray) -> Point:
        away = self.theta + self.jacobian @ step
        return _NormPoint(away * float(np.linalg.norm(self.theta) / np.linalg.norm(away)))
