"""Coastlines that are fine enough for a picture, and no finer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["FINE", "FINEST", "land_curves", "land_near"]

# Radii of windows in degrees: below the first the finer coast is drawn, below the second even that one is wrong by
# more than can be overlooked.
FINE, FINEST = 30.0, 1.5


def land_curves(middle: FloatArray, radius: float, *, always: bool = False) -> list[FloatArray]:
    """Coastlines near a window, a cap in radians, as open curves (m, 3); none where they would be too coarse."""
    degrees = float(np.degrees(radius))
    if degrees < FINEST and not always:
        return []
    return land_near(middle, min(1.5 * radius + 0.02, np.pi), "50m" if degrees < FINE else "110m")


def land_near(middle: FloatArray, radius: float, resolution: str, *, other_side: bool = False) -> list[FloatArray]:
    """The parts of all coastlines inside a cap, or outside it, as open curves (m, 3)."""
    found = []
    for ring in _rings(resolution):
        closed = np.vstack([ring, ring[:1]])
        near = closed @ middle >= np.cos(radius)
        near = ~near if other_side else near
        if near.any():
            edges = near[:-1] | near[1:]  # those with an end there
            change = np.flatnonzero(np.diff(np.concatenate([[False], edges, [False]])))
            found += [closed[first : last + 1] for first, last in zip(change[::2], change[1::2], strict=True)]
    return found


@lru_cache(maxsize=2)
def _rings(resolution: str) -> tuple[FloatArray, ...]:
    from tmsm.datasets import load_land

    return load_land(resolution).rings
