"""A block for each part of a product of regions: each factor is damped at its own border only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_number
from tmsm.regions import BorderView, ProductRegion
from tmsm.weights.base import Weight, WeightField
from tmsm.weights.constant import spread_sizes

__all__ = ["Blocks"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Weight):
    """W is block-diagonal over the parts of a product of regions, each block a weight of that part.

    The best weight for products: corners are exact, and nothing depends on the units of the factors.  On a box of
    angles with `Normal` in every block it is 1 − (1 − d_j/half_j)³ along each angle.

    Parameters
    ----------
    weights
        One for each part of the region.
    sizes
        A positive factor of each block.  None: one on a torus and other products of one closed manifold; else the
        squared spread of the rows in each part over that in the first, taken once, at the first fit.  It matters to
        families with an interaction of several parts, whose estimate would else depend on the units.
    """

    weights: tuple[Weight, ...]
    sizes: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))
        if self.sizes is not None:
            sizes = tuple(check_number(size, "a size of a block", above=0.0) for size in self.sizes)
            object.__setattr__(self, "sizes", sizes)
            if len(sizes) != len(self.weights):
                raise InvalidInputError(f"There are {len(self.weights)} weights and {len(sizes)} sizes of blocks.")
        for weight in self.weights:
            if not isinstance(weight, Weight):
                raise InvalidTypeError(f"Blocks are made of weights; got {type(weight).__name__}.")

    def resolve(self, view: BorderView) -> Weight:
        parts = view.region.product_parts
        if not parts:
            raise InvalidInputError(f"Blocks are for products of regions, which {type(view.region).__name__} is not.")
        if len(parts) != len(self.weights):
            raise InvalidInputError(f"The region has {len(parts)} parts, and there are {len(self.weights)} weights.")
        weights = tuple(weight.resolve(part) for weight, part in zip(self.weights, view.parts, strict=True))
        return Blocks(weights, _sizes(view) if self.sizes is None else self.sizes)

    def field(self, view: BorderView) -> WeightField:
        region = view.region
        assert isinstance(region, ProductRegion), "resolve() comes first"
        assert self.sizes is not None, "resolve() comes first"
        fields = [
            _simplified(_times(weight.field(part), size), part)
            for weight, part, size in zip(self.weights, view.parts, self.sizes, strict=True)
        ]
        return WeightField(isotropic=0.0, blocks=tuple(zip(region.part_columns, fields, strict=True)))

    def series(self) -> tuple[Weight, ...] | None:
        pairs = [(weight.series() or (weight, weight))[:2] for weight in self.weights]
        first, second = zip(*pairs, strict=True)
        return (Blocks(first, self.sizes), Blocks(second, self.sizes)) if first != second else None


def _sizes(view: BorderView) -> tuple[float, ...]:
    return spread_sizes([part.region.manifold for part in view.parts], [part.X for part in view.parts])


def _simplified(field: WeightField, view: BorderView) -> WeightField:
    """In dimension one every direction is the same: W = a + Σ c is a number."""
    if view.region.manifold.dim > 1 or field.blocks:
        return field
    total = sum((c for _, c in field.tensor_directions), field.isotropic)
    return WeightField(total, tuple((u, None, delta) for u, _, delta in field.directions))


def _times(field: WeightField, size: float) -> WeightField:
    if size == 1.0:
        return field
    directions = tuple((u, None if c is None else size * c, size * delta) for u, c, delta in field.directions)
    blocks = tuple((own, _times(block, size)) for own, block in field.blocks)
    return WeightField(size * field.isotropic, directions, blocks)
