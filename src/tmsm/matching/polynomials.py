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
    """m functions at n rows: degrees, values (n, m), tangent gradients (m arrays (n, D)) and Laplacians (n, m)."""

    degrees: tuple[int, ...]
    values: FloatArray
    gradients: tuple[FloatArray, ...]
    laplacians: FloatArray

    def of_degrees(self, degrees: tuple[int, ...]) -> PolynomialValues:
        """Those of some degrees."""
        chosen = [k for k, degree in enumerate(self.degrees) if degree in degrees]
        return PolynomialValues(
            tuple(self.degrees[k] for k in chosen),
            self.values[:, chosen],
            tuple(self.gradients[k] for k in chosen),
            self.laplacians[:, chosen],
        )

    def gradient_dot(self, V: FloatArray) -> FloatArray:
        """⟨∇s, v⟩ for tangent rows V (n, D), shape (n, m)."""
        return np.stack([row_dots(gradient, V) for gradient in self.gradients], axis=1)


@dataclass(frozen=True, eq=False)
class LocalPolynomials:
    """Monomials of u_j = axes_j · (x − center), restricted to a manifold.

    Attributes
    ----------
    manifold
        Where they live.
    center
        Shape (D,).
    axes
        Shape (dim, D): principal directions of the data, divided by their spread, so that the u_j are of order one.
    """

    manifold: Manifold
    center: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, manifold: Manifold, X: FloatArray) -> LocalPolynomials:
        """The coordinates that suit rows like X, shape (n, D)."""
        center = X.mean(axis=0)
        away = X - center
        values, vectors = np.linalg.eigh(away.T @ away / len(X))
        k = manifold.dim
        spread = np.sqrt(max(float(values[-k:].mean()), 1e-300))
        return cls(manifold, center, vectors[:, : -k - 1 : -1].T / spread)

    def evaluate(self, X: FloatArray, degree: int) -> PolynomialValues:
        """All monomials up to a degree at the rows of X (n, D), by the product rule."""
        coordinates = (X - self.center) @ self.axes.T
        laplacians = self.manifold.coordinate_laplacian(X) @ self.axes.T
        slopes = [self.manifold.project_tangent(X, np.broadcast_to(axis, X.shape)) for axis in self.axes]
        one = (np.ones(len(X)), np.zeros_like(X), np.zeros(len(X)))
        known: dict[tuple[int, ...], tuple[FloatArray, FloatArray, FloatArray]] = {(): one}
        for size in range(1, degree + 1):
            for key in combinations_with_replacement(range(len(self.axes)), size):
                value, gradient, laplacian = known[key[:-1]]
                j = key[-1]
                u, slope, bend = coordinates[:, j], slopes[j], laplacians[:, j]
                known[key] = (
                    value * u,
                    gradient * u[:, None] + slope * value[:, None],
                    laplacian * u + value * bend + 2.0 * row_dots(gradient, slope),
                )
        values, gradients, bends = zip(*known.values(), strict=True)
        degrees = tuple(len(key) for key in known)
        return PolynomialValues(degrees, np.stack(values, axis=1), gradients, np.stack(bends, axis=1))
