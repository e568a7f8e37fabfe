"""The equations of one weight W, for any density.

    e(θ) = ⟨∇s, W (ψ + ∇log e) + div W⟩ + ⟨W, Hess s⟩,   ψ = ∇ log p,   s = ∂ log p/∂θ,

half the slope of J(θ) = mean [⟨ψ, Wψ⟩ + 2 ⟨W, Hess log p⟩ + 2 ⟨div W + W ∇log e, ψ⟩].  Where log p = θ·t it is
A θ + b with A = ⟨∇t, W ∇t⟩ and b = ⟨W, Hess t⟩ + ⟨div W + W ∇log e, ∇t⟩.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.data.rows import Block
from tmsm.foundation.arrays import FloatArray, row_dots, weighted_sum
from tmsm.matching.equations import Equations, Expansion, Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.models.base import LinearModel, Model, Tangent
from tmsm.weights import Weight, WeightField

__all__ = ["OneWeight", "WeightTerms"]


@final
@dataclass(frozen=True)
class OneWeight(Equations):
    """Model, resolved weight and known exposure."""

    model: Model
    weight: Weight
    exposure: KnownExposure | None = None

    @property
    def n_equations(self) -> int:
        return self.model.size

    @property
    def is_linear(self) -> bool:
        return self.model.is_linear

    def has_expansion(self, theta: FloatArray) -> bool:
        return self.model.tangent(theta).has_matching_sums

    def terms(self, block: Block) -> WeightTerms:
        return WeightTerms(self, block)


class WeightTerms(Terms):
    """One block with its weight field, ready to be contracted with the model's derivatives."""

    def __init__(self, equations: OneWeight, block: Block) -> None:
        self.model = equations.model
        self.manifold = block.view.region.manifold
        self.X = block.X
        self.field = equations.weight.field(block.view)
        self._known_pieces: tuple[Tangent, list[tuple[Any, WeightField]]] | None = None
        # W ∇log e, the part of the flux that the known exposure adds.
        self.known_flux: FloatArray | None = None
        if equations.exposure is not None:
            self.known_flux = self.field.apply(equations.exposure.gradient(self.X))

    def residuals(self, theta: FloatArray) -> FloatArray:
        """In O(pD) a row: A_i θ = ⟨∇t, W ψ⟩."""
        flux = self.field.flux(self.model.log_gradient(self.X, theta))
        if self.known_flux is not None:
            flux += self.known_flux
        tangent = self.model.tangent(theta)
        if self.field.blocks:
            e = np.zeros((len(self.X), self.model.size), order="F")
            for (own, _), (piece, field) in zip(self.field.blocks, self._pieces(tangent), strict=True):
                piece.add_residuals(e, self.X, field.isotropic, field.tensor_directions, flux[:, own])
            return e
        return tangent.residual_rows(self.X, self.field.isotropic, self.field.tensor_directions, flux)

    def objective(self, theta: FloatArray) -> FloatArray:
        """Each row's part of J(θ), shape (n,)."""
        psi = self.model.log_gradient(self.X, theta)
        flux = self.field.flux(psi) + self.field.divergence(psi)  # W ψ + 2 div W
        if self.known_flux is not None:
            flux += 2.0 * self.known_flux
        return row_dots(psi, flux) + 2.0 * self.field.contract(
            self.manifold,
            self.X,
            lambda V: self.model.log_hessian(self.X, V, theta),
            lambda: self.model.log_laplacian(self.X, theta),
        )

    def expansion(self, theta: FloatArray, w: FloatArray | None, slope: bool) -> Expansion:
        weight = np.ones(len(self.X)) if w is None else w
        found = self.model.tangent(theta).matching_sums(self.X, *self.extrinsic, weight, slope)
        return Expansion(float(weight.sum()), *found)

    @cached_property
    def extrinsic(self) -> tuple[FloatArray, FloatArray]:
        """W and ω, shapes (n, D, D) and (n, D), in the embedding coordinates; ω with what the known exposure adds."""
        W, omega = self.field.extrinsic(self.manifold, self.X)
        if self.known_flux is not None:
            omega += self.manifold.velocity(self.X, self.known_flux)
        # In memory one entry of all rows after the other, as compiled functions want them.
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(W, 0, -1)), -1, 0), np.asfortranarray(omega)

    @property
    def _linear(self) -> LinearModel:
        assert isinstance(self.model, LinearModel), "the equations are linear"
        return self.model

    def _pieces(self, functions: Tangent) -> list[tuple[Any, WeightField]]:
        """The functions with the field, or as functions of each factor of a product with that factor's field."""
        if not self.field.blocks:
            return [(functions, self.field)]
        if self._known_pieces is None or self._known_pieces[0] is not functions:
            pieces = [(functions.in_columns(self.manifold, own), field) for own, field in self.field.blocks]
            self._known_pieces = functions, pieces
        return self._known_pieces[1]

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        total = np.zeros((self.model.size, self.model.size))
        for piece, field in self._pieces(self._linear):
            a = field.isotropic
            if isinstance(a, np.ndarray) or a != 0.0:
                total += piece.gradient_gram(self.X, a if w is None else a * w)
            for u, c in field.tensor_directions:
                total += piece.direction_gram(self.X, u, c if w is None else c * w)
        return total

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        model = self._linear
        total = np.zeros(model.size)
        for piece, field in self._pieces(model):
            total += piece.divergence_sum(self.X, field.isotropic, field.directions, w)
        if self.known_flux is not None:
            total += weighted_sum(model.gradient_dot(self.X, self.known_flux), 1.0, w)
        return total
