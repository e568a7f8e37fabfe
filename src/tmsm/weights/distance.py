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
    """The weight of Williams and Liu (2022): W = g I, where g is the distance to the border itself.

    Parameters
    ----------
    metric
        "geodesic" (the paper's haversine) or "chordal". For the paper's projected distance see `Projected`.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> truth = {"mean_direction": [0.0, 0.0, 1.0], "concentration": 5.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> tmsm.ScoreMatching(model, region, tmsm.weights.Distance("chordal")).fit(X).weight_
    Distance(metric='chordal')
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
    """The projected Euclidean weight of Williams and Liu (2022): the distance after one coordinate is dropped.

    Parameters
    ----------
    axis
        The coordinate that is dropped, counted from 0. By default the one for which the distances of the rows shrink
        least, chosen once, at the first fit.

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
    """The weight that fits are compared by, whatever weight they used: the geodesic distance to the border.

    Parameters
    ----------
    region
        The region; without a border the weight is constant.
    """
    return Distance("geodesic") if region.has_border else Constant()
