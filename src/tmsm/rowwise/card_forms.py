"""The loop over rows on a graphics card for the equations of one weight and a family of degree one and two.

As in `card_stacked` the threads of a block put some numbers of a row each into shared memory, and then each of them
adds up the products of its own pairs of these numbers.
"""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda, float64, int32

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.models.row_form import RowForm
from tmsm.regions.borders import RowBorder
from tmsm.rowwise.cuda import INSIDE, OFF, OUTSIDE, Compiler, border_arrays, sums_of_blocks, total_of_threads
from tmsm.rowwise.kinds import FORM_LENGTHS, HEAD
from tmsm.rowwise.quadratic import chart_row, form_row, product_row, turn_row

__all__ = ["form_device_sums"]

_THREADS = 128
# Numbers of a row: Q, k and ten monomials; or the nine of a residual.
_SIZES = {"sums": 19, "squares": 9}


def form_device_sums(
    points: Any,
    weight: Any,
    kinds: tuple[str, str],
    border: RowBorder,
    numbers: FloatArray,
    form: RowForm,
    slopes: FloatArray,
) -> FloatArray:
    """What `loops.sum_block` gives of a form, of points (n, 3) on the card, with weights (n,) or None."""
    weight_kind, task = kinds
    given = *border_arrays(border), numbers, form.rotation, form.factors, slopes, _pairs(task)
    kernel = _kernel(border.kind, weight_kind, task, _THREADS)
    return sums_of_blocks(kernel, _THREADS, points, weight, given, HEAD + FORM_LENGTHS[task])


def _pairs(task: str) -> IntArray:
    """Which numbers of a row are multiplied, shape (2, k): in the order in which stages add them."""
    if task == "squares":
        return np.stack(np.triu_indices(9))
    of_Q = [(i, 9 + j) for i in range(6) for j in range(10)]
    return np.array(of_Q + [(6 + i, 9 + j) for i in range(3) for j in range(4)]).T


@lru_cache(maxsize=64)
def _kernel(border_kind: str, weight_kind: str, task: str, threads: int) -> Any:
    """The kernel for a border, a weight and a task; forms are data."""
    assert task in FORM_LENGTHS
    compiler = Compiler()
    read, weigh = compiler.reader(border_kind), compiler.weigher(weight_kind)
    chart, form, product, turn = (
        compiler.compiled(function) for function in (chart_row, form_row, product_row, turn_row)
    )
    with_squares, stride, head, n_pairs = task == "squares", _SIZES[task] | 1, HEAD, FORM_LENGTHS[task]
    own_pairs = -(-n_pairs // threads)
    inside, outside, off = INSIDE, OUTSIDE, OFF

    @cuda.jit
    def kernel(  # type: ignore[no-untyped-def]
        points, weight, border, boxes, arcs, first, numbers, rotation, factors, slopes, pairs, partial
    ):
        rows = cuda.shared.array((threads, stride), float64)
        counts, sums = cuda.local.array(head, float64), cuda.local.array(own_pairs, float64)
        stack, bounds = cuda.local.array(32, int32), cuda.local.array(32, float64)
        s = cuda.local.array(3, float64)
        me, n = cuda.threadIdx.x, points.shape[0]
        mine = rows[me]
        for k in range(head):
            counts[k] = 0.0
        for k in range(own_pairs):
            sums[k] = 0.0
        t, r, half = factors[0], factors[1], factors[2]
        # All threads stay together: who has no row, or one that does not count, has zeros.
        for start in range(cuda.blockIdx.x * threads, n, cuda.gridDim.x * threads):
            i = start + me
            for k in range(stride):
                mine[k] = 0.0
            where = off
            if i < n:
                where, x, y, z, d, u, v, w, laplacian = read(points, i, border, boxes, arcs, first, stack, bounds)
                if where == off:
                    counts[2] += 1.0
                elif where == outside:
                    counts[1] += 1.0
            if where == inside:
                share = float64(weight[i]) if weight.shape[0] > 0 else 1.0
                counts[0] += 1.0
                counts[3] += share
                counts[4] += share * share
                counts[5] = max(counts[5], d)
                a, c, delta = weigh(d, laplacian, numbers)
                a, c, delta = share * a, share * c, share * delta
                x, y, z = turn(x, y, z, rotation)
                u, v, w = turn(u, v, w, rotation)
                q0, q1, q2, q3, q4, q5, k0, k1, k2 = form(x, y, z, u, v, w, t, r, a, c, delta)
                e, f, g = chart(x, y, z, t, r, half)
                if with_squares:
                    for k in range(3):
                        s[k] = slopes[k, 0] + slopes[k, 1] * e + slopes[k, 2] * f + slopes[k, 3] * g
                    found = product(q0, q1, q2, q3, q4, q5, k0, k1, k2, e, f, g, s[0], s[1], s[2], 2.0)
                    for k in range(9):
                        mine[k] = found[k]
                else:
                    mine[0], mine[1], mine[2], mine[3], mine[4], mine[5] = q0, q1, q2, q3, q4, q5
                    mine[6], mine[7], mine[8], mine[9], mine[10], mine[11], mine[12] = k0, k1, k2, 1.0, e, f, g
                    mine[13], mine[14], mine[15] = e * e, e * f, e * g
                    mine[16], mine[17], mine[18] = f * f, f * g, g * g
            cuda.syncthreads()
            for k in range(own_pairs):
                pair = me + k * threads
                if pair < n_pairs:
                    left, right, total = pairs[0, pair], pairs[1, pair], 0.0
                    for j in range(threads):
                        total += rows[j, left] * rows[j, right]
                    sums[k] += total
            cuda.syncthreads()
        for k in range(head):
            mine[k] = counts[k]
        cuda.syncthreads()
        block = cuda.blockIdx.x
        for k in range(me, head, threads):
            partial[block, k] = total_of_threads(rows, k)
        for k in range(own_pairs):
            pair = me + k * threads
            if pair < n_pairs:
                partial[block, head + pair] = sums[k]

    return kernel
