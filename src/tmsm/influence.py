"""What one row does to an estimate: θ̂ − θ ≈ Σ w_i ψ_i / Σ w_i, to first order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.arrays import FloatArray, row_dots, weighted_gram
from tmsm.equations import EquationSpec, equation_residuals
from tmsm.models.base import Model
from tmsm.moments import MomentSpec, StatisticSums, row_residuals
from tmsm.rows import Block, Rows

__all__ = ["EquationInfluence", "Influence", "LikelihoodInfluence", "MomentInfluence"]


class Influence(ABC):
    """The influence function of a fitted estimate."""

    @abstractmethod
    def of(self, rows: Rows) -> FloatArray:
        """Influence of every row inside the region, shape (n, p)."""


@final
@dataclass(frozen=True)
class MomentInfluence(Influence):
    """Of a single weight: matrix @ (A_i θ̂ + b_i), matrix = −T H⁻¹ Tᵀ of shape (p, p)."""

    spec: MomentSpec
    theta: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        return row_residuals(self.spec, rows, self.theta) @ self.matrix.T


@final
@dataclass(frozen=True)
class EquationInfluence(Influence):
    """Of stacked equations: matrix @ (A_i θ̂ + b_i), matrix of shape (p, m)."""

    spec: EquationSpec
    theta: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        return equation_residuals(self.spec, rows, self.theta) @ self.matrix.T


@final
@dataclass(frozen=True)
class LikelihoodInfluence(Influence):
    """Of a likelihood: matrix @ (t(x_i) − E t), matrix = T (Tᵀ I T)⁻¹ Tᵀ of shape (p, p)."""

    model: Model
    mean: FloatArray
    matrix: FloatArray

    def of(self, rows: Rows) -> FloatArray:
        centred = rows.map(lambda block: self.model.statistics(block.X) - self.mean)
        return np.concatenate(list(centred)) @ self.matrix.T

    def covariance(self, rows: Rows, sums: StatisticSums) -> FloatArray:
        """Cov(θ̂), shape (p, p): the inverse information, or with unequal weights the sandwich Σ w² ψψᵀ / (Σw)².

        Weights may depend on x, as the inverse of a probability of being in the table does.  The inverse
        information times Σw²/(Σw)² would be right only for weights that do not.
        """
        if rows.equally_weighted:
            return self.matrix / sums.effective_n

        def squares(block: Block) -> FloatArray:
            away, share = self.model.statistics(block.X) - self.mean, block.weights() / sums.weight_sum
            # A row pulls the estimate towards itself by its leverage, which makes its residual too small.
            leverage = share * row_dots(away @ self.matrix, away)
            return weighted_gram(away, (share / np.maximum(1.0 - leverage, 0.5)) ** 2)

        total = rows.total(squares)
        assert total is not None, "there are rows inside"
        covariance = self.matrix @ total @ self.matrix.T
        return 0.5 * (covariance + covariance.T)
