"""Densities that are not linear in θ: heavy tails, mixtures, anything with a logarithm and its derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, weighted_gram
from tmsm.models.base import Model, Tangent
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["NonlinearModel", "OnPoints", "parameter_sizes"]

# Of differences in θ, as a share of its size: the cube root of rounding.
_STEP = 1e-5
# Points of a block: what is computed at them stays in the cache.
_BLOCK = 8192
# Of differences of what may come from differences itself.
_CURVATURE_STEP = 1e-4


class NonlinearModel(Model):
    """A family log p(x; θ) that is not linear in θ, with derivatives in x along the manifold.

    A subclass gives log_kernel, log_gradient, log_hessian and log_laplacian, where to begin the search, and the named
    parameters at θ. Derivatives in θ are computed by differences, unless `tangent` gives them.
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
        """Σ w ∂² log p/∂θ² over rows, shape (p, p), by differences of `tangent`; ``weight`` are w, of any sign."""
        columns = []
        for h, unit in zip((_CURVATURE_STEP * self.parameter_sizes(theta)).tolist(), np.eye(theta.size), strict=True):
            ahead, behind = (weight @ self.tangent(theta + sign * h * unit).statistics(X) for sign in (1.0, -1.0))
            columns.append((ahead - behind) / (2.0 * h))
        half: FloatArray = 0.5 * np.stack(columns, axis=1)
        return half + half.T

    def parameter_sizes(self, theta: FloatArray) -> FloatArray:
        """What steps of each entry of θ are measured by where derivatives come from differences, shape (p,)."""
        return parameter_sizes(theta)

    def on_points(self, X: FloatArray) -> OnPoints:
        """The density at points (n, D) that stay the same for many θ."""
        return _ByBlocks(self, X)

    @property
    def caution_of_matching(self) -> str:
        """A sentence on what score matching alone hardly sees of the family, where that is something."""
        return ""

    @property
    def unsuited(self) -> str:
        """What it means that no optimum `suits`, in a sentence."""
        return "Every search ended in a density that does not suit the family."

    def suits(self, theta: FloatArray, X: FloatArray) -> bool:
        """Whether an optimum for rows like X (n, D) is one that is wanted, and no spike at a few rows."""
        return True

    def lifted(self, theta: FloatArray) -> FloatArray:
        """A θ next to an estimate from which a search can leave it, where it lies at the end of the family."""
        return theta

    def ordered(self, theta: FloatArray) -> FloatArray:
        """The θ of the same density that is given as the estimate, where several stand for it."""
        return theta


class OnPoints(ABC):
    """A density at fixed points: what does not depend on θ may be kept."""

    @abstractmethod
    def log_kernel(self, theta: FloatArray) -> FloatArray:
        """Its logarithm u up to a constant, shape (n,)."""

    @abstractmethod
    def moments(self, theta: FloatArray, weight: FloatArray, squares: bool) -> tuple[FloatArray, FloatArray]:
        """Σ w s (p,) and Σ w ∂²u/∂θ² (p, p), with ``squares`` Σ w (∂²u/∂θ² + ssᵀ), s = ∂u/∂θ."""


@final
@dataclass(frozen=True)
class _ByBlocks(OnPoints):
    model: NonlinearModel
    X: FloatArray

    def log_kernel(self, theta: FloatArray) -> FloatArray:
        return self.model.log_kernel(self.X, theta)

    def moments(self, theta: FloatArray, weight: FloatArray, squares: bool) -> tuple[FloatArray, FloatArray]:
        tangent, size = self.model.tangent(theta), theta.size
        slope, second = np.zeros(size), np.zeros((size, size))
        for start in range(0, len(self.X), _BLOCK):
            X, w = self.X[start : start + _BLOCK], weight[start : start + _BLOCK]
            s = tangent.statistics(X)
            slope += w @ s
            second += self.model.curvature_sum(X, w, theta)
            if squares:
                second += weighted_gram(s, w)
        return slope, second


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
