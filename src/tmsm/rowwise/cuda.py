"""The loop over rows on a graphics card: the same row functions, compiled for it.

This is the only module that knows the compiler and how a kernel is started, so that others can take their place.
"""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

import math
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda, float64, int32

from tmsm.foundation.arrays import FloatArray
from tmsm.numerics.elementary import inverse_root
from tmsm.regions.polygon.arcs import nearest_arc
from tmsm.rowwise.functions import cap_row, moment_row, normal_row, residual_row, saturating_row
from tmsm.rowwise.kinds import BORDERS, HEAD, LENGTHS, ON_BORDER, ROUNDING, TASKS, TOLERANCE, WEIGHTS

__all__ = ["device_sums"]

_THREADS = 256
# Blocks of threads for each multiprocessor: enough to hide how long memory takes.
_BLOCKS_PER_PROCESSOR = 8


def device_sums(
    points: Any,
    weight: Any,
    kinds: tuple[str, str, str],
    border: FloatArray,
    tree: tuple[Any, ...],
    numbers: FloatArray,
    theta: FloatArray,
) -> FloatArray:
    """What `loops.sum_block` gives, of points (n, 3) on the card, with weights (n,) or None."""
    border_kind, weight_kind, task = kinds
    kernel = _kernel(border_kind, weight_kind, task)
    weights = cuda.to_device(np.empty(0)) if weight is None else weight
    wanted = -(-points.shape[0] // _THREADS)
    blocks = min(wanted, _BLOCKS_PER_PROCESSOR * _processors())
    partial = cuda.device_array((blocks, HEAD + LENGTHS[task]))
    given = [cuda.to_device(np.ascontiguousarray(array)) for array in (border, *tree, numbers, theta)]
    kernel[blocks, _THREADS](points, weights, *given, partial)
    found = partial.copy_to_host()
    # Blocks are added in their order: the same bits each time.
    sums: FloatArray = found.sum(axis=0)
    sums[5] = found[:, 5].max()
    return sums


def _processors() -> int:
    device = getattr(cuda.current_context(), "device", None)
    return int(getattr(device, "MULTIPROCESSOR_COUNT", 1))  # the simulator has none


def _on_device(function: Any, known: dict[str, Any]) -> Any:
    """A function compiled for processors as one for the card, and with it all that it calls."""
    name = f"{function.__module__}.{function.__name__}"
    if function is inverse_root and hasattr(cuda, "libdevice"):  # the simulator has none
        known[name] = cuda.libdevice.rsqrt
    if name not in known:
        plain = getattr(function, "py_func", function)
        names = dict(plain.__globals__)
        for used in plain.__code__.co_names:
            if hasattr(names.get(used), "py_func"):
                names[used] = _on_device(names[used], known)
        known[name] = cuda.jit(device=True)(FunctionType(plain.__code__, names, plain.__name__))
    return known[name]


@lru_cache(maxsize=64)
def _kernel(border_kind: str, weight_kind: str, task: str) -> Any:
    """The kernel for a border, a weight and a task: what is not asked for is left out when it is compiled."""
    known: dict[str, Any] = {}
    of_cap, of_arcs, moments, residual, saturating, normal = (
        _on_device(function, known)
        for function in (cap_row, nearest_arc, moment_row, residual_row, saturating_row, normal_row)
    )
    is_cap, is_arcs = border_kind == "cap", border_kind == "arcs"
    is_distance, is_saturating, is_normal = (weight_kind == kind for kind in ("distance", "saturating", "normal"))
    with_sums, with_squares, with_features = task != "squares", task == "squares", task == "features"
    head, length, threads = HEAD, HEAD + LENGTHS[task], _THREADS
    on_border, rounding, tolerance = ON_BORDER, ROUNDING, TOLERANCE
    assert border_kind in BORDERS and weight_kind in WEIGHTS and task in TASKS

    @cuda.jit
    def kernel(points, weight, border, boxes, arcs, first, numbers, theta, partial):  # type: ignore[no-untyped-def]
        total = cuda.local.array(length, float64)
        f = cuda.local.array(9, float64)
        stack, bounds = cuda.local.array(32, int32), cuda.local.array(32, float64)
        shared = cuda.shared.array(threads, float64)
        for k in range(length):
            total[k] = 0.0
        for i in range(cuda.grid(1), points.shape[0], cuda.gridsize(1)):
            x, y, z = float64(points[i, 0]), float64(points[i, 1]), float64(points[i, 2])
            squared = x * x + y * y + z * z
            off = abs(squared - 1.0)
            if not (off <= tolerance):
                total[2] += 1.0
                continue
            if off > rounding:
                scale = 1.0 / math.sqrt(squared)
                x, y, z = x * scale, y * scale, z * scale
            s = float64(weight[i]) if weight.shape[0] > 0 else 1.0
            d, u, v, w, laplacian = math.inf, 0.0, 0.0, 0.0, 0.0
            if is_cap:
                d, u, v, w, laplacian = of_cap(x, y, z, border[0], border[1], border[2], border[3])
            elif is_arcs:
                d, u, v, w = of_arcs(boxes, arcs, first, x, y, z, stack, bounds)
            if not (d > on_border):
                total[1] += 1.0
                continue
            total[0] += 1.0
            total[5] = max(total[5], d)
            a, c, delta = 1.0, 0.0, 0.0
            if is_distance:
                a, delta = d, 1.0
            elif is_saturating:
                a, delta = saturating(d, 1.0 / numbers[0])
            elif is_normal:
                c, delta = normal(d, laplacian, 1.0 / numbers[0], numbers[1])
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
