"""Balanced binary trees of boxes, built by compiled code.

A tree is an array of boxes in heap order, and the places in the sorted things at which each leaf begins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.compiled import compiled

__all__ = ["build_tree"]


def build_tree(low: FloatArray, high: FloatArray, leaf: int) -> tuple[FloatArray, Any, Any]:
    """Sort things by the corners (m, E) of their boxes; a leaf holds at most so many.

    Returns
    -------
    The boxes of all nodes (2^k − 1, 2 E), lower corner first; where each leaf begins (2^(k−1) + 1,); the order of the
    things (m,).
    """
    m = len(low)
    depth = max(0, math.ceil(math.log2(max(m, 1) / leaf)))
    order = np.arange(m)
    first = np.zeros(2**depth + 1, dtype=np.int64)
    _sort(0.5 * (low + high), order, first, depth)
    return _boxes(low, high, order, first, depth), first, order


@compiled()
def _sort(middle, order, first, depth):  # type: ignore[no-untyped-def]
    """Split the things in halves, level by level, along the longest side of each part."""
    m = len(order)
    first[0], first[1] = 0, m
    for level in range(depth):
        parts = 2**level
        for k in range(parts - 1, -1, -1):
            start, end = first[k], first[k + 1]
            axis, longest = 0, -1.0
            for j in range(middle.shape[1]):
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
    leaves, E = 2**depth, low.shape[1]
    boxes = np.empty((2 * leaves - 1, 2 * E))
    for k in range(leaves):
        box = boxes[leaves - 1 + k]
        box[:E], box[E:] = np.inf, -np.inf
        for i in range(first[k], first[k + 1]):
            for j in range(E):
                box[j], box[E + j] = min(box[j], low[order[i], j]), max(box[E + j], high[order[i], j])
    for node in range(leaves - 2, -1, -1):
        for j in range(E):
            boxes[node, j] = min(boxes[2 * node + 1, j], boxes[2 * node + 2, j])
            boxes[node, E + j] = max(boxes[2 * node + 1, E + j], boxes[2 * node + 2, E + j])
    return boxes
