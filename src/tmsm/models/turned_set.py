"""Coefficients of covariates for natural parameters of a known length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.models.constraints import Constraint
from tmsm.numerics.newton import Point

__all__ = ["TurnedSet"]


@final
@dataclass(frozen=True)
class TurnedSet(Constraint):
    """The B, row after row in one vector, with |β₀| = radius and all other columns across β₀."""

    radius: float
    size: int
    n_columns: int

    @property
    def n_free(self) -> int:
        return (self.size - 1) * self.n_columns

    def point(self, theta: FloatArray) -> Point:
        return _TurnedPoint.of(theta.reshape(-1, self.n_columns), self.radius)


@final
@dataclass(frozen=True)
class _TurnedPoint(Point):
    """β₀ → κ unit(β₀ + U s₀) and β_a → the part of β_a + U s_a across it, U a basis across β₀."""

    B: FloatArray

    @classmethod
    def of(cls, B: FloatArray, radius: float) -> _TurnedPoint:
        length = float(np.linalg.norm(B[:, 0]))
        unit = B[:, 0] / length if length > 0.0 else np.eye(len(B))[0]
        return cls(np.column_stack([radius * unit, B[:, 1:] - np.outer(unit, unit @ B[:, 1:])]))

    @property
    def theta(self) -> FloatArray:  # type: ignore[override]
        """The vector of B, shape (p (1 + q),)."""
        return self.B.ravel()

    @property
    def _across(self) -> FloatArray:
        basis: FloatArray = np.linalg.svd(self.B[:, :1].T)[2][1:].T
        return basis

    @property
    def jacobian(self) -> FloatArray:
        p, c = self.B.shape
        U, square = self._across, float(self.B[:, 0] @ self.B[:, 0])
        out = np.zeros((p, c, c, p - 1))
        for a in range(c):
            out[:, a, a] = U
            if a > 0:  # β_a stays across β₀
                out[:, a, 0] = -np.outer(self.B[:, 0], self.B[:, a] @ U) / square
        return out.reshape(p * c, c * (p - 1))

    def bend(self, covector: FloatArray) -> FloatArray:
        # To second order β_a moves by U s_a − (u + U s₀/κ)(s₀·Uᵀβ_a + s₀·s_a)/κ, and β₀ by U s₀ − ½ |s₀|² β₀/κ².
        p, c = self.B.shape
        C, U, k = covector.reshape(p, c), self._across, p - 1
        radius = float(np.linalg.norm(self.B[:, 0]))
        unit = self.B[:, 0] / radius
        out = np.zeros((c, k, c, k))
        out[0, :, 0] = -np.eye(k) * float(C[:, 0] @ unit) / radius
        for a in range(1, c):
            x, y = U.T @ C[:, a], U.T @ self.B[:, a]
            out[0, :, 0] -= (np.outer(x, y) + np.outer(y, x)) / radius**2
            out[0, :, a] = out[a, :, 0] = -np.eye(k) * float(C[:, a] @ unit) / radius
        return out.reshape(c * k, c * k)

    def moved(self, step: FloatArray) -> Point:
        p, c = self.B.shape
        away = self.B + self._across @ step.reshape(c, p - 1).T
        return _TurnedPoint.of(away, float(np.linalg.norm(self.B[:, 0])))
