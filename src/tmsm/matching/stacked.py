"""Many equations for one estimate: E[⟨V, ψ⟩ + div V] = 0 for every field V that does not cross the border.

Three kinds of fields are stacked, with g = 1 − exp(−d/s) at some scale s, so that V·ν = 0 on any border:

    statistics   V = W ∇s      the equations of a weight W, at two scales
    gradients    V = g ∇h      h a polynomial that the model does not have
    streams      V = J∇(g h)   J a right angle (dimension two): free of divergence, and along the border, where the
                               other two vanish, it keeps its size

Where ψ is linear in θ, all of them together are A θ + b with A of shape (m, p).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.data.rows import Block
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.matching.equations import Equations, Terms
from tmsm.matching.exposure import LogExposure, exposure_terms
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.polynomials import LocalPolynomials, PolynomialValues
from tmsm.models.base import Model
from tmsm.weights import EquationPart

__all__ = ["Stacked", "block_diagonal"]


@final
@dataclass(frozen=True)
class Stacked(Equations):
    """Model, parts with their resolved weights, coordinates of polynomials and known exposure."""

    model: Model
    parts: tuple[EquationPart, ...]
    polynomials: LocalPolynomials
    log_exposure: LogExposure | None = None

    @property
    def is_linear(self) -> bool:
        return self.model.is_linear

    @property
    def is_combined(self) -> bool:
        return True

    @property
    def n_equations(self) -> int:
        return sum(self.size_of(part) for part in self.parts)

    def size_of(self, part: EquationPart) -> int:
        """Number of equations in a part."""
        return part.size(self.model.size, self.polynomials.manifold.dim)

    def part_numbers(self, n_free: int) -> IntArray:
        """Which part each equation belongs to that is left for a family with so many free parameters, shape (m',)."""
        sizes = [part.size(n_free, self.polynomials.manifold.dim) for part in self.parts]
        return np.repeat(np.arange(len(sizes)), sizes)

    def reduction(self, tangent: FloatArray) -> FloatArray:
        """The matrix, shape (m', m), that keeps of the statistics' equations those along a tangent (p, k)."""
        return block_diagonal(
            [tangent.T if part.kind == "statistics" else np.eye(self.size_of(part)) for part in self.parts]
        )

    def terms(self, block: Block) -> Terms:
        known: Terms | None = block.known_terms(self)
        if known is not None:
            return known
        degree = max((max(part.degrees) for part in self.parts if part.degrees), default=None)
        polynomials = None if degree is None else self.polynomials.evaluate(block.X, degree)
        exposure = None
        if polynomials is not None and self.log_exposure is not None:
            _, gradient = exposure_terms(self.log_exposure, block.X)
            exposure = block.view.region.manifold.project_tangent(block.X, gradient)
        terms: list[Terms] = []
        for part in self.parts:
            if part.kind == "statistics":
                terms.append(OneWeight(self.model, part.weight, self.log_exposure).terms(block))
            else:
                assert polynomials is not None
                h = polynomials.of_degrees(part.degrees)
                terms.append(_PolynomialTerms(self.model, part, block, h, exposure))
        return _StackedTerms(terms)


def block_diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    """A matrix with these blocks along its diagonal."""
    matrix = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        matrix[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return matrix


@dataclass(frozen=True)
class _StackedTerms(Terms):
    parts: Sequence[Terms]

    def residuals(self, theta: FloatArray) -> FloatArray:
        return np.concatenate([part.residuals(theta) for part in self.parts], axis=1)

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        return np.concatenate([part.A_sum(w) for part in self.parts])

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        return np.concatenate([part.b_sum(w) for part in self.parts])


class _PolynomialTerms(Terms):
    """The equations of gradients or streams at one block."""

    def __init__(
        self, model: Model, part: EquationPart, block: Block, h: PolynomialValues, exposure: FloatArray | None
    ) -> None:
        self.model, self.X = model, block.X
        self.streams = part.kind == "streams"
        self.manifold = block.view.region.manifold
        field = part.weight.field(block.view)
        self.g = np.broadcast_to(np.asarray(field.isotropic), len(self.X))
        self.g_gradient = field.flux(np.zeros_like(self.X))
        self.h = h
        constant = np.zeros_like(self.h.values)
        if not self.streams:  # div V = g Δh + ⟨∇g, ∇h⟩
            constant = self.h.laplacians * self.g[:, None] + self.h.gradient_dot(self.g_gradient)
        if exposure is not None:
            constant += self._along(exposure)
        self.constant = constant

    def _along(self, U: FloatArray) -> FloatArray:
        """⟨V, u⟩ for tangent rows U (n, D), shape (n, m)."""
        if not self.streams:
            along: FloatArray = self.h.gradient_dot(U) * self.g[:, None]
            return along
        # ⟨J∇(g h), u⟩ = −⟨g ∇h + h ∇g, J u⟩
        turned = self.manifold.quarter_turn(self.X, U)
        across = np.einsum("ij,ij->i", self.g_gradient, turned)
        streams: FloatArray = self.h.gradient_dot(turned) * self.g[:, None] + self.h.values * across[:, None]
        return -streams

    def residuals(self, theta: FloatArray) -> FloatArray:
        return self._along(self.model.log_gradient(self.X, theta)) + self.constant

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        columns = [_sum(self._along(self.model.log_gradient(self.X, e)), w) for e in np.eye(self.model.size)]
        return np.stack(columns, axis=1)

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        return _sum(self.constant, w)


def _sum(rows: FloatArray, w: FloatArray | None) -> FloatArray:
    total: FloatArray = rows.sum(axis=0) if w is None else w @ rows
    return total
