"""Linear algebra that does not depend on units: matrices are scaled to a unit diagonal first."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["condition_number", "inverse_scaled", "scaled_to_unit", "solve_scaled", "unit_scale", "whitening"]

_TINY = 1e-300


def unit_scale(matrix: FloatArray) -> FloatArray:
    """1/√|a_ii|, shape (k,), and zero where a diagonal entry is not positive: such a row is left out."""
    diagonal = np.diag(matrix)
    scale: FloatArray = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, _TINY)), 0.0)
    return scale


def scaled_to_unit(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The matrix with ones on its diagonal, (k, k), and the `unit_scale` that made it so."""
    scale = unit_scale(matrix)
    return matrix * np.outer(scale, scale), scale


def condition_number(matrix: FloatArray) -> float:
    """Of a symmetric matrix after scaling; infinite where it is not positive definite."""
    values = np.linalg.eigvalsh(scaled_to_unit(matrix)[0])
    return float(values[-1] / values[0]) if values[0] > 0.0 else np.inf


def solve_scaled(matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve a nearly symmetric system whose unknowns may have very different units, rhs of shape (k,) or (k, q)."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), _TINY))
    factor = scale[:, None] if rhs.ndim == 2 else scale
    found: FloatArray = factor * np.linalg.solve(matrix * np.outer(scale, scale), factor * rhs)
    return found


def inverse_scaled(matrix: FloatArray, rcond: float) -> FloatArray:
    """Pseudo-inverse of a symmetric matrix; scaled eigenvalues below a share ``rcond`` of the largest count as zero."""
    unit, scale = scaled_to_unit(matrix)
    inverse: FloatArray = np.linalg.pinv(unit, rcond=rcond, hermitian=True) * np.outer(scale, scale)
    return inverse


def whitening(matrix: FloatArray, floor: float = _TINY) -> tuple[FloatArray, FloatArray]:
    """A matrix K, (k, k), with Kᵀ matrix K = I, and the scaled eigenvalues (k,), ascending.

    Eigenvalues below ``floor`` are taken for it.
    """
    unit, scale = scaled_to_unit(matrix)
    values, vectors = np.linalg.eigh(unit)
    return scale[:, None] * vectors / np.sqrt(np.maximum(values, floor)), values
