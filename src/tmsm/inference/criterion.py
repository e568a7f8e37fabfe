"""What J would be on new rows: to compare models by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.inference.influence import Influence
from tmsm.matching.equations import row_residuals
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.turning import Turning, with_covariates
from tmsm.models.base import Model
from tmsm.weights import plain_weight

__all__ = ["Criterion", "information_criterion"]


@dataclass(frozen=True)
class Criterion:
    """An estimate of the objective J on new rows.

    Attributes
    ----------
    value
        J at the estimate plus the optimism of having been fitted to the same rows: lower is better.
    optimism
        That correction.
    row_values
        Each row's part of J, shape (n,).
    """

    value: float
    optimism: float
    row_values: FloatArray


def information_criterion(
    model: Model,
    rows: Rows,
    theta: FloatArray,
    influence: Influence,
    exposure: KnownExposure | None,
    share: float = 1.0,
    standard: Standard | None = None,
) -> Criterion:
    """J with the plain geodesic weight, corrected for optimism (Matsuda, Uehara and Hyvärinen 2021).

    ``rows`` are this share of those that θ was fitted to.  With the standard of covariates, θ are all coefficients.

    The row's part of J is ρ_i(θ) = θᵀA_iθ + 2b_iᵀθ with slope 2 e_i, so fitting lowers the mean of ρ by
    −2 Σ w² e_i·φ_i / (Σw)² in expectation, φ_i the influence of the row on θ̂; with the same weight for fit and
    comparison that is 2 tr(A⁻¹ cov e)/n.  Rows of one group are dependent, and their cross terms count as well; they
    stay as many whatever share of the rows is looked at.
    """
    one = OneWeight(model, plain_weight(rows.region), exposure)
    equations = with_covariates(one, standard)
    e = row_residuals(equations, rows, theta)
    if equations.is_linear:
        values = (e + row_residuals(equations, rows, np.zeros_like(theta))) @ theta
    else:
        nonlinear = equations if isinstance(equations, Turning) else one
        values = np.concatenate(list(rows.map(lambda block: nonlinear.terms(block).objective(theta))))
    w = rows.relative_weights()
    psi = influence.of(rows)
    own = float(w**2 @ np.einsum("ij,ij->i", e, psi))
    between = 0.0
    if rows.groups is not None:
        (_, slopes), (_, influences) = rows.mean_and_parts(e), rows.mean_and_parts(psi)
        between = float(np.einsum("ij,ij->", slopes, influences)) - own
    optimism = -2.0 * (share * own + between)
    return Criterion(float(w @ values) + optimism, optimism, values)
