"""The paper's weights: distances to the border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.validation import check_count, check_option
from tmsm.regions import BorderView, Region
from tmsm.regions.region import METRICS, best_axis
from tmsm.weights.base import ScalarWeight, Weight
from tmsm.weights.constant import Constant

__all__ = ["Distance", "Projected", "plain_weight"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Distance(ScalarWeight):
    """The paper's weight: g is the distance to the border itself.

    Parameters
    ----------
    metric
        "geodesic" (the paper's haversine) or "chordal".  For its projected distance see `Projected`.
    """

    metric: str = "geodesic"

    def __post_init__(self) -> None:
        check_option(self.metric, METRICS[:2], "metric")

    def resolve(self, view: BorderView) -> Weight:
        return self if view.region.has_border else Constant()

    def row_form(self) -> tuple[str, tuple[float, ...]] | None:
        return ("distance", ()) if self.metric == "geodesic" else None

    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        return view.distance(self.metric)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Projected(ScalarWeight):
    """The paper's projected Euclidean weight: the distance after one coordinate is dropped.

    Parameters
    ----------
    axis
        The dropped coordinate, counted from 0.  By default the one that flattens the distance
        least on the data, chosen once, at the first fit.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Projected(axis=2)
    Projected(axis=2)
    """

    axis: int | None = None

    def __post_init__(self) -> None:
        if self.axis is not None:
            object.__setattr__(self, "axis", check_count(self.axis, "axis", at_least=0))

    def resolve(self, view: BorderView) -> Weight:
        if not view.region.has_border:
            return Constant()
        if self.axis is None:
            return Projected(best_axis(view.region, view.X))
        view.region.border_distance(view.X[:1], "projected", self.axis)
        return self

    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        return view.distance("projected", self.axis)


def plain_weight(region: Region) -> Weight:
    """The weight by which fits are compared, whatever they were made with: the geodesic distance."""
    return Distance("geodesic") if region.has_border else Constant()
