"""Lines of a sphere in a flat picture: cut where the picture is torn, right up to its edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray

__all__ = ["Box", "chained", "drawn_line"]

# left, bottom, right, top
Box = tuple[float, float, float, float]

_LONGEST = 0.02  # of a straight piece, as a share of the picture's diagonal
_DENSE = np.radians(1.0)
_CLOSE = 1e-9  # of two points on either side of a tear, in radians
_ROUNDS = 60


def chained(curves: Sequence[FloatArray], *, closed: bool = False) -> FloatArray:
    """Curves (m, 3) as one array, with a row of NaN behind each."""
    gap = np.full((1, 3), np.nan)
    return np.vstack([gap[:0], *(part for c in curves for part in ((c, c[:1], gap) if closed else (c, gap)))])


def drawn_line(forward: Callable[[FloatArray], FloatArray], X: FloatArray, window: Box) -> FloatArray:
    """The picture of great-circle arcs between successive rows of X (n, 3), with NaN where it is interrupted.

    Arcs are divided until their pictures are short.  An arc whose picture stays long however short it gets crosses a
    tear, and ends on both sides of it; one that leaves the picture ends at its edge.  Rows of NaN separate curves.
    What is far from the window is left out.
    """
    left, bottom, right, top = window
    width, height = right - left, top - bottom
    long = _LONGEST * float(np.hypot(width, height))
    low, high = np.array([left - width, bottom - height]), np.array([right + width, top + height])
    X = _dense(X)
    flat = _image(forward, X)
    for _ in range(_ROUNDS):
        split = _to_divide(X, flat, long, low, high)
        if not split.any():
            break
        where = np.flatnonzero(split)
        middle = X[where] + X[where + 1]
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        X = np.insert(X, where + 1, middle, axis=0)
        flat = np.insert(flat, where + 1, _image(forward, middle), axis=0)
    a, b = flat[:-1], flat[1:]
    length = np.linalg.norm(b - a, axis=1)
    torn = (length > long) | ~_near(a, b, low, high)
    return np.insert(flat, np.flatnonzero(torn & np.isfinite(length)) + 1, np.nan, axis=0)


def _to_divide(X: FloatArray, flat: FloatArray, long: float, low: FloatArray, high: FloatArray) -> BoolArray:
    a, b = flat[:-1], flat[1:]
    seen = np.asarray(np.isfinite(flat).all(axis=1))
    first, last = seen[:-1], seen[1:]
    chord = np.linalg.norm(X[1:] - X[:-1], axis=1)  # NaN between two curves
    with np.errstate(invalid="ignore"):
        stretched = first & last & (np.linalg.norm(b - a, axis=1) > long)
        divided: BoolArray = (stretched | (first ^ last)) & (chord > _CLOSE) & _near(a, b, low, high)
    return divided


def _near(a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether the box round two ends, or round the one that is seen, meets the neighbourhood of the window."""
    least, most = np.fmin(a, b), np.fmax(a, b)
    return np.asarray(((least <= high) & (most >= low)).all(axis=1))


def _dense(X: FloatArray) -> FloatArray:
    """The same arcs in pieces of a degree at most."""
    chord = np.linalg.norm(X[1:] - X[:-1], axis=1)
    pieces = np.where(np.isfinite(chord), np.ceil(2.0 * np.arcsin(np.clip(0.5 * chord, 0.0, 1.0)) / _DENSE), 1.0)
    n = np.maximum(pieces, 1.0).astype(np.intp)
    start = np.repeat(np.arange(len(n)), n)
    share = (np.arange(len(start)) - np.repeat(np.cumsum(n) - n, n)) / n[start]
    angle = 2.0 * np.arcsin(np.clip(0.5 * chord[start], 0.0, 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = np.sin((1.0 - share) * angle) / np.sin(angle), np.sin(share * angle) / np.sin(angle)
    between = a[:, None] * X[start] + b[:, None] * X[start + 1]
    dense = np.where((share > 0.0)[:, None], between, X[start])
    return np.vstack([dense, X[-1:]])


def _image(forward: Callable[[FloatArray], FloatArray], X: FloatArray) -> FloatArray:
    flat = np.full((len(X), 2), np.nan)
    known = np.isfinite(X).all(axis=1)
    if known.any():
        flat[known] = forward(X[known])
    return flat
