"""How badly another θ fits the data than the estimate does, in squared standard errors.

It is zero at the estimate and, at the truth, χ² with as many degrees of freedom as there are parameters.  What is not
of interest is profiled out: the smallest value over all θ whose parameter of interest is the one in question.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.models.constraints import AffineSubspace, Constraint, HalfLine, minimise_over
from tmsm.numerics.newton import Minimum, Objective, minimise
from tmsm.numerics.scaling import inverse_scaled

__all__ = ["Discrepancy", "LikelihoodDiscrepancy", "QuadraticDiscrepancy", "tangent_projection"]


class Discrepancy(ABC):
    """The distance of θ from an estimate θ̂, as an objective to be minimised over sets of θ."""

    theta: FloatArray
    covariance: FloatArray

    @abstractmethod
    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient (p,) and Hessian (p, p)."""

    @abstractmethod
    def units(self, jacobian: FloatArray, direction: FloatArray) -> float:
        """What to multiply a profile by to have squared standard errors.

        ``jacobian`` (q, p) is that of the parameters of interest, ``direction`` (q,) the way they have moved.
        """

    def covariance_of(self, jacobian: FloatArray) -> FloatArray:
        """Covariance of parameters with this derivative (q, p) by θ, to first order, shape (q, q)."""
        spread: FloatArray = jacobian @ self.covariance @ jacobian.T
        return spread

    def minimum_over(self, constraint: Constraint, near: FloatArray | None = None) -> tuple[float, FloatArray]:
        """The smallest value over a set and the θ that has it; the search begins at ``near``, else at θ̂.

        Infinite where none is found.
        """
        start = self.theta if near is None else near
        found = self._reached(constraint, constraint, start)
        if not found:
            found = [one for border in constraint.borders() for one in self._reached(border, constraint, start)]
        if not found:
            best = minimise_over(constraint, self, [start])
            found = [] if best is None else [best.minimum]
        if not found:
            return np.inf, start
        lowest = min(found, key=lambda one: one.value)
        return max(lowest.value, 0.0), lowest.point.theta

    def _reached(self, searched: Constraint, wanted: Constraint, start: FloatArray) -> list[Minimum]:
        """The minimum over one set that a single search ends in, if it lies in another."""
        found = minimise(self, searched.point(start))
        return [found] if found is not None and found.reached and wanted.allows(found.point.theta) else []


@final
@dataclass(frozen=True)
class QuadraticDiscrepancy(Discrepancy):
    """(θ − θ̂)ᵀ M (θ − θ̂): of an estimate from equations that are linear in θ.

    Attributes
    ----------
    theta
        θ̂, shape (p,).
    metric
        M, shape (p, p): the inverse of the covariance, off the tangent of a curved family as its equations see it.
    covariance
        Of θ̂, shape (p, p).
    """

    theta: FloatArray
    metric: FloatArray
    covariance: FloatArray

    @classmethod
    def of(
        cls, theta: FloatArray, covariance: FloatArray, tangent: FloatArray, projection: FloatArray | None
    ) -> QuadraticDiscrepancy:
        """From the covariance of θ̂ (p, p), the family's tangent T (p, k) and a projection (k, p) onto it."""
        along = tangent.T if projection is None else projection
        return cls(theta, along.T @ _inverse_covariance(tangent.T @ covariance @ tangent) @ along, covariance)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        away = theta - self.theta
        slope = self.metric @ away
        return float(away @ slope), 2.0 * slope, 2.0 * self.metric

    def units(self, jacobian: FloatArray, direction: FloatArray) -> float:
        return 1.0

    def minimum_over(self, constraint: Constraint, near: FloatArray | None = None) -> tuple[float, FloatArray]:
        if not isinstance(constraint, AffineSubspace | HalfLine):
            return super().minimum_over(constraint, near)
        N = constraint.basis
        best = constraint.offset - self.theta
        if N.shape[1]:
            size = N.T @ self.metric @ N
            phi = -np.linalg.lstsq(size, N.T @ (self.metric @ best))[0]
            if isinstance(constraint, HalfLine):
                phi = np.maximum(phi, 0.0)
            best = best + N @ phi
        return max(float(best @ self.metric @ best), 0.0), self.theta + best


@final
@dataclass(frozen=True)
class LikelihoodDiscrepancy(Discrepancy):
    """2 (f(θ) − f(θ̂)), f the mean of −log p over the rows.

    Its units come from the ratio of the stated covariance to the inverse information, so that weighted and
    dependent rows count for what they are worth (Chandler and Bate 2007).

    Attributes
    ----------
    theta
        θ̂, shape (p,).
    objective
        f with its gradient and Hessian.
    lowest
        f(θ̂).
    one_row
        Covariance of an estimate from a single row if the model is right, shape (p, p).
    covariance
        The stated covariance of θ̂, shape (p, p).
    """

    theta: FloatArray
    objective: Objective
    lowest: float
    one_row: FloatArray
    covariance: FloatArray

    @classmethod
    def of(
        cls, theta: FloatArray, covariance: FloatArray, tangent: FloatArray, objective: Objective
    ) -> LikelihoodDiscrepancy:
        """From the stated covariance (p, p), the family's tangent (p, k) and f."""
        lowest, _, information = objective(theta)
        one_row = tangent @ _inverse_covariance(tangent.T @ information @ tangent) @ tangent.T
        return cls(theta, objective, lowest, one_row, covariance)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = self.objective(theta)
        return 2.0 * (value - self.lowest), 2.0 * gradient, 2.0 * hessian

    def units(self, jacobian: FloatArray, direction: FloatArray) -> float:
        expected, stated = (jacobian @ cov @ jacobian.T for cov in (self.one_row, self.covariance))
        if len(direction) == 1:
            return float(expected[0, 0] / stated[0, 0])
        one, other = (float(direction @ np.linalg.pinv(cov, hermitian=True) @ direction) for cov in (stated, expected))
        return one / other


def tangent_projection(slope: FloatArray, tangent: FloatArray, inverse: FloatArray | None = None) -> FloatArray:
    """H⁻¹ Tᵀ A, shape (k, p): the step along T that the equations of another θ ask for.

    ``slope`` is A, shape (p, p), or what equations have in the place of Tᵀ A, shape (k, p).  ``inverse`` is H⁻¹, shape
    (k, k), where the family's curvature makes H another matrix than Tᵀ A T.  It does so by chance alone, and most where
    the rows tell little: there the step is small for every θ, and none is rejected.
    """
    along = tangent.T @ slope if slope.shape[0] == slope.shape[1] == tangent.shape[0] else slope
    if inverse is not None:
        return np.asarray(inverse @ along, dtype=np.float64)
    try:
        return np.asarray(np.linalg.solve(along @ tangent, along), dtype=np.float64)
    except np.linalg.LinAlgError:
        return tangent.T


def _inverse_covariance(matrix: FloatArray) -> FloatArray:
    """Inverse of a covariance whose rows may have very different units."""
    if not (np.diag(matrix) > 0.0).all():
        raise EstimationError("The covariance of the estimate is singular, so that there is no confidence region.")
    return inverse_scaled(matrix, 1e-13)
