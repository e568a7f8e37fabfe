"""Boxes of angles on the torus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Sphere
from tmsm.regions.cap import Cap
from tmsm.regions.everywhere import Everywhere
from tmsm.regions.product import ProductRegion
from tmsm.regions.region import Region

__all__ = ["AngleBox"]

_FULL_TURN = 2.0 * np.pi * (1.0 - 1e-12)


@final
@dataclass(frozen=True, eq=False, repr=False)
class AngleBox(ProductRegion):
    """The points of a torus whose angles lie between ``lower`` and ``upper``.

    Parameters
    ----------
    lower, upper
        Angles in radians, shape (dim,), dim at least two.  A box goes from lower upwards to upper: where upper is
        below lower it goes across ±π.  Two ends that are a full turn apart, such as −π and π, leave the angle free.

    Examples
    --------
    >>> import tmsm
    >>> box = tmsm.AngleBox([-1.0, 2.5], [1.3, -2.5])
    >>> box.contains(tmsm.angles_to_torus([[0.0, 3.1], [0.0, 0.0]]))
    array([ True, False])
    """

    lower: FloatArray
    upper: FloatArray

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        lower, upper = check_vector(lower, "lower"), check_vector(upper, "upper")
        if lower.shape != upper.shape:
            raise InvalidInputError(f"lower and upper must have the same length; got {lower.size} and {upper.size}.")
        if lower.size < 2:
            raise InvalidInputError("A box of angles has at least two; for one angle use Cap on Sphere(1).")
        for j, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
            if max(abs(low), abs(high)) > 2.0 * np.pi * (1.0 + 1e-12) or abs(high - low) > 2.0 * np.pi * (1.0 + 1e-12):
                raise InvalidInputError(
                    f"lower and upper must be in radians, within ±2π and at most 2π apart; angle {j} goes from "
                    f"{low:.6g} to {high:.6g}. Degrees become radians with numpy.radians."
                )
            if low == high:
                raise InvalidInputError(f"lower and upper must differ in every angle; angle {j} has {low:.6g} twice.")
        super().__init__(*(arc(low, high) for low, high in zip(lower, upper, strict=True)))
        object.__setattr__(self, "lower", frozen_array(lower))
        object.__setattr__(self, "upper", frozen_array(upper))

    def __repr__(self) -> str:
        return f"AngleBox(lower={self.lower.tolist()!r}, upper={self.upper.tolist()!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper}

    @classmethod
    def from_arguments(cls, *, lower: FloatArray, upper: FloatArray) -> Self:  # type: ignore[override]
        return cls(lower, upper)


def arc(low: float, high: float) -> Region:
    """The arc of the circle from one angle upwards to another, in radians; all of it where they are a turn apart."""
    if abs(high - low) >= _FULL_TURN:
        return Everywhere(Sphere(1))
    half = 0.5 * float(np.remainder(high - low, 2.0 * np.pi))
    return Cap([np.cos(low + half), np.sin(low + half)], half)
