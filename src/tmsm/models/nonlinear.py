"""Densities that are not linear in θ: heavy tails, mixtures, anything with a logarithm and its derivatives."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.models.base import Model, Tangent
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["NonlinearModel", "parameter_sizes"]

# Of differences in θ, as a share of its size: the cube root of rounding.
_STEP = 1e-5
# Of differences of what may come from differences itself.
_CURVATURE_STEP = 1e-4


class NonlinearModel(Model):
    """A family log p(x; θ) with derivatives in x along the manifold.

    A subclass gives log_kernel, log_gradient, log_hessian and log_laplacian, where to begin the search, and the way
    from θ to named parameters.  Derivatives in θ are by differences, unless `tangent` gives them.
    """

    @property
    def is_linear(self) -> bool:
        return False

    @property
    def is_normalised(self) -> bool:
        """Whether the integral of exp(log_kernel) over the whole manifold is known at every θ: see `whole_integral`."""
        return False

    def whole_integral(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Of a normalised family: the logarithm of that integral, its gradient (p,) and Hessian (p, p); zero of one."""
        return 0.0, np.zeros(theta.size), np.zeros((theta.size, theta.size))

    @abstractmethod
    def starts(self, X: FloatArray) -> list[FloatArray]:
        """Some θ, shape (p,) each, from which a search for the best one for rows like X (n, D) begins."""

    def tangent(self, theta: FloatArray) -> Tangent:
        return _Differences(self, theta)

    def curvature_sum(self, X: FloatArray, weight: FloatArray, theta: FloatArray) -> FloatArray:
        """Σ w ∂² log p/∂θ² over rows with weights (n,) of any sign, shape (p, p); by differences of `tangent`."""
        columns = []
        for h, unit in zip((_CURVATURE_STEP * self.parameter_sizes(theta)).tolist(), np.eye(theta.size), strict=True):
            ahead, behind = (weight @ self.tangent(theta + sign * h * unit).statistics(X) for sign in (1.0, -1.0))
            columns.append((ahead - behind) / (2.0 * h))
        half: FloatArray = 0.5 * np.stack(columns, axis=1)
        return half + half.T

    def parameter_sizes(self, theta: FloatArray) -> FloatArray:
        """What steps of each entry of θ are measured by where derivatives come from differences, shape (p,)."""
        return parameter_sizes(theta)

    def suits(self, theta: FloatArray, X: FloatArray) -> bool:
        """Whether an optimum for rows like X (n, D) is one that is wanted, and no spike at a few rows."""
        return True

    def ordered(self, theta: FloatArray) -> FloatArray:
        """The θ of the same density that is given as the estimate, where several stand for it."""
        return theta


def parameter_sizes(theta: FloatArray) -> FloatArray:
    """What to measure steps of each entry of θ by: its own size, but at least a tenth of the largest, shape (p,)."""
    size = np.abs(theta)
    return np.maximum(size, max(0.1 * float(size.max()), 1e-6))


@final
@dataclass(frozen=True)
class _Differences(Tangent):
    """∂ log p/∂θ by central differences."""

    model: NonlinearModel
    theta: FloatArray

    def _ends(self) -> list[tuple[FloatArray, FloatArray, float]]:
        steps = _STEP * self.model.parameter_sizes(self.theta)
        return [
            (self.theta + h * unit, self.theta - h * unit, 2.0 * h)
            for h, unit in zip(steps.tolist(), np.eye(self.theta.size), strict=True)
        ]

    def statistics(self, X: FloatArray) -> FloatArray:
        model = self.model
        columns = [(model.log_kernel(X, a) - model.log_kernel(X, b)) / width for a, b, width in self._ends()]
        return np.stack(columns, axis=1)

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        model = self.model
        columns = [
            row_dots(model.log_gradient(X, a) - model.log_gradient(X, b), V) / width for a, b, width in self._ends()
        ]
        return np.stack(columns, axis=1)

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        model = self.model

        def contracted(theta: FloatArray) -> FloatArray:
            total: FloatArray = isotropic * model.log_laplacian(X, theta)
            for u, c in directions:
                total = total + c * model.log_hessian(X, u, theta)
            return total

        return np.stack([(contracted(a) - contracted(b)) / width for a, b, width in self._ends()], axis=1)
