"""What some borders offer beside their distance: smoothness, faces across orthogonal axes, smooth constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tmsm.foundation.arrays import FloatArray

__all__ = ["AxisAligned", "AxisFrame", "Constrained", "ConstraintFrame", "RowBorder", "SmoothBorder"]


@dataclass(frozen=True)
class RowBorder:
    """A border on S² as compiled loops over rows take it.

    Attributes
    ----------
    kind
        "none"; "cap", with its centre and radius for numbers; "arcs", with the arrays of their tree.
    numbers
        Shape (k,).
    tree
        Boxes, arcs, and where each leaf begins; empty arrays where there are none.
    """

    travels_alone: ClassVar[bool] = True

    kind: Literal["none", "cap", "arcs"]
    numbers: FloatArray = field(default_factory=lambda: np.zeros(0))
    tree: tuple[Any, ...] = field(
        default_factory=lambda: (np.empty((0, 6)), np.empty((0, 21)), np.zeros(1, dtype=np.int64))
    )


class SmoothBorder(ABC):
    """A region whose distance to the border has no kink closer than ``reach``; the normal-only weight needs it.

    In its methods X are points, shape (n, D).
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
    """A border of faces across orthogonal axes; the componentwise weight needs it."""

    @abstractmethod
    def axis_frame(self, X: FloatArray) -> AxisFrame:
        """The axes at the rows of X, shape (n, D)."""


@dataclass(frozen=True)
class ConstraintFrame:
    """Smooth functions h_k at n rows; the region is where all of them are positive.

    Attributes
    ----------
    values
        h_k, shape (n, K).
    gradients
        Their tangent gradients V_k, K arrays (n, D).
    laplacians
        Their Laplace–Beltrami operators, shape (n, K).
    bend
        From k and tangent rows v (n, D) to Hess h_k applied to v, tangent, shape (n, D).
    """

    values: FloatArray
    gradients: tuple[FloatArray, ...]
    laplacians: FloatArray
    bend: Callable[[int, FloatArray], FloatArray]


class Constrained(ABC):
    """A region {h_k > 0 for all k} of a few smooth functions, with corners where several are zero.

    The weight of the constraints needs it. No h_k may have both h_k = 0 and ∇h_k = 0 on the border.
    """

    @property
    @abstractmethod
    def n_constraints(self) -> int:
        """Number K of functions."""

    @abstractmethod
    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        """The functions at the rows of X, shape (n, D)."""
