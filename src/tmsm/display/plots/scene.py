"""What a picture has to have room for, and the view that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tmsm.display.plots.curves import border_of
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.manifolds import View
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.sphere_plane import enclosing_cap
from tmsm.regions import Region

__all__ = ["fitting_border", "view_of"]

# A border so many times as large as all else in the picture may leave it.
_COMPARABLE = 4.0
_GRID = 61
# Points of a closed surface by which to see how far a region goes.
_SPREAD = 5_000


def view_of(
    view: Any, region: Region, X: FloatArray, centres: Sequence[FloatArray], curves: Sequence[FloatArray], frame: Frame
) -> View:
    """The view that is asked for, or that suits what is to be seen; the border, too, where it is not much larger."""
    if view is not None and not isinstance(view, str):
        raise InvalidTypeError(f"view must be 'globe', 'map' or a projection of pyproj; got {type(view).__name__}.")
    nothing = np.empty((0, X.shape[1]))
    points, lines = np.vstack([nothing, *centres]), np.vstack([nothing, *curves])
    manifold = region.manifold
    if manifold.has_longitudes:
        seen = np.vstack([X, points, lines])
        lines = np.vstack([lines, *fitting_border(region, X, seen)])
        return manifold.view(view, X, points, lines, frame)
    if manifold.is_flat and manifold.dim == 2 and region.has_border:
        lines = np.vstack([lines, _inside(region, np.vstack([X, points, lines]))])
    elif manifold.is_closed and manifold.dim == 2 and region.has_border:
        with suppress(InvalidInputError):  # of a manifold that cannot be drawn from the rows are shown
            spread = manifold.uniform(_SPREAD, 0)
            lines = np.vstack([lines, spread[region.contains(spread)]])
    return manifold.view(view, X, points, lines)


def fitting_border(region: Region, X: FloatArray, seen: FloatArray) -> list[FloatArray]:
    """The border of a region of S² where it is not much larger than what is to be seen (m, 3), else nothing."""
    curves = border_of(region, X)
    if not curves:
        return []
    largest = _COMPARABLE * enclosing_cap(seen)[1]
    return curves if enclosing_cap(np.vstack([seen, *curves]))[1] <= largest or len(seen) == 1 else []


def _inside(region: Region, seen: FloatArray) -> FloatArray:
    """Points of a grid inside a region of the plane, where it ends not far from what is to be seen."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    side = float(np.max(high - low))
    if side == 0.0:
        return seen[:0]
    far = 0.5 * (_COMPARABLE - 1.0) * side
    x, y = (np.linspace(low[k] - far, high[k] + far, _GRID) for k in range(2))
    grid = np.column_stack([c.ravel() for c in np.meshgrid(x, y)])
    inside = (region.signed_distance(np.asfortranarray(grid))[0] > 0.0).reshape(_GRID, _GRID)
    # Where it reaches the rim on one side of a direction, it goes on there.
    points = grid[inside.ravel()]
    for axis in range(2):
        ends = (inside[:, 0], inside[:, -1]) if axis == 0 else (inside[0], inside[-1])
        if any(end.any() for end in ends):
            points = points.copy()
            points[:, axis] = np.clip(points[:, axis], low[axis], high[axis])
    return points
