"""Data become (A, b): the one pass over the rows.

    A = mean ⟨∇t, W ∇t⟩
    b = mean [ ⟨W, Hess t⟩ + ⟨div W + W ∇log e, ∇t⟩ ]

Everything here is a sum over rows, so two parts of a data set are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray, weighted_gram
from tmsm.errors import InvalidInputError
from tmsm.models.base import Model
from tmsm.rows import Block, Rows
from tmsm.validation import as_float_array
from tmsm.weights import Weight

__all__ = ["MAX_FEATURE_STATISTICS", "LogExposure", "MomentSpec", "Moments", "accumulate", "residual_moments"]

LogExposure = Callable[[FloatArray], tuple[ArrayLike, ArrayLike]]

# The second moments of (A_i, b_i) have about p⁴/4 entries: 53,000 at p = 20, 5 million at p = 65.
MAX_FEATURE_STATISTICS = 20


@dataclass(frozen=True)
class MomentSpec:
    """What turns a row into its A_i and b_i: model, resolved weight and known exposure."""

    model: Model
    weight: Weight
    log_exposure: LogExposure | None = None


@dataclass(frozen=True)
class Moments:
    """Additive sums over rows; A and b are their means.

    Attributes
    ----------
    n
        Number of rows.
    weight_sum, weight_squares
        Sums of the sample weights and of their squares (n and n without weights).
    A_sum, b_sum
        Weighted sums of A_i (p, p) and b_i (p,).
    feature_squares
        Sum of w² f fᵀ over rows, f = (A_i upper triangle, b_i); None where it was not asked for.
    """

    n: int
    weight_sum: float
    weight_squares: float
    A_sum: FloatArray
    b_sum: FloatArray
    feature_squares: FloatArray | None = None

    @property
    def A(self) -> FloatArray:
        """Mean of A_i, shape (p, p)."""
        return self.A_sum / self.weight_sum

    @property
    def b(self) -> FloatArray:
        """Mean of b_i, shape (p,)."""
        return self.b_sum / self.weight_sum

    @property
    def effective_n(self) -> float:
        """(Σw)² / Σw², the number of equally weighted rows worth as much."""
        return self.weight_sum**2 / self.weight_squares

    def objective(self, theta: FloatArray) -> float:
        """J(θ) = θᵀAθ + 2bᵀθ, without its constant."""
        return float(theta @ self.A @ theta + 2.0 * self.b @ theta)

    def residual_squares(self, theta: FloatArray) -> FloatArray | None:
        """Σ w² e eᵀ, e_i = A_i θ + b_i, from the feature moments; None without them."""
        if self.feature_squares is None:
            return None
        p = theta.size
        i, j = np.triu_indices(p)
        # e = L f: row i of A_i θ collects the upper-triangle entries (i, j) and (j, i).
        L = np.zeros((p, i.size + p))
        k = np.arange(i.size)
        L[i, k] += theta[j]
        off = i != j
        L[j[off], k[off]] += theta[i[off]]
        L[:, i.size :] = np.eye(p)
        return L @ self.feature_squares @ L.T

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.b_sum.shape != other.b_sum.shape:
            raise InvalidInputError(
                f"Moments of {self.b_sum.size} and of {other.b_sum.size} statistics cannot be added."
            )
        squares = None
        if self.feature_squares is not None and other.feature_squares is not None:
            squares = self.feature_squares + other.feature_squares
        return Moments(
            self.n + other.n,
            self.weight_sum + other.weight_sum,
            self.weight_squares + other.weight_squares,
            self.A_sum + other.A_sum,
            self.b_sum + other.b_sum,
            squares,
        )


def accumulate(spec: MomentSpec, rows: Rows, *, features: bool = False) -> Moments:
    """Sum the moments of all rows; with ``features`` also what errors need without a second pass."""

    def block_moments(block: Block) -> Moments:
        terms = _BlockTerms(spec, block)
        return terms.moments_with_features() if features else terms.moments()

    return reduce(add, rows.map(block_moments))


def residual_moments(spec: MomentSpec, rows: Rows, theta: FloatArray) -> FloatArray:
    """Σ w² e eᵀ over the rows, e_i = A_i θ + b_i: the second pass, shape (p, p)."""

    def block_squares(block: Block) -> FloatArray:
        weight = None if block.sample_weight is None else block.sample_weight**2
        return weighted_gram(_BlockTerms(spec, block).residuals(theta), weight)

    return reduce(add, rows.map(block_squares))


class _BlockTerms:
    """One block with its weight field, ready to be contracted with the model's derivatives."""

    def __init__(self, spec: MomentSpec, block: Block) -> None:
        self.model = spec.model
        self.X = block.X
        self.w = block.sample_weight
        self.field = spec.weight.field(block.view)
        # W ∇log e, the part of the flux that the known exposure adds.
        self.known_flux: FloatArray | None = None
        if spec.log_exposure is not None:
            gradient = _exposure_gradient(spec.log_exposure, self.X)
            gradient = block.view.region.manifold.project_tangent(self.X, gradient)
            self.known_flux = self.field.apply(gradient)

    def moments(self) -> Moments:
        return self._moments(self._A_sum(), self._b_sum())

    def moments_with_features(self) -> Moments:
        p = self.model.n_statistics(self.X.shape[1])
        i, j = np.triu_indices(p)
        features = np.empty((len(self.X), i.size + p), order="F")
        for k in range(p):
            # Column k of A_i is ⟨∇t, W ∇t_k⟩.
            unit = np.zeros(p)
            unit[k] = 1.0
            flux = self.field.apply(self.model.log_gradient(self.X, unit))
            features[:, : i.size][:, j == k] = self.model.gradient_dot(self.X, flux)[:, : k + 1]
        features[:, i.size :] = self.residuals(np.zeros(p))
        if self.w is not None:
            features *= self.w[:, None]
        sums = features.sum(axis=0)
        A_sum = np.empty((p, p))
        A_sum[i, j] = A_sum[j, i] = sums[: i.size]
        return self._moments(A_sum, sums[i.size :], weighted_gram(features, None))

    def residuals(self, theta: FloatArray) -> FloatArray:
        """e_i = A_i θ + b_i, shape (n, p), in O(pD) a row: A_i θ = ⟨∇t, W ψ⟩."""
        flux = self.field.flux(self.model.log_gradient(self.X, theta))
        if self.known_flux is not None:
            flux += self.known_flux
        e = self._hessian()
        e += self.model.gradient_dot(self.X, flux)
        return e

    def _moments(self, A_sum: FloatArray, b_sum: FloatArray, feature_squares: FloatArray | None = None) -> Moments:
        n, w = len(self.X), self.w
        weight_sum, weight_squares = (n, n) if w is None else (w.sum(), w @ w)
        return Moments(n, float(weight_sum), float(weight_squares), A_sum, b_sum, feature_squares)

    def _hessian(self) -> FloatArray:
        return self.model.weighted_hessian(self.X, self.field.isotropic, self.field.tensor_directions)

    def _A_sum(self) -> FloatArray:
        a, w = self.field.isotropic, self.w
        p = self.model.n_statistics(self.X.shape[1])
        total = np.zeros((p, p))
        if isinstance(a, np.ndarray) or a != 0.0:
            total += self.model.gradient_gram(self.X, a if w is None else a * w)
        for u, c in self.field.tensor_directions:
            total += weighted_gram(self.model.gradient_dot(self.X, u), c if w is None else c * w)
        return total

    def _b_sum(self) -> FloatArray:
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


def _exposure_gradient(log_exposure: LogExposure, X: FloatArray) -> FloatArray:
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
    if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
        raise InvalidInputError(
            "log_exposure must be finite at every row: a row that could not be detected cannot be in the data."
        )
    return gradient
