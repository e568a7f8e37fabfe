"""Whether a log density is smooth where there are rows: neither it nor its derivative may jump."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_dots, row_norms
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.parametric import ParametricFunction
from tmsm.manifolds import Manifold

__all__ = ["check_smooth"]

# Paths are cut in half so often, after which the change of a smooth function is far below rounding; after some of them
# a look shows that most functions are smooth.
_HALVINGS, _LOOK = 30, 7
# A jump is a change over the last piece of a path that is more than such a share of the function's size, or of its
# slope's; the change of a smooth function is smaller by far.
_JUMP = 1e-5
# What does not matter to a density, and may be rounding.
_NOTHING = 1e-9


def check_smooth(u: ParametricFunction, manifold: Manifold, X: FloatArray, theta: FloatArray) -> None:
    """Raise where the function or its slope jumps between some of the rows.

    On the path between two rows the half is followed on which the change of the function is least like the mean of its
    slopes at both ends.  For a smooth function the difference vanishes with the cube of the length; at a jump it
    stays.  The same is done with the slope and the second derivative, since a bend counts as well: score matching would
    leave out the curvature that sits in it.
    """
    try:
        V = manifold.tangent_of(X, np.roll(X, 1 + len(X) // 3, axis=0) - X)
        _follow(u, manifold, X, V, theta, of_slope=False)
        _follow(u, manifold, X, V, theta, of_slope=True)
    except _NoPathError:
        return


class _NoPathError(Exception):
    """The manifold has no paths between points."""


def _follow(
    u: ParametricFunction, manifold: Manifold, X: FloatArray, V: FloatArray, theta: FloatArray, *, of_slope: bool
) -> None:
    def point(t: FloatArray) -> FloatArray:
        try:
            return manifold.retract(X, V * t[:, None])
        except InvalidInputError:
            raise _NoPathError from None

    def off(x: FloatArray, y: FloatArray) -> FloatArray:
        """How much the change from x to y differs from the mean slope at both; not finite where fn is not."""
        d = y - x
        (a, Da), (b, Db) = (u.first(z, theta, checked=False) for z in (x, y))
        if not of_slope:
            return np.abs(b - a - 0.5 * row_dots(Da + Db, d))
        bends = [u.second(z, d, None, theta, checked=False) for z in (x, y)]
        return np.abs(row_dots(Db - Da, d) - 0.5 * (bends[0] + bends[1]))

    low, high = np.zeros(len(X)), np.ones(len(X))
    with np.errstate(invalid="ignore", over="ignore"):
        values, slopes = u.first(X, theta, checked=False)
        level = row_norms(slopes) if of_slope else np.abs(values)
        spread = float(np.median(level if of_slope else np.abs(values - np.median(values))))
        least = max(_JUMP * spread, _NOTHING * (1.0 + float(level.max())))
        for k in range(_HALVINGS):
            middle = 0.5 * (low + high)
            x, m, y = point(low), point(middle), point(high)
            first, last = off(x, m), off(m, y)
            later = last > first
            low, high = np.where(later, middle, low), np.where(later, high, middle)
            change = np.where(later, last, first)
            if of_slope:
                # Per length: the jump of the slope along the path.
                change = change / np.maximum(row_norms(np.where(later[:, None], y - m, m - x)), 1e-300)
            jumps = np.isfinite(change) & (change > least)
            if k % _LOOK == _LOOK - 1 and not jumps.any():
                return
    if not jumps.any():
        return
    worst = int(np.argmax(np.where(jumps, change, 0.0)))
    where = point(0.5 * (low + high))[worst].round(4).tolist()
    what = f"The derivative of {u.name} jumps" if of_slope else f"{u.name} jumps"
    advice = (
        "Score matching needs a continuous derivative: use smooth functions, such as jax.nn.softplus for a ramp and "
        "jnp.sqrt(1 + x**2) for an absolute value"
        if of_slope
        else "It must be smooth, without the steps of jnp.where, jnp.floor or jnp.sign: use a smooth step, such as "
        "jax.nn.sigmoid"
    )
    raise InvalidInputError(
        f"{what} on {int(np.count_nonzero(jumps))} of {len(X)} paths between rows (largest: by {change[worst]:.3g} "
        f"near the point {where}). {advice}."
    )
