"""A flat family written about another origin, so that sums over far-away coordinates keep their digits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.manifolds import Manifold
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters
from tmsm.values import frozen_array

__all__ = ["Translated"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Translated(Model):
    """The wrapped family with statistics t(x − origin).

    The densities are the same; θ is another.  `to_original` leads back.
    """

    model: Model
    origin: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", frozen_array(self.origin))

    @property
    def fields(self) -> Any:  # type: ignore[override]
        return self.model.fields

    def to_original(self, embedding_dim: int) -> FloatArray:
        return self.model.translation(self.origin)

    def whole_manifold(self, embedding_dim: int) -> Manifold:
        return self.model.whole_manifold(embedding_dim)

    def check_manifold(self, manifold: Manifold) -> None:
        self.model.check_manifold(manifold)

    def n_statistics(self, embedding_dim: int) -> int:
        return self.model.n_statistics(embedding_dim)

    def statistics(self, X: FloatArray) -> FloatArray:
        return self.model.statistics(X - self.origin)

    def gradient(self, X: FloatArray) -> FloatArray:
        return self.model.gradient(X - self.origin)

    def laplacian(self, X: FloatArray) -> FloatArray:
        return self.model.laplacian(X - self.origin)

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.model.hessian(X - self.origin, V)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.model.gradient_dot(X - self.origin, V)

    def log_gradient(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.model.log_gradient(X - self.origin, theta)

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self.model.gradient_gram(X - self.origin, weight)

    def weighted_hessian(
        self,
        X: FloatArray,
        isotropic: FloatArray | float,
        directions: Sequence[tuple[FloatArray, FloatArray]],
    ) -> FloatArray:
        return self.model.weighted_hessian(X - self.origin, isotropic, directions)

    def constraint(self, embedding_dim: int) -> Constraint:
        return self.model.constraint(embedding_dim)

    def slice(self, name: str, value: Any, embedding_dim: int) -> Constraint | None:
        if name == "mean":
            value = np.asarray(value, dtype=np.float64) - self.origin
        return self.model.slice(name, value, embedding_dim)

    def parameters(self, theta: FloatArray, embedding_dim: int) -> Parameters:
        return self.model.translated(self.model.parameters(theta, embedding_dim), self.origin)

    def parameter_jacobian(self, theta: FloatArray, embedding_dim: int) -> dict[str, FloatArray]:
        return self.model.parameter_jacobian(theta, embedding_dim)

    def natural_parameters(self, **params: Any) -> FloatArray:
        return self.model.natural_parameters(**self.model.translated(Parameters(**params), -self.origin))

    def maximise_likelihood(self, mean: FloatArray, embedding_dim: int) -> FloatArray:
        return self.model.maximise_likelihood(mean, embedding_dim)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.model.log_kernel(X - self.origin, theta)

    def log_normaliser(self, theta: FloatArray, embedding_dim: int) -> float:
        return self.model.log_normaliser(theta, embedding_dim)

    def extent(self, theta: FloatArray, embedding_dim: int) -> tuple[FloatArray, FloatArray]:
        low, high = self.model.extent(theta, embedding_dim)
        return low + self.origin, high + self.origin

    def expectation(self, theta: FloatArray, embedding_dim: int) -> tuple[FloatArray, FloatArray]:
        return self.model.expectation(theta, embedding_dim)

    def draw(self, n: int, rng: np.random.Generator, **params: Any) -> FloatArray:
        return self.model.draw(n, rng, **params)
