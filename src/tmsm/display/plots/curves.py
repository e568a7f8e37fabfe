"""Curves on S² where a function has some value: borders that are made of no curves, and contours of densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import MissingDependencyError
from tmsm.manifolds import Sphere
from tmsm.regions import Region

__all__ = ["angles_to", "border_of", "level_curves", "unit_or"]

_GRID = 181


def border_of(region: Region, X: FloatArray) -> list[FloatArray]:
    """The border's own curves, or those where its distance is zero round rows X (n, 3)."""
    if not region.has_border:
        return []
    curves = region.border_curves
    if curves is not None:
        return curves

    def distance(Y: FloatArray) -> FloatArray:
        return region.signed_distance(np.asfortranarray(Y))[0]

    centre = unit_or(X.mean(axis=0), X[0])
    reach = max(2.0 * float(angles_to(centre, X).max()), 1e-6)
    # Wide enough that all of the rim is outside.
    while reach < np.pi and (distance(_from_plane(*_rim(reach), _frame(centre))) > 0.0).any():
        reach *= 2.0
    return level_curves(distance, centre, [0.0], min(reach, np.pi))


def level_curves(function: Any, centre: FloatArray, levels: Sequence[float], reach: float) -> list[FloatArray]:
    """Curves on the sphere where a function has some values, in the plane of angle and direction from a centre."""
    try:
        import contourpy
    except ImportError:
        raise MissingDependencyError("Pictures need contourpy: pip install 'tmsm[plot]'.") from None
    frame = _frame(centre)
    half = np.linspace(-reach, reach, _GRID)
    u, v = (c.ravel() for c in np.meshgrid(half, half))
    values = np.full(u.shape, np.nan)
    seen = np.hypot(u, v) < np.pi * 0.999
    values[seen] = function(_from_plane(u[seen], v[seen], frame))
    lines: Any = contourpy.contour_generator(half, half, np.ma.masked_invalid(values.reshape(_GRID, _GRID)))
    return [_from_plane(line[:, 0], line[:, 1], frame) for level in levels for line in lines.lines(level)]


def unit_or(vector: FloatArray, otherwise: FloatArray) -> FloatArray:
    """A vector of length one, or another one where it is zero."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.asarray(otherwise)


def angles_to(centre: FloatArray, X: FloatArray) -> FloatArray:
    """Angles of points (n, 3) to a centre."""
    return Sphere(2).geodesic_distance(X, np.broadcast_to(centre, X.shape))


def _frame(centre: FloatArray) -> FloatArray:
    """The centre and two directions across, as rows."""
    frame: FloatArray = np.linalg.svd(centre[None, :])[2]
    frame[0] = centre
    return frame


def _rim(reach: float) -> tuple[FloatArray, FloatArray]:
    turn = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    return reach * np.cos(turn), reach * np.sin(turn)


def _from_plane(u: FloatArray, v: FloatArray, frame: FloatArray) -> FloatArray:
    angle = np.hypot(u, v)
    share = np.sinc(angle / np.pi)  # sin(angle)/angle
    X: FloatArray = (
        np.cos(angle)[:, None] * frame[0] + (share * u)[:, None] * frame[1] + (share * v)[:, None] * frame[2]
    )
    return X
