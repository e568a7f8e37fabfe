"""A region as people write it: caps by their centre in degrees and not by unit vectors."""

from __future__ import annotations

import numpy as np

from tmsm.manifolds.frames import Frame
from tmsm.regions import Cap, Complement, Everywhere, Intersection, Region, Union

__all__ = ["region_in_words"]

# The centre of a cap is told to this share of its radius.
_CLOSELY = 1e-3


def region_in_words(region: Region, frame: Frame) -> str:
    """A region in the words of a frame: `cap of 80° round 45.0° N, 10.0° E`; else what it says of itself."""
    if isinstance(region, Intersection | Union):
        sign = " & " if isinstance(region, Intersection) else " | "
        return sign.join(_bracketed(part, frame) for part in region.parts)
    if isinstance(region, Complement):
        return f"~{_bracketed(region.region, frame)}"
    if region.manifold.has_longitudes and isinstance(region, Cap):
        place = frame.place(region.center, _CLOSELY * region.radius)
        return f"cap of {np.degrees(region.radius):.6g}° round {place}"
    if region.manifold.has_longitudes and isinstance(region, Everywhere):
        return "the whole sphere S²"
    return repr(region)


def _bracketed(part: Region, frame: Frame) -> str:
    text = region_in_words(part, frame)
    return f"({text})" if isinstance(part, Cap | Intersection | Union) else text
