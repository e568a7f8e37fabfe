"""The loop over the rows of a block, chunk by chunk, and over the stages of each chunk."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.compiled import LOOP, compiled
from tmsm.rowwise.kinds import BORDERS, HEAD, ON_BORDER, TASKS, WEIGHTS
from tmsm.rowwise.quadratic import chart_stage, form_stage, moment_stage, square_stage, turn_stage
from tmsm.rowwise.stages import (
    arc_stage,
    cap_stage,
    degree_stage,
    feature_stage,
    gram_stage,
    normal_stage,
    point_stage,
    residual_stage,
    saturating_stage,
    sum_stage,
)

__all__ = ["sum_block"]

_CAP, _ARCS = BORDERS.index("cap"), BORDERS.index("arcs")
_DISTANCE, _SATURATING, _NORMAL = WEIGHTS.index("distance"), WEIGHTS.index("saturating"), WEIGHTS.index("normal")
_SUMS, _SQUARES = TASKS.index("sums"), TASKS.index("squares")

# Rows of a chunk: its arrays stay in the nearest cache.
_CHUNK = 256


@compiled(**LOOP)
def sum_block(  # type: ignore[no-untyped-def]
    points, lon, lat, weight, border_kind, border, boxes, arcs, first, weight_kind, numbers,
    task, theta, rotation, factors, slopes, out,
):  # fmt: skip
    """Add up a block of rows, given as points (3 n,) or, where these are none, in degrees; rows outside count nothing.

    ``weight`` is empty where rows have none.  Where the statistics are the points themselves there is no ``rotation``,
    and nothing is compiled for forms; else ``slopes`` are those of θ·t, for squares.  Where rows are off the sphere
    the sums are not to be used.
    """
    n = len(points) // 3 if len(points) else len(lon)
    x, y, z, d = np.empty(_CHUNK), np.empty(_CHUNK), np.empty(_CHUNK), np.full(_CHUNK, np.inf)
    u, v, w, laplacian = np.zeros(_CHUNK), np.zeros(_CHUNK), np.zeros(_CHUNK), np.zeros(_CHUNK)
    a, c, delta, s = np.ones(_CHUNK), np.zeros(_CHUNK), np.zeros(_CHUNK), np.ones(_CHUNK)
    stack, bounds = np.empty(64, dtype=np.int64), np.empty(64)
    farthest = np.zeros(_CHUNK)
    features = np.empty((9, _CHUNK))
    e = features[6:]
    if rotation is not None:
        turned, monomials, Q, k = (
            np.empty((6, _CHUNK)),
            np.empty((10, _CHUNK)),
            np.empty((6, _CHUNK)),
            np.empty((3, _CHUNK)),
        )
    for start in range(0, n, _CHUNK):
        m = min(_CHUNK, n - start)
        if len(points):
            out[2] += point_stage(points, start, m, x, y, z)
        else:
            out[2] += degree_stage(lon, lat, start, m, x, y, z)
        if len(weight):
            for i in range(m):
                s[i] = weight[start + i]
        if border_kind == _CAP:
            cap_stage(x, y, z, m, border, d, u, v, w, laplacian)
        elif border_kind == _ARCS:
            arc_stage(x, y, z, m, boxes, arcs, first, stack, bounds, d, u, v, w)
        outside = 0
        for i in range(m):
            outside += not (d[i] > ON_BORDER)
            farthest[i] = max(farthest[i], d[i])
        if outside > 0:
            for i in range(m):
                if not (d[i] > ON_BORDER):
                    d[i], s[i] = 0.0, 0.0
        if weight_kind == _DISTANCE:
            for i in range(m):
                a[i], delta[i] = d[i], 1.0
        elif weight_kind == _SATURATING:
            saturating_stage(d, m, numbers[0], a, delta)
        elif weight_kind == _NORMAL:
            normal_stage(d, laplacian, m, numbers[0], numbers[1], c, delta)
        out[0] += m - outside
        out[1] += outside
        if task != _SQUARES:
            total = squares = 0.0
            for i in range(m):
                total += s[i]
                squares += s[i] * s[i]
            out[3] += total
            out[4] += squares
        if rotation is not None:
            turn_stage(x, y, z, rotation, m, turned[0], turned[1], turned[2])
            turn_stage(u, v, w, rotation, m, turned[3], turned[4], turned[5])
            chart_stage(turned, m, factors, monomials)
            form_stage(turned, a, c, delta, s, m, factors, Q, k)
            if task == _SUMS:
                moment_stage(Q, k, monomials, m, out[HEAD:])
            else:
                square_stage(Q, k, monomials, m, slopes, features, out[HEAD:])
        else:
            if task != _SQUARES:
                sum_stage(x, y, z, u, v, w, a, c, delta, s, m, out[HEAD : HEAD + 9])
            if task != _SUMS:
                residual_stage(x, y, z, u, v, w, a, c, delta, s, m, theta, e[0], e[1], e[2])
                if task == _SQUARES:
                    gram_stage(e, m, out[HEAD:])
                else:
                    feature_stage(x, y, z, u, v, w, a, c, s, m, features)
                    gram_stage(features, m, out[HEAD + 9 :])
        if outside > 0:
            s[:] = 1.0
    for i in range(_CHUNK):
        out[5] = max(out[5], farthest[i])
