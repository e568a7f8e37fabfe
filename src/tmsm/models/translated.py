"""A flat family written about another origin, so that sums over far-away coordinates keep their digits."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.values import frozen_array
from tmsm.models.another_form import AnotherForm
from tmsm.models.base import LinearModel
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["Translated"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Translated(AnotherForm):
    """A family in flat space with statistics t(x − origin).

    The densities are the same, and θ is different. `to_original` converts θ back.

    Parameters
    ----------
    model
        The family.
    origin
        The new origin, shape (D,).
    """

    model: LinearModel
    origin: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", frozen_array(self.origin))

    def to_original(self) -> FloatArray:
        return self.model.translation(self.origin)

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

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        return self.model.weighted_hessian(X - self.origin, isotropic, directions)

    def make_constraint(self) -> Constraint:
        return self.model.constraint

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name == "mean":
            value = np.asarray(value, dtype=np.float64) - self.origin
        return self.model.slice(name, value)

    def admits(self, theta: FloatArray) -> bool:
        return self.model.admits(theta)

    def parameters(self, theta: FloatArray) -> Parameters:
        return self.model.translated(self.model.parameters(theta), self.origin)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        return self.model.parameter_jacobian(theta)

    def natural_parameters(self, **params: Any) -> FloatArray:
        return self.model.natural_parameters(**self.model.translated(Parameters(**params), -self.origin))

    def maximise_likelihood(self, mean: FloatArray) -> FloatArray:
        return self.model.maximise_likelihood(mean)

    def log_kernel(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        return self.model.log_kernel(X - self.origin, theta)

    def log_normaliser(self, theta: FloatArray) -> float:
        return self.model.log_normaliser(theta)

    def extent(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self.model.extent(theta)
        return low + self.origin, high + self.origin

    def expectation(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.model.expectation(theta)
