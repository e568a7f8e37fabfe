"""Data become (A, b): the one pass over the rows.

    A = mean ⟨∇t, W ∇t⟩
    b = mean [ ⟨W, Hess t⟩ + ⟨div W + W ∇log e, ∇t⟩ ]

Everything here is a sum over rows, so two parts of a data set are added.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray, row_dots, weighted_gram
from tmsm.errors import InvalidInputError
from tmsm.manifolds import Euclidean, Manifold
from tmsm.models.base import Model
from tmsm.rows import Block, Rows
from tmsm.validation import as_float_array, count_rows
from tmsm.weights import Weight

__all__ = [
    "MAX_FEATURE_STATISTICS",
    "BlockTerms",
    "Features",
    "LinearSums",
    "LogExposure",
    "MomentSpec",
    "Moments",
    "StatisticSums",
    "accumulate",
    "check_exposure",
    "exposure_terms",
    "exposure_values",
    "residual_squares",
    "row_residuals",
    "sum_statistics",
]

LogExposure = Callable[[FloatArray], tuple[ArrayLike, ArrayLike]]

# The second moments of (A_i, b_i) have about p⁴/4 entries: 53,000 at p = 20, 5 million at p = 65.
MAX_FEATURE_STATISTICS = 20

# A known exposure is tried at so many rows, of which no larger share may disagree.
_TRIED_ROWS, _TOLERATED_SHARE = 32, 0.1
# Two derivatives disagree if they differ by this share of the larger, and by this much over the extent of the rows.
_CLEAR_SHARE, _CLEAR_CHANGE = 0.05, 1e-3


@dataclass(frozen=True)
class MomentSpec:
    """What turns a row into its A_i and b_i: model, resolved weight and known exposure."""

    model: Model
    weight: Weight
    log_exposure: LogExposure | None = None


@dataclass(frozen=True)
class Features:
    """Second moments of (A_i, r_i), r_i = A_i θ₀ + b_i: what errors need without a second pass.

    The residual at another θ is A_i (θ − θ₀) + r_i; with θ₀ close to the estimate no digits cancel.
    """

    reference: FloatArray
    squares: FloatArray

    def residual_squares(self, theta: FloatArray) -> FloatArray:
        """Σ w² e eᵀ with e_i = A_i θ + b_i, shape (p, p)."""
        p = theta.size
        change = theta - self.reference
        i, j = np.triu_indices(p)
        # e = L f: row i of A_i (θ − θ₀) collects the upper-triangle entries (i, j) and (j, i).
        L = np.zeros((p, i.size + p))
        k = np.arange(i.size)
        L[i, k] += change[j]
        off = i != j
        L[j[off], k[off]] += change[i[off]]
        L[:, i.size :] = np.eye(p)
        return L @ self.squares @ L.T


class LinearSums(ABC):
    """Weighted sums over rows of A_i and b_i, the parts of equations A θ + b = 0."""

    weight_sum: float
    A_sum: FloatArray
    b_sum: FloatArray

    @property
    def A(self) -> FloatArray:
        """Mean of A_i, with a column for each statistic."""
        return self.A_sum / self.weight_sum

    @property
    def b(self) -> FloatArray:
        """Mean of b_i."""
        return self.b_sum / self.weight_sum


@dataclass(frozen=True)
class Moments(LinearSums):
    """Additive sums over rows; A and b are their means.

    Attributes
    ----------
    spec
        What they are moments of; only moments of the same can be added.
    n
        Number of rows.
    weight_sum
        Sum of the sample weights (n without weights).
    A_sum, b_sum
        Weighted sums of A_i (p, p) and b_i (p,).
    farthest
        Largest distance of a row to the border.
    weight_squares
        Sum of the squares of the sample weights (n without weights).
    features
        Second moments for the errors of a stream; None where they were not asked for.
    """

    spec: MomentSpec
    n: int
    weight_sum: float
    A_sum: FloatArray
    b_sum: FloatArray
    farthest: float
    weight_squares: float
    features: Features | None = None

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw², the number of equally weighted rows that are worth as much."""
        return self.weight_sum**2 / self.weight_squares

    def objective(self, theta: FloatArray) -> float:
        """J(θ) = θᵀAθ + 2bᵀθ, without its constant."""
        return float(theta @ self.A @ theta + 2.0 * self.b @ theta)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.spec is not other.spec and self.spec != other.spec:
            raise InvalidInputError(
                "Moments of different models, weights or exposures cannot be added. "
                "Fix the scale of the weight (weight=fit.weight_), or use partial_fit."
            )
        features = None
        if self.features is not None and other.features is not None:
            if not np.array_equal(self.features.reference, other.features.reference):
                raise InvalidInputError("Features about different references cannot be added.")
            features = Features(self.features.reference, self.features.squares + other.features.squares)
        return Moments(
            self.spec,
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.A_sum + other.A_sum,
            self.b_sum + other.b_sum,
            max(self.farthest, other.farthest),
            self.weight_squares + other.weight_squares,
            features,
        )


@dataclass(frozen=True)
class StatisticSums:
    """Sums over rows of w, w² and w t: all that a likelihood needs from the data."""

    n: int
    weight_sum: float
    weight_squares: float
    total: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The weighted mean of t, shape (p,)."""
        return self.total / self.weight_sum

    @property
    def effective_n(self) -> float:
        """(Σw)²/Σw², the number of equally weighted rows that are worth as much."""
        return self.weight_sum**2 / self.weight_squares

    def __add__(self, other: StatisticSums) -> StatisticSums:
        if not isinstance(other, StatisticSums):
            return NotImplemented
        return StatisticSums(
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.total + other.total,
        )


def sum_statistics(model: Model, rows: Rows) -> StatisticSums | None:
    """Sum the statistics of all rows inside the region; None if there are none."""

    def block_sums(block: Block) -> StatisticSums:
        t, w = model.statistics(block.X), block.sample_weight
        if w is None:
            return StatisticSums(len(t), float(len(t)), float(len(t)), t.sum(axis=0))
        return StatisticSums(len(t), float(w.sum()), float(w @ w), w @ t)

    return rows.total(block_sums)


def accumulate(spec: MomentSpec, rows: Rows, *, reference: FloatArray | None = None) -> Moments | None:
    """Sum the moments of all rows inside the region; None if there are none.

    With a ``reference`` θ₀, shape (p,), also the features about it.
    """
    return rows.total(lambda block: BlockTerms(spec, block).moments(reference))


def residual_squares(spec: MomentSpec, rows: Rows, theta: FloatArray) -> FloatArray:
    """Σ w² e eᵀ over the rows, e_i = A_i θ + b_i: the second pass, shape (p, p)."""

    def block_squares(block: Block) -> FloatArray:
        weight = None if block.sample_weight is None else block.sample_weight**2
        return weighted_gram(BlockTerms(spec, block).residuals(theta), weight)

    squares = rows.total(block_squares)
    assert squares is not None, "there are rows inside"
    return squares


def row_residuals(spec: MomentSpec, rows: Rows, theta: FloatArray) -> FloatArray:
    """e_i = A_i θ + b_i of every row inside the region, shape (n, p): for tables that are short."""
    return np.concatenate(list(rows.map(lambda block: BlockTerms(spec, block).residuals(theta))))


class BlockTerms:
    """One block with its weight field, ready to be contracted with the model's derivatives."""

    def __init__(self, spec: MomentSpec, block: Block) -> None:
        self.spec = spec
        self.model = spec.model
        self.farthest = block.farthest
        self.X = block.X
        self.w = block.sample_weight
        self.field = spec.weight.field(block.view)
        # W ∇log e, the part of the flux that the known exposure adds.
        self.known_flux: FloatArray | None = None
        if spec.log_exposure is not None:
            _, gradient = exposure_terms(spec.log_exposure, self.X)
            gradient = block.view.region.manifold.project_tangent(self.X, gradient)
            self.known_flux = self.field.apply(gradient)

    def moments(self, reference: FloatArray | None = None) -> Moments:
        """The sums of this block; with a reference θ₀ also the features about it."""
        n, w = len(self.X), self.w
        weight_sum = float(n) if w is None else float(w.sum())
        weight_squares = float(n) if w is None else float(w @ w)
        features = None if reference is None else self._features(reference)
        return Moments(self.spec, n, weight_sum, self.A_sum(), self.b_sum(), self.farthest, weight_squares, features)

    def residuals(self, theta: FloatArray) -> FloatArray:
        """e_i = A_i θ + b_i, shape (n, p), in O(pD) a row: A_i θ = ⟨∇t, W ψ⟩."""
        flux = self.field.flux(self.model.log_gradient(self.X, theta))
        if self.known_flux is not None:
            flux += self.known_flux
        e = self._hessian()
        e += self.model.gradient_dot(self.X, flux)
        return e

    def _features(self, reference: FloatArray) -> Features:
        p = reference.size
        i, j = np.triu_indices(p)
        features = np.empty((len(self.X), i.size + p), order="F")
        for k in range(p):
            # Column k of A_i is ⟨∇t, W ∇t_k⟩.
            flux = self.field.apply(self.model.log_gradient(self.X, np.eye(p)[k]))
            features[:, : i.size][:, j == k] = self.model.gradient_dot(self.X, flux)[:, : k + 1]
        features[:, i.size :] = self.residuals(reference)
        return Features(reference, weighted_gram(features, None if self.w is None else self.w**2))

    def _hessian(self) -> FloatArray:
        return self.model.weighted_hessian(self.X, self.field.isotropic, self.field.tensor_directions)

    def A_sum(self) -> FloatArray:
        """Weighted sum of A_i, shape (p, p)."""
        a, w = self.field.isotropic, self.w
        p = self.model.n_statistics(self.X.shape[1])
        total = np.zeros((p, p))
        if isinstance(a, np.ndarray) or a != 0.0:
            total += self.model.gradient_gram(self.X, a if w is None else a * w)
        for u, c in self.field.tensor_directions:
            total += weighted_gram(self.model.gradient_dot(self.X, u), c if w is None else c * w)
        return total

    def b_sum(self) -> FloatArray:
        """Weighted sum of b_i, shape (p,)."""
        hessian, w = self._hessian(), self.w
        total: FloatArray = hessian.sum(axis=0) if w is None else w @ hessian
        for u, _, delta in self.field.directions:
            total += self._sum(self.model.gradient_dot(self.X, u), delta)
        if self.known_flux is not None:
            total += self._sum(self.model.gradient_dot(self.X, self.known_flux), 1.0)
        return total

    def _sum(self, rows: FloatArray, coefficient: FloatArray | float) -> FloatArray:
        """Sum over rows, weighted by the sample weights and a coefficient, shape (p,)."""
        factor = coefficient if self.w is None else coefficient * self.w
        total: FloatArray = factor @ rows if isinstance(factor, np.ndarray) else factor * rows.sum(axis=0)
        return total


def exposure_values(log_exposure: LogExposure, X: FloatArray) -> FloatArray:
    """Values (n,) of a user's log exposure at nodes, where it may be −∞: nothing is detected there."""
    value = as_float_array(log_exposure(X)[0], "log_exposure value")
    if value.shape != (len(X),) or np.isnan(value).any() or (value == np.inf).any():
        raise InvalidInputError(
            f"log_exposure must return values of shape {(len(X),)} that are numbers or −∞ all over the region."
        )
    return value


def exposure_terms(log_exposure: LogExposure, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Value (n,) and gradient (n, D) of a user's log exposure, checked."""
    try:
        value, gradient = log_exposure(X)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"log_exposure must return (value, gradient), of shapes (n,) and (n, D); it raised: {error}"
        ) from error
    value, gradient = (
        as_float_array(value, "log_exposure value"),
        as_float_array(gradient, "log_exposure gradient"),
    )
    if value.shape != (len(X),) or gradient.shape != X.shape:
        raise InvalidInputError(
            f"log_exposure must return shapes {(len(X),)} and {X.shape}; got {value.shape} and {gradient.shape}."
        )
    bad = ~(np.isfinite(value) & np.isfinite(gradient).all(axis=1))
    if bad.any():
        raise InvalidInputError(
            f"log_exposure must be finite at every row; {count_rows(bad)} of a block "
            f"(first: {X[np.argmax(bad)].tolist()}). What could not be detected cannot be in the data."
        )
    return value, gradient


def check_exposure(log_exposure: LogExposure, manifold: Manifold, sample: FloatArray) -> None:
    """Raise where the gradients of a user's log exposure are clearly not those of its values.

    Differences of values along the manifold are compared with the gradient, in two directions at some rows.  A row
    disagrees only if all differences, ahead and back, with a long and a short step, are on one side of the gradient:
    curvature, kinks and jumps do not do that.  What the function may not like (points beyond the region,
    fewer rows) is no reason to refuse it here.
    """
    X = sample[:: -(-len(sample) // _TRIED_ROWS)]
    try:
        value, gradient = (np.asarray(part, dtype=np.float64) for part in log_exposure(X))
    except Exception:  # `exposure_terms` says what is wrong with it
        return
    if value.shape != (len(X),) or gradient.shape != X.shape:
        return
    extent = np.ptp(sample, axis=0)
    if not isinstance(manifold, Euclidean):
        extent = np.full_like(extent, min(float(extent.max()), 1.0))
    single = bool((value == value.astype(np.float32)).all())
    steps, precision = ((1e-2, 1e-3), 1e-7) if single else ((1e-4, 1e-6), 1e-16)
    gradient = manifold.project_tangent(X, gradient)
    rng = np.random.default_rng(0)
    wrong, worst = np.zeros(len(X), dtype=bool), (0.0, "")
    for _ in range(2):
        V = manifold.project_tangent(X, rng.standard_normal(X.shape) * extent)
        seen, said = [], []
        for step in (s * sign for s in steps for sign in (1.0, -1.0)):
            Y = manifold.exponential(X, step * V)
            try:
                there = np.asarray(log_exposure(Y)[0], dtype=np.float64)
            except Exception:  # not defined beyond the region
                return
            with np.errstate(invalid="ignore"):
                seen.append((there - value) / step)
            said.append(row_dots(gradient, Y - X) / step)  # Y as it was rounded
        values, slopes = np.array(seen), np.array(said)
        gap = values - slopes
        known = np.isfinite(gap)
        one_sided = known.any(axis=0) & (np.all((gap > 0.0) | ~known, axis=0) | np.all((gap < 0.0) | ~known, axis=0))
        least = np.min(np.where(known, np.abs(gap), np.inf), axis=0)
        size = np.max(np.where(known, np.maximum(np.abs(values), np.abs(slopes)), 0.0), axis=0)
        rounding = 16.0 * precision * np.abs(value) / min(steps)
        bad = one_sided & (least > _CLEAR_SHARE * size + _CLEAR_CHANGE + rounding)
        wrong |= bad
        if bad.any():
            k = int(np.argmax(np.where(bad, least, -1.0)))
            if least[k] > worst[0]:
                j, length = int(np.argmin(np.where(known[:, k], np.abs(gap[:, k]), np.inf))), np.linalg.norm(V[k])
                direction = np.round(V[k] / length, 3).tolist()
                worst = (
                    float(least[k]),
                    f"at {np.round(X[k], 6).tolist()} the gradient gives a slope of {slopes[j, k] / length:.4g} "
                    f"along {direction}, the values give {values[j, k] / length:.4g}",
                )
    if np.count_nonzero(wrong) > _TOLERATED_SHARE * len(X):
        raise InvalidInputError(
            f"log_exposure returns gradients that are not those of its values: at {int(np.count_nonzero(wrong))} of "
            f"{len(X)} rows that were tried they disagree with differences of the values (worst: {worst[1]}). "
            "Return (log e, gradient of log e), both of the logarithm and in the coordinates of X."
        )
