"""Flat sets of natural parameters with sides: some of their coordinates are not negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.models.constraints import AffineSubspace, Constraint
from tmsm.numerics.newton import Point

__all__ = ["Orthant"]


@final
@dataclass(frozen=True)
class Orthant(Constraint):
    """{offset + basis φ, φ_j ≥ 0 for some j}.

    Attributes
    ----------
    offset
        Shape (p,).
    basis
        Shape (p, k), with orthonormal columns.
    bounded
        The columns whose coordinate is not negative.
    """

    offset: FloatArray
    basis: FloatArray
    bounded: tuple[int, ...]

    @property
    def n_free(self) -> int:
        return int(self.basis.shape[1])

    def point(self, theta: FloatArray) -> Point:
        phi = self._coordinates(theta)
        bounded = list(self.bounded)
        phi[bounded] = np.maximum(phi[bounded], 0.0)
        return AffineSubspace(self.offset, self.basis).point(self.offset + self.basis @ phi)

    def allows(self, theta: FloatArray) -> bool:
        return bool((self._coordinates(theta)[list(self.bounded)] >= 0.0).all())

    def borders(self) -> Sequence[Constraint]:
        """Every side, and every edge where several of them meet."""
        return [
            AffineSubspace(self.offset, np.delete(self.basis, some, axis=1))
            for n in range(1, len(self.bounded) + 1)
            for some in combinations(self.bounded, n)
        ]

    def on_border(self, theta: FloatArray) -> bool:
        return bool((self._coordinates(theta)[list(self.bounded)] <= 0.0).any())

    def tangent(self, theta: FloatArray) -> FloatArray:
        """Along the set, and on a side of it along that side."""
        phi = self._coordinates(theta)
        return np.delete(self.basis, [j for j in self.bounded if phi[j] <= 0.0], axis=1)

    def _coordinates(self, theta: FloatArray) -> FloatArray:
        phi: FloatArray = self.basis.T @ (theta - self.offset)
        return phi
