"""What is done to a chunk of rows, one stage after the other: load, border, weight, sums.

Each stage is a short loop over a row function that compilers vectorise, over arrays that stay in the cache: so any
border meets any weight, and nothing is compiled for each pair of them.  `functions` says what the arrays hold.
"""

from __future__ import annotations

import math

from tmsm.foundation.compiled import LOOP, STAGE, compiled
from tmsm.manifolds.lonlat_loops import place_row
from tmsm.regions.polygon.arcs import nearest_arc
from tmsm.rowwise.functions import cap_row, moment_row, normal_row, residual_row, saturating_row
from tmsm.rowwise.kinds import ROUNDING, TOLERANCE

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


@compiled(**STAGE)
def point_stage(flat, start, m, x, y, z):  # type: ignore[no-untyped-def]
    """Rows of three coordinates, moved onto the sphere where rounding has them off it; how many are off it for good."""
    moved = wrong = 0
    for i in range(m):
        j = 3 * (start + i)
        p, q, r = flat[j], flat[j + 1], flat[j + 2]
        x[i], y[i], z[i] = p, q, r
        off = abs(p * p + q * q + r * r - 1.0)
        moved += off > ROUNDING
        wrong += not (off <= TOLERANCE)
    if moved > 0:
        for i in range(m):
            scale = 1.0 / math.sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i])
            x[i], y[i], z[i] = x[i] * scale, y[i] * scale, z[i] * scale
    return wrong


@compiled(**{**STAGE, "fastmath": {"contract"}})
def degree_stage(lon, lat, start, m, x, y, z):  # type: ignore[no-untyped-def]
    """Points at longitudes and latitudes in degrees; how many are no such numbers."""
    wrong = 0
    for i in range(m):
        a, b = lon[start + i], lat[start + i]
        wrong += not ((abs(a) <= 360.0) & (abs(b) <= 90.0))
        x[i], y[i], z[i] = place_row(a, b)
    return wrong


@compiled(**STAGE)
def cap_stage(x, y, z, m, center, d, u, v, w, laplacian):  # type: ignore[no-untyped-def]
    """The border of a cap: center (3,) and radius in one array."""
    a, b, c, radius = center[0], center[1], center[2], center[3]
    for i in range(m):
        d[i], u[i], v[i], w[i], laplacian[i] = cap_row(x[i], y[i], z[i], a, b, c, radius)


@compiled(**LOOP)
def arc_stage(x, y, z, m, boxes, arcs, first, stack, bounds, d, u, v, w):  # type: ignore[no-untyped-def]
    """A border of arcs, by their tree."""
    for i in range(m):
        d[i], u[i], v[i], w[i] = nearest_arc(boxes, arcs, first, x[i], y[i], z[i], stack, bounds)


@compiled(**STAGE)
def saturating_stage(d, m, scale, a, delta):  # type: ignore[no-untyped-def]
    """The distance near the border, constant far from it."""
    inverse = 1.0 / scale
    for i in range(m):
        a[i], delta[i] = saturating_row(d[i], inverse)


@compiled(**STAGE)
def normal_stage(d, laplacian, m, reach, power, c, delta):  # type: ignore[no-untyped-def]
    """Only motion across the border is damped."""
    inverse = 1.0 / reach
    if power == 3.0:  # a constant for the compiler: products instead of powers
        for i in range(m):
            c[i], delta[i] = normal_row(d[i], laplacian[i], inverse, 3.0)
    else:
        for i in range(m):
            c[i], delta[i] = normal_row(d[i], laplacian[i], inverse, power)


@compiled(**STAGE)
def sum_stage(x, y, z, u, v, w, a, c, delta, s, m, out):  # type: ignore[no-untyped-def]
    """Add s A_i, its upper triangle row by row, and s b_i, with weights s of the rows."""
    t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = t8 = 0.0
    for i in range(m):
        r0, r1, r2, r3, r4, r5, r6, r7, r8 = moment_row(
            x[i], y[i], z[i], u[i], v[i], w[i], s[i] * a[i], s[i] * c[i], s[i] * delta[i]
        )
        t0 += r0
        t1 += r1
        t2 += r2
        t3 += r3
        t4 += r4
        t5 += r5
        t6 += r6
        t7 += r7
        t8 += r8
    out[0] += t0
    out[1] += t1
    out[2] += t2
    out[3] += t3
    out[4] += t4
    out[5] += t5
    out[6] += t6
    out[7] += t7
    out[8] += t8


@compiled(**STAGE)
def residual_stage(x, y, z, u, v, w, a, c, delta, s, m, theta, e, f, g):  # type: ignore[no-untyped-def]
    """The residual of each row at θ, times its weight."""
    p, q, r = theta[0], theta[1], theta[2]
    for i in range(m):
        e[i], f[i], g[i] = residual_row(
            x[i], y[i], z[i], u[i], v[i], w[i], s[i] * a[i], s[i] * c[i], s[i] * delta[i], p, q, r
        )


@compiled(**STAGE)
def feature_stage(x, y, z, u, v, w, a, c, s, m, features):  # type: ignore[no-untyped-def]
    """The upper triangle of A_i, row by row, times the weight of the row: six rows of an array."""
    f0, f1, f2, f3, f4, f5 = features[0], features[1], features[2], features[3], features[4], features[5]
    for i in range(m):
        f0[i], f1[i], f2[i], f3[i], f4[i], f5[i], _, _, _ = moment_row(
            x[i], y[i], z[i], u[i], v[i], w[i], s[i] * a[i], s[i] * c[i], 0.0
        )


@compiled(**STAGE)
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
