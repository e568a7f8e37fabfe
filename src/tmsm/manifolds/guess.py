"""Which manifold a table of points lies on, where nobody says."""

from __future__ import annotations

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.base import Manifold
from tmsm.manifolds.euclidean import Euclidean
from tmsm.manifolds.sphere import Sphere

__all__ = ["manifold_of"]


def manifold_of(X: FloatArray) -> Manifold:
    """The sphere if all rows have length one, else flat space.

    Parameters
    ----------
    X
        Points, shape (n, D).
    """
    width = X.shape[1]
    on_sphere = width > 1 and bool(Sphere(width - 1).contains(X).all())
    return Sphere(width - 1) if on_sphere else Euclidean(width)
