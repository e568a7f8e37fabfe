"""Walks of trees of boxes in R³ over the edges of a border, flat (z = 0) or curved: compiled code."""

from __future__ import annotations

from tmsm.foundation.compiled import compiled

__all__ = ["EDGES_IN_A_LEAF", "nearest_leaf", "overlapping_edges"]

EDGES_IN_A_LEAF = 4


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
