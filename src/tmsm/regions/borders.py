"""What some borders offer beside their distance: smoothness, and faces across orthogonal axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from tmsm.foundation.arrays import FloatArray

__all__ = ["AxisAligned", "AxisFrame", "SmoothBorder"]


class SmoothBorder(ABC):
    """A region whose distance to the border has no kink closer than ``reach``.

    Normal-only weights need it.
    """

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest distance up to which d is smooth; infinity if it is everywhere."""

    @property
    def reach_outside(self) -> float | None:
        """The same on the other side of the border; None where that side is not known to be smooth."""
        return None

    @abstractmethod
    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`signed_distance` and with it the distance's Laplace–Beltrami operator, shape (n,).

        Finite everywhere, so that a weight that vanishes where the distance has a kink removes it.
        """

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.smooth_distance(X)[:2]


@dataclass(frozen=True)
class AxisFrame:
    """Orthonormal axes u_j at n rows, and how far the faces across them are.

    Attributes
    ----------
    directions
        u_j, shape (n, D) each.
    distances
        Distance to the nearer face along each axis, shape (n, k); infinite where there is none.
    signs
        Derivative of that distance along its axis, ±1, shape (n, k); zero halfway between two faces.
    turning
        Where axes turn from point to point: (i, j) -> the part along u_j of div(u_i) u_i + ∇_{u_i} u_i, shape (n,).
        Empty for straight axes.
    """

    directions: tuple[FloatArray, ...]
    distances: FloatArray
    signs: FloatArray
    turning: Mapping[tuple[int, int], FloatArray] = field(default_factory=dict)


class AxisAligned(ABC):
    """A border of faces across orthogonal axes; componentwise weights need it."""

    @abstractmethod
    def axis_frame(self, X: FloatArray) -> AxisFrame:
        """The axes at the rows of X, shape (n, D)."""
