"""The distance near the border, constant far from it; in a product of regions, at the border of each part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.validation import check_option
from tmsm.foundation.values import frozen_array
from tmsm.regions import BorderView
from tmsm.regions.region import METRICS
from tmsm.weights.base import ScalarWeight, Weight, WeightField
from tmsm.weights.constant import Constant
from tmsm.weights.scales import check_scale, positive_median, resolved_scale, saturate

__all__ = ["Saturating", "SaturatingProduct", "saturating_at"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Saturating(Weight):
    """The distance near the border, nearly constant far from it: W = g I with g = 1 − exp(−d/scale).

    At a distance of one scale g is 0.63, at three scales 0.95. It works for every region.

    Parameters
    ----------
    scale
        A positive number in the unit of the distance, or "median": the median distance of the rows to the border, taken
        once, at the first fit.
    metric
        "geodesic" or "chordal".

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Cap([0.0, 0.0, 1.0], 1.0)
    >>> truth = {"mean_direction": [0.0, 0.0, 1.0], "concentration": 5.0}
    >>> X = model.sample(500, region, random_state=0, **truth)
    >>> tmsm.ScoreMatching(model, region, tmsm.weights.Saturating(0.3)).fit(X).weight_
    Saturating(scale=0.3, metric='geodesic')
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

    def row_form(self) -> tuple[str, tuple[float, ...]] | None:
        return ("saturating", (float(self.scale),)) if self.metric == "geodesic" else None

    def series(self) -> tuple[Weight, ...] | None:
        return replace(self, scale=1.5 * float(self.scale)), replace(self, scale=0.15 * float(self.scale))


@final
@dataclass(frozen=True, eq=False, repr=False)
class SaturatingProduct(ScalarWeight):
    """For products of regions: g = Π_k (1 − exp(−d_k/scale_k)), so that units of the parts do not matter.

    Parameters
    ----------
    scale
        A positive number for each part that has a border, and any number for the others.
    """

    scale: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", frozen_array(self.scale))

    def value_and_gradient(self, view: BorderView) -> tuple[FloatArray, FloatArray]:
        found = [(*part.distance(), scale) for part, scale in zip(view.parts, self.scale.tolist(), strict=True)]
        parts = [(*saturate(d, scale), gradient) for d, gradient, scale in found]
        g = np.prod([value for value, _, _ in parts], axis=0)
        gradients = []
        for k, (_, slope, gradient) in enumerate(parts):
            others = np.prod([value for j, (value, _, _) in enumerate(parts) if j != k], axis=0)
            gradients.append(gradient * (slope * others)[:, None])
        return g, np.concatenate(gradients, axis=1)


def saturating_at(view: BorderView, factor: float) -> Weight:
    """The saturating weight at a multiple of the median distance of the rows; in a product that of each part.

    Parameters
    ----------
    view
        The border as seen from a sample of the rows.
    factor
        The multiple of the median distance.
    """
    if not view.region.has_border:
        return Constant()
    if view.region.product_parts:
        return SaturatingProduct(np.array([factor * positive_median(part.distance()[0]) for part in view.parts]))
    return Saturating(factor * positive_median(view.distance()[0]))
