"""One mixture of exponential families as a function of x, and how it changes with θ.

With the log heights of the components, the posterior shares of a row, and means and spreads over these,

    ℓ_k(x) = a_k + θ_k·(t(x) − c),   u = log Σ exp ℓ_k,   r_k = exp(ℓ_k − u),
    ∇u = Σ r_k ∇ℓ_k,   Hess u(v, v) = Σ r_k (Hess ℓ_k(v, v) + ⟨∇ℓ_k, v⟩²) − ⟨∇u, v⟩²,

the derivatives in a_k and θ_k are those of r_k times one and t − c: with y either of them, s = r_k y and δ = ∇ℓ_k − ∇u

    ∇s = r_k (∇y + y δ),
    Hess s(v, v) = r_k [Hess y(v, v) + 2⟨∇y, v⟩⟨δ, v⟩ + y (⟨δ, v⟩² + Hess ℓ_k(v, v) − Hess u(v, v))].

A background is one more component, with ℓ_0 = a_0 + log b(x) and no θ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, weighted_gram
from tmsm.models.backgrounds import Background
from tmsm.models.base import LinearModel
from tmsm.models.tangents import Coefficient, Directions, Tangent

__all__ = ["MixtureAt"]


@final
@dataclass(frozen=True)
class MixtureAt(Tangent):
    """A mixture at one θ: its density and the functions ∂u/∂θ, those of a_2, …, then those of θ_1, θ_2, ….

    Attributes
    ----------
    component
        The family, bound to its manifold.
    offset
        c, shape (q,).
    levels
        The a_k, the first of them zero, shape (m,); m is the number of components, and one more with a background.
    thetas
        The θ_k, shape (k, q).
    background
        What the last level belongs to; None where there is no background.
    """

    component: LinearModel
    offset: FloatArray
    levels: FloatArray
    thetas: FloatArray
    background: Background | None

    @property
    def _count(self) -> int:
        return len(self.thetas)

    def centred_statistics(self, X: FloatArray) -> FloatArray:
        """The statistics t − c, shape (n, q)."""
        return self.component.statistics(X) - self.offset

    def heights(self, X: FloatArray, centred: FloatArray | None = None) -> FloatArray:
        """ℓ, shape (n, m)."""
        t = self.centred_statistics(X) if centred is None else centred
        heights = np.empty((len(X), self.levels.size))
        np.matmul(t, self.thetas.T, out=heights[:, : self._count])
        if self.background is not None:
            heights[:, -1] = self.background.values(X)
        heights += self.levels
        return heights

    def log_kernel(self, X: FloatArray) -> FloatArray:
        """The logarithm u of the density, up to a constant, shape (n,)."""
        heights = self.heights(X)
        top = heights.max(axis=1)
        total: FloatArray = top + np.log(np.exp(heights - top[:, None]).sum(axis=1))
        return total

    def posterior(self, X: FloatArray, centred: FloatArray | None = None) -> FloatArray:
        """The shares r that each component has in the density at each row, shape (n, m)."""
        r = self.heights(X, centred)
        r -= r.max(axis=1)[:, None]
        np.exp(r, out=r)
        r /= r.sum(axis=1)[:, None]
        return r

    def _gradients(self, X: FloatArray) -> list[FloatArray]:
        """∇ℓ of each component, and of a background, (n, D) each."""
        found = [self.component.log_gradient(X, theta) for theta in self.thetas]
        return found if self.background is None else [*found, self.background.gradient(self.component.manifold, X)]

    def log_gradient(self, X: FloatArray) -> FloatArray:
        """∇u, shape (n, D)."""
        return self._mean_gradient(self.posterior(X), self._gradients(X))

    @staticmethod
    def _mean_gradient(r: FloatArray, gradients: list[FloatArray]) -> FloatArray:
        return np.asarray(sum(r[:, k, None] * gradient for k, gradient in enumerate(gradients)))

    def log_hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """Hess u(v, v), shape (n,); that of log b is left out."""
        r = self.posterior(X)
        n = self._count
        slopes = self.component.gradient_dot(X, V) @ self.thetas.T
        bends = self.component.hessian(X, V) @ self.thetas.T
        if self.background is not None:
            along = row_dots(self.background.gradient(self.component.manifold, X), V)
            slopes = np.column_stack([slopes, along])
        mean = row_dots(r, slopes)
        return row_dots(r[:, :n], bends) + row_dots(r, (slopes - mean[:, None]) ** 2)

    def log_laplacian(self, X: FloatArray) -> FloatArray:
        """Δu, shape (n,)."""
        r = self.posterior(X)
        self._require_derivatives()
        gradients = self._gradients(X)
        mean = self._mean_gradient(r, gradients)
        total = row_dots(r[:, : self._count], self.component.laplacian(X) @ self.thetas.T)
        for k, gradient in enumerate(gradients):
            away = gradient - mean
            total += r[:, k] * row_dots(away, away)
        return total

    def _require_derivatives(self) -> None:
        if self.background is not None:
            self.background.require_second_derivatives()

    def _joined(self, levels: FloatArray, thetas: list[FloatArray]) -> FloatArray:
        """Columns of all a_k (n, m) but the first, and of the θ_k, side by side."""
        return np.hstack([levels[:, 1:], *thetas])

    def statistics(self, X: FloatArray) -> FloatArray:
        t = self.centred_statistics(X)
        r = self.posterior(X, t)
        return self._joined(r, [r[:, k, None] * t for k in range(self._count)])

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        t = self.centred_statistics(X)
        r = self.posterior(X, t)
        along = self.component.gradient_dot(X, V)
        slopes = along @ self.thetas.T
        if self.background is not None:
            slopes = np.column_stack([slopes, row_dots(self.background.gradient(self.component.manifold, X), V)])
        away = r * (slopes - row_dots(r, slopes)[:, None])
        return self._joined(away, [r[:, k, None] * along + away[:, k, None] * t for k in range(self._count)])

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        self._require_derivatives()
        t = self.centred_statistics(X)
        r = self.posterior(X, t)
        n = self._count
        gradients = self._gradients(X)
        mean = self._mean_gradient(r, gradients)
        second = self.component.weighted_hessian(X, isotropic, directions)
        bends = np.zeros_like(r)
        bends[:, :n] = second @ self.thetas.T
        turned, squares = [], np.empty_like(r)
        for k, gradient in enumerate(gradients):
            away = gradient - mean
            flux = _applied(isotropic, directions, away)
            turned.append(flux)
            squares[:, k] = row_dots(away, flux)
        # ⟨W, Hess u⟩ = Σ r (⟨W, Hess ℓ⟩ + ⟨δ, Wδ⟩)
        bends += squares
        bends -= row_dots(r, bends)[:, None]
        bends *= r
        thetas = []
        for k in range(n):
            own = second + 2.0 * self.component.gradient_dot(X, turned[k])
            thetas.append(r[:, k, None] * own + bends[:, k, None] * t)
        return self._joined(bends, thetas)

    def curvature_sum(self, X: FloatArray, weight: FloatArray) -> FloatArray:
        """Σ w ∂²u/∂θ² over rows, shape (p, p): Σ w r_k yyᵀ on the diagonal, less Σ w ssᵀ, y = (1, t − c)."""
        t = self.centred_statistics(X)
        r = self.posterior(X, t)
        m, n, q = self.levels.size, self._count, t.shape[1]
        total = -weighted_gram(self._joined(r, [r[:, k, None] * t for k in range(n)]), weight)
        for k in range(m):
            part = weight * r[:, k]
            own = slice(m - 1 + k * q, m - 1 + (k + 1) * q)
            if k < n:
                total[own, own] += weighted_gram(t, part)
            if k > 0:
                total[k - 1, k - 1] += part.sum()
                if k < n:
                    cross = part @ t
                    total[k - 1, own] += cross
                    total[own, k - 1] += cross
        return total

    @cached_property
    def valid(self) -> bool:
        """Whether every component is a density: a matrix of a normal one, for instance, may not be a precision."""
        if not (np.isfinite(self.levels).all() and np.isfinite(self.thetas).all()):
            return False
        return all(self.component.admits(theta) for theta in self.thetas)


def _applied(isotropic: Coefficient, directions: Directions, V: FloatArray) -> FloatArray:
    """W v for W = a P + Σ c uuᵀ, shape (n, D)."""
    a = isotropic[:, None] if isinstance(isotropic, np.ndarray) else isotropic
    out: FloatArray = a * V
    for u, c in directions:
        out += u * (c * row_dots(u, V))[:, None]
    return out
