"""A region alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from tmsm.display.plots.fit_display import distances_on_grid, draw_border, draw_land
from tmsm.display.plots.scene import view_of
from tmsm.display.plots.style import COLOURS, axes_for
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.manifolds.frames import EARTH, Frame, frame_named
from tmsm.regions import Region

__all__ = ["draw_region"]

_DRAWS = 20_000
# With more of the region on the other side of a globe all of the sphere is shown.
_HIDDEN = 0.1


def draw_region(region: Region, frame: str | Frame = EARTH) -> Any:
    """The inside of a region of S² and its border, on a globe or a map, with land on the Earth; returns the figure."""
    if not (region.manifold.has_longitudes and region.has_border):
        raise InvalidInputError(f"There is no border on S² to draw: {region!r}.")
    meaning = frame if isinstance(frame, Frame) else frame_named(frame)
    points = _points(region)
    view = view_of(None, region, points, [], [], meaning)
    if np.mean(~np.isfinite(view.forward(points)).all(axis=1)) > _HIDDEN:
        # Much of it is on the other side of the globe.
        with suppress(MissingDependencyError):
            view = view_of(
                f"+proj={'eqearth' if meaning.has_land else 'moll'} +lon_0=0", region, points, [], [], meaning
            )
    ax = axes_for(view.shape)
    view.prepare(ax)
    if meaning.has_land:
        draw_land(ax, view)
    # No two points of S² are farther apart than π.
    ax.contourf(*distances_on_grid(view, region), levels=[0.0, np.pi], colors=[COLOURS[4]], alpha=0.35, zorder=1)
    draw_border(ax, view, region)
    return ax.figure


def _points(region: Region) -> FloatArray:
    """Points of the region to turn the picture towards."""
    curves = region.border_curves
    X = region.manifold.uniform(_DRAWS, 0)
    inside = X[region.signed_distance(np.asfortranarray(X))[0] > 0.0]
    if len(inside) > 3 * _DRAWS // 4 and curves is not None:  # nearly everything: what is left out is to be seen
        return np.vstack(curves)
    if len(inside) > _DRAWS // 4 or curves is None:
        return inside if len(inside) else X
    return np.vstack([inside, *curves])
