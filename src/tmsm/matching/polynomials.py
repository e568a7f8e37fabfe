"""Polynomials of the data's own coordinates, as functions on a manifold: what equations can be made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.manifolds import Manifold

__all__ = ["LocalPolynomials", "PolynomialValues"]


@dataclass(frozen=True)
class PolynomialValues:
    """m functions h of K coordinates u at n rows; arrays have a row for each function, so that these are contiguous.

    Attributes
    ----------
    degrees
        Of the functions, ascending.
    values, laplacians
        h and Δh, shape (m, n).
    partials
        ∂h/∂u_j, shape (K, m, n).
    slopes
        The tangent gradients of the u_j, K arrays (n, D): ∇h = Σ_j ∂h/∂u_j ∇u_j.
    """

    degrees: tuple[int, ...]
    values: FloatArray
    laplacians: FloatArray
    partials: FloatArray
    slopes: tuple[FloatArray, ...]

    def of_degrees(self, degrees: tuple[int, ...]) -> PolynomialValues:
        """Those of some degrees that follow each other, without a copy."""
        chosen = [k for k, degree in enumerate(self.degrees) if degree in degrees]
        piece = slice(chosen[0], chosen[-1] + 1)
        return PolynomialValues(
            self.degrees[piece], self.values[piece], self.laplacians[piece], self.partials[:, piece], self.slopes
        )

    def along(self, V: FloatArray) -> list[FloatArray]:
        """⟨∇u_j, v⟩ for tangent rows V (n, D), K arrays (n,)."""
        return [row_dots(slope, V) for slope in self.slopes]

    def gradient_dot(self, V: FloatArray) -> FloatArray:
        """⟨∇h, v⟩ for tangent rows V (n, D), shape (m, n)."""
        return self.combined(self.along(V))

    def combined(self, coefficients: list[FloatArray]) -> FloatArray:
        """Σ_j ∂h/∂u_j c_j for arrays c_j (n,), shape (m, n)."""
        total: FloatArray = self.partials[0] * coefficients[0]
        for partial, coefficient in zip(self.partials[1:], coefficients[1:], strict=True):
            total += partial * coefficient
        return total


@dataclass(frozen=True, eq=False)
class LocalPolynomials:
    """Monomials of u_j = axes_j · (x − center), restricted to a manifold; x are its `functions`, E of them.

    Attributes
    ----------
    manifold
        Where they live.
    center
        Shape (E,).
    axes
        Shape (dim, E): principal directions of the data, divided by their spread, so that the u_j are of order one;
        in a product of manifolds factor by factor, since each has its own units.
    """

    manifold: Manifold
    center: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, manifold: Manifold, X: FloatArray) -> LocalPolynomials:
        """The coordinates that suit rows like X, shape (n, D)."""
        X = manifold.functions(X)
        center = X.mean(axis=0)
        axes, first, start = np.zeros((manifold.dim, X.shape[1])), 0, 0
        for factor in manifold.factors:
            own = slice(start, start + factor.n_functions)
            start = own.stop
            away = X[:, own] - center[own]
            values, vectors = np.linalg.eigh(away.T @ away / len(X))
            k = factor.dim
            spread = np.sqrt(max(float(values[-k:].mean()), 1e-300))
            axes[first : first + k, own] = vectors[:, : -k - 1 : -1].T / spread
            first += k
        return cls(manifold, center, axes)

    def evaluate(self, X: FloatArray, degree: int) -> PolynomialValues:
        """All monomials up to a degree at the rows of X (n, D)."""
        n, K = len(X), len(self.axes)
        u = ((self.manifold.functions(X) - self.center) @ self.axes.T).T
        bends = (self.manifold.function_laplacians(X) @ self.axes.T).T
        slopes = tuple(self.manifold.function_gradient(X, axis) for axis in self.axes)
        keys = [key for size in range(degree + 1) for key in combinations_with_replacement(range(K), size)]
        place = {key: k for k, key in enumerate(keys)}
        values, partials = np.ones((len(keys), n)), np.zeros((K, len(keys), n))
        second = np.zeros((len(keys), n))
        products = {(i, j): row_dots(slopes[i], slopes[j]) for i in range(K) for j in range(i, K)}
        for k, key in enumerate(keys[1:], start=1):
            np.multiply(values[place[key[:-1]]], u[key[-1]], out=values[k])
            for j in set(key):
                # ∂/∂u_j of a monomial is a multiple of one of the degree below.
                rest = _without(key, j)
                np.multiply(values[place[rest]], float(key.count(j)), out=partials[j, k])
                second[k] += partials[j, k] * bends[j]
                for i in set(rest):
                    bend = float(key.count(j) * rest.count(i)) * values[place[_without(rest, i)]]
                    second[k] += bend * products[min(i, j), max(i, j)]
        return PolynomialValues(tuple(map(len, keys)), values, second, partials, slopes)


def _without(key: tuple[int, ...], j: int) -> tuple[int, ...]:
    """The sorted tuple with one j less."""
    at = key.index(j)
    return key[:at] + key[at + 1 :]
