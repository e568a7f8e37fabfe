"""Products of regions: what lies inside each of several regions of several manifolds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, padded, safe_inverse
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import Manifold, Product
from tmsm.regions.borders import AxisAligned, AxisFrame
from tmsm.regions.everywhere import Everywhere
from tmsm.regions.region import Region, RegionOfParts, multiplied

__all__ = ["ProductRegion"]


@dataclass(frozen=True, eq=False, repr=False)
class ProductRegion(RegionOfParts):
    """The product of regions: a point is inside if each of its parts is inside the region of that part.

    ``a * b`` makes one. Its border has corners where two borders meet. The default weight has a block for each part.

    Parameters
    ----------
    *parts
        Regions; those of a part that is a product itself count one by one.

    Examples
    --------
    >>> import tmsm
    >>> north_above = tmsm.Hemisphere([0.0, 0.0, 1.0]) * tmsm.Box([2.0], [float("inf")])
    >>> north_above.contains([[0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 1.0, 1.0]])
    array([ True, False])
    """

    parts: tuple[Region, ...]

    def __init__(self, *parts: Region) -> None:
        flat: list[Region] = []
        for part in parts:
            if not isinstance(part, Region):
                raise InvalidTypeError(f"A product is one of regions; got {type(part).__name__}.")
            flat.extend(part.product_parts or (part,))
        if len(flat) < 2:
            raise InvalidInputError(f"A product has at least two parts; got {len(flat)}.")
        object.__setattr__(self, "parts", tuple(flat))

    def _value(self) -> tuple[Any, ...]:
        # A box of angles equals the product that it is.
        return ProductRegion, self.parts

    def __repr__(self) -> str:
        return f"ProductRegion({', '.join(map(repr, self.parts))})"

    def to_arguments(self) -> dict[str, Any]:
        return {"parts": self.parts}

    @classmethod
    def from_arguments(cls, *, parts: tuple[Region, ...]) -> Self:  # type: ignore[override]
        return cls(*parts)

    @property
    def has_border(self) -> bool:  # type: ignore[override]
        """Whether some part has a border."""
        return any(part.has_border for part in self.parts)

    @property
    def product_parts(self) -> tuple[Region, ...]:
        return self.parts

    @cached_property
    def manifold(self) -> Manifold:
        """The product of the manifolds of the parts."""
        first, *others = (part.manifold for part in self.parts)
        whole: Manifold = first
        for other in others:
            whole = whole * other
        return whole

    @cached_property
    def part_columns(self) -> tuple[slice, ...]:
        """Which columns of a point belong to each part."""
        ends = np.cumsum([0, *(part.manifold.embedding_dim for part in self.parts)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @property
    def as_given(self) -> Region:
        given = [part.as_given for part in self.parts]
        same = all(a is b for a, b in zip(given, self.parts, strict=True))
        return self if same else ProductRegion(*given)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        lower, upper = zip(*(part.bounds for part in self.parts), strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    @property
    def axes(self) -> AxisAligned | None:
        """Of parts in dimension one: their own directions are orthogonal axes."""
        return _Axes(self) if all(part.manifold.dim == 1 for part in self.parts) else None

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.joined([part.signed_distance(X[:, own]) for part, own in self.pieces()])

    def clearance(self, X: FloatArray, radius: float = 0.0) -> tuple[FloatArray, FloatArray, BoolArray]:
        if self.measures_distance:
            return super().clearance(X, radius)
        found = [part.clearance(X[:, own], radius) for part, own in self.pieces()]
        d, gradient = self.joined([(own, slope) for own, slope, _ in found])
        outside = [clear & (own < 0.0) for own, _, clear in found]
        return d, gradient, np.all([clear for *_, clear in found], axis=0) | np.any(outside, axis=0)

    def pieces(self) -> list[tuple[Region, slice]]:
        """The parts and their columns."""
        return list(zip(self.parts, self.part_columns, strict=True))

    def joined_depth(self, found: Sequence[FloatArray]) -> FloatArray:
        """The signed distance from those of the parts."""
        d = found[0]
        for other in found[1:]:
            d = np.minimum(d, other)
        if not (d < 0.0).any():
            return d
        beyond = np.sqrt(sum(np.minimum(other, 0.0) ** 2 for other in found))
        return np.where(d < 0.0, -beyond, d)

    def joined(self, found: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        """The signed distance and its gradient from those of the parts.

        Inside it is the least of the parts' distances; outside the nearest point is the nearest one in each part.
        """
        distances = np.stack([d for d, _ in found], axis=1)
        nearest = np.argmin(distances, axis=1)
        d = distances[np.arange(len(nearest)), nearest]
        outside = d < 0.0
        gradient = np.empty((len(d), self.manifold.embedding_dim), order="F")
        beyond = np.maximum(-distances, 0.0)
        length = np.where(outside, np.sqrt((beyond**2).sum(axis=1)), 1.0)
        inverse = safe_inverse(length)
        for k, (own, (_, slope)) in enumerate(zip(self.part_columns, found, strict=True)):
            share = np.where(outside, beyond[:, k] * inverse, nearest == k)
            gradient[:, own] = slope * share[:, None]
        return np.where(outside, -length, d), gradient


@dataclass(frozen=True)
class _Axes(AxisAligned):
    """The parts of a product of curves, each with one axis."""

    region: ProductRegion

    def axis_frame(self, X: FloatArray) -> AxisFrame:
        D = X.shape[1]
        directions, distances, signs = [], [], []
        for part, own in self.region.pieces():
            d, slope = part.signed_distance(X[:, own])
            along = part.manifold.unit_tangent(X[:, own])
            directions.append(padded(along, own, D))
            distances.append(d)
            signs.append(np.einsum("nd,nd->n", slope, along))
        return AxisFrame(tuple(directions), np.column_stack(distances), np.column_stack(signs))


@multiplied.register(Region)
def _product(first: Region, second: Region) -> Region:
    if not first.has_border and not second.has_border:
        return Everywhere(Product(first.manifold, second.manifold))
    return ProductRegion(first, second)
