"""How the centre of a fitted density moves with covariates: how fast at their mean, and its path over their range."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.inference.centres import Ellipse, ellipse_at
from tmsm.inference.fit import Fit
from tmsm.inference.regression import Regression
from tmsm.models.parameters import Field

__all__ = ["CentreMove", "CentrePath", "centre_moves", "centre_paths"]

_STEPS = 41
# Of differences in coefficients that are of the size of one.
_STEP = 1e-5


@final
@dataclass(frozen=True)
class CentreMove:
    """How fast the centre moves with one covariate, where all of them have their mean.

    Attributes
    ----------
    covariate
        Its name.
    axes
        Names of directions: east and north on S², else coordinates.
    velocity, std_errors
        For one unit of the covariate, in the unit of the manifold's distances, shape (k,); errors are None where they
        were not computed.
    """

    covariate: str
    axes: tuple[str, ...]
    velocity: FloatArray
    std_errors: FloatArray | None


@final
@dataclass(frozen=True)
class CentrePath:
    """Where the centre is while one covariate goes through its range, and the others have their mean.

    Attributes
    ----------
    covariate
        Its name.
    values
        From the smallest to the largest that the rows have, shape (m,).
    points
        The centres, shape (m, D).
    first, last
        Confidence regions at both ends; None where there are none.
    """

    covariate: str
    values: FloatArray
    points: FloatArray
    first: Ellipse | None
    last: Ellipse | None


def centre_moves(fit: Fit) -> list[CentreMove]:
    """For every covariate; none of a fit without, of a family without a centre, and off spheres and flat spaces."""
    regression, centre = fit.regression, fit.centre
    if regression is None or centre is None or centre.is_axis or fit.undetermined is not None:
        return []
    point = np.asarray(fit.params[centre.name], dtype=np.float64)
    manifold = fit.region.manifold
    names: tuple[str, ...]
    if manifold.has_longitudes:
        names, axes = ("east", "north"), _east_north(point)
    elif manifold.is_flat:
        names, axes = tuple(f"coordinate {k + 1}" for k in range(point.size)), np.eye(point.size)
    else:
        return []
    moves = []
    for a, name in enumerate(regression.names, start=1):
        velocity = axes @ _velocity(regression, centre, a)
        errors = None
        if regression.covariance is not None:
            slope = axes @ _slope(regression, centre, a)
            errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slope, regression.covariance, slope), 0.0))
        moves.append(CentreMove(name, names, velocity, errors))
    return moves


def centre_paths(fit: Fit, level: float = 0.95) -> list[CentrePath]:
    """For every covariate; those over whose range the family has a density."""
    regression, centre = fit.regression, fit.centre
    if regression is None or centre is None or centre.is_axis or fit.undetermined is not None:
        return []
    found = []
    for k, name in enumerate(regression.names):
        standard = regression.standard
        values = np.linspace(standard.low[k], standard.high[k], _STEPS)
        table = np.tile(standard.center, (_STEPS, 1))
        table[:, k] = values
        design = standard.design(table)
        try:
            points = np.array([_centre_at(regression, centre, row) for row in design])
        except EstimationError:
            continue
        ends = (_ellipse(fit, regression, centre, design[row], level) for row in (0, -1))
        found.append(CentrePath(name, values, points, *ends))
    return found


def _ellipse(fit: Fit, regression: Regression, centre: Field, row: FloatArray, level: float) -> Ellipse | None:
    covariance = regression.theta_covariance(row)
    if covariance is None:
        return None
    theta = regression.theta(row)
    return ellipse_at(fit.region.manifold, regression.model, theta, covariance, centre, level, fit.error_df)


def _centre_at(regression: Regression, centre: Field, row: FloatArray) -> FloatArray:
    return np.asarray(regression.model.parameters(regression.theta(row))[centre.name], dtype=np.float64)


def _velocity(regression: Regression, centre: Field, a: int) -> FloatArray:
    """dμ/dz_a = J_μ(θ) dθ/dz_a at the mean of z, for one unit of the covariate, shape (D,)."""
    row = regression.at_mean
    theta = regression.theta(row)
    along = regression.slopes(row[None, :])[0]
    # θ is linear in (1, z), or its direction is: dθ/dz_a = ∂θ/∂B applied to the column β_a in the place of the first.
    moved = np.zeros_like(regression.B)
    moved[:, 0] = regression.B[:, a]
    slope: FloatArray = regression.model.parameter_jacobian(theta)[centre.name] @ (along @ moved.ravel())
    return slope / float(regression.standard.scale[a - 1])


def _slope(regression: Regression, centre: Field, a: int) -> FloatArray:
    """The derivative of the velocity by all coefficients, by differences, shape (D, p (1 + q))."""
    B = regression.B
    size = _STEP * max(float(np.abs(B).max()), 1e-300)
    columns = [
        (
            _velocity(replace(regression, B=B + size * unit.reshape(B.shape)), centre, a)
            - _velocity(replace(regression, B=B - size * unit.reshape(B.shape)), centre, a)
        )
        / (2.0 * size)
        for unit in np.eye(B.size)
    ]
    return np.column_stack(columns)


def _east_north(point: FloatArray) -> FloatArray:
    """Unit vectors to the east and to the north of a point of S², as rows; at a pole along y and −x."""
    east = np.array([-point[1], point[0], 0.0])
    length = float(np.linalg.norm(east))
    east = east / length if length > 1e-12 else np.array([0.0, 1.0, 0.0])
    return np.array([east, np.cross(point, east)])
