"""What people read off the parameters of a family on a sphere: one-sigma lengths beside κ, the azimuth of an oval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, final

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["Reading", "azimuth_reading", "length_reading", "turned_east"]

# Of differences that stand for derivatives of an angle.
_STEP = 1e-6


@final
@dataclass(frozen=True)
class Reading:
    """An angle in radians that follows from the parameters.

    Attributes
    ----------
    after
        The parameter that it explains.
    name
        What to call it.
    kind
        A "length" on the sphere, or an "azimuth": clockwise from north, an axis, in [0, π).
    value
        The angle.
    slopes
        Its derivatives by the parameters that it depends on, each of the parameter's size.
    of_parameter
        Where it falls or rises with the parameter ``after`` alone: its value for one of that.
    """

    after: str
    name: str
    kind: Literal["length", "azimuth"]
    value: float
    slopes: Mapping[str, FloatArray] = field(default_factory=dict)
    of_parameter: Callable[[float], float] | None = None


def length_reading(name: str, curvature: float, slopes: Mapping[str, float], after: str = "concentration") -> Reading:
    """The one-sigma length 1/√c of a density that falls like exp(−c s²/2) from its centre.

    ``slopes`` are the derivatives of c by the parameters.
    """
    sigma = 1.0 / np.sqrt(curvature) if curvature > 0.0 else np.inf
    # d(c^−½) = −½ c^−³ᐟ² dc
    down = -0.5 * sigma**3 if np.isfinite(sigma) else 0.0
    alone = None
    if list(slopes) == [after]:
        factor = slopes[after]

        def alone(value: float) -> float:
            return float(1.0 / np.sqrt(factor * value)) if factor * value > 0.0 else np.inf

    return Reading(after, name, "length", float(sigma), {n: np.array([down * s]) for n, s in slopes.items()}, alone)


def azimuth_reading(after: str, mean: FloatArray, axis: FloatArray) -> Reading | None:
    """The azimuth at which an axis leaves the mean direction on S²; None at a pole, where there is no north."""
    if np.hypot(mean[0], mean[1]) < 1e-9:
        return None

    def angle(vectors: FloatArray) -> float:
        north, east = _compass(vectors[:3])
        return float(np.arctan2(vectors[3:] @ east, vectors[3:] @ north))

    here = np.concatenate([mean, axis])
    steps = _STEP * np.eye(6)
    # A turn by 2π between the two is none.
    slope = np.array([np.sin(angle(here + step) - angle(here - step)) / (2.0 * _STEP) for step in steps])
    value = float(np.remainder(angle(here), np.pi))
    return Reading(after, "azimuth", "azimuth", value, {"mean_direction": slope[:3], after: slope[3:]})


def turned_east(mean: FloatArray, axis: FloatArray) -> FloatArray:
    """The axis with the sign that makes its azimuth at ``mean`` lie in [0, π); at a pole its largest entry positive."""
    north, east = _compass(mean) if np.hypot(mean[0], mean[1]) >= 1e-9 else (np.zeros(3), np.zeros(3))
    for towards in (axis @ east, axis @ north, axis[np.argmax(np.abs(axis))]):
        if abs(towards) > 1e-9:
            return axis if towards > 0.0 else -axis
    return axis


def _compass(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """North and east at a place of S² that is no pole."""
    east = np.array([-mean[1], mean[0], 0.0])
    east /= np.linalg.norm(east)
    north = np.array([mean[1] * east[2] - mean[2] * east[1], mean[2] * east[0] - mean[0] * east[2],
                      mean[0] * east[1] - mean[1] * east[0]])  # fmt: skip
    return north / np.linalg.norm(north), east
