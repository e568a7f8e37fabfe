"""Stacked equations become an estimate: generalised method of moments in two steps, and a correction of its bias.

First, θ₀ from the first weight alone; T is the tangent of the family there.  Second, θ₁ minimises f̄ᵀ S⁻¹ f̄ over the
family, f̄ = A θ + b the stacked means (along T) and S their covariance at θ₀.  Third, A and S again, from rows tilted so
that f̄ = 0: L = Aᵀ S⁻¹ then hardly depends on the noise in f̄, as that of the second step does, and L (A θ + b) = 0 along
the family gives θ̂.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import BoolArray, FloatArray, IntArray
from tmsm.foundation.errors import EstimationError
from tmsm.matching.covariates import WithCovariates
from tmsm.matching.equations import (
    Equations,
    LinearSums,
    ResidualSums,
    TiltedSums,
    row_residuals,
    sum_residuals,
    tilt_equations,
)
from tmsm.matching.solve import Solution, solve, solve_near
from tmsm.matching.stacked import Stacked
from tmsm.models.constraints import Constraint
from tmsm.numerics.scaling import condition_number, scaled_to_unit, solve_scaled, unit_scale, whitening

__all__ = [
    "Combination",
    "LocalFrame",
    "Readings",
    "SpareTest",
    "combine",
    "independent_equations",
    "spare_combinations",
]

# Each part's own covariance is made so much larger: keeps parts that nearly depend on each other from cancelling, and
# does not depend on the coordinates or units in which a part is written.
_RIDGE = 1e-3
# An equation is left out if the ones before it explain all but this share of its variance.
_INDEPENDENT = 1e-6
# Less than this share of the variance in a direction is rounding.
_SINGULAR = 1e-13
_MAX_STEPS = 20
# In standard errors of θ₀: the last step corrects a bias, which is smaller.
_MAX_CORRECTION = 3.0
# Along every direction the slope of the rows as they are and that of tilted ones may differ by so much with streams.
_MAX_DISAGREEMENT = 0.1
# Streams are used where the error of θ₀ makes up at most this share of their mean square, as seen on so many rows.
_MAX_SHARE = 0.01
_SHARE_ROWS = 8192
# A test leaves out what so nearly depends on the rest: combinations with a smaller share of an equation's variance are
# carried by few rows and far from normal, so that the test would reject true models.
_LEAST_VARIANCE = 0.05
# What is left of a row, or group, that makes up nearly all of the spread in some combination.
_LEAST_REST = 0.1
# A test that rejects at this level is looked at again, without leverages, where so many numbers can be held.
_SECOND_LOOK = 0.01
_MAX_NUMBERS = 2**25


@dataclass(frozen=True)
class Combination:
    """What the stacked equations gave.

    Attributes
    ----------
    solution
        θ̂, the tangent and curvature of the quadratic form there.
    covariance
        Of θ̂, shape (p, p).
    influence
        θ̂ − θ ≈ the mean of influence @ e_i, shape (p, m).
    slope
        L A, shape (k, p): how the k equations that θ̂ solves change with θ.
    criterion
        f̄ᵀ Ω⁻¹ f̄ at θ̂, Ω the covariance of one row's equations.
    p_value
        Of the test that all equations hold for one θ.
    n_equations
        Number of independent ones.
    """

    solution: Solution
    covariance: FloatArray
    influence: FloatArray
    slope: FloatArray
    criterion: float
    p_value: float
    n_equations: int


class Readings(ABC):
    """What has to be known of the rows once there is an estimate: by reading them again, or from sums about a pilot."""

    @abstractmethod
    def residuals(self, equations: Equations, theta: FloatArray) -> ResidualSums:
        """The mean of e_i(θ) and its covariance."""

    @abstractmethod
    def tilted(
        self,
        equations: Equations,
        theta: FloatArray,
        mean: FloatArray,
        multiplier: FloatArray,
        metric: FloatArray,
    ) -> TiltedSums:
        """The sums of `tilt_equations`."""

    @abstractmethod
    def spread(self, n: int) -> Rows:
        """Some n rows or a few more, spread evenly."""

    @abstractmethod
    def parts(
        self, equations: Equations, theta: FloatArray, combinations: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Means of combinations (q, m) of the equations, and what is independent in them; None if that is too much."""


@final
@dataclass(frozen=True)
class _Again(Readings):
    """Rows that are read again."""

    rows: Rows
    weight_sum: float

    def residuals(self, equations: Equations, theta: FloatArray) -> ResidualSums:
        return sum_residuals(equations, self.rows, theta)

    def tilted(
        self,
        equations: Equations,
        theta: FloatArray,
        mean: FloatArray,
        multiplier: FloatArray,
        metric: FloatArray,
    ) -> TiltedSums:
        return tilt_equations(equations, self.rows, theta, mean, multiplier, metric, self.weight_sum)

    def spread(self, n: int) -> Rows:
        return self.rows.spread(n)

    def parts(
        self, equations: Equations, theta: FloatArray, combinations: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        if len(combinations) * len(self.rows) > _MAX_NUMBERS:
            return None
        return self.rows.mean_and_parts(row_residuals(equations, self.rows, theta, combinations))


def combine(spec: Stacked | WithCovariates, rows: Rows | Readings, sums: LinearSums) -> Combination:
    """Combine the equations of rows; ``sums`` are those of `sum_equations`."""
    rows = rows if isinstance(rows, Readings) else _Again(rows, sums.weight_sum)
    p, constraint = spec.n_parameters, spec.constraint
    first = solve(constraint, sums.A[:p], sums.b[:p])
    residuals = rows.residuals(spec, first.theta)
    frame = LocalFrame.at(constraint.tangent(first.theta), sums.A[:p], residuals.covariance[:p, :p])
    part = spec.part_numbers(constraint.n_free)
    stack = _Stack(spec, rows, constraint, sums, first, residuals, frame, part)
    usable = ~_uncertain(spec, rows, frame, residuals, part)
    streams = np.isin(part, [k for k, one in enumerate(spec.parts) if one.kind == "streams"])
    found, steady = stack.combined(np.flatnonzero(usable))
    if not steady and (usable & streams).any():
        # How the streams change along a direction that hardly moves them is mostly noise.
        found, _ = stack.combined(np.flatnonzero(usable & ~streams))
    return found


@dataclass(frozen=True)
class _Stack:
    """All equations with a first estimate, for `combine` to choose from; ``part`` says which part each belongs to."""

    spec: Stacked | WithCovariates
    rows: Readings
    constraint: Constraint
    sums: LinearSums
    first: Solution
    residuals: ResidualSums
    frame: LocalFrame
    part: IntArray

    def combined(self, usable: IntArray) -> tuple[Combination, bool]:
        """What the independent ones among some equations give, and whether two estimates of their slope agree."""
        spec, rows, constraint, sums, residuals = self.spec, self.rows, self.constraint, self.sums, self.residuals
        frame = self.frame
        reduction = spec.reduction(frame.tangent)
        kept = usable[independent_equations((reduction @ residuals.covariance @ reduction.T)[np.ix_(usable, usable)])]
        reduction, part = reduction[kept], self.part[kept]
        A, b = reduction @ sums.A, reduction @ sums.b

        def weigh(covariance: FloatArray) -> FloatArray:
            return _inverse(reduction @ covariance @ reduction.T, part[:, None] == part[None, :])

        effective = residuals.effective_number
        weights = weigh(residuals.covariance)
        linear = constraint.is_flat
        slope = A @ frame.spread
        start = self.first.theta
        if linear:
            # θ₀ + K φ, φ of order one: no digits are lost however nearly collinear the statistics are on these rows.
            step = np.linalg.solve(slope.T @ weights @ slope, slope.T @ weights @ (A @ start + b))
            near = start - frame.spread @ step
            solution = replace(self.first, theta=near)
        else:
            solution = solve_near(constraint, A.T @ weights @ A / effective, A.T @ weights @ b / effective, start)
            near = solution.theta
        mean = A @ near + b
        # Leverage in the space of the influences, which has as many dimensions as parameters.
        to_influence = slope.T @ weights @ reduction
        metric = to_influence.T @ np.linalg.solve(to_influence @ residuals.covariance @ to_influence.T, to_influence)
        tilted = rows.tilted(spec, near, sums.A @ near + sums.b, reduction.T @ (weights @ mean), metric)
        A_tilted, tilted_weights = reduction @ tilted.equations.A, weigh(tilted.squares)
        L = (A_tilted @ frame.spread).T @ tilted_weights
        ratio = np.linalg.svd(np.linalg.solve(L @ A_tilted @ frame.spread, L @ slope), compute_uv=False)
        correction = np.linalg.solve(L @ slope, L @ mean)
        theta = near
        if not np.linalg.norm(correction) <= _MAX_CORRECTION:
            A_tilted, tilted_weights = A, weights  # the tilt has gone astray
        elif linear:
            theta = near - frame.spread @ correction
        elif not constraint.on_border(near):
            theta = _root(constraint, near, A_tilted.T @ tilted_weights @ A, A_tilted.T @ tilted_weights @ b)
        basis = frame.carried_to(constraint.tangent(theta))
        L = (A_tilted @ basis).T @ tilted_weights
        influence = -basis @ np.linalg.solve(L @ (A @ basis), L)
        covariance = reduction @ tilted.plain @ reduction.T / sums.weight_sum**2
        spread = influence @ covariance @ influence.T
        mean = A @ theta + b
        criterion = float(mean @ solve_scaled(covariance, mean))
        # Of the quadratic form that was minimised, along the family.
        tangent = constraint.tangent(theta)
        condition = condition_number((A @ tangent).T @ weights @ (A @ tangent))
        status = f"Several weights, combined. {solution.status}".strip()
        found = Combination(
            replace(solution, theta=theta, condition=condition, status=status),
            0.5 * (spread + spread.T),
            influence @ reduction,
            L @ A,
            criterion / effective,
            _p_value(spec, rows, theta, reduction, A @ basis, covariance, mean, effective),
            len(kept),
        )
        return found, bool(ratio[0] <= 1.0 + _MAX_DISAGREEMENT and ratio[-1] >= 1.0 - _MAX_DISAGREEMENT)


@dataclass(frozen=True)
class LocalFrame:
    """Directions along the family at a first estimate, scaled by the errors of that estimate.

    Attributes
    ----------
    tangent
        Shape (p, k): along its columns the first weight's equations have unit covariance.
    spread
        K, shape (p, k): the first estimate has the covariance K Kᵀ, so θ₀ + K φ with φ of order one are the
        estimates in question.
    """

    tangent: FloatArray
    spread: FloatArray

    @classmethod
    def at(cls, tangent: FloatArray, A: FloatArray, covariance: FloatArray) -> LocalFrame:
        """From a tangent (p, k), the first weight's A (p, p) and the covariance of its mean equations (p, p)."""
        white, values = whitening(tangent.T @ covariance @ tangent)
        if not values[0] > _SINGULAR:
            raise EstimationError(
                "The rows determine fewer equations than there are parameters: use more distinct rows."
            )
        white = tangent @ white
        return cls(white, tangent @ np.linalg.inv(white.T @ A @ tangent))

    def carried_to(self, tangent: FloatArray) -> FloatArray:
        """The spread along the tangent of another point near by, shape (p, k)."""
        carried: FloatArray = tangent @ (tangent.T @ self.spread)
        return carried


def _uncertain(
    spec: Stacked | WithCovariates,
    rows: Readings,
    frame: LocalFrame,
    residuals: ResidualSums,
    part: IntArray,
) -> BoolArray:
    """Which equations' covariance is not known well enough to weigh them by, shape (m',).

    A stream's equation is proportional to θ, so its variance is taken too low where θ₀ is too small; such equations
    would pull the estimate to zero.  They are used where θ₀'s error moves them little.
    """
    found = np.zeros(len(part), dtype=bool)
    numbers = [k for k, one in enumerate(spec.parts) if one.kind == "streams"]
    if not numbers:
        return found
    streams = spec.with_parts(tuple(spec.parts[k] for k in numbers))
    some = rows.spread(_SHARE_ROWS)
    still = row_residuals(streams, some, np.zeros(spec.n_parameters))
    moved = sum(np.mean((row_residuals(streams, some, column) - still) ** 2, axis=0) for column in frame.spread.T)
    size = np.diag(residuals.squares)[np.isin(spec.part_numbers(spec.n_parameters), numbers)]
    found[np.isin(part, numbers)] = moved > _MAX_SHARE * size / residuals.weight_squares
    return found


class SpareTest(NamedTuple):
    """Hotelling's T², its degrees of freedom and the probability of a larger one where all means are zero."""

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, mean: FloatArray, covariance: FloatArray, n: float) -> SpareTest:
        """From means (q,) and the covariance that n independent rows, or groups, gave for them."""
        from scipy.special import fdtrc

        df = len(mean)
        statistic = float(mean @ np.linalg.solve(covariance, mean))
        rest = max(n - df, 1.0)
        return cls(statistic, df, float(fdtrc(df, rest, statistic * rest / (df * max(n - 1.0, 1.0)))))

    @classmethod
    def of_parts(cls, mean: FloatArray, parts: FloatArray, n: float) -> SpareTest:
        """From means (q,) and the parts (u, q) that rows, or groups, have in their errors.

        Each part as if it had not been in the covariance: few rows next to the border may carry much of it.
        """
        leverage = np.einsum("ij,ij->i", parts, np.linalg.solve(parts.T @ parts, parts.T).T)
        parts = parts / np.maximum(1.0 - leverage, _LEAST_REST)[:, None]
        return cls.of(mean, parts.T @ parts, n)


def spare_combinations(slope: FloatArray, covariance: FloatArray) -> FloatArray:
    """Combinations (q, m) of equations that do not feel an error of θ along the family, with unit covariance.

    From the slope (m, k) of the equations along it and the covariance (m, m) of their means.
    """
    scale = unit_scale(covariance)
    slope = slope * scale[:, None]
    slope = slope / np.linalg.norm(slope, axis=0)
    across = np.linalg.svd(slope.T)[2][slope.shape[1] :]
    values, vectors = np.linalg.eigh(across @ (covariance * np.outer(scale, scale)) @ across.T)
    kept = values > _LEAST_VARIANCE
    combinations: FloatArray = (vectors[:, kept] / np.sqrt(values[kept])).T @ across * scale
    return combinations


def _p_value(
    spec: Stacked | WithCovariates,
    rows: Readings,
    theta: FloatArray,
    reduction: FloatArray,
    slope: FloatArray,
    covariance: FloatArray,
    mean: FloatArray,
    n: float,
) -> float:
    """Of the test that the equations left after a reduction, with these means and covariance, hold for one θ."""
    combinations = spare_combinations(slope, covariance)
    q = len(combinations)
    if q == 0:
        return 1.0
    found = SpareTest.of(combinations @ mean, np.eye(q), n)
    if found.p_value < _SECOND_LOOK:
        parts = rows.parts(spec, theta, combinations @ reduction)
        found = found if parts is None else SpareTest.of_parts(*parts, n)
    return found.p_value


def _root(constraint: Constraint, theta: FloatArray, slope: FloatArray, offset: FloatArray) -> FloatArray:
    """θ near the given one at which Jᵀ (slope θ + offset) = 0 along the family, by Gauss–Newton."""
    point = constraint.point(theta)
    for _ in range(_MAX_STEPS):
        J = point.jacobian
        step = -solve_scaled(J.T @ slope @ J, J.T @ (slope @ point.theta + offset))
        moved = point.moved(step)
        if not (np.isfinite(moved.theta).all() and constraint.allows(moved.theta)):
            return point.theta
        done = np.linalg.norm(moved.theta - point.theta) <= 1e-10 * np.linalg.norm(moved.theta)
        point = moved
        if done:
            break
    return point.theta


def independent_equations(covariance: FloatArray) -> list[int]:
    """Which equations, in order, the ones before them do not determine."""
    correlation, _ = scaled_to_unit(covariance)
    kept: list[int] = []
    factor = np.zeros((0, 0))  # of the kept ones' correlation, lower triangular
    for j in range(len(correlation)):
        if not correlation[j, j] > 0.5:
            continue  # an equation that is zero
        row = np.linalg.solve(factor, correlation[kept, j]) if kept else np.zeros(0)
        left = correlation[j, j] - float(row @ row)
        if left > _INDEPENDENT:
            grown = np.zeros((len(kept) + 1, len(kept) + 1))
            grown[:-1, :-1], grown[-1, :-1], grown[-1, -1] = factor, row, np.sqrt(left)
            factor = grown
            kept.append(j)
    return kept


def _inverse(covariance: FloatArray, same_part: BoolArray) -> FloatArray:
    """Inverse after a thousandth was added to the blocks of equations that belong to the same part."""
    correlation, scale = scaled_to_unit(covariance)
    inverse: FloatArray = np.linalg.inv(correlation * (1.0 + _RIDGE * same_part))
    return inverse * np.outer(scale, scale)
