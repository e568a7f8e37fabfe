"""What is done to a chunk of rows, one stage after the other: load, border, weight, sums.

Each stage is a short loop that compilers vectorise, over arrays that stay in the cache: so any border meets any weight,
and nothing is compiled for each pair of them.  A row has its point (x, y, z), the signed distance d to the border with
its gradient (u, v, w), the Laplacian of d where it is needed, and W = a P + c ννᵀ with div W = δ ν, ν = (u, v, w).
"""

from __future__ import annotations

import math

from tmsm.foundation.compiled import compiled
from tmsm.numerics.elementary import angle_of, sincos_of_degrees
from tmsm.regions.polygon.arcs import nearest_arc

__all__ = [
    "arc_stage",
    "cap_stage",
    "degree_stage",
    "feature_stage",
    "gram_stage",
    "normal_stage",
    "point_stage",
    "residual_stage",
    "saturating_stage",
    "sum_stage",
]

# Sums may be added in any order, products fused; NaN and infinity stay what they are.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": _FAST}

# Squared norms: beyond the first a row is moved onto the sphere, beyond the second it is off it.
_ROUNDING, _TOLERANCE = 1e-14, 2e-6


@compiled(**_OPTIONS)
def point_stage(flat, start, m, x, y, z):  # type: ignore[no-untyped-def]
    """Rows of three coordinates, moved onto the sphere where rounding has them off it; how many are off it for good."""
    moved = wrong = 0
    for i in range(m):
        j = 3 * (start + i)
        p, q, r = flat[j], flat[j + 1], flat[j + 2]
        x[i], y[i], z[i] = p, q, r
        off = abs(p * p + q * q + r * r - 1.0)
        moved += off > _ROUNDING
        wrong += not (off <= _TOLERANCE)
    if moved > 0:
        for i in range(m):
            scale = 1.0 / math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])
            x[i], y[i], z[i] = x[i] * scale, y[i] * scale, z[i] * scale
    return wrong


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def degree_stage(lon, lat, start, m, x, y, z):  # type: ignore[no-untyped-def]
    """Points at longitudes and latitudes in degrees; how many are no such numbers."""
    wrong = 0
    for i in range(m):
        a, b = lon[start + i], lat[start + i]
        wrong += not ((abs(a) <= 360.0) & (abs(b) <= 90.0))
        sin_lon, cos_lon = sincos_of_degrees(a)
        sin_lat, cos_lat = sincos_of_degrees(b)
        x[i], y[i], z[i] = cos_lat * cos_lon, cos_lat * sin_lon, sin_lat
    return wrong


@compiled(**_OPTIONS)
def cap_stage(x, y, z, m, center, d, u, v, w, laplacian):  # type: ignore[no-untyped-def]
    """The border of a cap: center (3,) and radius in one array."""
    a, b, c, radius = center[0], center[1], center[2], center[3]
    for i in range(m):
        cosine = a * x[i] + b * y[i] + c * z[i]
        # P c, of length sin ρ with ρ the angle to the centre; at the centre it is rounding noise.
        p, q, r = a - cosine * x[i], b - cosine * y[i], c - cosine * z[i]
        squared = p * p + q * q + r * r
        inverse = 1.0 / math.sqrt(max(squared, 1e-300))
        d[i] = radius - angle_of(squared * inverse, cosine)
        laplacian[i] = -cosine * inverse
        inverse = 0.0 if squared < 1e-30 else inverse
        u[i], v[i], w[i] = p * inverse, q * inverse, r * inverse


@compiled(nogil=True, error_model="numpy")
def arc_stage(x, y, z, m, boxes, arcs, first, stack, bounds, d, u, v, w):  # type: ignore[no-untyped-def]
    """A border of arcs, by their tree."""
    for i in range(m):
        d[i], u[i], v[i], w[i] = nearest_arc(boxes, arcs, first, x[i], y[i], z[i], stack, bounds)


@compiled(**_OPTIONS)
def saturating_stage(d, m, scale, a, delta):  # type: ignore[no-untyped-def]
    """W = g P with g = 1 − exp(−d/scale)."""
    inverse = 1.0 / scale
    for i in range(m):
        a[i] = -math.expm1(-d[i] * inverse)
        delta[i] = (1.0 - a[i]) * inverse


@compiled(**_OPTIONS)
def normal_stage(d, laplacian, m, reach, power, c, delta):  # type: ignore[no-untyped-def]
    """W = P − q ννᵀ with q = (1 − d/reach)^power."""
    inverse = 1.0 / reach
    if power == 3.0:
        for i in range(m):
            rest = max(1.0 - d[i] * inverse, 0.0)
            slope = rest * rest
            c[i] = -slope * rest
            delta[i] = 3.0 * slope * inverse - slope * rest * laplacian[i]
    else:
        for i in range(m):
            rest = max(1.0 - d[i] * inverse, 0.0)
            slope = rest ** (power - 1.0)
            c[i] = -slope * rest
            delta[i] = power * slope * inverse - slope * rest * laplacian[i]


@compiled(**_OPTIONS)
def sum_stage(x, y, z, u, v, w, a, c, delta, s, m, out):  # type: ignore[no-untyped-def]
    """Add s A_i and s b_i for log p = θ·x: A = a P + c ννᵀ, b = δ ν − (2a + c) x, s the rows' weights."""
    a00 = a01 = a02 = a11 = a12 = a22 = b0 = b1 = b2 = trace = 0.0
    for i in range(m):
        f, g = s[i] * a[i], s[i] * c[i]
        trace += f
        gu, gv, gw = g * u[i], g * v[i], g * w[i]
        fx, fy, fz = f * x[i], f * y[i], f * z[i]
        a00 += gu * u[i] - fx * x[i]
        a01 += gu * v[i] - fx * y[i]
        a02 += gu * w[i] - fx * z[i]
        a11 += gv * v[i] - fy * y[i]
        a12 += gv * w[i] - fy * z[i]
        a22 += gw * w[i] - fz * z[i]
        h, k = s[i] * delta[i], 2.0 * f + g
        b0 += h * u[i] - k * x[i]
        b1 += h * v[i] - k * y[i]
        b2 += h * w[i] - k * z[i]
    out[0] += a00 + trace
    out[1] += a01
    out[2] += a02
    out[3] += a11 + trace
    out[4] += a12
    out[5] += a22 + trace
    out[6] += b0
    out[7] += b1
    out[8] += b2


@compiled(**_OPTIONS)
def residual_stage(x, y, z, u, v, w, a, c, delta, s, m, theta, e, f, g):  # type: ignore[no-untyped-def]
    """e_i = A_i θ + b_i of each row, times its weight."""
    p, q, r = theta[0], theta[1], theta[2]
    for i in range(m):
        along, across = p * x[i] + q * y[i] + r * z[i], p * u[i] + q * v[i] + r * w[i]
        # a (θ − (θ·x) x) + (c θ·ν + δ) ν − (2a + c) x
        k, h = a[i] * (along + 2.0) + c[i], c[i] * across + delta[i]
        e[i] = s[i] * (a[i] * p + h * u[i] - k * x[i])
        f[i] = s[i] * (a[i] * q + h * v[i] - k * y[i])
        g[i] = s[i] * (a[i] * r + h * w[i] - k * z[i])


@compiled(**_OPTIONS)
def feature_stage(x, y, z, u, v, w, a, c, s, m, features):  # type: ignore[no-untyped-def]
    """The upper triangle of A_i, row by row, times the weight of the row: six rows of an array."""
    f0, f1, f2, f3, f4, f5 = features[0], features[1], features[2], features[3], features[4], features[5]
    for i in range(m):
        f, g = s[i] * a[i], s[i] * c[i]
        f0[i] = f + g * u[i] * u[i] - f * x[i] * x[i]
        f1[i] = g * u[i] * v[i] - f * x[i] * y[i]
        f2[i] = g * u[i] * w[i] - f * x[i] * z[i]
        f3[i] = f + g * v[i] * v[i] - f * y[i] * y[i]
        f4[i] = g * v[i] * w[i] - f * y[i] * z[i]
        f5[i] = f + g * w[i] * w[i] - f * z[i] * z[i]


@compiled(**_OPTIONS)
def gram_stage(rows, m, out):  # type: ignore[no-untyped-def]
    """Add the products of each two rows of an array (k, at least m), the upper triangle row by row."""
    at = 0
    for i in range(len(rows)):
        e = rows[i]
        for j in range(i, len(rows)):
            f = rows[j]
            total = 0.0
            for k in range(m):
                total += e[k] * f[k]
            out[at] += total
            at += 1
