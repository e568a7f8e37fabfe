"""Where a fitted density is highest: its centre, or those of the components of a mixture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.inference.delta import critical_square, tangent_spread
from tmsm.inference.fit import Fit
from tmsm.manifolds import Manifold
from tmsm.models.base import Model
from tmsm.models.parameters import Field

__all__ = ["Centre", "Ellipse", "centres_of", "ellipse_at", "ellipse_of", "row_shares"]

_POINTS = 180


@final
@dataclass(frozen=True)
class Centre:
    """A place where a fitted density, or a component of it, is highest.

    Attributes
    ----------
    field
        The parameter that says so; None of a family that says it in other words, such as angles.
    point
        Shape (D,).
    """

    field: Field | None
    point: FloatArray

    @property
    def component(self) -> int | None:
        """The component of a mixture whose centre it is, counted from one."""
        return None if self.field is None else self.field.component

    @property
    def title(self) -> str:
        """What to call it."""
        return "centre" if self.component is None else f"centre of component {self.component}"

    @property
    def is_axis(self) -> bool:
        """Whether the opposite point is as good."""
        return self.field is not None and self.field.is_axis


def centres_of(fit: Fit) -> tuple[Centre, ...]:
    """The centre of a fit, or those of its components in their order; none where it has none, or none is determined."""
    if (point := fit.centre_point) is not None:
        return (Centre(fit.centre, point),)
    found = []
    for field in fit.component_centres:
        if not fit.is_lowest(field):
            point = np.asarray(fit.params[field.name], dtype=np.float64)
            away = field.is_axis and float(fit.kept.sample().X.mean(axis=0) @ point) < 0.0
            found.append(Centre(field, -point if away else point))
    return tuple(found)


@final
@dataclass(frozen=True)
class Ellipse:
    """The confidence region of a centre on a surface by the delta method, which is good where the errors are small.

    Attributes
    ----------
    manifold, centre
        The surface, and the estimate on it, shape (D,).
    half_axes, axes
        Longest first, (2,), and their tangent directions, (D, 2).
    """

    manifold: Manifold
    centre: FloatArray
    half_axes: FloatArray
    axes: FloatArray

    @property
    def ring(self) -> FloatArray:
        """Its border in order, shape (m, D)."""
        turn = np.linspace(0.0, 2.0 * np.pi, _POINTS, endpoint=False)
        away = np.column_stack([np.cos(turn), np.sin(turn)]) * self.half_axes @ self.axes.T
        return self.manifold.exponential(np.tile(self.centre, (_POINTS, 1)), away)

    def contains(self, X: FloatArray) -> BoolArray:
        """Whether points (n, D) lie in it."""
        away = self.manifold.logarithm(np.tile(self.centre, (len(X), 1)), X) @ self.axes / self.half_axes
        inside: BoolArray = (away**2).sum(axis=1) <= 1.0
        return inside


def ellipse_of(fit: Fit, centre: Centre, level: float) -> Ellipse | None:
    """That of the centre of a component; None without errors, off surfaces, and where it would be no ellipse."""
    if fit.covariance is None or centre.field is None:
        return None
    manifold = fit.region.manifold
    found = ellipse_at(manifold, fit.model, fit.theta, fit.covariance, centre.field, level, fit.error_df)
    return None if found is None else replace(found, centre=centre.point)  # of an axis the nearer end


def ellipse_at(
    manifold: Manifold,
    model: Model,
    theta: FloatArray,
    covariance: FloatArray,
    field: Field,
    level: float,
    error_df: float | None,
) -> Ellipse | None:
    """That of a centre at θ with its covariance (p, p)."""
    if manifold.dim != 2:
        return None
    centre = np.asarray(model.parameters(theta)[field.name], dtype=np.float64)
    jacobian = model.parameter_jacobian(theta)[field.name]
    variances, axes = tangent_spread(jacobian @ covariance @ jacobian.T, 2)
    half_axes = np.sqrt(critical_square(2, level, error_df) * np.maximum(variances, 0.0))
    widest = 0.5 * manifold.diameter if manifold.is_closed else np.inf
    if not 0.0 < half_axes[1] <= half_axes[0] < widest:
        return None
    return Ellipse(manifold, centre, half_axes, axes)


def row_shares(fit: Fit) -> FloatArray | None:
    """Of the rows that were seen, the expected share of each component, and of a background after them, shape (m,).

    None of a density that has no components.
    """
    X, weight = fit.kept.source.table()
    posterior = fit.model.posterior_at(np.asarray(X, dtype=np.float64), fit.theta)
    return None if posterior is None else np.average(posterior, axis=0, weights=weight)
