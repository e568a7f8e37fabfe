"""Polygons in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_norms, safe_divide
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold
from tmsm.regions.borders import Constrained
from tmsm.regions.constraint_sets import convex_constraints
from tmsm.regions.landmarks import Landmarks, ring_landmarks
from tmsm.regions.polygon.outlines import open_ring
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

if TYPE_CHECKING:
    from tmsm.regions.polygon.edges import EdgeTree

__all__ = ["Polygon", "check_simple"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Polygon(Region):
    """The inside of a simple polygon in the plane; distances to its sides are exact.

    Parameters
    ----------
    vertices
        Shape (m, 2), in order, either way round; a last vertex equal to the first is dropped.

    Examples
    --------
    >>> import tmsm
    >>> triangle = tmsm.Polygon([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    >>> triangle.border_distance([[2.0, 1.0]])[0].round(6)
    array([0.707107])
    """

    vertices: FloatArray

    def __init__(self, vertices: ArrayLike) -> None:
        vertices = Euclidean(2).check_points(vertices, "vertices")
        vertices = open_ring(vertices, "The polygon")
        check_simple(vertices)
        object.__setattr__(self, "vertices", frozen_array(vertices))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(2)

    @property
    def is_costly(self) -> bool:
        return True

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    @property
    def landmarks(self) -> Landmarks:
        return ring_landmarks([self.vertices])

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return [self.vertices]

    @cached_property
    def constraints(self) -> Constrained | None:
        normals = self._normals
        return convex_constraints(self.manifold, self.vertices, normals, (normals * self.vertices).sum(axis=1))

    @property
    def _normals(self) -> FloatArray:
        """Of the edges, inwards and as long as these, shape (m, 2)."""
        edges = np.roll(self.vertices, -1, axis=0) - self.vertices
        return np.column_stack([-edges[:, 1], edges[:, 0]]) * self._tree.orientation

    @cached_property
    def _tree(self) -> EdgeTree:
        from tmsm.regions.polygon.edges import EdgeTree

        return EdgeTree.build(self.vertices)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        offset, edge, at_vertex, inside = self._tree.query(X)
        length = row_norms(offset)
        sign = np.where(inside, 1.0, -1.0)
        # Beside an edge the gradient is the edge's own normal, which keeps its digits on the border.
        edges = np.roll(self.vertices, -1, axis=0) - self.vertices
        normals = safe_divide(self._normals, row_norms(edges))
        gradient = normals[edge]
        # What rounding moves an edge by: that of its ends' coordinates across it, and that of a foot along it.
        farthest = np.maximum(np.abs(self.vertices), np.abs(np.roll(self.vertices, -1, axis=0)))
        size = (np.abs(normals) * farthest).sum(axis=1) + row_norms(edges)
        at_vertex &= length > 0.0
        gradient[at_vertex] = safe_divide(offset[at_vertex] * sign[at_vertex, None], length[at_vertex])
        return zero_on_border(sign * length, size[edge]), gradient


def check_simple(vertices: FloatArray) -> None:
    """Raise where a ring in the plane folds back, crosses or touches itself."""
    from tmsm.regions.polygon.edges import EdgeTree

    starts, ends = vertices, np.roll(vertices, -1, axis=0)
    before, after = starts - np.roll(starts, 1, axis=0), ends - starts
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    back = (turn == 0.0) & ((before * after).sum(axis=1) < 0.0)
    if back.any():
        raise InvalidInputError(f"The polygon folds back on itself at vertex {int(np.argmax(back))}; drop that vertex.")
    found = EdgeTree.build(vertices).crossing()
    if found is not None:
        raise InvalidInputError(
            f"The polygon crosses or touches itself: edge {found[0]} meets edge {found[1]}. "
            "Check the order of the vertices."
        )
