"""Rows of which no density can be made: at too few places, or on a line."""

from __future__ import annotations

import numpy as np

from tmsm.data.rows import Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError
from tmsm.foundation.text import in_number
from tmsm.manifolds.lonlat import lonlat_of
from tmsm.maps.folds import Folds

__all__ = ["FEWEST_PLACES", "check_places"]

FEWEST_PLACES = 10
# Rows are on a line if they are within such a share of their extent of it.
_STRAIGHT = 1e-4


def check_places(rows: Rows, folds: Folds) -> None:
    """Raise an error where the rows are at one place, at fewer than ten, or on a line."""
    if folds.places == 1 and len(folds.labels) > 1:
        raise EstimationError(f"All {len(folds.labels)} rows are the same point: there is no density to map.")
    if folds.places < FEWEST_PLACES:
        raise EstimationError(
            f"{in_number(folds.places, 'different place')} too few for a map: it wants {FEWEST_PLACES} at least, and "
            "hundreds to show more than one bump."
        )
    line = _line_of(rows)
    if line is not None:
        raise EstimationError(
            f"All rows lie on {line}, to {_STRAIGHT:g} of its length: along a line there is a density for each unit "
            "of length, and none for each unit of area, so that there is no map."
        )


def _line_of(rows: Rows) -> str | None:
    """The line that all rows lie on, in words: a great circle, a circle, or a straight line; None for other rows."""
    manifold, X = rows.region.manifold, np.asarray(rows.sample().X)
    if manifold.is_flat:
        return "a straight line or plane" if manifold.dim > 1 and _thinnest(X) < _STRAIGHT else None
    if not manifold.has_longitudes:
        return None
    middle = X.mean(axis=0)
    length = float(np.linalg.norm(middle))
    height = X @ (middle / max(length, 1e-300))
    # Great circles are straight in this view, and nothing is too small for it.
    view = (X / np.where(height > 1e-3, height, 1.0)[:, None]) @ np.linalg.svd(middle[None, :])[2][1:].T
    if height.min() > 1e-3 and _thinnest(view) < _STRAIGHT:
        return "a great circle"
    if _circle_share(X) < _STRAIGHT:
        return "a circle"
    lon, lat = lonlat_of(X)
    turned = (lon - np.degrees(np.arctan2(middle[1], middle[0])) + 180.0) % 360.0
    if np.abs(lat).max() > 89.9:
        return None
    north = np.degrees(np.arctanh(np.sin(np.radians(lat))))
    if np.ptp(lat) == 0.0 or _thinnest(np.column_stack([turned, lat])) < _STRAIGHT:
        return "a straight line of longitudes and latitudes"
    return "a line of constant bearing" if _thinnest(np.column_stack([turned, north])) < _STRAIGHT else None


def _thinnest(X: FloatArray) -> float:
    """How thin rows (n, d) are in their thinnest direction, over the widest, whatever the units of the columns."""
    away = X - X.mean(axis=0)
    scale = np.abs(away).max(axis=0)
    if not (scale > 1e-12 * np.abs(X).max()).all():
        return 0.0
    away /= scale
    directions = np.linalg.svd(away, full_matrices=False)[2]
    return float(np.abs(away @ directions[-1]).max() / np.abs(away @ directions[0]).max())


def _circle_share(X: FloatArray) -> float:
    """How far rows on S² are from the circle that fits them best, over their extent."""
    middle = X.mean(axis=0)
    normal = np.linalg.svd(X - middle, full_matrices=False)[2][-1]
    away = np.arccos(np.clip(X @ normal, -1.0, 1.0))
    return float(np.ptp(away) / np.linalg.norm(np.ptp(X, axis=0)))
