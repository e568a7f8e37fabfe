"""The rotations within some angle of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array, check_number, check_unit_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold, Rotations
from tmsm.manifolds.rotations import is_scipy_rotation
from tmsm.regions.borders import Constrained, ConstraintFrame, SmoothBorder
from tmsm.regions.cap import Cap
from tmsm.regions.region import Region

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

__all__ = ["RotationCap"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class RotationCap(SmoothBorder, Region):
    """The rotations whose angle from ``center`` is below ``angle``, such as a range of motion.

    Parameters
    ----------
    center
        A rotation: a unit quaternion (4,), the scalar last, a rotation matrix (3, 3), or one
        ``scipy.spatial.transform.Rotation``.
    angle
        The rotation angle in radians, between 0 and π.

    Notes
    -----
    Distances to the border are those of `Rotations`, half an angle of rotation.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> cap = tmsm.RotationCap(np.eye(3), angle=1.0)
    >>> X = tmsm.Rotations().from_rotation_vectors([[0.0, 0.4, 0.0], [1.2, 0.0, 0.0]])
    >>> cap.contains(X)
    array([ True, False])
    >>> d, gradient = cap.border_distance(X)
    >>> (2.0 * d).round(6)
    array([ 0.6, -0.2])
    """

    center: FloatArray
    angle: float

    def __init__(self, center: ArrayLike | Rotation, angle: float) -> None:
        object.__setattr__(self, "center", frozen_array(_quaternion(center)))
        hint = ""
        if isinstance(angle, int | float) and angle >= np.pi:
            hint = "Degrees become radians with numpy.radians. No rotation is further than π from another."
        object.__setattr__(self, "angle", check_number(angle, "angle", above=0.0, below=np.pi, hint=hint))

    @property
    def manifold(self) -> Manifold:
        return Rotations()

    @cached_property
    def _cap(self) -> Cap:
        return Cap(self.center, 0.5 * self.angle)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        cosine = X @ self.center
        sign = np.copysign(1.0, cosine)
        return self._cap.distance_either_sign(X, np.abs(cosine, out=cosine), sign)

    @property
    def reach(self) -> float:
        return 0.5 * self.angle

    @property
    def reach_outside(self) -> float | None:
        # As far as the half turns away from the centre.
        return 0.5 * (np.pi - self.angle)

    @property
    def constraints(self) -> Constrained | None:
        constraints = self._cap.constraints
        return None if constraints is None else _EitherSign(constraints, self.center)

    @property
    def has_exact_nodes(self) -> bool:
        return True

    def exact_nodes(self, cell: int, leaf: int) -> tuple[FloatArray, FloatArray] | None:
        return self._cap.exact_nodes(cell, leaf)


@final
@dataclass(frozen=True)
class _EitherSign(Constrained):
    """Functions of quaternions near a center (4,), taken at q or −q, whichever is nearer."""

    of: Constrained
    center: FloatArray

    @property
    def n_constraints(self) -> int:
        return self.of.n_constraints

    def constraint_frame(self, X: FloatArray) -> ConstraintFrame:
        Y, sign = _towards(self.center, X)
        frame = self.of.constraint_frame(Y)
        if sign is None:
            return frame
        turned = tuple(gradient * sign for gradient in frame.gradients)
        return ConstraintFrame(frame.values, turned, frame.laplacians, lambda k, V: sign * frame.bend(k, sign * V))


def _towards(center: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Quaternions (n, 4) with the sign that brings them nearer to a center, and the signs (n, 1); None if all stay."""
    far = X @ center < 0.0
    if not far.any():
        return X, None
    sign = np.where(far, -1.0, 1.0)[:, None]
    return X * sign, sign


def _quaternion(center: ArrayLike | Rotation) -> FloatArray:
    """A unit quaternion (4,) whose entry of largest size is positive, from any of the three forms of a rotation."""
    space = Rotations()
    found: FloatArray
    if is_scipy_rotation(center):
        found = space.from_rotation(center)  # type: ignore[arg-type]
        if len(found) != 1:
            raise InvalidInputError(f"center must be one rotation; got {len(found)}.")
        found = found[0]
    else:
        given = as_float_array(center, "center")  # type: ignore[arg-type]
        if given.shape == (3, 3):
            found = space.from_matrices(given)[0]
        elif given.shape == (4,):
            found = check_unit_vector(given, "center")
        else:
            raise InvalidInputError(
                "center must be a unit quaternion (4,), a rotation matrix (3, 3) or a SciPy Rotation; "
                f"got shape {given.shape}."
            )
    return -found if found[np.argmax(np.abs(found))] < 0.0 else found
