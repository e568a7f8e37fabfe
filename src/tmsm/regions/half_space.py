"""Half-spaces of flat space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_number, check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Euclidean, Manifold
from tmsm.regions.borders import Constrained, SmoothBorder
from tmsm.regions.constraint_sets import LinearConstraints
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["HalfSpace"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class HalfSpace(SmoothBorder, Region):
    """The points x of R^d with ``normal``·x > ``offset``.

    Parameters
    ----------
    normal
        Shape (d,), any length but zero.
    offset
        A number.

    Examples
    --------
    >>> import tmsm
    >>> tmsm.HalfSpace([0.0, 2.0], 1.0).border_distance([[3.0, 1.0]])[0]
    array([0.5])
    """

    normal: FloatArray
    offset: float

    def __init__(self, normal: ArrayLike, offset: float) -> None:
        normal = check_vector(normal, "normal")
        if not normal.any():
            raise InvalidInputError("normal must not be the zero vector.")
        object.__setattr__(self, "normal", frozen_array(normal))
        object.__setattr__(self, "offset", check_number(offset, "offset"))

    @property
    def manifold(self) -> Manifold:
        return Euclidean(self.normal.size)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        length = float(np.linalg.norm(self.normal))
        gradient = np.empty_like(X)
        gradient[:] = self.normal / length
        d = (X @ self.normal - self.offset) / length
        # The products that cancel on the border, Σ |n_j x_j|: first a bound of all rows, then where it matters.
        size = np.abs(self.normal) / length
        near = np.flatnonzero(np.abs(d) <= 1e-12 * float(np.abs(X).max(initial=0.0)) * size.sum())
        if near.size:
            d[near] = zero_on_border(d[near], np.abs(X[near]) @ size)
        return d, gradient, np.zeros(len(X))

    @property
    def reach(self) -> float:
        return np.inf

    @property
    def constraints(self) -> Constrained | None:
        length = float(np.linalg.norm(self.normal))
        return LinearConstraints(self.manifold, self.normal[None, :] / length, np.array([self.offset / length]))

    def __invert__(self) -> Region:
        return HalfSpace(-self.normal, -self.offset)
