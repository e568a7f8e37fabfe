"""Regions as the set where a few functions are positive: convex polygons, caps, and what is joined of such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray, row_norms
from tmsm.manifolds import Manifold
from tmsm.regions.borders import Constrained, ConstraintFrame

__all__ = [
    "MAX_CONSTRAINTS",
    "JoinedConstraints",
    "LinearConstraints",
    "convex_constraints",
    "joined_constraints",
    "opposite_constraint",
]

# Beyond so many a weight for them is neither fast nor better than others.
MAX_CONSTRAINTS = 12
# Edges whose normals differ by less than this lie on one line.
_SAME_LINE = 1e-9


@final
@dataclass(frozen=True)
class LinearConstraints(Constrained):
    """h_k = n_k·x − c_k on a sphere or in flat space.

    Attributes
    ----------
    manifold
        A sphere, or flat space.
    normals, offsets
        n_k and c_k, shapes (K, D) and (K,).
    """

    manifold: Manifold
    normals: FloatArray
    offsets: FloatArray

    @property
    def n_constraints(self) -> int:
        return len(self.normals)

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        heights = X @ self.normals.T
        gradients = tuple(self.manifold.tangent_gradient(X, np.broadcast_to(n, X.shape)) for n in self.normals)
        if self.manifold.is_flat:
            return ConstraintFrame(heights - self.offsets, gradients, np.zeros_like(heights), lambda k, V: 0.0 * V)

        # Hess (n·x)(v, ·) = −(n·x) v on a sphere.
        def bend(k: int, V: FloatArray) -> FloatArray:
            return V * -heights[:, [k]]

        return ConstraintFrame(heights - self.offsets, gradients, -float(self.manifold.dim) * heights, bend)


@final
@dataclass(frozen=True)
class JoinedConstraints(Constrained):
    """The functions of several sets: their intersection."""

    parts: tuple[Constrained, ...]

    @property
    def n_constraints(self) -> int:
        return sum(part.n_constraints for part in self.parts)

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        frames = [part.constraint_frame(X) for part in self.parts]
        place = [(frame, k) for frame in frames for k in range(len(frame.gradients))]

        def bend(k: int, V: FloatArray) -> FloatArray:
            frame, own = place[k]
            return frame.bend(own, V)

        return ConstraintFrame(
            np.concatenate([frame.values for frame in frames], axis=1),
            tuple(gradient for frame in frames for gradient in frame.gradients),
            np.concatenate([frame.laplacians for frame in frames], axis=1),
            bend,
        )


@final
@dataclass(frozen=True)
class _Opposite(Constrained):
    """The other side of one constraint."""

    of: Constrained

    @property
    def n_constraints(self) -> int:
        return 1

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        frame = self.of.constraint_frame(X)
        return ConstraintFrame(-frame.values, (-frame.gradients[0],), -frame.laplacians, lambda k, V: -frame.bend(k, V))


def opposite_constraint(constraints: Constrained | None) -> Constrained | None:
    """The other side of what is known by one function; None for more, whose other sides are no intersection."""
    return _Opposite(constraints) if constraints is not None and constraints.n_constraints == 1 else None


def joined_constraints(parts: Sequence[Constrained | None]) -> Constrained | None:
    """The functions of all parts; None where one is not known by such, or there are too many."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or sum(part.n_constraints for part in known) > MAX_CONSTRAINTS:
        return None
    return JoinedConstraints(tuple(known))


def convex_constraints(
    manifold: Manifold, vertices: FloatArray, normals: FloatArray, offsets: FloatArray
) -> Constrained | None:
    """The edges' lines of a convex polygon; None where it is not convex, or has too many edges.

    ``normals`` (m, D) point inwards, and n·x = c on the line of each edge.
    """
    length = row_norms(normals)
    if len(vertices) > 8 * MAX_CONSTRAINTS or not (length > 0.0).all():
        return None
    normals, offsets = normals / length[:, None], offsets / length
    size = max(float(np.abs(vertices).max()), 1e-300)
    if (vertices @ normals.T - offsets < -_SAME_LINE * size).any():
        return None
    # Neighbours on one line are one constraint.
    turns = row_norms(normals - np.roll(normals, 1, axis=0)) > _SAME_LINE
    if not 1 <= int(turns.sum()) <= MAX_CONSTRAINTS:
        return None
    return LinearConstraints(manifold, normals[turns], offsets[turns])
