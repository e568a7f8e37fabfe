"""A block for each part of a product of regions: each factor is damped at its own border only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.regions import BorderView, ProductRegion
from tmsm.weights.base import Weight, WeightField

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
    """

    weights: tuple[Weight, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))
        for weight in self.weights:
            if not isinstance(weight, Weight):
                raise InvalidTypeError(f"Blocks are made of weights; got {type(weight).__name__}.")

    def resolve(self, view: BorderView) -> Weight:
        parts = view.region.product_parts
        if not parts:
            raise InvalidInputError(f"Blocks are for products of regions, which {type(view.region).__name__} is not.")
        if len(parts) != len(self.weights):
            raise InvalidInputError(f"The region has {len(parts)} parts, and there are {len(self.weights)} weights.")
        return Blocks(tuple(weight.resolve(part) for weight, part in zip(self.weights, view.parts, strict=True)))

    def field(self, view: BorderView) -> WeightField:
        region = view.region
        assert isinstance(region, ProductRegion), "resolve() comes first"
        fields = [weight.field(part) for weight, part in zip(self.weights, view.parts, strict=True)]
        return WeightField(isotropic=0.0, blocks=tuple(zip(region.part_columns, fields, strict=True)))

    def pair(self) -> tuple[Weight, Weight] | None:
        pairs = [weight.pair() or (weight, weight) for weight in self.weights]
        first, second = zip(*pairs, strict=True)
        return (Blocks(first), Blocks(second)) if first != second else None
