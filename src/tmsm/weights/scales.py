"""Scales of saturating weights: numbers, or medians of the data's distances to the border."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.validation import check_number, check_option
from tmsm.regions import BorderView

__all__ = ["check_scale", "positive_median", "resolved_scale", "saturate"]


def saturate(d: FloatArray, scale: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 − exp(−d/scale) and its derivative."""
    # −expm1 keeps the digits of g next to the border; an open side (d infinite) gives g = 1, slope 0.
    g = -np.expm1(-d / scale)
    return g, (1.0 - g) / scale


def check_scale(scale: Any) -> float | str:
    """A positive number, or "median"."""
    if isinstance(scale, str):
        return check_option(scale, ["median"], "scale")
    return check_number(scale, "scale", above=0.0)


def resolved_scale(scale: float | str, view: BorderView, metric: str) -> float:
    """The number itself, or the median distance of the rows to the border."""
    return positive_median(view.distance(metric)[0]) if isinstance(scale, str) else scale


def positive_median(d: FloatArray) -> float:
    """The median of the finite distances; an error where it is zero."""
    if np.isinf(d).all():
        return 1.0  # an axis without faces: every scale gives g = 1
    median = float(np.median(d[np.isfinite(d)]))
    if not median > 0.0:
        raise EstimationError(
            "More than half of the rows lie on the border, so the scale 'median' is zero. "
            "Give the weight a scale as a number."
        )
    return median
