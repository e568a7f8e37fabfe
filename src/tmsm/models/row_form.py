"""A family of degree one and two on S², as compiled loops over rows take it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["RowForm"]


@final
@dataclass(frozen=True)
class RowForm:
    """Statistics that are polynomials of degree two in three coordinates L of a row.

    With y = R x, L₁ = t y₁, L₂ = t y₂ and L₃ = r y₃; or, where h is not zero, L₃ = h |y − e₃|², which is − r (1 − y₃)
    with r = −2h.  Either way ∇L = diag(t, t, r) (1 − y yᵀ).

    Attributes
    ----------
    rotation
        R, orthogonal, shape (3, 3).
    factors
        The numbers t, r, h, and the determinant of R, shape (4,).
    slopes
        ∂t_k/∂L_i, in which the coefficients of 1 and L_j are slopes[k, i, 0] and slopes[k, i, 1 + j], shape (p, 3, 4).
    """

    travels_alone: ClassVar[bool] = True

    rotation: FloatArray
    factors: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, rotation: FloatArray, factors: tuple[float, float, float], n_linear: int, forms: FloatArray) -> RowForm:
        """With the first L_i themselves, and LᵀFL of symmetric matrices (q, 3, 3), for statistics."""
        slopes = np.zeros((n_linear + len(forms), 3, 4))
        slopes[np.arange(n_linear), np.arange(n_linear), 0] = 1.0
        slopes[n_linear:, :, 1:] = 2.0 * forms
        return cls(rotation, np.array([*factors, np.linalg.det(rotation)]), slopes)

    @property
    def size(self) -> int:
        """Number p of statistics."""
        return len(self.slopes)

    def at(self, theta: FloatArray) -> FloatArray:
        """The derivative of θ·t by L, as the slopes have those of t, shape (3, 4)."""
        return np.ascontiguousarray(np.tensordot(theta, self.slopes, axes=1))

    def turned(self, rows: FloatArray) -> FloatArray:
        """Vectors (n, 3) as y, one coordinate after the other, shape (3, n)."""
        return np.ascontiguousarray(self.rotation @ rows.T)

    @cached_property
    def of_products(self) -> FloatArray:
        """From the nine numbers of a residual in `tmsm.rowwise.quadratic` to those of the statistics, shape (p, 9)."""
        i, j = np.triu_indices(3)
        bends: FloatArray = self.slopes[:, i, 1 + j] * np.where(i == j, 0.5, 1.0)
        return np.hstack([self.slopes[:, :, 0], bends])

    def A_of(self, sums: FloatArray) -> FloatArray:
        """Σ w A_i, shape (p, p), from those of the entries of W's form Q times the monomials of L, shape (6, 10)."""
        i, j = np.triu_indices(3)
        m, n = np.triu_indices(4)
        products = np.empty((3, 3, 4, 4))
        for a, b in ((i, j), (j, i)):
            for c, d in ((m, n), (n, m)):
                products[a[:, None], b[:, None], c, d] = sums
        A: FloatArray = np.einsum("kim,ljn,ijmn->kl", self.slopes, self.slopes, products, optimize=True)
        return A

    def A_along(self, sums: FloatArray) -> FloatArray:
        """Σ w ⟨V, ∇t⟩, shape (m, p), from the sums of w V times 1 and L, V in the frame of y, shape (m, 3, 4)."""
        t, r = self.factors[:2]
        A: FloatArray = np.einsum("aim,kim,i->ak", sums, self.slopes, np.array([t, t, r]))
        return A

    def b_of(self, sums: FloatArray, along: FloatArray) -> FloatArray:
        """Σ w b_i, shape (p,), from the same and those of the first-order part times 1 and L, shape (3, 4)."""
        Q = np.empty((3, 3))
        Q[np.triu_indices(3)] = sums[:, 0]
        Q.T[np.triu_indices(3)] = sums[:, 0]
        b: FloatArray = np.einsum("kim,im->k", self.slopes, along) + np.einsum("kij,ij->k", self.slopes[:, :, 1:], Q)
        return b
