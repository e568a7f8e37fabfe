"""Sets of natural parameters side by side: those of a product of families, each in its own block of θ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.models.constraints import AffineSubspace, Constraint, Unrestricted
from tmsm.numerics.newton import Point

__all__ = ["ProductConstraint", "block_diagonal", "block_slices", "product_set"]

# Starts of several curved sets are combined with each other up to this number, else one set at a time.
_MAX_STARTS = 24


def block_slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Where blocks of these sizes lie, one after the other."""
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(slice(start, end) for start, end in pairwise(ends))


def block_diagonal(blocks: Sequence[FloatArray]) -> FloatArray:
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    out = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    rows, columns = block_slices([len(block) for block in blocks]), block_slices([block.shape[1] for block in blocks])
    for i, j, block in zip(rows, columns, blocks, strict=True):
        out[i, j] = block
    return out


def product_set(parts: Sequence[Constraint], sizes: Sequence[int]) -> Constraint:
    """All θ whose blocks of these sizes lie in these sets; a plain linear space where all of them are."""
    if all(isinstance(part, Unrestricted) for part in parts):
        return Unrestricted(sum(sizes))
    if all(part.is_flat for part in parts):
        points = [part.point(np.zeros(size)) for part, size in zip(parts, sizes, strict=True)]
        return AffineSubspace(
            np.concatenate([point.theta for point in points]), block_diagonal([point.jacobian for point in points])
        )
    return ProductConstraint(tuple(parts), tuple(sizes))


@final
@dataclass(frozen=True)
class ProductConstraint(Constraint):
    """Sets of natural parameters, each for its own block of θ.

    Attributes
    ----------
    parts
        The sets.
    sizes
        The number of entries of ``theta`` that each of them restricts, in order.
    """

    parts: tuple[Constraint, ...]
    sizes: tuple[int, ...]

    @property
    def n_free(self) -> int:
        return sum(part.n_free for part in self.parts)

    @property
    def is_flat(self) -> bool:
        return all(part.is_flat for part in self.parts)

    @property
    def only_turns(self) -> bool:
        return all(part.only_turns for part in self.parts)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The entries of θ of each part."""
        return block_slices(self.sizes)

    def pieces(self, theta: FloatArray) -> list[tuple[Constraint, FloatArray]]:
        """Each part with its own entries of θ."""
        return [(part, theta[own]) for part, own in zip(self.parts, self.blocks, strict=True)]

    def point(self, theta: FloatArray) -> Point:
        return _ProductPoint([part.point(own) for part, own in self.pieces(theta)])

    def starts(self, theta: FloatArray) -> list[Point]:
        lists = [part.starts(own) for part, own in self.pieces(theta)]
        if np.prod([len(one) for one in lists]) <= _MAX_STARTS:
            return [_ProductPoint(list(points)) for points in product(*lists)]
        here = [part.point(own) for part, own in self.pieces(theta)]
        return [_ProductPoint([*here[:k], point, *here[k + 1 :]]) for k, points in enumerate(lists) for point in points]

    def allows(self, theta: FloatArray) -> bool:
        return all(part.allows(own) for part, own in self.pieces(theta))

    def borders(self) -> Sequence[Constraint]:
        return [
            replace(self, parts=(*self.parts[:k], border, *self.parts[k + 1 :]))
            for k, part in enumerate(self.parts)
            for border in part.borders()
        ]

    def describe(self, theta: FloatArray, on_border: bool) -> str:
        found = [part.describe(own, on_border and part.on_border(own)) for part, own in self.pieces(theta)]
        return " ".join(dict.fromkeys(words for words in found if words))

    def tangent(self, theta: FloatArray) -> FloatArray:
        return block_diagonal([part.tangent(own) for part, own in self.pieces(theta)])


class _ProductPoint(Point):
    """Points of the parts side by side."""

    def __init__(self, points: list[Point]) -> None:
        self.points = points
        self.theta = np.concatenate([point.theta for point in points])

    @property
    def jacobian(self) -> FloatArray:
        return block_diagonal([point.jacobian for point in self.points])

    def bend(self, covector: FloatArray) -> FloatArray:
        own = block_slices([point.theta.size for point in self.points])
        return block_diagonal([point.bend(covector[k]) for point, k in zip(self.points, own, strict=True)])

    def moved(self, step: FloatArray) -> Point:
        own = block_slices([point.jacobian.shape[1] for point in self.points])
        return _ProductPoint([point.moved(step[k]) for point, k in zip(self.points, own, strict=True)])
