"""Row functions: border, weight and equations of one row, a few numbers in and a few out.

Loops over rows are made of these, for processors and, from the same source, for graphics cards.  A row has its point
(x, y, z), the signed distance d to the border with its gradient (u, v, w), the Laplacian of d where it is needed, and
W = a P + c ννᵀ with div W = δ ν, ν = (u, v, w).
"""

from __future__ import annotations

import math

from tmsm.foundation.compiled import compiled
from tmsm.numerics.elementary import angle_of, inverse_root

__all__ = ["cap_row", "moment_row", "normal_row", "residual_row", "saturating_row"]


@compiled(inline="always")
def cap_row(x, y, z, a, b, c, radius):  # type: ignore[no-untyped-def]
    """Distance to the border of a cap round (a, b, c), its gradient and its Laplacian −cot ρ."""
    cosine = a * x + b * y + c * z
    # P c, of length sin ρ with ρ the angle to the centre; at the centre it is rounding noise.
    p, q, r = a - cosine * x, b - cosine * y, c - cosine * z
    squared = p * p + q * q + r * r
    inverse = inverse_root(max(squared, 1e-300))
    d = radius - angle_of(squared * inverse, cosine)
    laplacian = -cosine * inverse
    if squared < 1e-30:
        inverse = 0.0
    return d, p * inverse, q * inverse, r * inverse, laplacian


@compiled(inline="always")
def saturating_row(d, inverse):  # type: ignore[no-untyped-def]
    """The numbers a and δ of W = g P with g = 1 − exp(−d/scale), given one over the scale."""
    g = -math.expm1(-d * inverse)
    return g, (1.0 - g) * inverse


@compiled(inline="always")
def normal_row(d, laplacian, inverse, power):  # type: ignore[no-untyped-def]
    """The numbers c and δ of W = P − q ννᵀ with q = (1 − d/reach)^power, given one over the reach."""
    rest = max(1.0 - d * inverse, 0.0)
    slope = rest * rest if power == 3.0 else rest ** (power - 1.0)
    q = slope * rest
    return -q, power * slope * inverse - q * laplacian


@compiled(inline="always")
def moment_row(x, y, z, u, v, w, a, c, delta):  # type: ignore[no-untyped-def]
    """The upper triangle of A = a P + c ννᵀ, row by row, and b = δ ν − (2a + c) x, for log p = θ·x."""
    gu, gv, gw = c * u, c * v, c * w
    fx, fy, fz = a * x, a * y, a * z
    k = 2.0 * a + c
    return (
        a + gu * u - fx * x,
        gu * v - fx * y,
        gu * w - fx * z,
        a + gv * v - fy * y,
        gv * w - fy * z,
        a + gw * w - fz * z,
        delta * u - k * x,
        delta * v - k * y,
        delta * w - k * z,
    )


@compiled(inline="always")
def residual_row(x, y, z, u, v, w, a, c, delta, p, q, r):  # type: ignore[no-untyped-def]
    """The residual e = A θ + b at θ = (p, q, r): a (θ − (θ·x) x) + (c θ·ν + δ) ν − (2a + c) x."""
    k = a * (p * x + q * y + r * z + 2.0) + c
    h = c * (p * u + q * v + r * w) + delta
    return a * p + h * u - k * x, a * q + h * v - k * y, a * r + h * w - k * z
