"""Angles and their sines by short polynomials, which compilers turn into vector instructions, unlike library calls.

Scalar functions, compiled when first used, of the kind that loops over rows are made of.  Minimax polynomials; results
are right to two units in the last place of one.
"""

from __future__ import annotations

import math

from tmsm.foundation.compiled import compiled

__all__ = ["angle_of", "inverse_root", "sincos_of_degrees"]

_HALF_PI = 0.5 * math.pi
_RADIANS = math.pi / 180.0


@compiled(inline="always")
def inverse_root(x):  # type: ignore[no-untyped-def]
    """One over the square root; a card has an instruction for it."""
    return 1.0 / math.sqrt(x)


@compiled(inline="always")
def angle_of(sine, cosine):  # type: ignore[no-untyped-def]
    """The angle in [0, π] with a sine that is not negative and a cosine, whose squares add up to one."""
    size = abs(cosine)
    # The tangent of half the angle to the nearer axis: at most tan(π/8).
    t = min(sine, size) / (1.0 + max(sine, size))
    z = t * t
    p = 0.021135373157124693
    p = p * z - 0.043480522157164624
    p = p * z + 0.056883492268090105
    p = p * z - 0.066402339304294086
    p = p * z + 0.076899534963068578
    p = p * z - 0.090907730748084138
    p = p * z + 0.11111106180459445
    p = p * z - 0.14285714180976467
    p = p * z + 0.19999999998855110
    p = p * z - 0.33333333333328439
    angle = 2.0 * (t + t * z * p)
    if sine > size:
        angle = _HALF_PI - angle
    return math.pi - angle if cosine < 0.0 else angle


@compiled(inline="always")
def sincos_of_degrees(angle):  # type: ignore[no-untyped-def]
    """Sine and cosine of degrees, exact at every multiple of 90."""
    quarter = math.floor(angle / 90.0 + 0.5)
    r = (angle - 90.0 * quarter) * _RADIANS  # |r| <= π/4, the difference is exact
    z = r * r
    p = 1.5894736651849095e-10
    p = p * z - 2.5050716974102745e-8
    p = p * z + 2.7557313376400129e-6
    p = p * z - 0.00019841269828650300
    p = p * z + 0.0083333333333203625
    p = p * z - 0.16666666666666617
    s = r + r * z * p
    p = -1.1382632425521718e-11
    p = p * z + 2.0876146268403198e-9
    p = p * z - 2.7557317271729793e-7
    p = p * z + 2.4801587298765688e-5
    p = p * z - 0.0013888888888887397
    p = p * z + 0.041666666666666665
    c = 1.0 - z * (0.5 - z * p)
    turn = quarter - 4.0 * math.floor(0.25 * quarter)  # 0, 1, 2 or 3
    odd = turn == 1.0 or turn == 3.0
    sine = c if odd else s
    cosine = s if odd else c
    if turn >= 2.0:
        sine = -sine
    if turn == 1.0 or turn == 2.0:
        cosine = -cosine
    return sine + 0.0, cosine + 0.0
