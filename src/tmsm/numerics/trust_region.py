"""Newton's method in a trust region, on a smooth set in R^p: for objectives with long flat valleys, as of mixtures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.numerics.newton import Minimum, Objective, Point, along, is_known

__all__ = ["minimise_in_trust"]

_MAX_EVALUATIONS = 300
# Of the first step, in units in which the curvature's diagonal is one.
_FIRST_RADIUS = 1.0
# Steps that gain so little of what they promise make the region smaller; those that gain so much, larger.
_POOR, _GOOD = 0.25, 0.75
_SHRINK, _GROW = 0.25, 2.5


def minimise_in_trust(objective: Objective, start: Point, known: Sequence[FloatArray] = ()) -> Minimum | None:
    """Like `minimise`, with steps −(|H| + λ)⁻¹g of a length up to a radius that follows how well a quadratic foretells.

    Flat directions are taken as far as the others allow: damping that shortens a step along the steepest of them would
    stop it along the flattest.
    """
    point, radius = start, _FIRST_RADIUS
    value, gradient, hessian = objective(point.theta)
    if point.jacobian.shape[1] == 0:  # a set of one point
        return Minimum(point, value, np.zeros(0), np.zeros((0, 0)), reached=True)
    evaluations = 1
    while evaluations < _MAX_EVALUATIONS and np.isfinite(value):
        if is_known(point.theta, known):
            return None
        slope, curvature, scale = along(point, gradient, hessian)
        values, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
        coefficients = vectors.T @ (scale * slope)
        sizes = np.maximum(np.abs(values), 1e-12)
        promised = float(coefficients**2 @ (1.0 / sizes))
        # What cannot be seen in the value, whose terms are of these sizes.
        terms = abs(value) + abs(float(point.theta @ hessian @ point.theta)) + np.abs(point.theta).sum()
        rounding = 1e-15 * float(terms)
        if promised <= rounding and values[0] > -1e-9:
            point = point.moved(-scale * (vectors @ (coefficients / sizes)))
            value, gradient, hessian = objective(point.theta)
            return Minimum(point, value, *along(point, gradient, hessian)[:2], reached=True)
        while True:
            z = -coefficients / (sizes + _damping(coefficients, sizes, radius))
            length = float(np.linalg.norm(z))
            foretold = -float(coefficients @ z) - 0.5 * float(values @ z**2)
            candidate = point.moved(scale * (vectors @ z))
            new = objective(candidate.theta)
            evaluations += 1
            gain = (value - new[0] + rounding) / max(foretold, 1e-300)
            if gain > 1e-4:
                break
            radius = _SHRINK * length
            if evaluations >= _MAX_EVALUATIONS or foretold <= rounding:
                return Minimum(point, value, slope, curvature, reached=promised <= 1e4 * rounding)
        if gain < _POOR:
            radius = _SHRINK * length
        elif gain > _GOOD and length > 0.9 * radius:
            radius *= _GROW
        point, (value, gradient, hessian) = candidate, new
    return Minimum(point, value, *along(point, gradient, hessian)[:2], reached=False)


def _damping(coefficients: FloatArray, sizes: FloatArray, radius: float) -> float:
    """The λ ≥ 0 with ‖c/(|values| + λ)‖ ≤ radius, by bisection of its logarithm."""

    def length(damping: float) -> float:
        return float(np.linalg.norm(coefficients / (sizes + damping)))

    if length(0.0) <= radius:
        return 0.0
    low, high = -40.0, float(np.log(np.linalg.norm(coefficients) / radius)) + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if length(float(np.exp(middle))) > radius else (low, middle)
    return float(np.exp(high))
