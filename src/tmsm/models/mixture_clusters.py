"""Clusters of rows, and the density that has the moments of each: where searches for a mixture begin."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.models.base import LinearModel
from tmsm.numerics.clusters import clusters, nearest

__all__ = ["cluster_labels", "densest", "ladder", "moment_fit", "moment_fits"]

# First centres of the clusters are drawn so often.
_SEEDS = 6
# Clusterings that differ in fewer rows are one.
_SAME = 0.02
# How dense it is round a row is seen from the distance to as large a share of the rows, or to this many.
_NEAR_SHARE, _NEAR_ROWS = 0.01, 10
# Components about one centre begin with concentrations that differ by this factor.
_RUNG = 4.0


def cluster_labels(component: LinearModel, X: FloatArray, statistics: FloatArray, k: int) -> list[IntArray]:
    """Different ways to put rows into k clusters, shape (n,) each, by their place.

    Columns of flat space have units of their own; where x and −x are the same to the family, rows are put together by
    its statistics (n, q).
    """
    scaled = X / np.maximum(X.std(axis=0), 1e-300) if component.manifold.is_flat else X
    if component.manifold.contains(-X[:1]).all() and np.allclose(component.statistics(-X[:8]), statistics[:8]):
        scaled = statistics
    found: list[IntArray] = []
    for seed in range(_SEEDS if k > 1 else 1):
        centres = clusters(scaled, k, seed)
        labels = nearest(scaled, centres[np.lexsort(centres.T)])
        if not any(np.mean(labels != other) < _SAME for other in found):
            found.append(labels)
    return found


def densest(X: FloatArray, share: float) -> IntArray:
    """Numbers of this share of the rows (n, D): those with the nearest neighbours."""
    near = min(max(_NEAR_ROWS, round(_NEAR_SHARE * len(X))), len(X) - 1)
    distance = np.asarray(cKDTree(X).query(X, [near + 1])[0])[:, 0]
    return np.sort(np.argsort(distance, kind="stable")[: max(round(share * len(X)), 1)])


def moment_fit(component: LinearModel, mean: FloatArray) -> FloatArray | None:
    """θ of the family with this mean of its statistics, shape (q,); None where there is none."""
    try:
        return component.constraint.point(component.maximise_likelihood(mean)).theta
    except (EstimationError, InvalidInputError):
        return None


def moment_fits(component: LinearModel, statistics: FloatArray, labels: IntArray, k: int) -> list[FloatArray | None]:
    """θ of each of k clusters by its mean of the statistics (n, q)."""
    own = [statistics[labels == j] for j in range(k)]
    return [moment_fit(component, one.mean(axis=0)) if len(one) else None for one in own]


def ladder(component: LinearModel, theta: FloatArray, k: int) -> FloatArray:
    """Components about one centre, from wide to narrow, shape (k, q): θ times powers of a factor."""
    factors = _RUNG ** (np.arange(k) - 0.5 * (k - 1))
    return np.array([component.constraint.point(factor * theta).theta for factor in factors])
