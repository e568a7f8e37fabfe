"""Where the parts of a region are and how small they are, so that a grid of cells does not miss them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray, row_norms

__all__ = ["Landmarks", "pieces", "ring_landmarks"]

# Up to so many balls are compared with every row; for more the rows are sorted into a tree.
_FEW = 16
# A part longer than so many of its widths is held by several balls in a row, so that they hold little else.
_LONG, _MOST_PIECES = 4.0, 4096


@dataclass(frozen=True)
class Landmarks:
    """Balls that hold the parts of a border: islands, holes, strips.

    Attributes
    ----------
    centers
        Shape (m, D), in embedding coordinates.
    radii
        Shape (m,): the part lies within this distance of its centre; infinite where it is unbounded.
    sizes
        Shape (m,): the part's radius, or half its width where it is longer than wide.  Cells much smaller than
        this see its border as nearly straight.
    """

    centers: FloatArray
    radii: FloatArray
    sizes: FloatArray

    @staticmethod
    def none(D: int) -> Landmarks:
        """No part that needs attention."""
        return Landmarks(np.empty((0, D)), np.empty(0), np.empty(0))

    @staticmethod
    def ball(center: FloatArray, radius: float, size: float | None = None) -> Landmarks:
        """One part; by default as wide as it is long."""
        return Landmarks(center[None, :], np.array([radius]), np.array([radius if size is None else size]))

    @staticmethod
    def joined(parts: Sequence[Landmarks]) -> Landmarks:
        """All parts of all."""
        return Landmarks(
            np.concatenate([part.centers for part in parts]),
            np.concatenate([part.radii for part in parts]),
            np.concatenate([part.sizes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def touched(self, X: FloatArray, reach: float, below: float) -> BoolArray:
        """Whether a part of a size below ``below`` may come within ``reach`` of each row of X, shape (n,)."""
        mine = self.sizes < below
        # The straight line is never longer than the path along the manifold.
        centers, radii = self.centers[mine], self.radii[mine] + reach
        if np.isinf(radii).any():
            return np.ones(len(X), dtype=bool)
        out = np.zeros(len(X), dtype=bool)
        if len(centers) <= _FEW:
            for center, radius in zip(centers, radii, strict=True):
                out |= row_norms(X - center) <= radius
        elif len(X):
            from scipy.spatial import KDTree

            near = KDTree(X).query_ball_point(centers, radii)
            out[np.concatenate([np.asarray(rows, dtype=np.intp) for rows in near])] = True
        return out


def pieces(length: float, width: float) -> int:
    """In how many pieces to cut a long part; one where it has no end."""
    if not np.isfinite(length):
        return 1
    return int(np.clip(np.ceil(length / (_LONG * width)), 1, _MOST_PIECES))


def ring_landmarks(rings: Sequence[FloatArray]) -> Landmarks:
    """Of closed chains of points, shape (m, D) each: in the plane (D = 2) or on the sphere (D = 3).

    Half the width of a ring is √2 standard deviations of its border along the shorter axis: the radius of a circle.
    """
    D = rings[0].shape[1]
    points = np.concatenate(rings)
    following = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    before = np.concatenate([np.roll(ring, 1, axis=0) for ring in rings])
    share = np.linalg.norm(following - points, axis=1) + np.linalg.norm(before - points, axis=1)
    counts = np.array([len(ring) for ring in rings])
    starts = np.cumsum(counts) - counts
    total = np.add.reduceat(share, starts)
    center = np.add.reduceat(share[:, None] * points, starts) / total[:, None]
    offset = points - np.repeat(center, counts, axis=0)
    products = share[:, None, None] * offset[:, :, None] * offset[:, None, :]
    scatter = np.add.reduceat(products, starts) / total[:, None, None]
    # On the sphere the least spread is that across the surface.
    width = np.sqrt(2.0 * np.maximum(np.linalg.eigvalsh(scatter)[:, D - 2], 0.0))
    radius = np.maximum.reduceat(np.linalg.norm(offset, axis=1), starts)
    # The centre of a long ring lies below the surface, and its arcs bulge: a ball about it that holds them all.
    bulge = 1.0 - np.linalg.norm(center, axis=1) if D == 3 else 0.0
    found = Landmarks(center, radius + bulge, np.minimum(width, radius))
    thin = np.flatnonzero(radius > _LONG * width)
    if thin.size == 0:
        return found
    thick = np.setdiff1d(np.arange(len(rings)), thin)
    rows = [_along(rings[k], max(float(width[k]), 1e-12)) for k in thin.tolist()]
    return Landmarks.joined([Landmarks(found.centers[thick], found.radii[thick], found.sizes[thick]), *rows])


def _along(ring: FloatArray, size: float) -> Landmarks:
    """Balls in a row along a thin ring."""
    following = np.roll(ring, -1, axis=0)
    length = np.linalg.norm(following - ring, axis=1)
    step = max(2.0 * _LONG * size, float(length.sum()) / _MOST_PIECES)
    counts = np.ceil(length / step).astype(np.int64)
    edge = np.repeat(np.arange(len(ring)), counts)
    place = np.arange(edge.size) - np.repeat(np.cumsum(counts) - counts, counts)
    share = ((place + 0.5) / counts[edge])[:, None]
    centers = (1.0 - share) * ring[edge] + share * following[edge]
    bulge = 1.0 - np.linalg.norm(centers, axis=1) if ring.shape[1] == 3 else 0.0
    return Landmarks(centers, 0.5 * length[edge] / counts[edge] + bulge, np.full(edge.size, size))
