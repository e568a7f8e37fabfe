"""Equations for natural parameters that are linear in covariates, θ(z) = B (1, z).

The statistics of such a family are t ⊗ (1, z), so that a row contributes

    e_i(B) = (A_i θ(z_i) + b_i) ⊗ (1, z_i),   θ(z_i) = B (1, z_i),

which is linear in B: its sums are those of the family with weights w, w z_a and w z_a z_b.  An equation that holds at
every z still holds when it is multiplied by a function of z, so that this goes for one weight and for several stacked
alike.  Inside, z is centred and scaled by the mean and the spread of the rows, and B is one vector, row after row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from tmsm.data.covariates import Standard
from tmsm.data.rows import Block
from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.matching.equations import Equations, Terms
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.one_weight import OneWeight
from tmsm.matching.stacked import Stacked, block_diagonal
from tmsm.models.base import Model
from tmsm.models.constraints import AffineSubspace, Constraint, FixedNorm, Unrestricted
from tmsm.models.turned_set import TurnedSet
from tmsm.weights import EquationPart

__all__ = ["WithCovariates", "coefficients_of", "lifted", "row_thetas"]


def coefficients_of(theta: FloatArray, n_columns: int) -> FloatArray:
    """B, shape (p, 1 + q), from the vector of its rows."""
    return theta.reshape(-1, n_columns)


def row_thetas(B: FloatArray, design: FloatArray, radius: float | None) -> FloatArray:
    """θ of every row (1, z) of a design (n, 1 + q), shape (n, p): B (1, z), made as long as is known."""
    theta: FloatArray = design @ B.T
    if radius is not None:
        theta *= radius / np.linalg.norm(theta, axis=1)[:, None]
    return theta


def lifted(constraint: Constraint, n_columns: int) -> Constraint:
    """The B, row after row in one vector, with θ(z) in a linear space, or of a known length, for all z."""
    if isinstance(constraint, Unrestricted):
        return Unrestricted(constraint.size * n_columns)
    if isinstance(constraint, FixedNorm):
        return TurnedSet(constraint.radius, constraint.size, n_columns)
    assert isinstance(constraint, AffineSubspace), "others were refused"
    # What is known is the constant's, and nothing else moves.
    offset: FloatArray = np.kron(constraint.offset, np.eye(n_columns)[0])
    basis = np.asarray(np.kron(constraint.basis, np.eye(n_columns)), dtype=np.float64)
    return AffineSubspace(offset, basis)


@final
@dataclass(frozen=True)
class WithCovariates(Equations):
    """Equations of a linear family, each multiplied by 1 and by every covariate."""

    inner: OneWeight | Stacked
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
        return self.inner.n_equations * self.n_columns

    @property
    def n_parameters(self) -> int:
        return self.inner.n_parameters * self.n_columns

    @cached_property
    def constraint(self) -> Constraint:
        """The set in which B is sought."""
        return lifted(self.inner.constraint, self.n_columns)

    @property
    def radius(self) -> float | None:
        """The length of θ where it is known."""
        constraint = self.inner.constraint
        return constraint.radius if isinstance(constraint, FixedNorm) else None

    @property
    def is_linear(self) -> bool:
        return self.inner.is_linear and self.radius is None

    @property
    def is_combined(self) -> bool:
        return self.inner.is_combined

    @property
    def uses_distance(self) -> bool:
        return self.inner.uses_distance

    @property
    def exposure(self) -> KnownExposure | None:
        """The known exposure."""
        return self.inner.exposure

    def with_exposure(self, exposure: KnownExposure | None) -> WithCovariates:
        """The same with another exposure."""
        return replace(self, inner=replace(self.inner, exposure=exposure))

    @property
    def parts(self) -> tuple[EquationPart, ...]:
        """Those of the family's equations."""
        if isinstance(self.inner, Stacked):
            return self.inner.parts
        return (EquationPart("statistics", self.inner.weight),)

    def with_parts(self, parts: tuple[EquationPart, ...]) -> WithCovariates:
        """The same for other parts."""
        assert isinstance(self.inner, Stacked), "one weight is one part"
        return replace(self, inner=self.inner.with_parts(parts))

    def part_numbers(self, n_free: int) -> IntArray:
        """Which part each equation belongs to that is left for a family with so many free coefficients, shape (m',)."""
        assert isinstance(self.inner, Stacked), "one weight is one part"
        return np.repeat(self.inner.part_numbers(n_free // self.n_columns), self.n_columns)

    def reduction(self, tangent: FloatArray) -> FloatArray:
        """The matrix, shape (m', m), that keeps of the statistics' equations those along a tangent (P, k)."""
        assert isinstance(self.inner, Stacked), "one weight is one part"
        sizes = [self.inner.size_of(part) * self.n_columns for part in self.parts]
        return block_diagonal(
            [
                tangent.T if part.kind == "statistics" else np.eye(size)
                for part, size in zip(self.parts, sizes, strict=True)
            ]
        )

    def terms(self, block: Block) -> Terms:
        assert block.covariates is not None, "the rows have covariates"
        return _CovariateTerms(self, self.inner.terms(block), self.standard.design(block.covariates))


@dataclass(frozen=True)
class _CovariateTerms(Terms):
    """The terms of one block with its (1, z), shape (n, 1 + q)."""

    equations: WithCovariates
    inner: Terms
    design: FloatArray

    def residuals(self, theta: FloatArray) -> FloatArray:
        n, c = self.design.shape
        B, radius = coefficients_of(theta, c), self.equations.radius
        if radius is not None:
            e = np.array(self.inner.residuals(np.zeros(len(B))))
            still = e.copy()
            for along, unit in zip(row_thetas(B, self.design, radius).T, np.eye(len(B)), strict=True):
                e += (along / radius)[:, None] * (self.inner.residuals(radius * unit) - still)
            return (e[:, :, None] * self.design[:, None, :]).reshape(n, -1)
        # A_i θ(z_i) + b_i = r(β₀) + Σ z_a (r(β_a) − r(0)), r(θ) = A_i θ + b_i.
        e = np.array(self.inner.residuals(B[:, 0]))
        still = self.inner.residuals(np.zeros(len(B)))
        for a in range(1, c):
            e += self.design[:, a : a + 1] * (self.inner.residuals(np.ascontiguousarray(B[:, a])) - still)
        return (e[:, :, None] * self.design[:, None, :]).reshape(n, -1)

    def A_sum(self, w: FloatArray | None) -> FloatArray:
        c, m, p = self.design.shape[1], self.equations.inner.n_equations, self.equations.inner.n_parameters
        out = np.empty((m, c, p, c))
        for a in range(c):
            for b in range(a + 1):
                out[:, a, :, b] = out[:, b, :, a] = self.inner.A_sum(self._weight(w, a, b))
        return out.reshape(m * c, p * c)

    def b_sum(self, w: FloatArray | None) -> FloatArray:
        sums = [self.inner.b_sum(self._weight(w, a)) for a in range(self.design.shape[1])]
        return np.stack(sums, axis=1).ravel()

    def _weight(self, w: FloatArray | None, *columns: int) -> FloatArray | None:
        """The weights times the product of some columns; the first column is one."""
        for a in columns:
            if a > 0:
                w = self.design[:, a] if w is None else w * self.design[:, a]
        return w
