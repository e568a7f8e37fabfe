"""Equations that a few bad rows cannot pull away (Windham 1995): each row is weighted by f(x; θ)^c.

Weighted so, rows with the density e f have the density e f^(1+c), up to a constant, where e is the exposure: for an
exponential family the same family at (1 + c) θ.  So

    mean w_i(θ) e_i((1 + c) θ) = 0,   w_i = exp(c θ·t(x_i)),

holds at the truth on every region, e_i(θ) = A_i θ + b_i those of a weight that vanishes on its border.  Given weights,
the best θ of any set is the minimum of θᵀ (1 + c)A_w θ + 2 b_wᵀ θ over this very set: a curved family, or one with
known parameters, needs no other set for (1 + c) θ, such as that of the covariance Σ/(1 + c) for a known Σ.  The slope
of the mean is

    mean w_i [(1 + c) A_i + c e_i t_iᵀ],

which is that of w_i A_i where the model holds: E[w e tᵀ] = −E[w A] by parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.matching.equations import Equations, Expansion, LinearSums, Terms, sum_equations
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.solve import Solution, solve, solve_near
from tmsm.models.base import LinearModel, Model
from tmsm.numerics.scaling import condition_number, solve_scaled

__all__ = ["Robust", "RobustRoot", "densest_half", "find_root", "half_fit"]

# A row has nearly no weight below this share of the mean weight.
_NEARLY_NONE = 0.05
# Weights of rows that are far denser than the reference stay finite.
_MAX_EXPONENT = 100.0
# The weights are computed again so often; from the second half on, steps are halved.
_MAX_ROUNDS = 120
# On a curved set the minimum is sought everywhere in the first rounds, then next to the last one.
_WIDE_ROUNDS = 3
# A step of this share of θ, in the metric of A, ends the rounds; Newton's method has the last digits.
_CLOSE, _CLOSER = 1e-7, 1e-12
_MAX_STEPS = 30
# Roots are the same if they differ by less than this share: those of two clusters differ by about one.
_SAME = 0.02
# The densest half is sought round so many of the rows, as so many of them see it.
_CENTRES, _SEEN = 128, 512


@final
@dataclass(frozen=True, eq=False)
class Robust(Equations):
    """Linear equations with each row weighted by a power of the density.

    Attributes
    ----------
    inner
        The equations e_i of rows without such weights: of one weight, or several stacked.
    power
        c, the power of the density.
    reference
        A point, shape (D,): weights are powers of f(x)/f(reference), times exp(−log_scale).
    log_scale
        Logarithm of what makes the mean weight one.
    """

    inner: Equations
    power: float
    reference: FloatArray
    log_scale: float = 0.0

    @classmethod
    def about(cls, inner: Equations, power: float, rows: Rows, theta: FloatArray) -> Robust:
        """With the densest row for a reference and weights that have the mean one over rows at θ."""
        X, weight = rows.sample().X, rows.sample().weight
        values = inner.model.log_kernel(X, theta)
        best = int(np.argmax(values))
        w = np.exp(power * (values - values[best]))
        return cls(inner, power, X[best].copy(), float(np.log(np.average(w, weights=weight))))

    @property
    def model(self) -> Model:  # type: ignore[override]
        """The family, bound to its manifold."""
        return self.inner.model

    @property
    def n_equations(self) -> int:
        return self.inner.n_equations

    @property
    def is_linear(self) -> bool:
        return False

    @property
    def is_combined(self) -> bool:
        return self.inner.is_combined

    @property
    def uses_distance(self) -> bool:
        return self.inner.uses_distance

    def has_expansion(self, theta: FloatArray) -> bool:
        return True

    def alike(self, equations: Equations) -> Robust:
        return replace(self, inner=equations)

    def row_weights(self, X: FloatArray, theta: FloatArray) -> FloatArray:
        """w_i at θ, shape (n,)."""
        values = self.model.log_kernel(X, theta)
        values = values - self.model.log_kernel(self.reference[None, :], theta)[0]
        weights: FloatArray = np.exp(np.minimum(self.power * values - self.log_scale, _MAX_EXPONENT))
        return weights

    def leaves_out(self, X: FloatArray, theta: FloatArray) -> BoolArray:
        """Which rows have nearly no weight at θ, shape (n,)."""
        out: BoolArray = self.row_weights(X, theta) < _NEARLY_NONE
        return out

    def terms(self, block: Block) -> RobustTerms:
        return RobustTerms(self, block)


class RobustTerms(Terms):
    """One block."""

    def __init__(self, equations: Robust, block: Block) -> None:
        self.equations, self.X = equations, block.X
        self.inner = equations.inner.terms(block)

    def residuals(self, theta: FloatArray) -> FloatArray:
        """w_i(θ) e_i((1 + c) θ)."""
        w = self.equations.row_weights(self.X, theta)
        e: FloatArray = self.inner.residuals((1.0 + self.equations.power) * theta) * w[:, None]
        return e

    def expansion(self, theta: FloatArray, w: FloatArray | None, slope: bool) -> Expansion:
        """Sums of w e, and of its derivatives by θ where they are asked for; there is no objective of these."""
        c, model = self.equations.power, _linear(self.equations.model)
        own = np.ones(len(self.X)) if w is None else w
        weight = own * self.equations.row_weights(self.X, theta)
        e = self.inner.residuals((1.0 + c) * theta) * weight[:, None]
        derivative = None
        if slope:
            t = model.statistics(self.X) - model.statistics(self.equations.reference[None, :])
            derivative = (1.0 + c) * self.inner.A_sum(weight) + c * (e.T @ t)
        return Expansion(float(own.sum()), float("nan"), e.sum(axis=0), derivative)


@dataclass(frozen=True)
class _Sums:
    """Sums over rows with weights w: those of A and b, of w (t − t₀) and of w e (t − t₀)ᵀ; ``plain`` of w alone."""

    linear: LinearSums
    statistics: FloatArray
    cross: FloatArray
    plain: float

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.linear + other.linear,
            self.statistics + other.statistics,
            self.cross + other.cross,
            self.plain + other.plain,
        )

    def equations(self, c: float, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of e((1 + c) θ) with weights of sum one, shape (p,), and its derivative by θ, shape (p, p)."""
        A, total = self.linear.A, self.linear.weight_sum
        mean = (1.0 + c) * (A @ theta) + self.linear.b
        return mean, (1.0 + c) * A + c * (self.cross - np.outer(mean, self.statistics)) / total


@dataclass(frozen=True)
class RobustRoot:
    """Where the weighted equations hold.

    Attributes
    ----------
    solution
        θ̂ with the tangent and the slope of the equations along it.
    equations
        The equations that it solves.
    slope
        Of their mean, shape (p, p).
    objective
        J of the weighted rows at (1 + c) θ̂.
    n, weight_sum
        Number of rows and sum of their sample weights.
    effective
        (Σw)²/Σw², of the products of both weights: as many equally weighted rows are worth as much.
    """

    solution: Solution
    equations: Robust
    slope: FloatArray
    objective: float
    n: int
    weight_sum: float
    effective: float

    @property
    def theta(self) -> FloatArray:
        """θ̂, shape (p,)."""
        return self.solution.theta


@dataclass(frozen=True)
class _Search:
    """The equations of one weight and a power of the density, to be solved over the set of the model."""

    inner: OneWeight
    power: float

    @property
    def model(self) -> LinearModel:
        """The family."""
        return _linear(self.inner.model)

    def sums(self, rows: Rows, theta: FloatArray) -> LinearSums:
        """One pass: A and b of rows with the weights of θ, relative to the densest row of a sample."""
        level = float(self.model.log_kernel(rows.sample().X, theta).max())

        def block_sums(block: Block) -> LinearSums:
            return LinearSums.of(self.inner.terms(block), block, self._weights(block, theta, level))

        sums = rows.total(block_sums)
        assert sums is not None, "there are rows inside"
        return sums

    def all_sums(self, rows: Rows, theta: FloatArray, reference: FloatArray) -> _Sums:
        """The same with all that the slope needs; statistics are relative to those of a point (D,)."""
        level = float(self.model.log_kernel(reference[None, :], theta)[0])
        origin = self.model.statistics(reference[None, :])

        def block_sums(block: Block) -> _Sums:
            terms, w = self.inner.terms(block), self._weights(block, theta, level)
            t = self.model.statistics(block.X) - origin
            e = terms.residuals((1.0 + self.power) * theta) * w[:, None]
            plain = float(len(w)) if block.sample_weight is None else float(block.sample_weight.sum())
            return _Sums(LinearSums.of(terms, block, w), w @ t, e.T @ t, plain)

        sums = rows.total(block_sums)
        assert sums is not None, "there are rows inside"
        return sums

    def _weights(self, block: Block, theta: FloatArray, level: float) -> FloatArray:
        values = self.model.log_kernel(block.X, theta) - level
        w: FloatArray = np.exp(np.minimum(self.power * values, _MAX_EXPONENT))
        return w if block.sample_weight is None else w * block.sample_weight

    def rounds(self, rows: Rows, theta: FloatArray) -> FloatArray:
        """Weights from θ, the best θ with these weights, and so on until it stays."""
        constraint, c = self.model.constraint, self.power
        for k in range(_MAX_ROUNDS):
            sums = self.sums(rows, theta)
            A, b = (1.0 + c) * sums.A, sums.b
            if not sums.effective_n > constraint.n_free + 1.0:
                raise EstimationError("The weights leave a few rows only.")
            found = solve(constraint, A, b) if k < _WIDE_ROUNDS else solve_near(constraint, A, b, theta)
            new = found.theta
            if 2 * k > _MAX_ROUNDS:
                new = constraint.point(0.5 * (theta + new)).theta
            if _distance(new, theta, A) <= _CLOSE:
                return new
            theta = new
        raise EstimationError("The weights of the rows did not settle.")

    def polished(self, rows: Rows, theta: FloatArray) -> tuple[FloatArray, FloatArray, _Sums]:
        """θ to the last digits by Newton's method, and the reference and sums there."""
        constraint = self.model.constraint
        X = rows.sample().X
        reference = X[int(np.argmax(self.model.log_kernel(X, theta)))].copy()
        sums = self.all_sums(rows, theta, reference)
        if constraint.on_border(theta):
            for _ in range(_MAX_STEPS):
                new = solve_near(constraint, (1.0 + self.power) * sums.linear.A, sums.linear.b, theta).theta
                done = _distance(new, theta, sums.linear.A) <= _CLOSER
                theta, sums = new, self.all_sums(rows, new, reference)
                if done:
                    break
            return theta, reference, sums
        size, step = self._step(theta, sums)
        for _ in range(_MAX_STEPS):
            if size <= _CLOSER:
                break
            new = constraint.point(theta).moved(step).theta
            if not constraint.allows(new):
                break
            new_sums = self.all_sums(rows, new, reference)
            new_size, new_step = self._step(new, new_sums)
            if not new_size < size:
                break  # rounding, or not next to a root
            theta, sums, size, step = new, new_sums, new_size, new_step
        if not size <= _CLOSE:
            raise EstimationError("The robust equations were not solved: the rows hardly determine their slope.")
        return theta, reference, sums

    def _step(self, theta: FloatArray, sums: _Sums) -> tuple[float, FloatArray]:
        """Newton's step in local coordinates, and its size as a share of θ."""
        mean, slope = sums.equations(self.power, theta)
        point = self.model.constraint.point(theta)
        J = point.jacobian
        step = -solve_scaled(J.T @ slope @ J + point.bend(mean), J.T @ mean)
        return _distance(theta + J @ step, theta, sums.linear.A), step

    def root(self, rows: Rows, kept: Rows, theta: FloatArray) -> RobustRoot:
        """The root next to θ."""
        theta, reference, sums = self.polished(rows, theta)
        constraint, c = self.model.constraint, self.power
        mean, slope = sums.equations(c, theta)
        on_border = constraint.on_border(theta)
        point = constraint.point(theta)
        J = point.jacobian
        along = J.T @ slope @ J
        if not on_border:
            along = along + point.bend(mean)
        equations = Robust.about(self.inner, c, kept, theta)
        # The mean weight of all rows, in the scale of the equations.
        change = self.model.log_kernel(np.stack([reference, equations.reference]), theta)
        scale = np.exp(c * (change[0] - change[1]) - equations.log_scale) * sums.linear.weight_sum / sums.plain
        condition = condition_number(J.T @ sums.linear.A @ J)
        inner = (1.0 + c) * theta
        return RobustRoot(
            Solution(theta, J, along * scale, condition, constraint.describe(theta, on_border)),
            equations,
            slope * scale,
            float(inner @ sums.linear.A @ inner + 2.0 * sums.linear.b @ inner),
            sums.linear.n,
            sums.plain,
            sums.linear.effective_n,
        )


def find_root(
    inner: OneWeight, rows: Rows, kept: Rows, power: float, starts: Sequence[FloatArray]
) -> tuple[RobustRoot, list[RobustRoot]]:
    """The root that the first start leads to which leads to one, and the others that differ from it.

    Of a long table the ``kept`` rows show where the roots are.
    """
    search = _Search(inner, power)
    found: list[FloatArray] = []
    reasons = []
    for start in starts:
        try:
            theta = search.rounds(kept, start)
        except (EstimationError, np.linalg.LinAlgError) as error:
            reasons.append(str(error))
            continue
        A = search.sums(kept, theta).A
        if not any(_distance(theta, other, A) <= _SAME for other in found):
            found.append(theta)
    roots = []
    for theta in found:
        try:
            roots.append(search.root(rows, kept, theta))
        except (EstimationError, np.linalg.LinAlgError) as error:
            reasons.append(str(error))
    if not roots:
        why = f" {reasons[0]}" if reasons else ""
        raise EstimationError(
            f"No robust fit was found with c = {power:g}: the rows in the dense part do not determine every parameter. "
            f"Use a smaller c, or more rows.{why}"
        )
    return roots[0], roots[1:]


def densest_half(rows: Rows) -> BoolArray:
    """Which rows of the sample lie in the smallest ball round one of them that holds half of the weight, shape (n,).

    Factors of a product and columns in flat space are brought to one scale by their medians.
    """
    sample = rows.sample()
    X, weight = sample.X, np.ones(len(sample)) if sample.weight is None else sample.weight
    centres = X[:: -(-len(X) // _CENTRES)]
    seen = slice(None, None, -(-len(X) // _SEEN))
    manifold = rows.region.manifold
    lengths = _lengths(manifold, X)
    distance = _distances(manifold, centres, X[seen], lengths)
    order = np.argsort(distance, axis=1)
    shares = np.cumsum(weight[seen][order], axis=1)
    half = (shares < 0.5 * shares[:, -1:]).sum(axis=1)
    radius = np.take_along_axis(distance, np.take_along_axis(order, half[:, None], axis=1), axis=1)[:, 0]
    best = int(np.argmin(radius))
    inside: BoolArray = _distances(manifold, centres[best : best + 1], X, lengths)[0] <= radius[best]
    return inside


def half_fit(inner: OneWeight, rows: Rows) -> FloatArray | None:
    """θ of the densest half of the rows alone, from which to begin; None where it determines none."""
    sample = rows.sample()
    inside = densest_half(rows)
    weight = None if sample.weight is None else sample.weight[inside]
    try:
        sums = sum_equations(inner, Rows.of(sample.X[inside], rows.region, weight, "drop"))
        return None if sums is None else solve(inner.model.constraint, sums.A, sums.b).theta
    except (EstimationError, np.linalg.LinAlgError):
        return None


def _lengths(manifold: Manifold, X: FloatArray) -> list[FloatArray | float]:
    """What to measure each factor by: the spread of each column in flat space, else the distance to some row."""
    found: list[FloatArray | float] = []
    for factor, own in zip(manifold.factors, manifold.columns, strict=True):
        part = X[:, own]
        if factor.is_flat:
            spread = np.median(np.abs(part - np.median(part, axis=0)), axis=0)
            found.append(np.where(spread > 0.0, spread, 1.0))
        else:
            middle = np.broadcast_to(part[len(part) // 2], part.shape)
            found.append(float(np.median(_apart(factor, part, middle))) or 1.0)
    return found


def _distances(
    manifold: Manifold, centres: FloatArray, X: FloatArray, lengths: Sequence[FloatArray | float]
) -> FloatArray:
    """Squared distances between all pairs, shape (m, n)."""
    total = np.zeros((len(centres), len(X)))
    for factor, own, length in zip(manifold.factors, manifold.columns, lengths, strict=True):
        a, b = centres[:, own], X[:, own]
        if factor.is_flat:
            away = (a[:, None, :] - b[None, :, :]) / length
            total += (away**2).sum(axis=2)
        else:
            pairs = _apart(factor, np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1)))
            total += (pairs.reshape(total.shape) / length) ** 2
    return total


def _apart(manifold: Manifold, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Distances between matching rows, straight ones where the manifold knows no others, shape (n,)."""
    try:
        return manifold.geodesic_distance(X, Y)
    except (InvalidInputError, NotImplementedError):
        return np.asarray(np.linalg.norm(X - Y, axis=1))


def _distance(one: FloatArray, other: FloatArray, A: FloatArray) -> float:
    """√(δᵀAδ) of the difference as a share of the larger one's: the same in all units."""
    away = one - other
    size = max(float(one @ A @ one), float(other @ A @ other), 1e-300)
    return float(np.sqrt(max(float(away @ A @ away), 0.0) / size))


def _linear(model: Model) -> LinearModel:
    assert isinstance(model, LinearModel), "powers of other densities are none of the family"
    return model
