"""Which stacked equations compiled loops are to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.rowwise.kinds import FIELDS

__all__ = ["StackPlan", "Tilt"]


@final
@dataclass(frozen=True)
class Tilt:
    """How rows are tilted, by the π of `tmsm.matching.equations.tilt_equations`, and by how much their leverage counts.

    With shares s = w/W of the weights, π = exp(−s λ·(e − ē)) between e^−limit and e^limit, and squares get the factor
    f = w/(1 − s² |R (e − ē)|²), of which what is below is at least the rest.

    Attributes
    ----------
    mean, multiplier
        The ē and λ, shapes (m,).
    root
        R, shape (k, m).
    numbers
        W, the limit and the rest, shape (3,).
    """

    mean: FloatArray
    multiplier: FloatArray
    root: FloatArray
    numbers: FloatArray

    @classmethod
    def none(cls, m: int) -> Tilt:
        """None at all, of m equations: f = w."""
        return cls(np.zeros(m), np.zeros(m), np.zeros((1, m)), np.ones(3))


@final
@dataclass(frozen=True)
class StackPlan:
    """Which equations there are, as loops take them.

    Attributes
    ----------
    parts
        Kind by its number, number of the scale, and first and last but one monomial of each part, shape (k, 4).
    scales
        Of the saturating weights, shape (q,).
    center, axes
        Of the polynomials' coordinates, shapes (3,) and (2, 3).
    """

    parts: IntArray
    scales: FloatArray
    center: FloatArray
    axes: FloatArray

    @property
    def n_equations(self) -> int:
        """Number m of equations."""
        kind, first, last = self.parts[:, 0], self.parts[:, 2], self.parts[:, 3]
        return int(np.where(kind == FIELDS.index("statistics"), 3, last - first).sum())

    def residuals(self, X: FloatArray, d: FloatArray, gradient: FloatArray, theta: FloatArray) -> FloatArray:
        """e_i(θ) at rows (n, 3) with distances (n,) and their gradients (n, 3), shape (n, m)."""
        from tmsm.rowwise.stacked import stack_residuals

        E = np.empty((self.n_equations, len(X)))
        stack_residuals(_columns(X), d, _columns(gradient), self.center, self.axes, self.scales, self.parts, theta, E)
        return E.T

    def sums(
        self, X: FloatArray, d: FloatArray, gradient: FloatArray, w: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Σ w A_i, shape (m, 3), and Σ w b_i, shape (m,)."""
        from tmsm.rowwise.stacked import stack_sums

        A, b = np.zeros((self.n_equations, 3)), np.zeros(self.n_equations)
        weight = np.empty(0) if w is None else np.ascontiguousarray(w)
        stack_sums(_columns(X), d, _columns(gradient), self.center, self.axes, self.scales, self.parts, weight, A, b)
        return A, b


def _columns(rows: FloatArray) -> FloatArray:
    """One coordinate of all rows after the other, shape (3, n)."""
    return np.ascontiguousarray(rows.T)
