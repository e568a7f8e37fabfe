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
    """For products of regions: W is block-diagonal, with a weight of its own for each part.

    It is the best weight for products. Corners are exact, and the units of the factors do not matter. On a box of
    angles with `Normal` in every block it is 1 − (1 − d_j/half_j)³ along each angle.

    Parameters
    ----------
    weights
        One for each part of the region.
    sizes
        A positive factor for each block. By default it is one on a torus and on other products of one closed manifold.
        On other products it is the squared spread of the rows in each part over that in the first part, taken once, at
        the first fit. It matters for families with an interaction of several parts. Without it their estimate would
        depend on the units.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.SineVonMises(), tmsm.AngleBox([-1.0, -1.0], [1.0, 1.5])
    >>> truth = {"mean_angles": [0.2, 0.3], "concentration": [3.0, 2.0], "interaction": [[0.0, 1.0], [1.0, 0.0]]}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> weight = tmsm.weights.Blocks((tmsm.weights.Normal(), tmsm.weights.Normal()))
    >>> [block.reach for block in tmsm.ScoreMatching(model, region, weight).fit(X).weight_.weights]
    [1.0, 1.25]
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
