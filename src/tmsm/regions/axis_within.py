"""The rotations that point an axis into a region of the sphere S²."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_dots
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_unit_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold, Rotations
from tmsm.manifolds.rotations import matrix_forms
from tmsm.regions.borders import AxisAligned, AxisFrame, Constrained, ConstraintFrame, SmoothBorder
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["AxisWithin"]

# Evenly spaced rotations about the axis for each radian of distance, on a grid of cell zero.
_STEPS = 1.6


@final
@dataclass(frozen=True, eq=False, repr=False)
class AxisWithin(Region):
    """The rotations R that turn an axis into a region of the sphere S²: R·axis lies inside.

    Parameters
    ----------
    axis
        Unit vector, shape (3,), in the frame that is rotated: a camera's line of sight, the long axis of a bone.
    region
        Any region of `Sphere(2)`: a cap, a polygon, a box of longitudes and latitudes.

    Notes
    -----
    R ↦ R·axis is the Hopf map.  It at most doubles distances, so the distance to the border, which is half an angle of
    rotation, is half of that on S².

    Examples
    --------
    >>> import tmsm
    >>> upright = tmsm.AxisWithin([0.0, 0.0, 1.0], tmsm.Cap([0.0, 0.0, 1.0], radius=0.5))
    >>> X = tmsm.Rotations().from_rotation_vectors([[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]])
    >>> upright.contains(X)
    array([ True, False])
    """

    axis: FloatArray
    region: Region

    def __init__(self, axis: ArrayLike, region: Region) -> None:
        vector = check_unit_vector(axis, "axis")
        if vector.size != 3:
            raise InvalidInputError(f"axis must be a unit vector in space, shape (3,); got {vector.size} entries.")
        if not isinstance(region, Region):
            raise InvalidTypeError(
                f"region must be a region of the sphere S², such as Cap(center, radius); got {type(region).__name__}."
            )
        if not region.manifold.has_longitudes:
            raise InvalidInputError(
                f"region must lie on Sphere(2), where the axis points; it lies on {region.manifold!r}."
            )
        object.__setattr__(self, "axis", frozen_array(vector))
        object.__setattr__(self, "region", region)

    @property
    def manifold(self) -> Manifold:
        return Rotations()

    @property
    def has_border(self) -> bool:  # type: ignore[override]
        """Whether the region of S² has one."""
        return self.region.has_border

    @property
    def as_given(self) -> Region:
        given = self.region.as_given
        return self if given is self.region else AxisWithin(self.axis, given)

    @property
    def distance_slack(self) -> float:
        return 0.5 * self.region.distance_slack

    @property
    def is_costly(self) -> bool:
        return self.region.is_costly

    @cached_property
    def _map(self) -> HopfMap:
        return HopfMap(self.axis)

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        d, gradient = self.region.signed_distance(self._map.image(X))
        return zero_on_border(0.5 * d), self._map.lifted(X, gradient)

    @property
    def smooth_border(self) -> SmoothBorder | None:
        border = self.region.smooth_border
        return None if border is None else _SmoothAbove(self._map, border)

    @property
    def axes(self) -> AxisAligned | None:
        axes = self.region.axes
        return None if axes is None else _AxesAbove(self._map, axes)

    @property
    def why_no_axes(self) -> str:
        return self.region.why_no_axes

    @property
    def constraints(self) -> Constrained | None:
        constraints = self.region.constraints
        return None if constraints is None else _ConstraintsAbove(self._map, constraints)

    @property
    def lifted_from(self) -> Region | None:
        return self.region

    def lift(self, X: FloatArray, cell: int, leaf: int) -> tuple[FloatArray, float]:
        # Of a fibre, a circle of length 2π, q and −q are one point; an area on S² is four times that of the
        # sphere of radius ½ to which the Hopf map keeps lengths.
        k = int(np.ceil(_STEPS * np.pi * 2.0**cell * (1.0 + 0.1 * leaf))) + 8
        return self._map.fibres(X, k), 0.25 * np.pi / k

    def __invert__(self) -> Region:
        return AxisWithin(self.axis, ~self.region)


@final
class HopfMap:
    """q ↦ y = R(q) a from the unit quaternions to S², and what it pulls back; V are tangent rows.

    y_k = qᵀ B_k q with traceless symmetric B_k, so its derivative is v ↦ 2 qᵀ B_k v.  That doubles the length of what
    is horizontal, at right angles to the fibre q ⊗ exp(φ a).
    """

    def __init__(self, axis: FloatArray) -> None:
        self.axis = axis
        self._forms = np.einsum("kjab,j->kab", matrix_forms(), axis)

    def image(self, X: FloatArray) -> FloatArray:
        """R(q) a, shape (n, 3)."""
        return np.stack([row_dots(X @ B, X) for B in self._forms], axis=1)

    def push(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """The derivative along tangent rows V (n, 4), shape (n, 3)."""
        return np.stack([2.0 * row_dots(X @ B, V) for B in self._forms], axis=1)

    def lifted(self, X: FloatArray, G: FloatArray) -> FloatArray:
        """The horizontal tangents (n, 4) above tangents G (n, 3) of S², as long: half the transposed derivative."""
        return self.applied(X, G)

    def applied(self, V: FloatArray, G: FloatArray) -> FloatArray:
        """Σ G_k B_k v, shape (n, 4)."""
        total: FloatArray = (V @ self._forms[0]) * G[:, :1]
        for k in (1, 2):
            total += (V @ self._forms[k]) * G[:, k : k + 1]
        return total

    def fibre(self, X: FloatArray) -> FloatArray:
        """Unit tangents along the fibres, shape (n, 4): rotations about the axis itself, q ⊗ a."""
        return _product(X, np.broadcast_to(np.append(self.axis, 0.0), X.shape))

    def fibres(self, Y: FloatArray, k: int) -> FloatArray:
        """Quaternions above each row of Y (m, 3), k of them evenly spaced along its fibre, shape (m, k, 4)."""
        a = self.axis
        across = np.linalg.svd(a[None, :])[2][1]
        # A half turn about an axis across takes a to −a; from the nearer of the two to y it is less than a right angle.
        far = Y @ a < 0.0
        near = np.where(far[:, None], -a, a)
        q = np.column_stack([np.cross(near, Y), 1.0 + row_dots(near, Y)])
        q /= np.linalg.norm(q, axis=1)[:, None]
        first = np.where(far[:, None], np.append(across, 0.0), np.array([0.0, 0.0, 0.0, 1.0]))
        q = _product(q, first)
        phi = np.pi * (np.arange(k) + 0.5) / k
        turns = np.column_stack([np.sin(phi)[:, None] * a, np.cos(phi)])
        m = len(Y)
        return _product(np.repeat(q, k, axis=0), np.tile(turns, (m, 1))).reshape(m, k, 4)


@final
@dataclass(frozen=True)
class _SmoothAbove(SmoothBorder):
    """A smooth border of S² seen from the rotations: half the distance, twice its Laplacian."""

    map: HopfMap
    border: SmoothBorder

    @property
    def reach(self) -> float:
        return 0.5 * self.border.reach

    @property
    def reach_outside(self) -> float | None:
        reach = self.border.reach_outside
        return None if reach is None else 0.5 * reach

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        d, gradient, laplacian = self.border.smooth_distance(self.map.image(X))
        # Δ(f∘π) = 4 (Δf)∘π: the map halves the metric of S², and its fibres are geodesics.
        return zero_on_border(0.5 * d), self.map.lifted(X, gradient), 2.0 * laplacian


@final
@dataclass(frozen=True)
class _AxesAbove(AxisAligned):
    """Axes of S² lifted, and the fibre, along which there is no border.

    Half the distances, so the axes turn twice as much; fibres are geodesics and no axis turns towards them.
    """

    map: HopfMap
    axes: AxisAligned

    def axis_frame(self, X: FloatArray) -> AxisFrame:
        frame = self.axes.axis_frame(self.map.image(X))
        lifted = tuple(self.map.lifted(X, u) for u in frame.directions)
        n = len(X)
        return AxisFrame(
            (*lifted, self.map.fibre(X)),
            np.column_stack([0.5 * frame.distances, np.full(n, np.inf)]),
            np.column_stack([frame.signs, np.zeros(n)]),
            {pair: 2.0 * turning for pair, turning in frame.turning.items()},
        )


@final
@dataclass(frozen=True)
class _ConstraintsAbove(Constrained):
    """Functions h of S² as functions h∘π of rotations."""

    map: HopfMap
    constraints: Constrained

    @property
    def n_constraints(self) -> int:
        return self.constraints.n_constraints

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        hopf = self.map
        below = self.constraints.constraint_frame(hopf.image(X))

        def bend(k: int, V: FloatArray) -> FloatArray:
            # D²(h∘π)(v, ·) = Dπᵀ Hess h (Dπ v) + ⟨∇h, D²π(v, ·)⟩; h does not change along the radius.
            bent = 2.0 * hopf.lifted(X, below.bend(k, hopf.push(X, V)))
            bent += 2.0 * hopf.applied(V, below.gradients[k])
            return bent - X * row_dots(X, bent)[:, None]

        return ConstraintFrame(
            below.values,
            tuple(2.0 * hopf.lifted(X, gradient) for gradient in below.gradients),
            4.0 * below.laplacians,
            bend,
        )


def _product(p: FloatArray, q: FloatArray) -> FloatArray:
    """The products of matching quaternions (n, 4), the scalar last: first q turns, then p."""
    v, w, u, t = p[:, :3], p[:, 3:], q[:, :3], q[:, 3:]
    return np.hstack([w * u + t * v + np.cross(v, u), w * t - row_dots(v, u)[:, None]])
