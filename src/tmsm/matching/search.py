"""A density that is not linear in θ: the lowest J by Newton's method, on some of the rows first, then on all."""

from __future__ import annotations

from typing import TypeGuard, cast

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.matching.equations import linearise
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import MAX_CONDITION, Solution
from tmsm.matching.starts import starts_of
from tmsm.models.constraints import minimise_over
from tmsm.models.nonlinear import NonlinearModel
from tmsm.numerics.newton import Minimum, Objective, minimise
from tmsm.numerics.scaling import condition_number

__all__ = ["mean_objective", "search"]

# So many rows show which of the starts leads to the lowest J.
_FIRST_ROWS = 2000


def mean_objective(equations: OneWeight, rows: Rows, theta: FloatArray) -> float:
    """J(θ): the mean of the rows' parts."""

    def block_sums(block):  # type: ignore[no-untyped-def]
        values, w = equations.terms(block).objective(theta), block.sample_weight
        if w is None:
            return np.array([values.sum(), float(len(values))])
        return np.array([w @ values, w.sum()])

    sums = rows.total(block_sums)
    assert sums is not None, "there are rows inside"
    return float(sums[0] / sums[1])


def search(equations: OneWeight, rows: Rows) -> Solution:
    """The lowest J over the θ of the model, with the tangent and the curvature there."""
    model = cast(NonlinearModel, equations.model)
    constraint = model.constraint
    some = rows.spread(_FIRST_ROWS)
    near = starts_of(model, equations, some)
    first = minimise_over(constraint, _objective(equations, some), near)
    if first is None:
        raise EstimationError(
            f"No minimum was found from {len(near)} start{'s' * (len(near) != 1)}: the rows may not determine every "
            "parameter of this density. Use more rows, or better starts."
        )
    objective = _objective(equations, rows)
    found = minimise(objective, constraint.point(first.minimum.point.theta))
    if not _has_ended(found) or not constraint.allows(found.point.theta):
        # Some of the rows may show a minimum that all of them do not have.
        best = minimise_over(constraint, objective, near)
        found = None if best is None else best.minimum
    if not _has_ended(found):
        raise EstimationError("The search for the lowest objective did not end: the rows do not determine the density.")
    condition = condition_number(found.curvature)
    if not condition <= MAX_CONDITION:
        raise EstimationError(
            f"The curvature at the estimate is nearly singular (condition number {condition:.1e}): the rows do not "
            "determine every parameter of this density."
        )
    point = found.point
    status = "The lowest minimum found from several starts; the density is not linear in its parameters."
    return Solution(point.theta, point.jacobian, 0.5 * found.curvature, condition, status)


def _has_ended(found: Minimum | None) -> TypeGuard[Minimum]:
    """Whether a search came to a minimum."""
    return found is not None and np.isfinite(found.value) and found.decrement <= 1e-6 * max(abs(found.value), 1e-300)


def _objective(equations: OneWeight, rows: Rows) -> Objective:
    """J with its slope 2ē and its Hessian, by differences of ē."""

    def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value = mean_objective(equations, rows, theta)
        if not np.isfinite(value):
            size = theta.size
            return np.inf, np.zeros(size), np.eye(size)
        found = linearise(equations, rows, theta)
        assert found is not None, "there are rows inside"
        A, b = found
        return value, 2.0 * (A @ theta + b), A + A.T

    return objective
