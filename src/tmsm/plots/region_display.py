"""A region alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmsm.errors import InvalidInputError
from tmsm.manifolds import Sphere
from tmsm.plots.fit_display import draw_border
from tmsm.plots.style import LAND, new_axes
from tmsm.plots.views import Globe
from tmsm.regions.base import Region

__all__ = ["draw_region"]

_DRAWS = 20_000


def draw_region(region: Region) -> Any:
    """The border of a region of S² on a globe turned towards it, with land; returns the figure."""
    if region.manifold != Sphere(2) or not region.has_border:
        raise InvalidInputError(f"There is no border on S² to draw: {region!r}.")
    from tmsm.datasets import load_land

    X = np.random.default_rng(0).standard_normal((_DRAWS, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    inside = X[region.signed_distance(np.asfortranarray(X))[0] > 0.0]
    curves = region.border_curves
    points = inside if len(inside) else np.vstack(curves) if curves else X
    middle = points.mean(axis=0)
    view, ax = Globe(middle if np.linalg.norm(middle) > 1e-3 else points[0]), new_axes(6.0, 6.0)
    view.prepare(ax)
    for ring in load_land().rings:
        view.line(ax, ring, closed=True, color=LAND, lw=0.6, zorder=0.6)
    view.scatter(ax, inside, s=1.0, color="#56B4E9", alpha=0.5, linewidths=0, zorder=1)
    draw_border(ax, view, region)
    return ax.figure
