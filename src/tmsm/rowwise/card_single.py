"""The loop over rows on a graphics card for the equations of one weight: all sums of a row stay in registers."""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, float64, int32

from tmsm.foundation.arrays import FloatArray
from tmsm.regions.borders import RowBorder
from tmsm.rowwise.cuda import INSIDE, OFF, OUTSIDE, Compiler, border_arrays, sums_of_blocks
from tmsm.rowwise.functions import moment_row, residual_row
from tmsm.rowwise.kinds import HEAD, LENGTHS, TASKS

__all__ = ["device_sums"]

_THREADS = 256


def device_sums(
    points: Any,
    weight: Any,
    kinds: tuple[str, str],
    border: RowBorder,
    numbers: FloatArray,
    theta: FloatArray,
) -> FloatArray:
    """What `loops.sum_block` gives, of points (n, 3) on the card, with weights (n,) or None."""
    weight_kind, task = kinds
    given = *border_arrays(border), numbers, theta
    kernel = _kernel(border.kind, weight_kind, task)
    return sums_of_blocks(kernel, _THREADS, points, weight, given, HEAD + LENGTHS[task])


@lru_cache(maxsize=64)
def _kernel(border_kind: str, weight_kind: str, task: str) -> Any:
    """The kernel for a border, a weight and a task: what is not asked for is left out when it is compiled."""
    compiler = Compiler()
    read, weigh = compiler.reader(border_kind), compiler.weigher(weight_kind)
    moments, residual = compiler.compiled(moment_row), compiler.compiled(residual_row)
    with_sums, with_squares, with_features = task != "squares", task == "squares", task == "features"
    head, length, threads = HEAD, HEAD + LENGTHS[task], _THREADS
    inside, outside, off = INSIDE, OUTSIDE, OFF
    assert task in TASKS

    @cuda.jit
    def kernel(points, weight, border, boxes, arcs, first, numbers, theta, partial):  # type: ignore[no-untyped-def]
        total = cuda.local.array(length, float64)
        f = cuda.local.array(9, float64)
        stack, bounds = cuda.local.array(32, int32), cuda.local.array(32, float64)
        shared = cuda.shared.array(threads, float64)
        for k in range(length):
            total[k] = 0.0
        for i in range(cuda.grid(1), points.shape[0], cuda.gridsize(1)):
            where, x, y, z, d, u, v, w, laplacian = read(points, i, border, boxes, arcs, first, stack, bounds)
            if where == off:
                total[2] += 1.0
            elif where == outside:
                total[1] += 1.0
            if where != inside:
                continue
            s = float64(weight[i]) if weight.shape[0] > 0 else 1.0
            total[0] += 1.0
            total[5] = max(total[5], d)
            a, c, delta = weigh(d, laplacian, numbers)
            a, c, delta = s * a, s * c, s * delta
            f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] = moments(x, y, z, u, v, w, a, c, delta)
            if with_sums:
                total[3] += s
                total[4] += s * s
                for k in range(9):
                    total[head + k] += f[k]
            if with_squares or with_features:
                f[6], f[7], f[8] = residual(x, y, z, u, v, w, a, c, delta, theta[0], theta[1], theta[2])
                # Loops of constant length are unrolled, so that all sums stay in registers.
                if with_features:
                    at = head + 9
                    for j in range(9):
                        total[at + j] += f[0] * f[j]
                    for j in range(8):
                        total[at + 9 + j] += f[1] * f[1 + j]
                    for j in range(7):
                        total[at + 17 + j] += f[2] * f[2 + j]
                    for j in range(6):
                        total[at + 24 + j] += f[3] * f[3 + j]
                    for j in range(5):
                        total[at + 30 + j] += f[4] * f[4 + j]
                    for j in range(4):
                        total[at + 35 + j] += f[5] * f[5 + j]
                at = head + 39 + 9 if with_features else head
                for j in range(3):
                    total[at + j] += f[6] * f[6 + j]
                for j in range(2):
                    total[at + 3 + j] += f[7] * f[7 + j]
                total[at + 5] += f[8] * f[8]
        me = cuda.threadIdx.x
        for k in range(length):
            shared[me] = total[k]
            half = threads // 2
            while half > 0:
                cuda.syncthreads()
                if me < half:
                    if k == 5:
                        shared[me] = max(shared[me], shared[me + half])
                    else:
                        shared[me] += shared[me + half]
                half //= 2
            cuda.syncthreads()
            if me == 0:
                partial[cuda.blockIdx.x, k] = shared[0]
            cuda.syncthreads()

    return kernel
