"""The delta method: standard errors of named parameters, intervals and ellipses that are good near the estimate."""

from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_number
from tmsm.models.base import Model
from tmsm.models.parameters import Field, Parameters

__all__ = [
    "cautions",
    "check_level",
    "confidence_interval",
    "critical_square",
    "direction_ellipse",
    "is_no_share",
    "standard_errors",
    "tangent_spread",
]


# Beyond so many units of a logarithmic scale an interval on it says nothing: the value is at the end of its range.
_MOST = 20.0
# No number of rows would tell such a share from none.
_NO_SHARE = 1e-6


def standard_errors(model: Model, theta: FloatArray, covariance: FloatArray) -> Parameters:
    """Delta method: the fields of the parameters with their standard errors.

    A direction has one: the square root of the trace of its tangent covariance, in radians.
    """
    params = model.parameters(theta)
    jacobian = model.parameter_jacobian(theta)
    errors: dict[str, FloatArray | float] = {}
    for field in model.fields:
        variances = _delta_diagonal(jacobian[field.name], covariance)
        if field.kind == "direction":
            errors[field.name] = float(np.sqrt(variances.sum()))
        else:
            errors[field.name] = _like(params[field.name], np.sqrt(variances))
    return Parameters(**errors)


def confidence_interval(
    model: Model,
    theta: FloatArray,
    covariance: FloatArray,
    level: float,
    error_df: float | None = None,
) -> Parameters:
    """Fields of the parameters as (low, high); a direction as the half-axes of its ellipse.

    With so many degrees of freedom of the errors by Student's t and Hotelling's T², else by normal quantiles.
    """
    level = check_level(level)
    params = model.parameters(theta)
    errors = standard_errors(model, theta, covariance)
    z = float(np.sqrt(critical_square(1, level, error_df)))
    intervals: dict[str, Any] = {}
    for field in model.fields:
        if field.kind == "direction":
            half_axes, _ = _ellipse_axes(model, theta, covariance, field, level, error_df)
            intervals[field.name] = half_axes
        else:
            low, high = _around(params[field.name], z * errors[field.name], field)
            low = np.maximum(low, field.lowest)
            if field.is_covariance:
                np.fill_diagonal(low, np.maximum(np.diag(low), 0.0))
            intervals[field.name] = (low if np.ndim(low) else float(low), high if np.ndim(high) else float(high))
    return Parameters(**intervals)


def _around(value: Any, margin: Any, field: Field) -> tuple[Any, Any]:
    """The ends of an interval about a value, by the delta method on the scale of the field."""
    if field.scale == "log" and np.all(margin < _MOST * value):
        factor = np.exp(margin / value)
        return value / factor, value * factor
    if field.scale == "logit" and np.all(margin < _MOST * value * (1.0 - value)):
        odds, factor = value / (1.0 - value), np.exp(margin / (value * (1.0 - value)))
        return odds / (odds + factor), odds * factor / (1.0 + odds * factor)
    high = value + margin
    return value - margin, np.minimum(high, 1.0) if field.scale == "logit" else high


def direction_ellipse(
    model: Model,
    theta: FloatArray,
    covariance: FloatArray,
    field: Field,
    level: float,
    n_points: int = 180,
    error_df: float | None = None,
) -> FloatArray:
    """Border of the confidence region of a direction on S², in order, shape (m, 3)."""
    level = check_level(level)
    center = np.asarray(model.parameters(theta)[field.name])
    space = field.space(center)
    if space.dim != 2:
        raise InvalidInputError(
            f"The ellipse of a direction is a curve on S² only; this one lies on S^{space.dim}. "
            "confidence_interval() gives the half-axes of its ellipsoid."
        )
    half_axes, axes = _ellipse_axes(model, theta, covariance, field, level, error_df)
    if half_axes[0] >= space.diameter:
        raise EstimationError(
            f"The data hardly determine this direction: its {100 * level:.0f} % region covers the sphere, "
            "so it has no border to draw."
        )
    turn = np.linspace(0.0, 2.0 * np.pi, n_points, endpoint=False)
    offset = np.outer(np.cos(turn), half_axes[0] * axes[:, 0]) + np.outer(np.sin(turn), half_axes[1] * axes[:, 1])
    return space.exponential(np.broadcast_to(center, offset.shape), offset)


def cautions(model: Model, params: Parameters, intervals: Parameters) -> list[str]:
    """Sentences on what the data hardly determine, from 95 % intervals."""
    found = []
    for field in model.fields:
        name = field.title
        if field.kind == "direction":
            if intervals[field.name][0] > 0.5 * np.pi:
                found.append(
                    f"The data hardly determine the {name}: its 95 % region reaches beyond a right angle. "
                    "Use more rows, or use the intervals as a rough guide only."
                )
        elif is_no_share(field, params[field.name]):
            found.append(
                f"The {name} is zero, at the end of its range: its error and its interval do not say how large it "
                "may be."
            )
        elif field.lowest == 0.0 and np.ndim(params[field.name]) == 0:
            low, high = intervals[field.name]
            if low <= 0.0 < high:
                found.append(f"The interval of the {name} reaches zero: the rows hardly show that it is not zero.")
    return found


def is_no_share(field: Field, value: Any) -> bool:
    """Whether a share is zero but for rounding: there its errors mean nothing."""
    return field.scale == "logit" and np.ndim(value) == 0 and float(value) < _NO_SHARE


def critical_square(k: int, level: float, error_df: float | None = None) -> float:
    """The squared radius, in standard errors, of a region that holds k numbers at a level.

    χ² where the errors are known, else Hotelling's T²: an F quantile, for k = 1 Student's t squared.
    """
    from scipy.special import chdtri, fdtri

    if error_df is None:
        return float(chdtri(k, 1.0 - level))
    rest = max(error_df - k + 1.0, 1.0)
    return float(k * max(error_df, 1.0) / rest * fdtri(k, rest, level))


def check_level(level: float) -> float:
    """Return a confidence level strictly between 0 and 1."""
    return check_number(level, "level", above=0.0, below=1.0, hint="Say 0.95 for 95 %.")


def _ellipse_axes(
    model: Model,
    theta: FloatArray,
    covariance: FloatArray,
    field: Field,
    level: float,
    error_df: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Half-axes (D−1,) in radians, longest first, and their tangent directions (D, D−1)."""
    jacobian = model.parameter_jacobian(theta)[field.name]
    dim = len(jacobian) - 1
    values, vectors = tangent_spread(jacobian @ covariance @ jacobian.T, dim)
    radius = critical_square(dim, level, error_df)
    return np.sqrt(radius * np.maximum(values, 0.0)), vectors


def tangent_spread(covariance: FloatArray, dim: int) -> tuple[FloatArray, FloatArray]:
    """Variances along the main axes, largest first, (dim,), and these axes (D, dim)."""
    values, vectors = np.linalg.eigh(covariance)
    return values[::-1][:dim], vectors[:, ::-1][:, :dim]


def _delta_diagonal(jacobian: FloatArray, covariance: FloatArray) -> FloatArray:
    variances: FloatArray = np.maximum(np.einsum("ij,jk,ik->i", jacobian, covariance, jacobian), 0.0)
    return variances


def _like(value: FloatArray | float, flat: FloatArray) -> FloatArray | float:
    return float(flat[0]) if np.ndim(value) == 0 else flat.reshape(np.shape(value))
