"""The weight where there is no border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds import Manifold
from tmsm.regions import BorderView
from tmsm.weights.base import Weight, WeightField

__all__ = ["Constant", "spread_sizes"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Constant(Weight):
    """W = I, for regions without a border only.

    Parameters
    ----------
    sizes
        On a product of manifolds a positive factor for each of them. By default they follow from the spread of the
        rows, at the first fit, so that families with an interaction do not depend on units.

    Examples
    --------
    >>> import tmsm
    >>> model = tmsm.VonMisesFisher()
    >>> X = model.sample(500, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=5.0)
    >>> tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.Sphere(2)), tmsm.weights.Constant()).fit(X).weight_
    Constant(sizes=None)
    """

    sizes: tuple[float, ...] | None = None

    def resolve(self, view: BorderView) -> Weight:
        region = view.region
        if region.has_border:
            raise InvalidInputError(
                f"A constant weight does not vanish on the border of {region!r}. "
                "Use weight='auto', or Everywhere(manifold) if nothing was cut off."
            )
        if self.sizes is not None:
            return self
        manifold = region.manifold
        sizes = spread_sizes(manifold.factors, [view.X[:, own] for own in manifold.columns])
        return self if len(set(sizes)) == 1 else Constant(sizes)

    def row_form(self) -> tuple[str, tuple[float, ...]] | None:
        return ("constant", ()) if self.sizes is None else None

    def field(self, view: BorderView) -> WeightField:
        if self.sizes is None:
            return WeightField(isotropic=1.0)
        columns = view.region.manifold.columns
        return WeightField(
            isotropic=0.0,
            blocks=tuple((own, WeightField(size)) for own, size in zip(columns, self.sizes, strict=True)),
        )


def spread_sizes(manifolds: Sequence[Manifold], rows: Sequence[FloatArray]) -> tuple[float, ...]:
    """What makes derivatives along different factors comparable: squared spreads of the rows for each dimension.

    One for copies of the same closed manifold, which have one unit.
    """
    if manifolds[0].is_closed and all(manifold == manifolds[0] for manifold in manifolds):
        return (1.0,) * len(manifolds)
    spreads = [float(X.var(axis=0).sum()) / manifold.dim for X, manifold in zip(rows, manifolds, strict=True)]
    if not min(spreads) > 0.0:
        return (1.0,) * len(manifolds)
    return tuple(spread / spreads[0] for spread in spreads)
