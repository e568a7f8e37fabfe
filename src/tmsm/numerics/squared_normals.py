"""How often a weighted sum of squared standard normal variables reaches a number.

With weights λ_k and K(s) = −½ Σ log(1 − 2λ_k s), the logarithm of the sum's moment generating function,

    P(Σ λ_k z_k² ≥ x) = 1/(2πi) ∫ exp(K(s) − s x) / s ds

along a contour that crosses the real axis at c between 0 and the first singularity 1/(2 max λ).  Left of zero the same
integral is −P(Σ λ_k z_k² < x).  The contour is a hyperbola that goes through the saddle point along the steepest
descent, and round all singularities to the right.  On it the integrand falls doubly exponentially, so that the
trapezoidal rule gives small probabilities with as many digits as large ones.
"""

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["share_reaching"]

# Step of the trapezoidal rule in the widths of what varies: the error is below exp(−35).
_STEP = 0.1
# What is this many logarithms below the largest value does not count.
_NEGLIGIBLE = 42.0
# The contour stays so many widths of the integrand away from its pole at zero.
_AWAY = 0.5
_BISECTIONS = 50
_BLOCK = 64


def share_reaching(weights: FloatArray, x: float) -> float:
    """P(Σ λ_k z_k² ≥ x) for weights λ (d,), none of them negative, and independent standard normal z_k."""
    weights = weights[weights > 0.0]
    if x <= 0.0 or len(weights) == 0:
        return 1.0 if x <= 0.0 else 0.0
    top = float(weights.max())
    crossing = _crossing(weights / top, x / top)
    found = _contour_integral(weights / top, x / top, crossing)
    return float(np.clip(found if crossing > 0.0 else 1.0 + found, 0.0, 1.0))


def _crossing(weights: FloatArray, x: float) -> float:
    """Where K′(s) = x, or a point near it that is not next to the pole at zero; the largest weight is one."""
    low, high = 1.0 / x, 1.0 + len(weights) / x  # bounds of z = 1 − 2s
    for _ in range(_BISECTIONS):
        z = np.sqrt(low * high)
        if float((weights / (1.0 - weights * (1.0 - z))).sum()) > x:
            low = z
        else:
            high = z
    saddle = 0.5 * (1.0 - np.sqrt(low * high))
    width = 1.0 / np.sqrt(2.0 * float(weights @ weights))
    return float(saddle if abs(saddle) > _AWAY * width else min(_AWAY * width, 0.25))


def _contour_integral(weights: FloatArray, x: float, crossing: float) -> float:
    ratios = weights / (1.0 - 2.0 * weights * crossing)
    second, third = 2.0 * float((ratios**2).sum()), 8.0 * float((ratios**3).sum())
    # s = crossing + reach (bend (cosh τ − 1) + i sinh τ), reach the distance to the first singularity.
    reach = 0.5 - crossing
    bend = third * reach / (3.0 * second)
    step = _STEP * min(1.0 / (reach * np.sqrt(second)), abs(crossing) / reach, 1.0)
    constant = -0.5 * float(np.log1p(-2.0 * weights * crossing).sum()) - crossing * x
    total, first, largest = 0.0, 0, -np.inf
    while True:
        tau = step * np.arange(first, first + _BLOCK)
        away = reach * (bend * (np.cosh(tau) - 1.0) + 1j * np.sinh(tau))
        slope = reach * (bend * np.sinh(tau) + 1j * np.cosh(tau))
        # K(s) − s x, less its value at the crossing.
        exponent = -0.5 * np.log1p(-2.0 * ratios[:, None] * away).sum(axis=0) - away * x
        values = np.exp(exponent) * slope / (crossing + away)
        values[0] *= 0.5 if first == 0 else 1.0
        total += float(values.imag.sum())
        sizes = np.log(np.abs(values) + 1e-300)
        largest = max(largest, float(sizes.max()))
        if float(sizes[-1]) < largest - _NEGLIGIBLE:
            return float(np.exp(constant) * total * step / np.pi)
        first += _BLOCK
