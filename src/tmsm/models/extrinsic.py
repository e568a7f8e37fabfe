"""Second derivatives along a manifold by plain ones in the coordinates of its points."""

from __future__ import annotations

import numpy as np

from tmsm.foundation.arrays import FloatArray, padded
from tmsm.manifolds import Manifold
from tmsm.models.tangents import Coefficient, Directions

__all__ = ["plain_tensor"]


def plain_tensor(
    manifold: Manifold, columns: slice, X: FloatArray, isotropic: Coefficient, directions: Directions
) -> tuple[FloatArray, FloatArray]:
    """W (n, D, D) and w (n, D) with ⟨aP + Σ c uuᵀ, Hess t⟩ = ⟨W, D²t⟩ + ⟨w, Dt⟩ for plain derivatives D.

    The coordinates of the manifold are those of X in some columns, and so are the directions' of tangents; the function
    may depend on others.
    """
    # ⟨W, Hess t⟩ = ⟨W, D²t⟩ + Dt·⟨W, II⟩, with P and uuᵀ in the coordinates of the points.
    own = X[:, columns]
    a = np.broadcast_to(np.asarray(isotropic, dtype=np.float64), len(X))
    width = own.shape[1]
    W, w = np.zeros((width, width, len(X))), np.zeros_like(own)
    if a.any():
        T = manifold.tangent_map(own)
        # In an embedding T is the projector, TᵀT = T.
        metric = T if manifold.is_embedded else np.swapaxes(T, 1, 2) @ T
        W += np.moveaxis(metric, 0, -1) * a
        w += manifold.coordinate_laplacian(own) * a[:, None]
    for u, c in directions:
        v = manifold.velocity(own, u).T
        W += v[:, None] * (v[None, :] * c)
        w += manifold.acceleration(own, u) * c[:, None]
    if width == X.shape[1]:
        return np.moveaxis(W, -1, 0), w
    wide = np.zeros((X.shape[1], X.shape[1], len(X)))
    wide[columns, columns] = W
    return np.moveaxis(wide, -1, 0), padded(w, columns, X.shape[1])
