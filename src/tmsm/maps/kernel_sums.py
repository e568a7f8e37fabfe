"""Sums of many bell-shaped kernels of different widths at many points: a tree of boxes, walked by compiled code.

    f(x) = Σ_j exp(a_j − κ_j |x − x_j|²/2)

A part of the tree is left out where all of its kernels together cannot change the sum in its twelfth digit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.compiled import compiled
from tmsm.foundation.threads import in_threads
from tmsm.numerics.box_trees import build_tree

__all__ = ["KernelTree"]

_LEAF = 8
_ROWS_PER_THREAD = 500
# What cannot change the logarithm of a sum by more than this does not count.
_LOG_NEGLIGIBLE, _LOG_SMALL = math.log(1e-12), math.log(1e-6)
# Below this an exponential is zero.
_LOG_ZERO = -745.0


@final
@dataclass(frozen=True, eq=False)
class KernelTree:
    """Centres sorted into a tree of boxes; kernels are given with every question, in the order of the centres.

    Attributes
    ----------
    centres
        In the order of the tree, shape (n, E).
    order
        Which centre stands at each place, shape (n,).
    """

    centres: FloatArray
    order: IntArray
    boxes: FloatArray
    first: Any

    @classmethod
    def of(cls, centres: FloatArray) -> KernelTree:
        """Of centres (n, E)."""
        centres = np.ascontiguousarray(centres)
        boxes, first, order = build_tree(centres, centres, _LEAF)
        return cls(np.ascontiguousarray(centres[order]), order, boxes, first)

    def _bounds(self, *kernels: tuple[FloatArray, FloatArray]) -> FloatArray:
        """For each node of the tree the logarithm of the sum of all heights, and the smallest κ, shape (nodes, 2)."""
        heights = np.max([a for a, _ in kernels], axis=0)
        widest = np.min([kappa for _, kappa in kernels], axis=0)
        return np.asarray(_node_bounds(self.first, heights, widest, len(self.boxes)))

    def log_sums(self, Y: FloatArray, a: FloatArray, kappa: FloatArray) -> FloatArray:
        """Logarithms of the sums at points (m, E), shape (m,)."""
        a, kappa = a[self.order], kappa[self.order]
        bounds, rows = self._bounds((a, kappa)), np.ascontiguousarray(Y)
        out = np.empty(len(rows))

        def part(piece: slice) -> None:
            _log_sums(self.boxes, bounds, self.first, self.centres, a, kappa, rows[piece], out[piece])

        in_threads(part, len(rows), _ROWS_PER_THREAD)
        return out

    def squares(
        self, Y: FloatArray, a: FloatArray, kappa: FloatArray, groups: IntArray | None, log_unit: FloatArray
    ) -> FloatArray:
        """Sums of squared kernels, of the kernels of each group together, at points (m, E), shape (m,).

        At each point kernels are measured in a unit of their own, whose logarithm is given, (m,).
        """
        if groups is None:
            # The square of a kernel is one, too.
            return np.exp(self.log_sums(Y, 2.0 * a, 2.0 * kappa) - 2.0 * log_unit)
        a, kappa = a[self.order], kappa[self.order]
        bounds, rows = self._bounds((a, kappa)), np.ascontiguousarray(Y)
        out, labels, count = np.empty(len(rows)), groups[self.order], int(groups.max()) + 1

        def part(piece: slice) -> None:
            _group_squares(
                self.boxes, bounds, self.first, self.centres, a, kappa, labels, count, rows[piece], log_unit[piece],
                out[piece],
            )  # fmt: skip

        in_threads(part, len(rows), _ROWS_PER_THREAD)
        return out

    def left_out_sums(
        self,
        rows: IntArray,
        units: IntArray,
        reach: FloatArray,
        neighbours: IntArray,
        with_it: tuple[FloatArray, FloatArray],
        without: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """Logarithms of the sums at some of the centres, numbers (m,), without the unit and the place of each, (m,).

        A kernel whose width depends on that unit, because it is within its reach (n,) or among its neighbours (n, k),
        is taken as it is ``without`` it: pairs (a, κ) of shape (n,) each.  The sums are right to six digits.
        """
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(self.order))
        (a, kappa), (b, lam) = ((one[self.order], other[self.order]) for one, other in (with_it, without))
        bounds = self._bounds((a, kappa), (b, lam))
        near, labels, at = np.ascontiguousarray(neighbours[self.order]), units[self.order], place[rows]
        limits = (reach[self.order] * (1.0 + 1e-9)) ** 2
        out = np.empty(len(rows))

        def part(piece: slice) -> None:
            _left_out_sums(
                self.boxes, bounds, self.first, self.centres, a, kappa, b, lam, labels, limits, near, at[piece],
                out[piece],
            )  # fmt: skip

        in_threads(part, len(rows), _ROWS_PER_THREAD)
        return out


@compiled()
def _node_bounds(first, heights, widest, nodes):  # type: ignore[no-untyped-def]
    leaves = len(first) - 1
    out = np.empty((nodes, 2))
    for k in range(leaves):
        top = -np.inf
        for i in range(first[k], first[k + 1]):
            top = max(top, heights[i])
        total, lowest = 0.0, np.inf
        for i in range(first[k], first[k + 1]):
            if top > -np.inf:
                total += math.exp(heights[i] - top)
            lowest = min(lowest, widest[i])
        out[leaves - 1 + k, 0] = top + math.log(total) if total > 0.0 else -np.inf
        out[leaves - 1 + k, 1] = lowest
    for node in range(leaves - 2, -1, -1):
        left, right = out[2 * node + 1], out[2 * node + 2]
        top = max(left[0], right[0])
        if top > -np.inf:
            out[node, 0] = top + math.log(math.exp(left[0] - top) + math.exp(right[0] - top))
        else:
            out[node, 0] = -np.inf
        out[node, 1] = min(left[1], right[1])
    return out


@compiled(inline="always")
def _gap(box, x, E):  # type: ignore[no-untyped-def]
    """Squared distance from a point to a box."""
    total = 0.0
    for j in range(E):
        u = max(box[j] - x[j], 0.0, x[j] - box[E + j])
        total += u * u
    return total


@compiled(inline="always")
def _next_leaf(boxes, bounds, leaves, stack, heights, top, least, x, E):  # type: ignore[no-untyped-def]
    """The next leaf whose kernels may add more than e^least, or −1, and the height of the stack."""
    leaf = -1
    while top > 0 and leaf < 0:
        top -= 1
        if heights[top] < least:
            continue
        node = stack[top]
        while 0 <= node < leaves - 1:
            left, right = 2 * node + 1, 2 * node + 2
            high = bounds[left, 0] - 0.5 * bounds[left, 1] * _gap(boxes[left], x, E)
            low = bounds[right, 0] - 0.5 * bounds[right, 1] * _gap(boxes[right], x, E)
            if low > high:
                high, low, left, right = low, high, right, left
            if low >= least:
                stack[top], heights[top] = right, low
                top += 1
            node = left if high >= least else -1
        leaf = node - (leaves - 1) if node >= 0 else -1
    return leaf, top


@compiled(nogil=True)
def _log_sums(boxes, bounds, first, centres, a, kappa, Y, out):  # type: ignore[no-untyped-def]
    leaves, E = len(first) - 1, centres.shape[1]
    stack, heights = np.empty(64, dtype=np.int64), np.empty(64)
    for row in range(len(Y)):
        x = Y[row]
        # The sum is exp(base) times total, so that it neither overflows nor vanishes.
        base, total = -np.inf, 0.0
        stack[0], heights[0], top = 0, np.inf, 1
        while True:
            least = base + math.log(total) + _LOG_NEGLIGIBLE if total > 0.0 else -np.inf
            leaf, top = _next_leaf(boxes, bounds, leaves, stack, heights, top, least, x, E)
            if leaf < 0:
                break
            for i in range(first[leaf], first[leaf + 1]):
                square = 0.0
                for j in range(E):
                    square += (x[j] - centres[i, j]) ** 2
                exponent = a[i] - 0.5 * kappa[i] * square
                if exponent > base + 600.0:
                    if total > 0.0:
                        total *= math.exp(max(base - exponent, _LOG_ZERO))
                    base = exponent
                if exponent > base + _LOG_ZERO:
                    total += math.exp(exponent - base)
        out[row] = base + math.log(total) if total > 0.0 else -np.inf


@compiled(nogil=True)
def _group_squares(  # type: ignore[no-untyped-def]
    boxes, bounds, first, centres, a, kappa, groups, count, Y, log_unit, out
):
    leaves, E = len(first) - 1, centres.shape[1]
    stack, heights = np.empty(64, dtype=np.int64), np.empty(64)
    sums, touched = np.zeros(count), np.empty(count, dtype=np.int64)
    for row in range(len(Y)):
        x, total, n_touched = Y[row], 0.0, 0
        stack[0], heights[0], top = 0, np.inf, 1
        while True:
            least = log_unit[row] + math.log(total) + _LOG_NEGLIGIBLE if total > 0.0 else -np.inf
            leaf, top = _next_leaf(boxes, bounds, leaves, stack, heights, top, least, x, E)
            if leaf < 0:
                break
            for i in range(first[leaf], first[leaf + 1]):
                square = 0.0
                for j in range(E):
                    square += (x[j] - centres[i, j]) ** 2
                value = math.exp(a[i] - 0.5 * kappa[i] * square - log_unit[row])
                if value > 0.0:
                    total += value
                    if sums[groups[i]] == 0.0:
                        touched[n_touched] = groups[i]
                        n_touched += 1
                    sums[groups[i]] += value
        squares = 0.0
        for k in range(n_touched):
            squares += sums[touched[k]] ** 2
            sums[touched[k]] = 0.0
        out[row] = squares


@compiled(nogil=True)
def _left_out_sums(  # type: ignore[no-untyped-def]
    boxes, bounds, first, centres, a, kappa, b, lam, units, limits, near, rows, out
):
    leaves, E = len(first) - 1, centres.shape[1]
    stack, heights = np.empty(64, dtype=np.int64), np.empty(64)
    for k in range(len(rows)):
        own = units[rows[k]]
        x = centres[rows[k]]
        base, total = -np.inf, 0.0
        stack[0], heights[0], top = 0, np.inf, 1
        while True:
            least = base + math.log(total) + _LOG_SMALL if total > 0.0 else -np.inf
            leaf, top = _next_leaf(boxes, bounds, leaves, stack, heights, top, least, x, E)
            if leaf < 0:
                break
            for i in range(first[leaf], first[leaf + 1]):
                if units[i] == own:
                    continue
                square = 0.0
                for j in range(E):
                    square += (x[j] - centres[i, j]) ** 2
                if square == 0.0:  # a copy in another unit
                    continue
                counted = square <= limits[i]
                for j in range(near.shape[1]):
                    counted |= near[i, j] == own
                exponent = b[i] - 0.5 * lam[i] * square if counted else a[i] - 0.5 * kappa[i] * square
                if exponent > base + 600.0:
                    if total > 0.0:
                        total *= math.exp(max(base - exponent, _LOG_ZERO))
                    base = exponent
                if exponent > base + _LOG_ZERO:
                    total += math.exp(exponent - base)
        out[k] = base + math.log(total) if total > 0.0 else -np.inf
