"""Quadratics on a sphere: minimise θᵀAθ + 2bᵀθ over ‖θ‖ = radius, exactly.

The same equation gives the estimate with a known concentration (one 'row') and the distance from
points to an ellipse (one row a point).
"""

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["minimise_on_sphere"]

_MAX_ITERATIONS = 100


def minimise_on_sphere(
    eigenvalues: FloatArray, coefficients: FloatArray, radius: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Global minimiser of Σ_j λ_j θ_j² + 2 c_j θ_j on ‖θ‖ = radius, for each row of coefficients.

    Parameters
    ----------
    eigenvalues
        λ in any order and of any sign, shape (p,): the quadratic in its eigenbasis.
    coefficients
        c, shape (n, p).
    radius
        Radius of the sphere, positive.

    Returns
    -------
    theta : shape (n, p).
    multiplier : shape (n,), the t of (λ_j + t) θ_j = −c_j.
    hard : shape (n,), bool: the minimiser is not unique (the hard case).

    Notes
    -----
    With s = t + min λ ≥ 0 and δ_j = λ_j − min λ, the norm of the solution solves
    Σ c_j² / (δ_j + s)² = radius².  Newton on 1/‖θ(s)‖ − 1/radius, which is increasing and concave,
    started to the left of the root, increases monotonically to it from every start.
    In the hard case c vanishes on the lowest eigenspace and s = 0 leaves ‖θ‖ < radius: the rest of
    the length goes along the lowest eigenvector, in either direction; the positive one is returned.
    """
    lowest = float(eigenvalues.min())
    delta = eigenvalues - lowest
    # Eigenvalues that differ by rounding belong to one space.
    delta[delta <= 4 * np.finfo(float).eps * max(abs(float(eigenvalues.max())), abs(lowest))] = 0.0
    bottom = delta == 0.0
    size = np.abs(coefficients)
    bottom_size = np.sqrt((coefficients[:, bottom] ** 2).sum(axis=1))

    s = np.maximum((size / radius - delta).max(axis=1), bottom_size / radius)
    s = np.maximum(s, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_MAX_ITERATIONS):
            shifted = delta + s[:, None]
            theta = np.where(coefficients == 0.0, 0.0, coefficients / shifted)
            squared = (theta**2).sum(axis=1)
            slope = np.where(coefficients == 0.0, 0.0, theta**2 / shifted).sum(axis=1)
            step = np.where(slope > 0.0, squared * (np.sqrt(squared) / radius - 1.0) / slope, 0.0)
            step = np.maximum(step, 0.0)  # to the right only: a negative step is rounding, or the hard case
            s = s + step
            if not (step > 2 * np.finfo(float).eps * s).any():
                break
    shifted = delta + s[:, None]
    theta = -np.divide(coefficients, shifted, out=np.zeros_like(coefficients), where=coefficients != 0.0)
    squared = (theta**2).sum(axis=1)
    missing = radius**2 - squared
    hard = (bottom_size == 0.0) & (missing > 1e-14 * radius**2) & (s == 0.0)
    theta[hard, int(np.argmax(bottom))] = np.sqrt(missing[hard])
    norm = np.sqrt((theta**2).sum(axis=1))
    theta *= (radius / norm)[:, None]  # the last digits of the constraint
    return theta, s - lowest, hard
