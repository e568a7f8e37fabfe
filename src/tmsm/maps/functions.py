"""Smooth functions of some coordinates, with the derivatives along a vector that score matching asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots

__all__ = ["Cosines", "Functions", "Harmonics", "Polynomials", "SideBySide", "Splines"]


class Functions(ABC):
    """Functions t of coordinates Y (n, E), written in these coordinates alone."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Their number p."""

    @abstractmethod
    def values(self, Y: FloatArray) -> FloatArray:
        """t(y), shape (n, p)."""

    @abstractmethod
    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        """⟨Dt, v⟩ along rows V (n, E), shape (n, p)."""

    @abstractmethod
    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        """D²t(v, v) along rows V (n, E), shape (n, p)."""


@final
@dataclass(frozen=True, eq=False)
class SideBySide(Functions):
    """Several kinds of functions of the same coordinates."""

    parts: Sequence[Functions]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def values(self, Y: FloatArray) -> FloatArray:
        return self._joined(lambda part: part.values(Y))

    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        return self._joined(lambda part: part.slope(Y, V))

    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        return self._joined(lambda part: part.bend(Y, V))

    def _joined(self, of: Callable[[Functions], FloatArray]) -> FloatArray:
        return np.concatenate([of(part) for part in self.parts], axis=1)


@final
@dataclass(frozen=True, eq=False)
class Polynomials(Functions):
    """All products of at most two of E coordinates, or the coordinates alone; no constant."""

    n_coordinates: int
    degree: int = 2

    @cached_property
    def _pairs(self) -> tuple[Any, Any]:
        i, j = np.triu_indices(self.n_coordinates)
        return (i, j) if self.degree > 1 else (i[:0], j[:0])

    @property
    def size(self) -> int:
        return self.n_coordinates + len(self._pairs[0])

    def values(self, Y: FloatArray) -> FloatArray:
        i, j = self._pairs
        return np.concatenate([Y, Y[:, i] * Y[:, j]], axis=1)

    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        i, j = self._pairs
        return np.concatenate([V, V[:, i] * Y[:, j] + Y[:, i] * V[:, j]], axis=1)

    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        i, j = self._pairs
        return np.concatenate([np.zeros_like(V), 2.0 * V[:, i] * V[:, j]], axis=1)


@final
@dataclass(frozen=True, eq=False)
class Splines(Functions):
    """Minus the fifth power of the distance to each of some knots, or the third power.

    In any number of coordinates −r⁵ is positive definite on the coefficients that are orthogonal to all quadratic
    polynomials of the knots, and r³ on those that are orthogonal to all linear ones (Micchelli 1986).

    Attributes
    ----------
    knots
        Shape (p, E).
    power
        5 or 3.
    """

    knots: FloatArray
    power: int = 5

    @property
    def size(self) -> int:
        return len(self.knots)

    @property
    def _sign(self) -> float:
        return -1.0 if self.power == 5 else 1.0

    def _squares(self, Y: FloatArray) -> FloatArray:
        """Squared distances, shape (n, p)."""
        squares = (-2.0 * Y) @ self.knots.T
        squares += row_dots(Y, Y)[:, None]
        squares += row_dots(self.knots, self.knots)
        np.maximum(squares, 0.0, out=squares)
        return squares

    def values(self, Y: FloatArray) -> FloatArray:
        squares = self._squares(Y)
        root = np.sqrt(squares)
        root *= squares
        if self.power == 5:
            root *= squares
        root *= self._sign
        return root

    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        # D r^k v = k r^(k−2) (y − z)·v
        squares = self._squares(Y)
        factor = np.sqrt(squares)
        if self.power == 5:
            factor *= squares
        return self._sign * self.power * factor * self._along(Y, V)

    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        # D² r^k (v, v) = k r^(k−2) |v|² + k (k − 2) r^(k−4) ((y − z)·v)²
        squares, along = self._squares(Y), self._along(Y, V) ** 2
        root, length = np.sqrt(squares), row_dots(V, V)[:, None]
        if self.power == 5:
            return self._sign * (5.0 * squares * length + 15.0 * along) * root
        # Next to a knot ((y − z)·v)²/r goes to zero.
        return self._sign * (3.0 * root * length + 3.0 * along / np.maximum(root, 1e-150))

    def _along(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        along: FloatArray = row_dots(Y, V)[:, None] - V @ self.knots.T
        return along


@final
@dataclass(frozen=True, eq=False)
class Cosines(Functions):
    """Products of cosines along each coordinate of a box, cos(π k (y − low)/side), of all orders up to a degree.

    Attributes
    ----------
    low, side
        Corner and sides of the box, shape (E,).
    degree
        The largest sum of squares of the orders k is the square of this.
    """

    low: FloatArray
    side: FloatArray
    degree: int

    @cached_property
    def orders(self) -> FloatArray:
        """The orders k, shape (p, E), without the constant."""
        each = np.meshgrid(*len(self.low) * [np.arange(self.degree + 1.0)], indexing="ij")
        k = np.stack([one.ravel() for one in each], axis=1)
        squares = row_dots(k, k)
        return k[(squares > 0.0) & (squares <= self.degree**2)]

    @property
    def size(self) -> int:
        return len(self.orders)

    @property
    def frequencies(self) -> FloatArray:
        """π k/side, shape (p, E)."""
        return np.pi * self.orders / self.side

    def _factors(self, Y: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """Cosines and sines of each coordinate, (n, p) each."""
        phases = [np.outer(Y[:, j] - self.low[j], self.frequencies[:, j]) for j in range(len(self.low))]
        return [np.cos(phase) for phase in phases], [np.sin(phase) for phase in phases]

    def values(self, Y: FloatArray) -> FloatArray:
        return np.asarray(np.prod(self._factors(Y)[0], axis=0))

    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        cosines, sines = self._factors(Y)
        total = np.zeros((len(Y), self.size))
        for j, sine in enumerate(sines):
            others = [one for i, one in enumerate(cosines) if i != j]
            total -= V[:, j, None] * self.frequencies[:, j] * np.prod([sine, *others], axis=0)
        return total

    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        cosines, sines = self._factors(Y)
        whole, f = np.prod(cosines, axis=0), self.frequencies
        total: FloatArray = -((V**2) @ (f**2).T) * whole
        for i in range(len(sines)):
            for j in range(i):
                others = [one for k, one in enumerate(cosines) if k not in (i, j)]
                both = np.prod([sines[i], sines[j], *others], axis=0)
                total += 2.0 * (V[:, i] * V[:, j])[:, None] * (f[:, i] * f[:, j]) * both
        return total


@final
@dataclass(frozen=True, eq=False)
class Harmonics(Functions):
    """Real spherical harmonics of degree 1 up to a limit, orthonormal on S².

    They are written as homogeneous polynomials of x, y and z (regular solid harmonics), whose derivatives are such
    polynomials of one degree less: a matrix with two entries in a row gives them from the values.
    """

    degree: int

    @property
    def size(self) -> int:
        return (self.degree + 1) ** 2 - 1

    @cached_property
    def degrees(self) -> FloatArray:
        """The degree l of each, shape (p,)."""
        return np.asarray(self._index[0][1:], dtype=np.float64)

    @cached_property
    def _index(self) -> tuple[Any, Any, Any]:
        """Degree l, order m, and whether it is the sine, of each with the constant first, shape (p + 1,)."""
        found = [(0, 0, 0)]
        for degree in range(1, self.degree + 1):
            found += [(degree, m, 0) for m in range(degree + 1)] + [(degree, m, 1) for m in range(1, degree + 1)]
        degrees, orders, sines = np.array(found).T
        return degrees, orders, sines

    @cached_property
    def _norms(self) -> FloatArray:
        """What makes C + iS = r^l P_l^m(z/r) e^{imφ}/(l + m)! orthonormal, shape (p + 1,)."""
        from scipy.special import gammaln

        degree, m, _ = self._index
        log = 0.5 * (gammaln(degree - m + 1.0) + gammaln(degree + m + 1.0))
        return np.asarray(np.exp(log) * np.sqrt((2.0 * degree + 1.0) / (4.0 * np.pi) * np.where(m > 0, 2.0, 1.0)))

    def _place(self, degree: int, m: int, sine: int) -> int:
        return degree**2 + m + (degree if sine else 0)

    def _solid(self, Y: FloatArray) -> FloatArray:
        """The polynomials with the constant first, normalised, shape (n, p + 1)."""
        x, y, z = Y.T
        square = row_dots(Y, Y)
        out = np.empty((len(Y), self.size + 1), order="F")
        real, imaginary = np.ones(len(Y)), np.zeros(len(Y))
        for m in range(self.degree + 1):
            if m:
                # (x + iy)^m / (2^m m!)
                real, imaginary = (x * real - y * imaginary) / (2 * m), (x * imaginary + y * real) / (2 * m)
            for part, sine in ((real, 0), (imaginary, 1)):
                if sine and m == 0:
                    continue
                before, now = np.zeros(len(Y)), part
                for degree in range(m, self.degree + 1):
                    if degree > m:
                        # (l − m)(l + m) R_l = (2l − 1) z R_(l−1) − r² R_(l−2)
                        step = ((2 * degree - 1) * z * now - square * before) / ((degree - m) * (degree + m))
                        before, now = now, step
                    out[:, self._place(degree, m, sine)] = now
        out *= self._norms
        return out

    @cached_property
    def _derivatives(self) -> list[Any]:
        """Sparse matrices M_x, M_y, M_z, (p + 1, p + 1), with D_j t = t M_j."""
        from scipy.sparse import csr_array

        entries: list[list[tuple[int, int, float]]] = [[], [], []]
        norms = self._norms
        for column, (degree, m, sine) in enumerate(zip(*self._index, strict=True)):
            if degree == 0:
                continue
            for axis, other, kind, factor in _lowered(int(m), int(sine)):
                if other <= degree - 1 and not (kind and other == 0):
                    row = self._place(int(degree) - 1, other, kind)
                    entries[axis].append((row, column, factor * float(norms[column] / norms[row])))
        made = []
        for one in entries:
            rows, columns, values = zip(*one, strict=True)
            made.append(csr_array((values, (rows, columns)), shape=(len(norms), len(norms))))
        return made

    def values(self, Y: FloatArray) -> FloatArray:
        return self._solid(Y)[:, 1:]

    def slope(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        t = self._solid(Y)
        return np.asarray(sum(V[:, j, None] * (t @ M) for j, M in enumerate(self._derivatives)))[:, 1:]

    def bend(self, Y: FloatArray, V: FloatArray) -> FloatArray:
        t, M = self._solid(Y), self._derivatives
        total = np.zeros((len(Y), self.size + 1))
        for i in range(3):
            for j in range(i + 1):
                total += (V[:, i] * V[:, j] * (1.0 if i == j else 2.0))[:, None] * (t @ (M[j] @ M[i]))
        return total[:, 1:]


def _lowered(m: int, sine: int) -> list[tuple[int, int, int, float]]:
    """Derivatives of C_m or S_m of any degree: (axis, order, whether it is a sine, factor) of one degree less."""
    if m == 0:
        return [(0, 1, 0, -1.0), (1, 1, 1, -1.0), (2, 0, 0, 1.0)]
    along_y = -0.5 if sine == 0 else 0.5
    return [
        (0, m - 1, sine, 0.5), (0, m + 1, sine, -0.5),
        (1, m - 1, 1 - sine, along_y), (1, m + 1, 1 - sine, along_y),
        (2, m, sine, 1.0),
    ]  # fmt: skip
