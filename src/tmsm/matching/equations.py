"""The estimating function in the middle: what a row contributes to an estimate.

At the truth the mean of e_i(θ) is zero, and an estimate is where the mean over the rows is.  One weight, several
stacked, a likelihood and a density that is not linear in θ are kinds of the same thing.  Where e_i = A_i θ + b_i, all
that is needed of the data are sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from tmsm.data.groups import require_groups
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray, row_squares, weighted_gram
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint
from tmsm.models.nonlinear import NonlinearModel, parameter_sizes
from tmsm.numerics.scaling import scaled_to_unit

__all__ = [
    "Equations",
    "Expansion",
    "LinearSums",
    "Passes",
    "ResidualSums",
    "Terms",
    "TiltedSums",
    "Tilting",
    "linearise",
    "residual_squares",
    "row_residuals",
    "sum_equations",
    "sum_residuals",
    "tilt_equations",
    "tilted_groups",
]

# Tilting factors stay between e^−2 and e^2.
_MAX_TILT = 2.0
# What is left of a row that determines the estimate nearly alone.
_LEAST_REST = 0.5
# Of differences in θ, as a share of its size: e itself may come from differences of a smaller step.
_STEP = 1e-4
# Eigenvalues of a metric below this share of the largest one are rounding.
_ROUNDING = 1e-13


class Terms(ABC):
    """What the rows of one block contribute to equations."""

    @abstractmethod
    def residuals(self, theta: FloatArray) -> FloatArray:
        """e_i(θ), shape (n, m)."""

    def expansion(self, theta: FloatArray, w: FloatArray | None, slope: bool) -> Expansion:
        """Sums of w times J's parts, of w e and of w ∂e/∂θ, where the equations have one; J is that of one weight."""
        raise NotImplementedError(f"{type(self).__name__} has no exact derivative by θ.")

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        """Sum of w A_i, shape (m, p), where e is linear in θ."""
        raise NotImplementedError(f"{type(self).__name__} is not linear in θ.")

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        """Sum of w b_i, shape (m,), where e is linear in θ."""
        raise NotImplementedError(f"{type(self).__name__} is not linear in θ.")


class Passes(ABC):
    """Passes over rows as a whole: what `sum_equations`, `sum_residuals` and `tilt_equations` give block by block."""

    @abstractmethod
    def linear(self) -> LinearSums | None:
        """The sums of A_i and b_i; None if no row lies inside."""

    @abstractmethod
    def residuals(self, theta: FloatArray) -> ResidualSums:
        """The sums of e_i(θ) and of its squares."""

    @abstractmethod
    def tilted(self, tilting: Tilting) -> TiltedSums:
        """The sums with and without a tilt."""


class Equations(ABC):
    """m equations for the θ of a model, which hold on average at the truth.

    Attributes
    ----------
    model
        The family, bound to its manifold.
    """

    model: Model

    @property
    @abstractmethod
    def n_equations(self) -> int:
        """Number m of equations."""

    @property
    def n_parameters(self) -> int:
        """Number of entries of what is estimated: θ, or with covariates its coefficients."""
        return self.model.size

    @property
    def constraint(self) -> Constraint:
        """The set in which that is sought."""
        return self.model.constraint

    @property
    @abstractmethod
    def is_linear(self) -> bool:
        """Whether e is linear in θ."""

    @property
    def is_combined(self) -> bool:
        """Whether there are more equations than parameters, weighed by a covariance from the same rows."""
        return False

    @property
    def uses_distance(self) -> bool:
        """Whether they hold because a weight vanishes where the distance to the border is zero."""
        return True

    @property
    def has_loops(self) -> bool:
        """Whether large blocks go through compiled loops, so that threads pay."""
        return False

    def passes(self, rows: Rows) -> Passes | None:
        """What sums all rows at once, where they lie on a graphics card that can; else they are read by blocks."""
        return None

    def has_expansion(self, theta: FloatArray) -> bool:
        """Whether `Terms` know the derivatives of their sums by θ; else they are by differences."""
        return False

    @abstractmethod
    def terms(self, block: Block) -> Terms:
        """What the rows of a block contribute."""

    def alike(self, equations: Equations) -> Equations:
        """Other equations with rows weighted as they are in these: the same where these do not weight them."""
        return equations


@dataclass(frozen=True)
class Expansion:
    """Additive sums over rows at one θ: of w, of w times J's parts, of w e (p,), and of w ∂e/∂θ (p, p) if asked for."""

    weight_sum: float
    objective: float
    total: FloatArray
    slope: FloatArray | None

    def __add__(self, other: Expansion) -> Expansion:
        slope = None if self.slope is None or other.slope is None else self.slope + other.slope
        return Expansion(
            self.weight_sum + other.weight_sum, self.objective + other.objective, self.total + other.total, slope
        )

    @property
    def mean_objective(self) -> float:
        """J(θ)."""
        return self.objective / self.weight_sum

    @property
    def mean(self) -> FloatArray:
        """The mean of e, half the slope of J, shape (p,)."""
        return self.total / self.weight_sum

    @property
    def mean_slope(self) -> FloatArray:
        """Its derivative by θ, shape (p, p)."""
        assert self.slope is not None, "it was asked for"
        return self.slope / self.weight_sum


@dataclass(frozen=True)
class LinearSums:
    """Additive sums over rows: number, w, w², w A_i (m, p), w b_i (m,), and the largest distance to the border."""

    n: int
    weight_sum: float
    weight_squares: float
    A_sum: FloatArray
    b_sum: FloatArray
    farthest: float

    @classmethod
    def of(cls, terms: Terms, block: Block, w: FloatArray | None) -> LinearSums:
        """Of one block, with weights w."""
        n = len(block.X)
        weight_sum, squares = (float(n), float(n)) if w is None else (float(w.sum()), float(w @ w))
        return cls(n, weight_sum, squares, terms.A_sum(w), terms.b_sum(w), block.farthest)

    def __add__(self, other: LinearSums) -> LinearSums:
        return LinearSums(
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.A_sum + other.A_sum,
            self.b_sum + other.b_sum,
            max(self.farthest, other.farthest),
        )

    @property
    def A(self) -> FloatArray:
        """Mean of A_i, with a column for each statistic."""
        return self.A_sum / self.weight_sum

    @property
    def b(self) -> FloatArray:
        """Mean of b_i."""
        return self.b_sum / self.weight_sum

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw², the number of equally weighted rows that are worth as much."""
        return self.weight_sum**2 / self.weight_squares

    def objective(self, theta: FloatArray) -> float:
        """J(θ) = θᵀAθ + 2bᵀθ, without its constant, of one weight.

        Parameters
        ----------
        theta
            Natural parameters, shape (p,).
        """
        return float(theta @ self.A @ theta + 2.0 * self.b @ theta)


@dataclass(frozen=True)
class ResidualSums:
    """Sums over rows of w, w², w e, w² e and w² e eᵀ.

    Of rows in groups also those of w e and w over each group, shape (G, m + 1).
    """

    weight_sum: float
    weight_squares: float
    total: FloatArray
    squares_total: FloatArray
    squares: FloatArray
    by_group: FloatArray | None = None

    @classmethod
    def of(cls, e: FloatArray, w: FloatArray | None) -> ResidualSums:
        """The sums of some rows, e of shape (n, m)."""
        if w is None:
            total = e.sum(axis=0)
            return cls(float(len(e)), float(len(e)), total, total, weighted_gram(e, None))
        return cls(float(w.sum()), float(w @ w), w @ e, w**2 @ e, weighted_gram(e, w**2))

    def __add__(self, other: ResidualSums) -> ResidualSums:
        return ResidualSums(
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.total + other.total,
            self.squares_total + other.squares_total,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of e, shape (m,)."""
        return self.total / self.weight_sum

    @property
    def covariance(self) -> FloatArray:
        """Covariance of that mean, Σ w² (e − ē)(e − ē)ᵀ / (Σw)², shape (m, m); of groups with their sums for e."""
        mean = self.mean
        if self.by_group is not None:
            count = int(np.count_nonzero(self.by_group[:, -1]))
            require_groups(count)
            return weighted_gram(self.group_parts, None) * (count / (count - 1.0)) / self.weight_sum**2
        cross = np.outer(mean, self.squares_total)
        spread: FloatArray = self.squares - cross - cross.T + self.weight_squares * np.outer(mean, mean)
        return spread / self.weight_sum**2

    @property
    def group_parts(self) -> FloatArray:
        """Σ w (e − ē) over the rows of each group, shape (G, m)."""
        assert self.by_group is not None, "the rows come in groups"
        parts: FloatArray = self.by_group[:, :-1] - np.outer(self.by_group[:, -1], self.mean)
        return parts

    @property
    def effective_number(self) -> float:
        """(Σw)²/Σw², of groups with their sums for w."""
        squares = self.weight_squares if self.by_group is None else float(self.by_group[:, -1] @ self.by_group[:, -1])
        return self.weight_sum**2 / squares


@dataclass(frozen=True)
class TiltedSums:
    """Sums over rows with and without a tilt π that makes the equations hold.

    ``plain`` is Σ w² (e − ē)(e − ē)ᵀ / (1 − h)², with each row's leverage h taken out; ``squares`` is Σ w²π e eᵀ, and
    ``equations`` are those with weights wπ.
    """

    plain: FloatArray
    squares: FloatArray
    equations: LinearSums

    def __add__(self, other: TiltedSums) -> TiltedSums:
        return TiltedSums(self.plain + other.plain, self.squares + other.squares, self.equations + other.equations)


def sum_equations(equations: Equations, rows: Rows) -> LinearSums | None:
    """One pass: the means of A_i and b_i; None if no row lies inside."""
    if (passes := equations.passes(rows)) is not None:
        return passes.linear()
    return rows.total(
        lambda block: LinearSums.of(equations.terms(block), block, block.sample_weight), threaded=equations.has_loops
    )


def sum_residuals(equations: Equations, rows: Rows, theta: FloatArray) -> ResidualSums:
    """One pass: the mean of e_i(θ) and its covariance."""
    if (passes := equations.passes(rows)) is not None:
        return passes.residuals(theta)

    def block_sums(block: Block) -> ResidualSums:
        return ResidualSums.of(equations.terms(block).residuals(theta), block.sample_weight)

    def with_groups(block: Block) -> tuple[ResidualSums, FloatArray]:
        e, w = equations.terms(block).residuals(theta), block.weights()
        return ResidualSums.of(e, block.sample_weight), np.column_stack([e * w[:, None], w])

    if rows.groups is None:
        sums, by_group = rows.total(block_sums, threaded=equations.has_loops), None
    else:
        sums, by_group = rows.grouped_total(with_groups, threaded=equations.has_loops)
    assert sums is not None, "there are rows inside"
    return replace(sums, by_group=by_group)


def residual_squares(equations: Equations, rows: Rows, theta: FloatArray) -> FloatArray:
    """Σ w² e eᵀ over the rows: the second pass of a single weight, shape (m, m)."""

    def block_squares(block: Block) -> FloatArray:
        weight = None if block.sample_weight is None else block.sample_weight**2
        return weighted_gram(equations.terms(block).residuals(theta), weight)

    squares = rows.total(block_squares)
    assert squares is not None, "there are rows inside"
    return squares


def row_residuals(
    equations: Equations, rows: Rows, theta: FloatArray, combinations: FloatArray | None = None
) -> FloatArray:
    """e_i(θ) of every row inside the region, shape (n, m), or combinations (q, m) of them, shape (n, q).

    For tables that are short.
    """

    def block_residuals(block: Block) -> FloatArray:
        e = equations.terms(block).residuals(theta)
        return e if combinations is None else e @ combinations.T

    return np.concatenate(list(rows.map(block_residuals)))


def linearise(equations: Equations, rows: Rows, theta: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A (m, p) and b (m,) with the mean of e near θ; exact and the same everywhere where e is linear.

    None if no row lies inside.
    """
    if equations.is_linear:
        sums = sum_equations(equations, rows)
        return None if sums is None else (sums.A, sums.b)
    if equations.has_expansion(theta):
        found = rows.total(lambda block: equations.terms(block).expansion(theta, block.sample_weight, True))
        return None if found is None else (found.mean_slope, found.mean - found.mean_slope @ theta)

    def mean(at: FloatArray) -> FloatArray | None:
        def block_sums(block: Block) -> FloatArray:
            e, w = equations.terms(block).residuals(at), block.sample_weight
            return np.append(e.sum(axis=0), len(e)) if w is None else np.append(w @ e, w.sum())

        sums = rows.total(block_sums)
        return None if sums is None else sums[:-1] / sums[-1]

    here = mean(theta)
    if here is None:
        return None
    model = equations.model
    sizes = model.parameter_sizes(theta) if isinstance(model, NonlinearModel) else parameter_sizes(theta)
    columns = []
    for h, unit in zip((_STEP * sizes).tolist(), np.eye(theta.size), strict=True):
        ahead, behind = mean(theta + h * unit), mean(theta - h * unit)
        assert ahead is not None and behind is not None
        columns.append((ahead - behind) / (2.0 * h))
    A = np.stack(columns, axis=1)
    return A, here - A @ theta


def tilt_equations(
    equations: Equations,
    rows: Rows,
    theta: FloatArray,
    mean: FloatArray,
    multiplier: FloatArray,
    metric: FloatArray,
    weight_sum: float,
) -> TiltedSums:
    """One pass with each row's weight multiplied by exp(−λ·(e_i − ē) w_i / Σw), which pulls the mean of e to zero.

    Sums with such weights are, to the order that matters, not correlated with the mean of e: an estimate that
    uses them has no bias from its number of equations (Newey and Smith 2004).  A row's leverage on the estimate is
    (e_i − ē)ᵀ M (e_i − ē) w_i² / (Σw)², with a metric M of shape (m, m).  Rows in groups are tilted group by group,
    with sums over the group for w_i e_i.
    """
    if rows.groups is not None:
        return _tilt_groups(equations, rows, theta, multiplier, metric)

    tilting = Tilting(theta, mean, multiplier, _root_of(metric), weight_sum)
    if (passes := equations.passes(rows)) is not None:
        return passes.tilted(tilting)
    sums = rows.total(lambda block: tilting.of_block(equations.terms(block), block), threaded=equations.has_loops)
    assert sums is not None, "there are rows inside"
    return sums


@dataclass(frozen=True)
class Tilting:
    """The tilt of rows that stand alone, at θ: ē, λ, a root R (k, m) of the metric, and the sum of all weights."""

    theta: FloatArray
    mean: FloatArray
    multiplier: FloatArray
    root: FloatArray
    weight_sum: float

    @property
    def numbers(self) -> FloatArray:
        """The sum of all weights, the logarithm of the largest tilt, and the least that is left of a row."""
        return np.array([self.weight_sum, _MAX_TILT, _LEAST_REST])

    def of_block(self, terms: Terms, block: Block) -> TiltedSums:
        """The sums of one block."""
        e = terms.residuals(self.theta)
        w = block.weights()
        away = e - self.mean
        share = w / self.weight_sum
        tilt = np.exp(np.clip(-share * (away @ self.multiplier), -_MAX_TILT, _MAX_TILT))
        leverage = share**2 * row_squares(away @ self.root.T)
        # Rows times the roots of their weights: of a matrix with itself BLAS computes one half alone.
        away *= (w / np.maximum(1.0 - leverage, _LEAST_REST))[:, None]
        e *= (w * np.sqrt(tilt))[:, None]
        return TiltedSums(weighted_gram(away, None), weighted_gram(e, None), LinearSums.of(terms, block, w * tilt))


def _root_of(metric: FloatArray) -> FloatArray:
    """R, shape (k, m), with M = RᵀR, for a metric M of the rank k."""
    unit, scale = scaled_to_unit(metric)  # equations have units of their own
    values, vectors = np.linalg.eigh(unit)
    kept = values > _ROUNDING * values[-1]
    back = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)  # those left out have no part in it
    root: FloatArray = np.sqrt(values[kept])[:, None] * vectors[:, kept].T * back
    return root


def tilted_groups(
    residuals: ResidualSums, multiplier: FloatArray, metric: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tilt of each group (G,), and of sums over groups those that `TiltedSums` has as plain and as squares."""
    assert residuals.by_group is not None
    parts, W = residuals.group_parts, residuals.weight_sum
    tilt = np.exp(np.clip(-(parts @ multiplier) / W, -_MAX_TILT, _MAX_TILT))
    leverage = row_squares(parts @ _root_of(metric).T) / W**2
    plain = weighted_gram(parts, np.maximum(1.0 - leverage, _LEAST_REST) ** -2.0)
    return tilt, plain, weighted_gram(residuals.by_group[:, :-1], tilt)


def _tilt_groups(
    equations: Equations, rows: Rows, theta: FloatArray, multiplier: FloatArray, metric: FloatArray
) -> TiltedSums:
    tilt, plain, squares = tilted_groups(sum_residuals(equations, rows, theta), multiplier, metric)

    def block_sums(block: Block) -> LinearSums:
        return LinearSums.of(equations.terms(block), block, block.weights() * tilt[block.groups])

    sums = rows.total(block_sums)
    assert sums is not None
    return TiltedSums(plain, squares, sums)
