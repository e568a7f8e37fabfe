"""Functions of points that can be written in several ways, such as rotations by a quaternion and by its opposite."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.autodiff import PointFunction
from tmsm.foundation.errors import InvalidInputError
from tmsm.manifolds.base import Manifold

__all__ = ["check_unique"]

_POINTS = 16


def check_unique(function: PointFunction, manifold: Manifold) -> None:
    """Raise unless a function has one value at a point, whichever of its coordinates are taken."""
    if not manifold.same_points(np.empty((0, manifold.embedding_dim))):
        return
    X = manifold.scattered(_POINTS, np.random.default_rng(0))
    values = function.values(X, checked=False)
    size = np.abs(values).max(axis=0, initial=0.0)
    for Y in manifold.same_points(X):
        off = np.abs(function.values(Y, checked=False) - values) > 1e-9 * size
        if off.any():
            row, entry = (int(k) for k in np.argwhere(off)[0])
            name = function.entries[entry] if function.entries else function.name
            raise InvalidInputError(
                f"{name} is no function on {manifold!r}: {X[row].round(4).tolist()} and {Y[row].round(4).tolist()} are "
                f"the same point, and it has different values there. Write it with products of two coordinates, such "
                "as the entries of the rotation matrix."
            )
