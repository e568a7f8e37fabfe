"""A log density as a series of smooth functions on any manifold: a linear family with a ridge on a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, weighted_gram
from tmsm.manifolds import Manifold
from tmsm.maps.functions import Functions
from tmsm.maps.nodes import closed_extent
from tmsm.models.base import LinearModel
from tmsm.models.parameters import Field, Parameters
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["Series"]

_BLOCK = 2**14


@final
@dataclass(frozen=True, eq=False, repr=False)
class Series(LinearModel):
    """log p = θ·t + const on a manifold, where t are functions of its coordinates, combined by a matrix.

    Attributes
    ----------
    space
        The manifold.
    functions
        Functions f of the scaled coordinates y = (functions of the manifold − origin)/scale.
    origin, scale
        Shape (E,).
    matrix
        t = f @ matrix, shape (number of f, p).
    n_free
        So many of the t, the first ones, have no ridge; the norm of the coefficients of the others is the roughness.
    words
        What they are.
    """

    space: Manifold
    functions: Functions
    origin: FloatArray
    scale: FloatArray
    matrix: FloatArray
    n_free: int
    words: str

    fields = (Field("coefficients"),)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_manifold", self.space)

    @property
    def home(self) -> Manifold:  # type: ignore[override]
        """The manifold that it was made for."""
        return self.space

    @property
    def size(self) -> int:
        return int(self.matrix.shape[1])

    def __repr__(self) -> str:
        return f"<{self.words} on {self.space!r}>"

    def coordinates(self, X: FloatArray) -> FloatArray:
        """The scaled coordinates of points (n, D), shape (n, E)."""
        return np.asarray((self.space.functions(X) - self.origin) / self.scale)

    def statistics(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.functions.values(self.coordinates(X)) @ self.matrix)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        combined = self.matrix @ theta
        blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
        found = [self.functions.values(self.coordinates(block)) @ combined for block in blocks]
        return np.concatenate([np.empty(0), *found])

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        along = self.space.function_velocity(X, V) / self.scale
        return np.asarray(self.functions.slope(self.coordinates(X), along) @ self.matrix)

    def gradient(self, X: FloatArray) -> FloatArray:
        parts = [self.gradient_dot(X, u)[:, :, None] * u[:, None, :] for u in self.space.tangent_frame(X)]
        return np.asarray(sum(parts))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        grams = [weighted_gram(self.gradient_dot(X, u), weight) for u in self.space.tangent_frame(X)]
        return np.asarray(sum(grams))

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        # Along a geodesic: D²f(ẏ, ẏ) + Df ÿ.
        Y, first = self.coordinates(X), self.space.function_velocity(X, V) / self.scale
        second = self.space.function_acceleration(X, V) / self.scale
        return np.asarray((self.functions.bend(Y, first) + self.functions.slope(Y, second)) @ self.matrix)

    def laplacian(self, X: FloatArray) -> FloatArray:
        Y = self.coordinates(X)
        total = self.functions.slope(Y, self.space.function_laplacians(X) / self.scale)
        for u in self.space.tangent_frame(X):
            total += self.functions.bend(Y, self.space.function_velocity(X, u) / self.scale)
        return np.asarray(total @ self.matrix)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        a = np.broadcast_to(np.asarray(isotropic, dtype=np.float64), len(X))
        total = np.zeros((len(X), self.size))
        if a.any():
            total += self.laplacian(X) * a[:, None]
        for u, c in directions:
            total += self.hessian(X, u) * c[:, None]
        return total

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        psi = np.zeros_like(X)
        for u in self.space.tangent_frame(X):
            psi += (self.gradient_dot(X, u) @ theta)[:, None] * u
        return psi

    def parameters(self, theta: FloatArray) -> Parameters:
        return Parameters(coefficients=theta)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        return {"coefficients": np.eye(theta.size)}

    def natural_parameters(self, *, coefficients: Any) -> FloatArray:  # type: ignore[override]
        return np.asarray(coefficients, dtype=np.float64)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return closed_extent(self.space)
