"""A region alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.errors import InvalidInputError
from tmsm.manifolds import Sphere
from tmsm.plots.fit_display import draw_border, view_of
from tmsm.plots.style import LAND, new_axes
from tmsm.regions.base import Region

__all__ = ["draw_region"]

_DRAWS = 20_000
_GRID = 400


def draw_region(region: Region) -> Any:
    """The inside of a region of S² and its border, on a globe or a map, with land; returns the figure."""
    if region.manifold != Sphere(2) or not region.has_border:
        raise InvalidInputError(f"There is no border on S² to draw: {region!r}.")
    from tmsm.datasets import load_land

    view, ax = view_of(None, region, _points(region), [], []), new_axes(6.5, 6.0)
    view.prepare(ax)
    for ring in load_land().rings:
        view.line(ax, ring, closed=True, color=LAND, lw=0.6, zorder=0.6)
    x, y, X = view.grid(_GRID)
    seen = np.isfinite(X).all(axis=-1)
    inside = np.full(seen.shape, np.nan)
    inside[seen] = region.signed_distance(np.asfortranarray(X[seen]))[0]
    ax.contourf(x, y, inside, levels=[0.0, 10.0], colors=["#56B4E9"], alpha=0.35, zorder=1)
    draw_border(ax, view, region)
    return ax.figure


def _points(region: Region) -> FloatArray:
    """Points of the region to turn the picture towards."""
    curves = region.border_curves
    X = np.random.default_rng(0).standard_normal((_DRAWS, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    inside = X[region.signed_distance(np.asfortranarray(X))[0] > 0.0]
    if len(inside) > _DRAWS // 4 or curves is None:
        return inside if len(inside) else X
    return np.vstack([inside, *curves])
