"""How the log density changes with θ: functions of x, contracted with what a row needs of their derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, padded, weighted_gram, weighted_sum
from tmsm.manifolds import Manifold

__all__ = ["Coefficient", "Directions", "FactorTangent", "Fluxes", "Tangent"]

# Of rows: an array (n,), or one number for all.
Coefficient = FloatArray | float
# Pairs (u, c) of W = a P + Σ c uuᵀ, and triples (u, c, δ) with div W = Σ δ u.
Directions = Sequence[tuple[FloatArray, FloatArray]]
Fluxes = Sequence[tuple[FloatArray, FloatArray | None, Coefficient]]


class _Contractions(ABC):
    """Functions s_a of x and their first two derivatives, contracted with a tensor W = a P + Σ c uuᵀ.

    In the methods X are points, shape (n, D); ``isotropic`` is a; ``directions`` are the pairs (u, c), or the triples
    (u, c, δ) with div W = Σ δ u; ``omega`` is ω, the rest of div(W∇s) in plain derivatives; ``weight`` and ``w`` are
    weights of the rows; ``slope`` says whether second derivatives are wanted; ``manifold`` is a product of manifolds.
    """

    @abstractmethod
    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """⟨∇s, v⟩ for tangent rows V (n, D), shape (n, p)."""

    @abstractmethod
    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        """⟨W, Hess s⟩ = a Δs + Σ c Hess s(u, u) for W = a P + Σ c uuᵀ, a new array of shape (n, p).

        Directions are pairs (u, c), u of length one.
        """

    def direction_gram(self, X: FloatArray, u: FloatArray, weight: FloatArray) -> FloatArray:
        """Sum over rows of weight ⟨∇s, u⟩⟨∇s, u⟩ᵀ, shape (p, p)."""
        return weighted_gram(self.gradient_dot(X, u), weight)

    def residual_rows(
        self, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> FloatArray:
        """⟨W, Hess s⟩ + ⟨∇s, flux⟩ for tangent rows of flux (n, D), a new array of shape (n, p)."""
        rows = self.weighted_hessian(X, isotropic, directions)
        rows += self.gradient_dot(X, flux)
        return rows

    def divergence_sum(
        self, X: FloatArray, isotropic: Coefficient, directions: Fluxes, w: FloatArray | None
    ) -> FloatArray:
        """Sum over rows of w div(W∇s), shape (p,); directions are triples (u, c, δ), div W = Σ δ u."""
        tensor = [(u, c) for u, c, _ in directions if c is not None]
        total = weighted_sum(self.weighted_hessian(X, isotropic, tensor), 1.0, w)
        for u, _, delta in directions:
            total += weighted_sum(self.gradient_dot(X, u), delta, w)
        return total


class Tangent(_Contractions):
    """How the log density changes with θ: the functions s_a = ∂ log p/∂θ_a of x."""

    @abstractmethod
    def statistics(self, X: FloatArray) -> FloatArray:
        """s(x), shape (n, p), up to a constant."""

    @property
    def has_matching_sums(self) -> bool:
        """Whether `matching_sums` is there; derivatives of sums by θ are by differences where it is not."""
        return False

    def matching_sums(
        self, X: FloatArray, W: FloatArray, omega: FloatArray, weight: FloatArray, slope: bool
    ) -> tuple[float, FloatArray, FloatArray | None]:
        """Σ w ρ over rows with weights (n,), half its derivative (p,) and, if asked for, half its Hessian (p, p) in θ.

        A row's ρ is its part of the objective J, ⟨Du, W Du⟩ + 2 (⟨W, D²u⟩ + ⟨ω, Du⟩) for u = log p and plain
        derivatives D in the embedding coordinates, with tensors W (n, D, D) and vectors ω (n, D).
        """
        raise NotImplementedError(f"{type(self).__name__} has no sums of the objective.")

    def in_factor(self, manifold: Manifold, k: int) -> FactorTangent:
        """The same functions on a product of manifolds, as functions of its factor k alone."""
        return _InFactor(self, manifold.factors[k], manifold.columns[k])

    def in_columns(self, manifold: Manifold, columns: slice) -> FactorTangent:
        """The same functions on a product of manifolds, as functions of the factors in some columns alone."""
        if columns in manifold.columns:
            return self.in_factor(manifold, manifold.columns.index(columns))
        return _InFactor(self, manifold.within(columns), columns)


class FactorTangent(_Contractions):
    """Functions on a product of manifolds, as functions of one factor: tangents V are of that factor, (n, w)."""

    @abstractmethod
    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        """Sum over rows of weight ⟨∇s, ∇sᵀ⟩ in the factor, shape (p, p)."""

    def add_residuals(
        self, out: FloatArray, X: FloatArray, isotropic: Coefficient, directions: Directions, flux: FloatArray
    ) -> None:
        """Add the `residual_rows` to an array (n, p)."""
        out += self.residual_rows(X, isotropic, directions, flux)


@final
@dataclass(frozen=True)
class _InFactor(FactorTangent):
    """By the functions as they are: tangents get zeros for the other factors."""

    whole: Tangent
    factor: Manifold
    columns: slice

    def _frame(self, X: FloatArray) -> list[FloatArray]:
        return self.factor.tangent_frame(X[:, self.columns])

    def gradient_dot(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self.whole.gradient_dot(X, padded(V, self.columns, X.shape[1]))

    def gradient_gram(self, X: FloatArray, weight: FloatArray | float) -> FloatArray:
        return np.asarray(sum(weighted_gram(self.gradient_dot(X, u), weight) for u in self._frame(X)))

    def weighted_hessian(self, X: FloatArray, isotropic: Coefficient, directions: Directions) -> FloatArray:
        a = np.broadcast_to(np.asarray(isotropic, dtype=np.float64), len(X))
        pairs = [(u, a) for u in self._frame(X)] if a.any() else []
        return self.whole.weighted_hessian(
            X, 0.0, [(padded(u, self.columns, X.shape[1]), c) for u, c in (*pairs, *directions)]
        )
