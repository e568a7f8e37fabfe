"""Quadrature over products of regions: the nodes of the parts, combined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.measure.cells import Doubts, TreeNodes
from tmsm.regions import ProductRegion, Region

__all__ = ["MAX_PRODUCT_DIM", "combined_nodes", "parts_of"]

# Above this dimension a grid has too many nodes.
MAX_PRODUCT_DIM = 3


def parts_of(region: Region) -> ProductRegion | None:
    """The region as a product whose parts are integrated over one by one; None where it is not."""
    if isinstance(region, ProductRegion):
        return region
    sides = region.sides if region.manifold.dim == MAX_PRODUCT_DIM else ()
    return ProductRegion(*sides) if sides else None


def combined_nodes(parts: Sequence[tuple[FloatArray, FloatArray, int, Doubts]]) -> TreeNodes:
    """Every combination of the nodes of parts: points (m, w), weights (m,), whole cells inside, and doubts.

    What is in doubt in one part is so above every node of the others.
    """
    points = _side_by_side([X for X, *_ in parts])
    weights = _outer([w for _, w, *_ in parts])
    doubts = []
    for k, (_, _, _, own) in enumerate(parts):
        if len(own.X) == 0:
            continue
        places = _side_by_side([own.X if j == k else X for j, (X, *_) in enumerate(parts)])
        others = [w for j, (_, w, *_) in enumerate(parts) if j != k]
        bias, spread, blind = (_outer([*others[:k], area, *others[k:]]) for area in (own.bias, own.spread, own.blind))
        # Above one place all are alike: their squares must add up to the square of their sum.
        spread *= np.sqrt(np.prod([len(w) for w in others]))
        doubts.append(Doubts(places, bias, spread, blind))
    return TreeNodes(points, weights, min(inside for *_, inside, _ in parts), Doubts.joined(doubts, points.shape[1]))


def _side_by_side(points: Sequence[FloatArray]) -> FloatArray:
    """All combinations of rows of several tables, the last one's fastest."""
    sizes = [len(X) for X in points]
    total = int(np.prod(sizes))
    columns, repeat = [], total
    for X in points:
        repeat //= max(len(X), 1)
        columns.append(np.tile(np.repeat(X, repeat, axis=0), (total // max(repeat * len(X), 1), 1)))
    return np.concatenate(columns, axis=1)


def _outer(weights: Sequence[FloatArray]) -> FloatArray:
    product = np.ones(1)
    for w in weights:
        product = np.multiply.outer(product, w).ravel()
    return product
