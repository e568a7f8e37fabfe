"""How row functions are compiled for a graphics card, and how a kernel is started there.

`card_single`, `card_forms` and `card_stacked` have the kernels.  Only these modules know the compiler, so that another
can take its place.
"""

# mypy: disable-error-code="attr-defined,no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda, float64

from tmsm.foundation.arrays import FloatArray
from tmsm.numerics.elementary import inverse_root
from tmsm.regions.borders import RowBorder
from tmsm.regions.polygon.arcs import nearest_arc
from tmsm.rowwise.functions import cap_row, normal_row, saturating_row
from tmsm.rowwise.kinds import BORDERS, ON_BORDER, ROUNDING, TOLERANCE, WEIGHTS

__all__ = ["INSIDE", "OFF", "OUTSIDE", "Compiler", "border_arrays", "sums_of_blocks", "total_of_threads"]

# Blocks of threads for each multiprocessor: enough to hide how long memory takes.
_BLOCKS_PER_PROCESSOR = 8
# What `Compiler.reader` says of a row.
INSIDE, OUTSIDE, OFF = 0, 1, 2


def sums_of_blocks(
    kernel: Any, threads: int, points: Any, weight: Any, given: Sequence[Any], length: int
) -> FloatArray:
    """Sums, shape (length,), of points (n, 3) on the card, with weights (n,) there or None.

    Blocks of so many threads each give a part of them, of which the sixth number is a maximum; they are added in their
    order: the same bits each time.
    """
    weights = cuda.to_device(np.empty(0)) if weight is None else weight
    blocks = min(-(-points.shape[0] // threads), _BLOCKS_PER_PROCESSOR * _processors())
    partial = cuda.device_array((blocks, length))
    arrays = [cuda.to_device(np.ascontiguousarray(array)) for array in given]
    kernel[blocks, threads](points, weights, *arrays, partial)
    found = partial.copy_to_host()
    sums: FloatArray = found.sum(axis=0)
    sums[5] = found[:, 5].max()
    return sums


def _processors() -> int:
    device = getattr(cuda.current_context(), "device", None)
    return int(getattr(device, "MULTIPROCESSOR_COUNT", 1))  # the simulator has none


def border_arrays(border: RowBorder) -> tuple[Any, ...]:
    """The numbers and the tree of a border as `Compiler.reader` takes them."""
    return np.append(border.numbers, 0.0), *border.tree  # no array of numbers is empty


class Compiler:
    """Makes functions for the card of those for processors, each of them once."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def compiled(self, function: Any) -> Any:
        """A function compiled for processors as one for the card, and with it all that it calls."""
        name = f"{function.__module__}.{function.__name__}"
        if function is inverse_root and hasattr(cuda, "libdevice"):  # the simulator has none
            self._known[name] = cuda.libdevice.rsqrt
        if name not in self._known:
            plain = getattr(function, "py_func", function)
            names = dict(plain.__globals__)
            for used in plain.__code__.co_names:
                if hasattr(names.get(used), "py_func"):
                    names[used] = self.compiled(names[used])
            self._known[name] = cuda.jit(device=True)(FunctionType(plain.__code__, names, plain.__name__))
        return self._known[name]

    def reader(self, border_kind: str) -> Any:
        """A function that reads a row and finds its border: where it lies, x, y, z, d, u, v, w and the Laplacian of d.

        What it is not asked for is left out when it is compiled.
        """
        assert border_kind in BORDERS
        of_cap, of_arcs = self.compiled(cap_row), self.compiled(nearest_arc)
        is_cap, is_arcs = border_kind == "cap", border_kind == "arcs"
        on_border, rounding, tolerance = ON_BORDER, ROUNDING, TOLERANCE
        inside, outside, stray = INSIDE, OUTSIDE, OFF

        @cuda.jit(device=True)
        def read(points, i, border, boxes, arcs, first, stack, bounds):  # type: ignore[no-untyped-def]
            x, y, z = float64(points[i, 0]), float64(points[i, 1]), float64(points[i, 2])
            d, u, v, w, laplacian = math.inf, 0.0, 0.0, 0.0, 0.0
            squared = x * x + y * y + z * z
            off = abs(squared - 1.0)
            if not (off <= tolerance):
                return stray, x, y, z, d, u, v, w, laplacian
            if off > rounding:
                scale = 1.0 / math.sqrt(squared)
                x, y, z = x * scale, y * scale, z * scale
            if is_cap:
                d, u, v, w, laplacian = of_cap(x, y, z, border[0], border[1], border[2], border[3])
            elif is_arcs:
                d, u, v, w = of_arcs(boxes, arcs, first, x, y, z, stack, bounds)
            where = inside if d > on_border else outside
            return where, x, y, z, d, u, v, w, laplacian

        return read

    def weigher(self, weight_kind: str) -> Any:
        """A function of d, its Laplacian and a weight's numbers, that gives a, c and δ of that weight."""
        assert weight_kind in WEIGHTS
        saturating, normal = self.compiled(saturating_row), self.compiled(normal_row)
        is_distance, is_saturating, is_normal = (weight_kind == kind for kind in ("distance", "saturating", "normal"))

        @cuda.jit(device=True)
        def weigh(d, laplacian, numbers):  # type: ignore[no-untyped-def]
            a, c, delta = 1.0, 0.0, 0.0
            if is_distance:
                a, delta = d, 1.0
            elif is_saturating:
                a, delta = saturating(d, 1.0 / numbers[0])
            elif is_normal:
                c, delta = normal(d, laplacian, 1.0 / numbers[0], numbers[1])
            return a, c, delta

        return weigh


@cuda.jit(device=True)
def total_of_threads(rows, k):  # type: ignore[no-untyped-def]
    """The sum over threads of the number k of each in the head of the sums, or the largest where it is a maximum."""
    total = 0.0
    for j in range(rows.shape[0]):
        total = max(total, rows[j, k]) if k == 5 else total + rows[j, k]
    return total
