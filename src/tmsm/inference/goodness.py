"""Whether the rows could come from the model at all, judged without its normalising constant.

Under the model E[A_i θ + b_i] = 0 holds for more equations than there are parameters.  Those combinations of them that
do not feel an error of θ̂, to first order, are compared with their spread.  For an estimate from these very equations it
is the over-identification test of Sargan and Hansen; any other estimate may be put in its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.matching.combination import LocalFrame, SpareTest, independent_equations, spare_combinations
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equations import Equations, linearise, row_residuals
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.polynomials import LocalPolynomials
from tmsm.matching.stacked import Stacked
from tmsm.models.base import Model
from tmsm.regions import BorderView
from tmsm.weights import EquationPart, saturating_at

__all__ = ["REJECTED", "GoodnessOfFit", "over_identification"]

# A model with a smaller p-value is said to be rejected.
REJECTED = 0.01

_MIN_ROWS_PER_EQUATION = 8
# Scales three times those of an estimate: nearer to the border the equations are carried by too few rows for χ².
_SCALE = 3.0
# An equation must be carried by as many rows as these, were they to carry it equally.
_MIN_CARRIERS = 6.0


def _recipes(view: BorderView) -> list[tuple[int, tuple[EquationPart, ...]]]:
    """Two scales for what the model has; then one for shapes that it does not have, and fields along the border.

    The latter if there are so many rows for each squared number of equations.  Scalar weights: the other kinds are more
    accurate, and have heavier tails.
    """
    near, far, wide = (saturating_at(view, factor) for factor in (1.5 * _SCALE, 0.15 * _SCALE, 1.5))
    return [
        (0, (EquationPart("statistics", near), EquationPart("statistics", far))),
        (4, (EquationPart("gradients", wide, (2,)),)),
        (40, (EquationPart("streams", wide, (0, 1, 2)),)),
    ]


class GoodnessOfFit(NamedTuple):
    """The over-identification test of a fit; `goodness_of_fit_` of an estimator makes it.

    Attributes
    ----------
    statistic
        χ² statistic.
    df
        Its degrees of freedom.
    p_value
        The probability of a larger statistic if the model is right.
    """

    statistic: float
    df: int
    p_value: float


def _stacked(equations: Stacked, standard: Standard | None) -> Stacked | WithCovariates:
    return equations if standard is None else WithCovariates(equations, standard)


def over_identification(
    model: Model,
    rows: Rows,
    theta: FloatArray,
    exposure: KnownExposure | None = None,
    standard: Standard | None = None,
    solved: Equations | None = None,
) -> GoodnessOfFit | None:
    """Test the model at an estimate θ; None where there are too few rows, or no equation to spare.

    With the standard of covariates at an estimate of all coefficients.  Where the equations that the estimate
    ``solved`` weight the rows, the test weights them alike.
    """
    manifold, view = rows.region.manifold, rows.sample().view
    try:
        recipes = _recipes(view)
    except EstimationError:  # more than half of the rows on the border
        return None
    equations = _stacked(Stacked(model, (), LocalPolynomials.of(manifold, view.X), exposure), standard)
    n, p, constraint = rows.effective_number, equations.n_parameters, equations.constraint
    for each, parts in recipes:
        if parts[0].kind == "streams" and not manifold.has_quarter_turn:
            continue
        wider = equations.with_parts(equations.parts + parts)
        if each * len(wider.part_numbers(constraint.n_free)) ** 2 <= n:
            equations = wider
    if n < _MIN_ROWS_PER_EQUATION * len(equations.part_numbers(constraint.n_free)):
        return None
    weighted = equations if solved is None else solved.alike(equations)
    near = linearise(weighted, rows, theta)
    if near is None:
        return None
    A = near[0]
    mean, errors = rows.mean_and_parts(row_residuals(weighted, rows, theta))
    try:
        frame = LocalFrame.at(constraint.tangent(theta), A[:p], errors[:, :p].T @ errors[:, :p])
    except EstimationError:  # too few distinct rows
        return None
    reduction = equations.reduction(frame.tangent)
    mean, errors = reduction @ mean, errors @ reduction.T
    covariance = errors.T @ errors
    # The mean of an equation that few rows carry, such as those next to the short sides of a strip, is not normal.
    carried = np.flatnonzero((errors**2).sum(axis=0) ** 2 >= _MIN_CARRIERS * (errors**4).sum(axis=0))
    kept = [int(carried[k]) for k in independent_equations(covariance[np.ix_(carried, carried)])]
    if len(kept) <= constraint.n_free:
        return None
    slope = (reduction @ A @ frame.spread)[kept]
    combinations = spare_combinations(slope, covariance[np.ix_(kept, kept)])
    if len(combinations) == 0:
        return None
    return GoodnessOfFit(*SpareTest.of_parts(combinations @ mean[kept], errors[:, kept] @ combinations.T, n))
