"""The hyperboloid family written about another origin, so that far or narrow clouds of rows keep their digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Hyperbolic
from tmsm.models.another_form import AnotherForm
from tmsm.models.base import LinearModel
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters

__all__ = ["Boosted"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Boosted(AnotherForm):
    """A family on hyperbolic space seen from another origin: its statistics are B⁻¹t(x) with a Lorentz boost B.

    The densities are the same, and θ is different. `to_original` converts θ back.

    Parameters
    ----------
    model
        The family.
    origin
        The new origin c, shape (dim,). The boost takes (1, 0) to (c₀, c).
    """

    model: LinearModel
    origin: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", frozen_array(self.origin))

    def _moved(self, X: FloatArray) -> FloatArray:
        """The rows as they are seen from the origin."""
        return Hyperbolic(X.shape[1]).seen_from(np.broadcast_to(self.origin, X.shape), X)

    @property
    def _inverse(self) -> FloatArray:
        """B⁻¹, shape (p, p): the boost to −c."""
        time = float(np.sqrt(1.0 + self.origin @ self.origin))
        matrix = np.empty((self.origin.size + 1, self.origin.size + 1))
        matrix[0, 0], matrix[0, 1:], matrix[1:, 0] = time, -self.origin, -self.origin
        matrix[1:, 1:] = np.eye(self.origin.size) + np.outer(self.origin, self.origin) / (time + 1.0)
        return matrix

    def to_original(self) -> FloatArray:
        return self._inverse.T  # θ'·B⁻¹t = (B⁻ᵀθ')·t

    def statistics(self, X: FloatArray) -> FloatArray:
        return self.model.statistics(self._moved(X))

    def gradient(self, X: FloatArray) -> FloatArray:
        gradient: FloatArray = np.einsum("ab,nbd->nad", self._inverse, self.model.gradient(X))
        return gradient

    def laplacian(self, X: FloatArray) -> FloatArray:
        return self.model.laplacian(self._moved(X))

    def hessian(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.model.hessian(self._moved(X), V)  # t|v|²: the frame does not matter

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return self.model.gradient_gram(self._moved(X), weight)

    def make_constraint(self) -> Constraint:
        return self.model.constraint

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name == "mean":
            value = self._moved(np.asarray(value, dtype=np.float64)[None, :])[0]
        return self.model.slice(name, value)

    def parameters(self, theta: FloatArray) -> Parameters:
        params = self.model.parameters(theta)
        mean = params["mean"][None, :]
        origin = self.origin[None, :]
        back = Hyperbolic(mean.size).velocity(origin, mean) + origin * np.sqrt(1.0 + row_dots(mean, mean))[:, None]
        return Parameters(**{**params, "mean": back[0]})

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        mean = self.model.parameters(theta)["mean"]
        time = float(np.sqrt(1.0 + self.origin @ self.origin))
        # m = m' + c (c·m'/(c₀ + 1) + m'₀)
        slope = self.origin / (time + 1.0) + mean / np.sqrt(1.0 + mean @ mean)
        jacobian = self.model.parameter_jacobian(theta)
        return {**jacobian, "mean": (np.eye(mean.size) + np.outer(self.origin, slope)) @ jacobian["mean"]}

    def natural_parameters(self, **params: Any) -> FloatArray:
        given = np.asarray(params["mean"], dtype=np.float64)[None, :]
        return self.model.natural_parameters(**{**params, "mean": self._moved(given)[0]})

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        return self.model.maximise_likelihood(mean)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.model.log_kernel(self._moved(X), theta)

    def log_normaliser(self, theta: FloatArray) -> float:
        return self.model.log_normaliser(theta)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.extent(self.model.natural_parameters(**self.parameters(theta)))

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.expectation(theta)
