"""The weight where there is no border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tmsm.foundation.errors import InvalidInputError
from tmsm.regions import BorderView
from tmsm.weights.base import Weight, WeightField

__all__ = ["Constant"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Constant(Weight):
    """W = I, valid only where there is no border."""

    def resolve(self, view: BorderView) -> Weight:
        region = view.region
        if region.has_border:
            raise InvalidInputError(
                f"A constant weight does not vanish on the border of {region!r}. "
                "Use weight='auto', or Everywhere(manifold) if nothing was cut off."
            )
        return self

    def field(self, view: BorderView) -> WeightField:
        return WeightField(isotropic=1.0)
