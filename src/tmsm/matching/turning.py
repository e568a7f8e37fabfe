"""A mean direction that turns with covariates at a known concentration: |θ(z)| = κ for all z.

    θ(z) = κ v/|v|,   v = B (1, z),   B = (β₀, β₁, …),   |β₀| = κ,   β_a ⊥ β₀:

z is centred, so that θ(z) passes through β₀ at its mean, along a great circle where there is one covariate.  A part of
β_a along β₀ would only change the pace along it, which rows hardly show where it turns little, and not at all where it
does not turn.  The estimate has the lowest J(B) = mean [θᵀA_iθ + 2 b_iᵀθ] at θ = θ(z_i), whose half slope is

    e_i(B) = (κ/|v|) P (A_i θ + b_i) ⊗ (1, z_i),   P = I − vvᵀ/|v|².
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, row_dots
from tmsm.foundation.errors import EstimationError
from tmsm.matching.covariates import WithCovariates, coefficients_of, lifted
from tmsm.matching.equations import Equations, LinearSums, Terms, sum_equations
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import MAX_CONDITION, Solution, solve
from tmsm.matching.stacked import Stacked
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint, FixedNorm, Unrestricted
from tmsm.numerics.newton import Objective, minimise
from tmsm.numerics.scaling import condition_number

__all__ = ["Turning", "TurningTerms", "mean_of_parts", "turned", "with_covariates"]

# So many rows show where to begin.
_FIRST_ROWS = 2000


def with_covariates(equations: OneWeight | Stacked, standard: Standard | None) -> Equations:
    """The equations as they are, or where there are covariates those of the coefficients."""
    if standard is None:
        return equations
    if isinstance(equations, OneWeight) and isinstance(equations.constraint, FixedNorm):
        return Turning(equations, standard)
    return WithCovariates(equations, standard)


@final
@dataclass(frozen=True)
class Turning(Equations):
    """One weight's equations for a mean direction that turns with covariates at a known concentration."""

    inner: OneWeight
    standard: Standard

    @property
    def model(self) -> Model:  # type: ignore[override]
        """The family, bound to its manifold."""
        return self.inner.model

    @property
    def n_columns(self) -> int:
        """1 + q."""
        return 1 + len(self.standard)

    @property
    def n_equations(self) -> int:
        return self.n_parameters

    @property
    def n_parameters(self) -> int:
        return self.model.size * self.n_columns

    @property
    def radius(self) -> float:
        """The known concentration."""
        constraint = self.model.constraint
        assert isinstance(constraint, FixedNorm), "others are linear"
        return constraint.radius

    @property
    def constraint(self) -> Constraint:
        return lifted(self.model.constraint, self.n_columns)

    @property
    def is_linear(self) -> bool:
        return False

    @property
    def exposure(self) -> KnownExposure | None:
        """The known exposure."""
        return self.inner.exposure

    def with_exposure(self, exposure: KnownExposure | None) -> Turning:
        """The same with another exposure."""
        return replace(self, inner=replace(self.inner, exposure=exposure))

    def terms(self, block: Block) -> TurningTerms:
        assert block.covariates is not None, "the rows have covariates"
        return TurningTerms(self, block)


@final
class TurningTerms(Terms):
    """One block: A_i (n, p, p), b_i (n, p) and (1, z_i)."""

    def __init__(self, equations: Turning, block: Block) -> None:
        self.equations = equations
        assert block.covariates is not None
        self.design = equations.standard.design(block.covariates)
        inner, p, radius = equations.inner.terms(block), equations.model.size, equations.radius
        self.b = inner.residuals(np.zeros(p))
        # A_i θ and b_i are of one size, so that no digits are lost in their difference.
        self.A = np.stack([(inner.residuals(radius * unit) - self.b) / radius for unit in np.eye(p)], axis=2)

    def _turned(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The unit vectors v/|v| (n, p), κ/|v| (n,) and A_i θ + b_i (n, p)."""
        v = self.design @ coefficients_of(theta, self.design.shape[1]).T
        length = np.linalg.norm(v, axis=1)
        unit = v / length[:, None]
        radius = self.equations.radius
        return unit, radius / length, np.einsum("nkl,nl->nk", self.A, radius * unit) + self.b

    def residuals(self, theta: FloatArray) -> FloatArray:
        unit, share, r = self._turned(theta)
        across = share[:, None] * (r - unit * row_dots(unit, r)[:, None])
        return (across[:, :, None] * self.design[:, None, :]).reshape(len(r), -1)

    def objective(self, theta: FloatArray) -> FloatArray:
        """Each row's part of J, shape (n,)."""
        unit, _, r = self._turned(theta)
        return self.equations.radius * row_dots(unit, r + self.b)

    def sums(self, theta: FloatArray, w: FloatArray) -> FloatArray:
        """Σ w of the parts of J, of half their slopes (P,) and half their second derivatives (P, P), in one vector."""
        unit, share, r = self._turned(theta)
        along = row_dots(unit, r)
        P = np.eye(unit.shape[1]) - unit[:, :, None] * unit[:, None, :]
        across = r - unit * along[:, None]
        # D A D + r·∂²θ/∂v², D = (κ/|v|) P, r·∂²θ/∂v² = −(κ/|v|²)(P r uᵀ + u rᵀ P + (u·r) P).
        bend = across[:, :, None] * unit[:, None, :]
        bend = bend + bend.transpose(0, 2, 1) + along[:, None, None] * P
        second = share[:, None, None] ** 2 * (P @ self.A @ P - bend / self.equations.radius)
        hessian = np.einsum("n,nkl,na,nb->kalb", w, second, self.design, self.design, optimize=True)
        size = self.equations.n_parameters
        return np.concatenate([[w @ self.objective(theta)], w @ self.residuals(theta), hessian.reshape(size * size)])


def mean_of_parts(equations: Turning, rows: Rows, theta: FloatArray) -> float:
    """J(B): the mean of the rows' parts."""

    def sums(block: Block) -> FloatArray:
        w = block.weights()
        return np.array([w @ equations.terms(block).objective(theta), w.sum()])

    total = rows.total(sums)
    assert total is not None, "there are rows inside"
    return float(total[0] / total[1])


def _objective(equations: Turning, rows: Rows) -> Objective:
    """J(B) with its derivatives."""
    size = equations.n_parameters

    def objective(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        def sums(block: Block) -> FloatArray:
            w = block.weights()
            return np.append(equations.terms(block).sums(theta, w), w.sum())

        total = rows.total(sums)
        assert total is not None, "there are rows inside"
        total = total[:-1] / total[-1]
        return float(total[0]), 2.0 * total[1 : 1 + size], 2.0 * total[1 + size :].reshape(size, size)

    return objective


def turned(equations: Turning, rows: Rows) -> tuple[Solution, LinearSums]:
    """The B with the lowest J, and the sums of the family with a free concentration that the search begins from."""
    size = equations.n_parameters
    sums = sum_equations(WithCovariates(equations.inner, equations.standard), rows)
    assert sums is not None, "there are rows inside"
    constraint, c = equations.constraint, equations.n_columns
    own = np.arange(0, size, c)
    still = np.zeros(size)
    still[own] = solve(equations.model.constraint, sums.A[np.ix_(own, own)], sums.b[own]).theta
    starts = [still]
    with suppress(EstimationError):  # a known concentration may determine what a free one does not
        starts.append(solve(Unrestricted(size), sums.A, sums.b).theta)
    # Some of the rows show which start is the better one.
    some = _objective(equations, rows.spread(_FIRST_ROWS))
    found = [minimise(some, constraint.point(start)) for start in starts]
    first = min((one for one in found if one is not None and one.reached), key=lambda one: one.value, default=None)
    start = constraint.point(starts[-1]) if first is None else first.point
    best = minimise(_objective(equations, rows), start)
    if best is not None and not best.reached:
        best = None
    condition = np.inf if best is None else condition_number(best.curvature)
    if best is None or not condition <= MAX_CONDITION:
        raise EstimationError(
            "The search for the mean direction and how it turns did not end: the rows do not determine it. Use more "
            "rows, or fewer covariates."
        )
    status = "The minimum at the known concentration, by Newton's method."
    return Solution(best.point.theta, best.point.jacobian, 0.5 * best.curvature, condition, status), sums
