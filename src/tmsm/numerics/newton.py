"""Newton's method on a smooth set in R^p: one minimiser for every family and every objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.numerics.scaling import whitening

__all__ = ["Minimum", "Objective", "Point", "along", "is_known", "minimise", "newton_step"]

# θ ↦ value, gradient (p,), Hessian (p, p) in the surrounding space.
Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

_MAX_EVALUATIONS = 200
_MAX_DAMPING = 1e12
# Searches that come so close to a known minimum would end in it.
_SAME = 1e-3


class Point(ABC):
    """A point θ of a smooth set, and local coordinates s in which it is the origin."""

    theta: FloatArray

    @property
    @abstractmethod
    def jacobian(self) -> FloatArray:
        """∂θ/∂s, shape (p, k)."""

    @abstractmethod
    def bend(self, covector: FloatArray) -> FloatArray:
        """Σ_a covector_a ∂²θ_a/∂s², shape (k, k)."""

    @abstractmethod
    def moved(self, step: FloatArray) -> Point:
        """The point with coordinates ``step``, shape (k,)."""


@dataclass(frozen=True)
class Minimum:
    """Where the search ended.

    ``slope`` (k,) and ``curvature`` (k, k) are the derivatives along the set, in the coordinates of
    ``point``; ``reached`` is False if the search gave up.
    """

    point: Point
    value: float
    slope: FloatArray
    curvature: FloatArray
    reached: bool

    @property
    def decrement(self) -> float:
        """slopeᵀ curvature⁻¹ slope, twice what another Newton step promises; infinite where the set bends down."""
        white, values = whitening(self.curvature)
        if not (values[0] > 0.0 and (np.diag(self.curvature) > 0.0).all()):
            return np.inf
        return float(np.sum((white.T @ self.slope) ** 2))


def minimise(
    objective: Objective, start: Point, known: Sequence[FloatArray] = (), at_most: int = _MAX_EVALUATIONS
) -> Minimum | None:
    """Damped Newton: steps along negative curvature are turned round, steps uphill shortened.

    It ends where the gain that a step promises is below rounding, or with None where it runs into a minimum
    that is already known; after so many evaluations at most.
    """
    point, damping = start, 0.0
    value, gradient, hessian = objective(point.theta)
    evaluations = 1
    if point.jacobian.shape[1] == 0:  # a set of one point
        return Minimum(point, value, np.zeros(0), np.zeros((0, 0)), reached=True)
    while evaluations < at_most:
        if is_known(point.theta, known):
            return None
        slope, curvature, scale = along(point, gradient, hessian)
        values, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
        coefficients = vectors.T @ (scale * slope)
        sizes = np.maximum(np.abs(values), 1e-9)
        promised = float(coefficients**2 @ (1.0 / sizes))
        # What cannot be seen in the value, whose terms are of these sizes.
        sizes_of_terms = abs(value) + abs(float(point.theta @ hessian @ point.theta)) + np.abs(point.theta).sum()
        rounding = 1e-15 * float(sizes_of_terms)
        if not np.isfinite(value):
            break
        if promised <= rounding and values[0] > -1e-9:
            # The last digits: a full step, whose gain cannot be seen in the value.
            point = point.moved(-scale * (vectors @ (coefficients / sizes)))
            value, gradient, hessian = objective(point.theta)
            return Minimum(point, value, *along(point, gradient, hessian)[:2], reached=True)
        while damping <= _MAX_DAMPING:
            candidate = point.moved(-scale * (vectors @ (coefficients / (sizes + damping))))
            new = objective(candidate.theta)
            evaluations += 1
            gain = float(coefficients**2 @ (1.0 / (sizes + damping)))
            if new[0] <= value - 1e-4 * gain + rounding:
                break
            damping = max(4.0 * damping, 0.1 * float(sizes.max()), 1e-3)
        else:
            # No step goes down: the end, if what is promised is of the size of rounding errors.
            return Minimum(point, value, slope, curvature, reached=promised <= 1e4 * rounding)
        point, (value, gradient, hessian) = candidate, new
        damping = 0.0 if damping < 1e-2 else 0.25 * damping
    return Minimum(point, value, *along(point, gradient, hessian)[:2], reached=False)


def newton_step(objective: Objective, start: Point, allows: Callable[[FloatArray], bool]) -> Minimum:
    """One step, full if it goes downhill to where it may, else shortened until it does."""
    before, gradient, hessian = objective(start.theta)
    slope, curvature, scale = along(start, gradient, hessian)
    values, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
    step = -scale * (vectors @ ((vectors.T @ (scale * slope)) / np.maximum(np.abs(values), 1e-9)))
    point, value = start, before
    for share in 0.5 ** np.arange(30):
        candidate = start.moved(share * step)
        value, gradient, hessian = objective(candidate.theta)
        if value <= before and allows(candidate.theta):
            point = candidate
            break
    return Minimum(point, value, *along(point, gradient, hessian)[:2], reached=point is not start)


def is_known(theta: FloatArray, known: Sequence[FloatArray]) -> bool:
    """Whether a search has come next to a minimum that is known."""
    return any(np.abs(theta - other).sum() < _SAME * np.abs(other).sum() for other in known)


def along(point: Point, gradient: FloatArray, hessian: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slope and curvature along the set, and a scale that makes the curvature's diagonal of order one."""
    J = point.jacobian
    flat = J.T @ hessian @ J
    diagonal = np.abs(np.diag(flat))  # where the objective bends down, the size of the curvature is a scale as well
    largest = float(diagonal.max())
    floor = 1e-20 * largest if largest > 0.0 else 1.0
    scale = 1.0 / np.sqrt(np.maximum(diagonal, floor))
    return J.T @ gradient, flat + point.bend(gradient), scale
