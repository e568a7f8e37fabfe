"""Balanced binary trees of boxes over the edges of a border, flat or curved: built and walked by compiled code.

A tree is an array of boxes in R³ (a flat border has z = 0) in heap order, and the places in the sorted edges
at which each leaf begins.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import compiled

__all__ = ["build_tree", "in_threads", "nearest_leaf", "overlapping_edges"]

_LEAF = 4
_ROWS_PER_THREAD = 20_000
_THREADS: int | None = None  # all cores; benchmarks set it to one


def build_tree(low: FloatArray, high: FloatArray) -> tuple[FloatArray, Any, Any]:
    """Sort edges by the corners (m, 3) of their boxes.

    Returns
    -------
    The boxes of all nodes (2^k − 1, 6), lower corner first; where each leaf begins (2^(k−1) + 1,); the order of the
    edges (m,).
    """
    m = len(low)
    depth = max(0, math.ceil(math.log2(max(m, 1) / _LEAF)))
    order = np.arange(m)
    first = np.zeros(2**depth + 1, dtype=np.int64)
    _sort(0.5 * (low + high), order, first, depth)
    return _boxes(low, high, order, first, depth), first, order


def in_threads(work: Callable[[slice], None], n: int) -> None:
    """Call ``work`` on slices that cover n rows; the compiled loops do not hold the interpreter."""
    threads = min(_THREADS or os.cpu_count() or 1, n // _ROWS_PER_THREAD)
    if threads < 2:
        work(slice(None))
        return
    edges = np.linspace(0, n, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, [slice(a, b) for a, b in pairwise(edges)]))


@compiled()
def _sort(middle, order, first, depth):  # type: ignore[no-untyped-def]
    """Split the edges in halves, level by level, along the longest side of each part."""
    m = len(order)
    first[0], first[1] = 0, m
    for level in range(depth):
        parts = 2**level
        for k in range(parts - 1, -1, -1):
            start, end = first[k], first[k + 1]
            axis, longest = 0, -1.0
            for j in range(3):
                low, high = np.inf, -np.inf
                for i in range(start, end):
                    value = middle[order[i], j]
                    low, high = min(low, value), max(high, value)
                if high - low > longest:
                    axis, longest = j, high - low
            part = order[start:end].copy()
            order[start:end] = part[np.argsort(middle[part, axis])]
            # Make room: part k becomes parts 2k and 2k + 1.
            first[2 * k + 2], first[2 * k + 1] = end, (start + end) // 2
            first[2 * k] = start


@compiled()
def _boxes(low, high, order, first, depth):  # type: ignore[no-untyped-def]
    leaves = 2**depth
    boxes = np.empty((2 * leaves - 1, 6))
    for k in range(leaves):
        box = boxes[leaves - 1 + k]
        box[:3], box[3:] = np.inf, -np.inf
        for i in range(first[k], first[k + 1]):
            for j in range(3):
                box[j], box[3 + j] = min(box[j], low[order[i], j]), max(box[3 + j], high[order[i], j])
    for node in range(leaves - 2, -1, -1):
        for j in range(3):
            boxes[node, j] = min(boxes[2 * node + 1, j], boxes[2 * node + 2, j])
            boxes[node, 3 + j] = max(boxes[2 * node + 1, 3 + j], boxes[2 * node + 2, 3 + j])
    return boxes


@compiled(inline="always")
def _gap(box, x, y, z):  # type: ignore[no-untyped-def]
    """Squared distance from a point to a box."""
    u = max(box[0] - x, 0.0, x - box[3])
    v = max(box[1] - y, 0.0, y - box[4])
    w = max(box[2] - z, 0.0, z - box[5])
    return u * u + v * v + w * w


@compiled(inline="always")
def nearest_leaf(boxes, leaves, stack, bounds, top, best, x, y, z, right_first):  # type: ignore[no-untyped-def]
    """The next leaf that may hold an edge nearer than √best to a point, or −1; and the height of the stack.

    A walk begins with the root on the stack, ``stack[0] = 0`` with ``bounds[0] = 0`` and ``top = 1``.  Of two boxes
    that are equally near (a point may lie in both) the left one comes first, or the right one if ``right_first``.
    """
    leaf = -1
    while top > 0 and leaf < 0:
        top -= 1
        if bounds[top] >= best:
            continue
        node = stack[top]
        while 0 <= node < leaves - 1:
            left, right = 2 * node + 1, 2 * node + 2
            near, far = _gap(boxes[left], x, y, z), _gap(boxes[right], x, y, z)
            if near > far or (right_first and near == far):
                near, far, left, right = far, near, right, left
            if far < best:
                stack[top], bounds[top] = right, far
                top += 1
            node = left if near < best else -1
        leaf = node - (leaves - 1) if node >= 0 else -1
    return leaf, top


@compiled(inline="always")
def overlapping_edges(boxes, first, window, stack, found):  # type: ignore[no-untyped-def]
    """Put the edges in leaves whose boxes meet a window (lower corner, upper corner) into found, and count them.

    ``stack`` has room for 64 nodes, ``found`` for all edges.
    """
    inner = len(first) - 2
    count, top = 0, 1
    stack[0] = 0
    while top > 0:
        top -= 1
        node = stack[top]
        box = boxes[node]
        # All sides are compared at once: a branch for each would take longer.
        apart = (window[0] > box[3]) | (window[1] > box[4]) | (window[2] > box[5])
        apart |= (window[3] < box[0]) | (window[4] < box[1]) | (window[5] < box[2])
        if apart:
            continue
        if node < inner:
            stack[top], stack[top + 1] = 2 * node + 1, 2 * node + 2
            top += 2
        else:
            for i in range(first[node - inner], first[node - inner + 1]):
                found[count] = i
                count += 1
    return count
