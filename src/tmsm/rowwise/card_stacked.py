"""The loop over rows on a graphics card for stacked equations.

The threads of a block take a row each, and put its equations into shared memory; then each of them adds up, over these
rows, some entries of the sums, which are its own from the first row to the last.
"""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numba import cuda, float64, int32

from tmsm.foundation.arrays import FloatArray
from tmsm.regions.borders import RowBorder
from tmsm.rowwise.cuda import INSIDE, OFF, OUTSIDE, Compiler, border_arrays, sums_of_blocks, total_of_threads
from tmsm.rowwise.kinds import HEAD, STACK_TASKS
from tmsm.rowwise.plans import StackPlan, Tilt
from tmsm.rowwise.quadratic import chart_row, turn_row
from tmsm.rowwise.stack_functions import equation_rows, form_equation_rows, monomial_rows, weight_rows

__all__ = ["stack_device_sums"]

_THREADS = 128
# Bytes of shared memory that a block of threads may have on any card.
_SHARED = 48 * 1024


def stack_device_sums(
    points: Any, weight: Any, border: RowBorder, plan: StackPlan, task: str, theta: FloatArray, tilt: Tilt
) -> FloatArray:
    """Sums of points (n, 3) on the card, with weights (n,) there or None, for one of the `STACK_TASKS`.

    After the head there are, each where the task has it: Σ w e and Σ w² e (m,); the upper triangle of Σ f² e' e'ᵀ, row
    by row, with e' = e − mean and the factor f of `Tilt`; that of Σ w²π e eᵀ; Σ wπ A_i in columns (p, m) and Σ wπ b_i.
    """
    m, form, center, axes = plan.n_equations, plan.form, plan.center, plan.axes
    slopes = np.zeros((len(theta) + 2, 3, 4))  # at θ, at each unit vector, and at zero
    if form is None:
        slopes[0, :, 0], slopes[1:4, :, 0] = theta, np.eye(3)
        frame = np.eye(3), np.ones(4), np.empty((0, 9))
    else:
        slopes[0], slopes[1:-1] = form.at(theta), form.slopes
        frame = form.rotation, form.factors, form.of_products
        center, axes = form.rotation @ center, axes @ form.rotation.T
    threads = _THREADS
    while 8 * threads * (_stride(m) + 3) > _SHARED:
        threads //= 2
    p = None if form is None else form.size
    layout = _Layout.of(m, task, p or 3)
    kernel = _kernel(border.kind, task, m, p, len(plan.scales), max(int(plan.parts[:, 3].max()), 1), threads)
    given = (
        *border_arrays(border), center, axes, plan.scales, plan.parts, *frame, slopes,
        tilt.mean, tilt.multiplier, tilt.root, tilt.numbers, np.stack(np.triu_indices(m)),
    )  # fmt: skip
    return sums_of_blocks(kernel, threads, points, weight, given, layout.length)


def _stride(m: int) -> int:
    """Numbers from one row of equations to the next in shared memory: odd, so that threads do not wait for each other.

    There is room for the head of the sums, too.
    """
    return max(m, HEAD) | 1


@final
@dataclass(frozen=True)
class _Layout:
    """Where each of the sums begins, and how many numbers there are."""

    totals: int
    gram: int
    tilted: int
    columns: int
    length: int

    @classmethod
    def of(cls, m: int, task: str, p: int) -> _Layout:
        """For m equations, a task and p statistics."""
        half, at = m * (m + 1) // 2, [HEAD]
        for size in (
            2 * m * (task == "residuals"), half * (task != "sums"), half * (task == "tilted"),
            (p + 1) * m * (task != "residuals"),
        ):  # fmt: skip
            at.append(at[-1] + size)
        return cls(*at)


@lru_cache(maxsize=32)
def _kernel(border_kind: str, task: str, m: int, p: int | None, n_scales: int, n_monomials: int, threads: int) -> Any:
    """The kernel for a border, a task and a number of equations; these are data, whatever their kind.

    A family with a form has p statistics.
    """
    assert task in STACK_TASKS
    compiler = Compiler()
    read = compiler.reader(border_kind)
    has_form, n_columns = p is not None, (p or 3) + 1
    weigh, monomials, equations, chart, turn = (
        compiler.compiled(function)
        for function in (
            weight_rows,
            monomial_rows,
            form_equation_rows if has_form else equation_rows,
            chart_row,
            turn_row,
        )
    )
    with_residuals, with_tilt, with_columns = task != "sums", task == "tilted", task != "residuals"
    head, stride, n_pairs = HEAD, _stride(m), m * (m + 1) // 2
    own_pairs, own_rows = -(-n_pairs // threads), -(-m // threads)
    layout = _Layout.of(m, task, n_columns - 1)
    at_totals, at_gram, at_tilted, at_columns = layout.totals, layout.gram, layout.tilted, layout.columns
    inside, outside, off = INSIDE, OUTSIDE, OFF

    @cuda.jit
    def kernel(  # type: ignore[no-untyped-def]
        points, weight, border, boxes, arcs, first, center, axes, scales, parts, rotation, factors, mixing, slopes,
        mean, multiplier, root, numbers, pairs, partial,
    ):  # fmt: skip
        rows = cuda.shared.array((threads, stride), float64)
        shares = cuda.shared.array((3, threads), float64)
        counts, near = cuda.local.array(head, float64), cuda.local.array(6, float64)
        g, slope = cuda.local.array(n_scales, float64), cuda.local.array(n_scales, float64)
        h = cuda.local.array((n_monomials, 4), float64)
        stack, bounds = cuda.local.array(32, int32), cuda.local.array(32, float64)
        gram, tilted = cuda.local.array(own_pairs, float64), cuda.local.array(own_pairs, float64)
        totals, columns = cuda.local.array((2, own_rows), float64), cuda.local.array((n_columns, own_rows), float64)
        L = cuda.local.array(3, float64)
        me, n = cuda.threadIdx.x, points.shape[0]
        mine = rows[me]
        for k in range(head):
            counts[k] = 0.0
        for k in range(own_pairs):
            gram[k], tilted[k] = 0.0, 0.0
        for k in range(own_rows):
            totals[0, k], totals[1, k] = 0.0, 0.0
            for c in range(n_columns):
                columns[c, k] = 0.0
        # All threads stay together: who has no row, or one that does not count, has zeros.
        for start in range(cuda.blockIdx.x * threads, n, cuda.gridDim.x * threads):
            s, counted, i = 0.0, False, start + me
            x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if i < n:
                where, x, y, z, d, u, v, w, _ = read(points, i, border, boxes, arcs, first, stack, bounds)
                if where == off:
                    counts[2] += 1.0
                elif where == outside:
                    counts[1] += 1.0
                if where == inside:
                    s, counted = float64(weight[i]) if weight.shape[0] > 0 else 1.0, True
                    counts[0] += 1.0
                    counts[5] = max(counts[5], d)
                    if has_form:
                        x, y, z = turn(x, y, z, rotation)
                        u, v, w = turn(u, v, w, rotation)
                        L[0], L[1], L[2] = chart(x, y, z, factors[0], factors[1], factors[2])
                    weigh(d, scales, g, slope)
                    monomials(x, y, z, center, axes, n_monomials, near, h)
            for k in range(stride):
                mine[k] = 0.0
            if with_residuals:
                square, square_tilted = s * s, 0.0
                if counted:
                    equations(x, y, z, u, v, w, g, slope, near, h, parts, factors, L, mixing, slopes[0], 1.0, mine)
                if with_tilt:
                    share, along = s / numbers[0], 0.0
                    for j in range(m):
                        along += multiplier[j] * (mine[j] - mean[j])
                    leverage = 0.0
                    for k in range(root.shape[0]):
                        reached = 0.0
                        for j in range(m):
                            reached += root[k, j] * (mine[j] - mean[j])
                        leverage += reached * reached
                    tilt = math.exp(min(max(-share * along, -numbers[1]), numbers[1]))
                    rest = s / max(1.0 - share * share * leverage, numbers[2])
                    square, square_tilted = rest * rest, s * s * tilt
                    shares[2, me] = square_tilted
                    s *= tilt
                shares[0, me], shares[1, me] = square, s
                cuda.syncthreads()
                for k in range(own_pairs):
                    entry = me + k * threads
                    if entry < n_pairs:
                        a, b = pairs[0, entry], pairs[1, entry]
                        p, q, total, other = mean[a], mean[b], 0.0, 0.0
                        for j in range(threads):
                            e, f = rows[j, a], rows[j, b]
                            total += shares[0, j] * (e - p) * (f - q)
                            if with_tilt:
                                other += shares[2, j] * e * f
                        gram[k] += total
                        tilted[k] += other
                if not with_tilt:
                    for k in range(own_rows):
                        row = me + k * threads
                        if row < m:
                            total, other = 0.0, 0.0
                            for j in range(threads):
                                total += shares[1, j] * rows[j, row]
                                other += shares[0, j] * rows[j, row]
                            totals[0, k] += total
                            totals[1, k] += other
                cuda.syncthreads()
            counts[3] += s
            counts[4] += s * s
            if with_columns:
                # The columns of A, which are the equations at unit vectors without their constants, and b.
                shares[1, me] = s
                for c in range(n_columns):
                    if counted:
                        known = 1.0 if c == n_columns - 1 else 0.0
                        equations(
                            x, y, z, u, v, w, g, slope, near, h, parts, factors, L, mixing, slopes[1 + c], known, mine
                        )
                    cuda.syncthreads()
                    for k in range(own_rows):
                        row = me + k * threads
                        if row < m:
                            total = 0.0
                            for j in range(threads):
                                total += shares[1, j] * rows[j, row]
                            columns[c, k] += total
                    cuda.syncthreads()
        for k in range(head):
            mine[k] = counts[k]
        cuda.syncthreads()
        block = cuda.blockIdx.x
        for k in range(me, head, threads):
            partial[block, k] = total_of_threads(rows, k)
        for k in range(own_pairs):
            entry = me + k * threads
            if entry < n_pairs and with_residuals:
                partial[block, at_gram + entry] = gram[k]
                if with_tilt:
                    partial[block, at_tilted + entry] = tilted[k]
        for k in range(own_rows):
            row = me + k * threads
            if row < m:
                if with_columns:
                    for c in range(n_columns):
                        partial[block, at_columns + c * m + row] = columns[c, k]
                else:
                    partial[block, at_totals + row] = totals[0, k]
                    partial[block, at_totals + m + row] = totals[1, k]

    return kernel
