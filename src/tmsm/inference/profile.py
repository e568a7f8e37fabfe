"""Intervals by profiling: the values of a parameter that the data do not reject, whatever the others are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, TmsmError
from tmsm.inference.discrepancy import Discrepancy, QuadraticDiscrepancy
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint, FixedNorm
from tmsm.models.parameters import Field
from tmsm.numerics.newton import Objective
from tmsm.numerics.scaling import solve_scaled
from tmsm.numerics.sphere_quadratics import minimise_on_sphere

__all__ = ["farthest_within", "profile_interval", "profile_of"]

_MAX_ROOT_STEPS = 40
_MAX_STEPS = 40
_MAX_HALVINGS = 12
# Ends are found to this share of the distance from the estimate.
_PRECISION = 1e-4
# What changes by less along the family, as a share of how it might, is known.
_KNOWN = 1e-10
# Beyond so many Wald distances an interval has no end.
_ENDLESS = 1e4
# Of an infinite estimate: the reciprocals that are tried first and last.
_FIRST_RECIPROCAL, _LARGEST_RECIPROCAL = 0.02, 10.0
# Of a share, whose estimate may be zero and then has no error of its own.
_LEAST_SHARE_STEP = 1e-3
# Entries of arrays are profiled up to so many statistics.
_MAX_STATISTICS = 20

# From a value of a parameter to its discrepancy and the θ that has it.
Profile = Callable[[float, FloatArray], tuple[float, FloatArray]]


def profile_of(
    discrepancy: Discrepancy, model: Model, name: str, value: Any, near: FloatArray | None = None
) -> tuple[float, FloatArray]:
    """The smallest discrepancy of all θ whose parameter has a value, and that θ; infinite where there is none."""
    constraint = model.slice(name, value)
    if constraint is None:
        return np.inf, discrepancy.theta
    if isinstance(constraint, FixedNorm) and isinstance(discrepancy, QuadraticDiscrepancy):
        return _on_sphere(discrepancy, constraint.radius)
    return discrepancy.minimum_over(constraint, near)


def profile_interval(
    discrepancy: Discrepancy, model: Model, field: Field, critical: Callable[[int], float]
) -> tuple[FloatArray, FloatArray] | None:
    """The values of a parameter, entry by entry, that the data do not reject; None where there is no profile.

    ``critical`` gives the critical squared distance, in standard errors, for so many parameters.  There is one, but at
    the lowest value of a size (no concentration, no ovalness) other parameters vanish with it and count, too.
    """
    square = critical(1)
    theta = discrepancy.theta
    if theta.size > _MAX_STATISTICS:
        return None
    estimate = np.asarray(model.parameters(theta)[field.name], dtype=np.float64)
    jacobian = model.parameter_jacobian(theta)[field.name]
    tangent = model.constraint.tangent(theta)
    low, high = estimate.copy(), estimate.copy()
    for index in np.ndindex(estimate.shape):
        if field.repeats(index):
            low[index], high[index] = low[index[::-1]], high[index[::-1]]
            continue
        if np.isinf(estimate[index]) and not index:
            low[index] = _from_infinity(discrepancy, model, field, tangent, square)
            continue
        row = jacobian.reshape(*estimate.shape, -1)[index][None, :]
        if np.linalg.norm(row @ tangent) <= _KNOWN * np.linalg.norm(row):
            continue  # known
        lowest = field.lowest
        if field.is_covariance and index[0] == index[1]:
            lowest = 0.0
        profile = _entry_profile(discrepancy, model, field, index, row)
        if profile is None:
            return None
        step = float(np.sqrt(square * float(discrepancy.covariance_of(row)[0, 0])))
        if field.scale == "logit":
            step = max(step, _LEAST_SHARE_STEP)
        try:
            around = np.pi if field.is_angle else np.inf
            above = 1.0 - float(estimate[index]) if field.scale == "logit" else around
            if np.isfinite(lowest) and _allows_lowest(profile, model, field, theta, critical):
                low[index] = lowest
            else:
                low[index] = _end(profile, float(estimate[index]), -step, square, lowest, theta, around)
            high[index] = _end(profile, float(estimate[index]), step, square, lowest, theta, above)
        except (TmsmError, np.linalg.LinAlgError):
            return None
    return low, high


def farthest_within(profile: Callable[[float], float], start: float, square: float, limit: float) -> float:
    """How far a profile along a path stays at most ``square``, its root growing about in proportion; at most ``limit``.

    ``start`` is a first guess.
    """
    inside, inside_root = 0.0, 0.0
    wanted = float(np.sqrt(square))
    outside = min(start, limit)
    while True:
        root = float(np.sqrt(max(profile(outside), 0.0)))
        if root > wanted:
            break
        if outside >= limit:
            return limit
        inside, inside_root = outside, root
        outside = min(outside * (1.2 if root <= 0.0 else min(max(1.1 * wanted / root, 1.05), 2.0)), limit)
    return _root(
        lambda t: float(np.sqrt(max(profile(t), 0.0))) - wanted, inside, inside_root - wanted, outside, root - wanted
    )


def _root(function: Callable[[float], float], a: float, at_a: float, b: float, at_b: float) -> float:
    """Between a (negative) and b (positive, maybe infinite), by the secant with its ends halved (Illinois)."""
    for _ in range(_MAX_ROOT_STEPS):
        if abs(b - a) <= _PRECISION * max(abs(a), abs(b)):
            break
        share = at_a / (at_a - at_b) if np.isfinite(at_b) else 0.5
        t = a + min(max(share, 0.02), 0.98) * (b - a)
        value = function(t)
        if abs(value) <= _PRECISION:
            return t
        if value <= 0.0:
            a, at_a, at_b = t, value, 0.5 * at_b
        else:
            b, at_b, at_a = t, value, 0.5 * at_a
    return a


def _end(
    profile: Profile,
    estimate: float,
    step: float,
    square: float,
    lowest: float,
    theta: FloatArray,
    around: float = np.inf,
) -> float:
    """The end of an interval on one side of the estimate; the lowest value, or infinity, where it has none.

    An angle is back on the other side after half a turn, ``around``.
    """
    near = theta

    def along(t: float) -> float:
        nonlocal near
        value, found = profile(estimate + np.copysign(t, step), near)
        if np.isfinite(value):
            near = found
        return value

    limit = min(abs(step) * _ENDLESS, around)
    if step < 0.0 and np.isfinite(lowest):
        limit = estimate - lowest
        if limit <= 0.0:
            return lowest
    reach = farthest_within(along, abs(step), square, limit)
    if reach >= limit:
        if reach >= around:
            return float(estimate + np.copysign(around, step))
        return lowest if step < 0.0 else np.inf
    return float(estimate + np.copysign(reach, step))


def _from_infinity(discrepancy: Discrepancy, model: Model, field: Field, tangent: FloatArray, square: float) -> float:
    """The lowest value that is not rejected of a parameter whose estimate is infinite: by its reciprocal."""
    units = discrepancy.units(tangent.T, np.ones(tangent.shape[1]))
    near = discrepancy.theta

    def along(reciprocal: float) -> float:
        nonlocal near
        value, found = profile_of(discrepancy, model, field.name, 1.0 / reciprocal, near)
        if np.isfinite(value):
            near = found
        return value * units

    reach = farthest_within(along, _FIRST_RECIPROCAL, square, _LARGEST_RECIPROCAL)
    return field.lowest if reach >= _LARGEST_RECIPROCAL else 1.0 / reach


def _allows_lowest(
    profile: Profile,
    model: Model,
    field: Field,
    theta: FloatArray,
    critical: Callable[[int], float],
) -> bool:
    """Whether the data do not reject the lowest value of a size."""
    constraint = model.slice(field.name, field.lowest) if np.isfinite(field.lowest) else None
    if constraint is None:
        return False
    vanishing = model.constraint.n_free - constraint.n_free
    return profile(field.lowest, theta)[0] <= critical(vanishing)


def _entry_profile(
    discrepancy: Discrepancy, model: Model, field: Field, index: tuple[int, ...], row: FloatArray
) -> Profile | None:
    units, unit = discrepancy.units(row, np.ones(1)), float(np.sqrt(discrepancy.covariance_of(row)[0, 0]))
    if not index and model.slice(field.name, 1.0) is not None:
        return lambda value, near: _scaled(profile_of(discrepancy, model, field.name, value, near), units)
    if model.entry_slice(field.name, index, 1.0) is not None:

        def sliced(value: float, near: FloatArray) -> tuple[float, FloatArray]:
            allowed = model.entry_slice(field.name, index, value)
            assert allowed is not None
            return _scaled(discrepancy.minimum_over(allowed, near), units)

        return sliced
    constraint = model.constraint
    if not constraint.is_flat:
        return None

    def entry(theta: FloatArray) -> tuple[float, FloatArray]:
        values = np.asarray(model.parameters(theta)[field.name])
        slopes = model.parameter_jacobian(theta)[field.name].reshape(*values.shape, -1)
        return float(values[index]), slopes[index]

    def searched(value: float, near: FloatArray) -> tuple[float, FloatArray]:
        found = _at_level(discrepancy, constraint, entry, value, near, unit)
        if not (model.is_linear or np.isfinite(found[0])):
            # Such a density bends any way, and a search that is lost does not say that the value is rejected.
            raise EstimationError("The search for the profile did not end.")
        return _scaled(found, units)

    return searched


def _scaled(found: tuple[float, FloatArray], units: float) -> tuple[float, FloatArray]:
    return found[0] * units, found[1]


def _on_sphere(discrepancy: QuadraticDiscrepancy, radius: float) -> tuple[float, FloatArray]:
    """The smallest value over ‖θ‖ = radius, exactly."""
    if radius == 0.0:
        zero = np.zeros_like(discrepancy.theta)
        return discrepancy(zero)[0], zero
    values, vectors = np.linalg.eigh(discrepancy.metric)
    coefficients = -(vectors.T @ (discrepancy.metric @ discrepancy.theta))
    found, _, _ = minimise_on_sphere(values, coefficients[None, :], radius)
    theta = vectors @ found[0]
    return discrepancy(theta)[0], theta


def _at_level(
    objective: Objective,
    constraint: Constraint,
    entry: Callable[[FloatArray], tuple[float, FloatArray]],
    level: float,
    near: FloatArray,
    unit: float,
) -> tuple[float, FloatArray]:
    """The smallest value where a function of θ has a level, on a flat set: Newton with a multiplier.

    ``unit`` is the size of the function's error.  Infinite where the search does not end.
    """
    theta = near
    value, slope = entry(theta)
    distance, gradient, hessian = objective(theta)
    for _ in range(_MAX_STEPS):
        basis = constraint.point(theta).jacobian
        a, g = basis.T @ slope, basis.T @ gradient
        # H δ + λ a = −g, a·δ = level − value
        solved = solve_scaled(basis.T @ hessian @ basis, np.column_stack([a, g]))
        multiplier = -(level - value + a @ solved[:, 1]) / (a @ solved[:, 0])
        step = -(basis @ (solved[:, 1] + multiplier * solved[:, 0]))
        for _ in range(_MAX_HALVINGS):
            try:
                value, slope = entry(theta + step)
                break
            except EstimationError:  # outside the family, such as a negative variance
                step = 0.5 * step
        else:
            return np.inf, theta
        theta, before = theta + step, distance
        distance, gradient, hessian = objective(theta)
        if abs(level - value) <= _PRECISION * unit and abs(distance - before) <= _PRECISION * (1.0 + distance):
            return max(distance, 0.0), theta
    return np.inf, theta
