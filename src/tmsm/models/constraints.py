"""Where a model's natural parameter θ may lie: what is known restricts θ, never the statistics.

So (A, b) of one pass serves a model with a known and with an unknown concentration alike, and a
curved family changes the solve only.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.arrays import FloatArray

__all__ = ["AffineSubspace", "Constraint", "FixedNorm", "Unrestricted"]


class Constraint(ABC):
    """A smooth set of natural parameters in R^p."""

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Dimension k of the set: the number of parameters to estimate."""

    @abstractmethod
    def tangent(self, theta: FloatArray) -> FloatArray:
        """Orthonormal basis of the directions in which θ may move, shape (p, k)."""


@final
@dataclass(frozen=True)
class Unrestricted(Constraint):
    """All of R^size."""

    size: int

    @property
    def n_free(self) -> int:
        return self.size

    def tangent(self, theta: FloatArray) -> FloatArray:
        return np.eye(self.size)


@final
@dataclass(frozen=True)
class AffineSubspace(Constraint):
    """{offset + basis φ}: offset of shape (p,), basis of shape (p, k) with orthonormal columns."""

    offset: FloatArray
    basis: FloatArray

    @property
    def n_free(self) -> int:
        return int(self.basis.shape[1])

    def tangent(self, theta: FloatArray) -> FloatArray:
        return self.basis


@final
@dataclass(frozen=True)
class FixedNorm(Constraint):
    """{θ in R^size : ‖θ‖ = radius}."""

    radius: float
    size: int

    @property
    def n_free(self) -> int:
        return self.size - 1

    def tangent(self, theta: FloatArray) -> FloatArray:
        # The right singular vectors of θᵀ after the first span its orthogonal complement.
        complement: FloatArray = np.linalg.svd(theta[None, :])[2][1:].T
        return complement
