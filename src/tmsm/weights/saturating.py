"""The distance near the border, constant far from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from tmsm.foundation.validation import check_option
from tmsm.regions import BorderView
from tmsm.regions.region import METRICS
from tmsm.weights.base import Weight, WeightField
from tmsm.weights.constant import Constant
from tmsm.weights.scales import check_scale, resolved_scale, saturate

__all__ = ["Saturating"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Saturating(Weight):
    """g = 1 − exp(−d/scale): the distance near the border, constant far from it.

    Parameters
    ----------
    scale
        A positive number in the units of the distance, or "median": the median distance of the
        data to the border, taken once, at the first fit.
    metric
        "geodesic" or "chordal".
    """

    scale: float | str = "median"
    metric: str = "geodesic"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale(self.scale))
        check_option(self.metric, METRICS[:2], "metric")

    def resolve(self, view: BorderView) -> Weight:
        if not view.region.has_border:
            return Constant()
        return replace(self, scale=resolved_scale(self.scale, view, self.metric))

    def field(self, view: BorderView) -> WeightField:
        d, gradient = view.distance(self.metric)
        g, slope = saturate(d, float(self.scale))
        return WeightField(isotropic=g, directions=((gradient, None, slope),))

    def pair(self) -> tuple[Weight, Weight] | None:
        return replace(self, scale=1.5 * float(self.scale)), replace(self, scale=0.15 * float(self.scale))
