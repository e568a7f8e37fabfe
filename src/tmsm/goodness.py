"""Whether the rows could come from the model at all, judged without its normalising constant.

Under the model E[A_i θ + b_i] = 0 holds for more equations than there are parameters.  Those combinations of them that
do not feel an error of θ̂, to first order, are compared with their spread.  For an estimate from these very equations it
is the over-identification test of Sargan and Hansen; any other estimate may be put in its place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.combination import LocalFrame, SpareTest, independent_equations, spare_combinations
from tmsm.equations import EquationSpec, equation_residuals, sum_equations
from tmsm.errors import EstimationError
from tmsm.models.base import Model
from tmsm.moments import LogExposure
from tmsm.polynomials import LocalPolynomials
from tmsm.rows import Rows
from tmsm.weights import Combined, EquationPart, Saturating

__all__ = ["GoodnessOfFit", "over_identification"]

# Two scales for what the model has; then one for shapes that it does not have, and fields along the border, if
# there are so many rows for each squared number of equations.
_PARTS: tuple[tuple[int, tuple[EquationPart, ...]], ...] = (
    (0, (EquationPart("statistics", member=0), EquationPart("statistics", member=1))),
    (4, (EquationPart("gradients", 1.5, (2,)),)),
    (40, (EquationPart("streams", 1.5, (0, 1, 2)),)),
)
_MIN_ROWS_PER_EQUATION = 8
# Scales three times those of an estimate: nearer to the border the equations are carried by too few rows for χ².
_SCALE = 3.0
# An equation must be carried by as many rows as these, were they to carry it equally.
_MIN_CARRIERS = 6.0


class GoodnessOfFit(NamedTuple):
    """A χ² statistic, its degrees of freedom and the probability of a larger one under the model."""

    statistic: float
    df: int
    p_value: float


def over_identification(
    model: Model, rows: Rows, theta: FloatArray, log_exposure: LogExposure | None = None
) -> GoodnessOfFit | None:
    """Test the model at an estimate θ; None where there are too few rows, or no equation to spare."""
    region, sample = rows.region, rows.sample()
    constraint = model.constraint(region.manifold.embedding_dim)
    weight = Combined(scale=1.0)
    if region.has_border:
        try:
            # Scalar weights: the other kinds are more accurate, and have heavier tails.
            weight = cast(Combined, Combined(base=Saturating()).resolve(region, sample))
            weight = replace(weight, base=Saturating(_SCALE * float(weight.scale)))
        except EstimationError:  # more than half of the rows on the border
            return None
    polynomials = LocalPolynomials.of(region.manifold, sample)
    spec = EquationSpec(model, weight, (), polynomials, log_exposure, region.has_border)
    for each, parts in _PARTS:
        wider = replace(spec, parts=spec.parts + parts)
        if parts[0].kind == "streams" and not region.manifold.has_quarter_turn:
            continue
        if each * wider.n_equations(constraint.n_free) ** 2 <= rows.effective_number:
            spec = wider
    sums = sum_equations(spec, rows)
    n, p = rows.effective_number, spec.n_statistics
    if sums is None or n < _MIN_ROWS_PER_EQUATION * spec.n_equations(constraint.n_free):
        return None
    mean, errors = rows.mean_and_parts(equation_residuals(spec, rows, theta))
    try:
        frame = LocalFrame.at(constraint.tangent(theta), sums.A[:p], errors[:, :p].T @ errors[:, :p])
    except EstimationError:  # too few distinct rows
        return None
    reduction = spec.reduction(frame.tangent)
    mean, errors = reduction @ mean, errors @ reduction.T
    covariance = errors.T @ errors
    # The mean of an equation that few rows carry, such as those next to the short sides of a strip, is not normal.
    carried = np.flatnonzero((errors**2).sum(axis=0) ** 2 >= _MIN_CARRIERS * (errors**4).sum(axis=0))
    kept = [int(carried[k]) for k in independent_equations(covariance[np.ix_(carried, carried)])]
    if len(kept) <= constraint.n_free:
        return None
    slope = (reduction @ sums.A @ frame.spread)[kept]
    combinations = spare_combinations(slope, covariance[np.ix_(kept, kept)])
    if len(combinations) == 0:
        return None
    return GoodnessOfFit(*SpareTest.of_parts(combinations @ mean[kept], errors[:, kept] @ combinations.T, n))
