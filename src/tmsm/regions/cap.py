"""Regions of the sphere in any dimension that need no tree: caps and hemispheres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_norms, safe_divide, safe_inverse
from tmsm.foundation.validation import check_number, check_unit_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold, Sphere
from tmsm.numerics.sphere_quadratics import minimise_on_sphere
from tmsm.regions.ball_rules import cap_nodes_3d
from tmsm.regions.borders import Constrained, RowBorder, SmoothBorder
from tmsm.regions.constraint_sets import LinearConstraints
from tmsm.regions.landmarks import Landmarks
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["Cap", "Hemisphere"]


@dataclass(frozen=True, eq=False, repr=False)
class Cap(SmoothBorder, Region):
    """The points of a sphere whose geodesic distance to ``center`` is below ``radius``.

    Parameters
    ----------
    center
        Unit vector, shape (D,): the cap lies on the sphere S^(D−1).
    radius
        Angle in radians, between 0 and π.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> cap = tmsm.Cap([0.0, 0.0, 1.0], radius=np.pi / 3)
    >>> d, gradient = cap.border_distance([[0.0, 0.0, 1.0]])
    >>> round(float(d[0]), 6)
    1.047198
    """

    center: FloatArray
    radius: float

    def __init__(self, center: ArrayLike, radius: float) -> None:
        object.__setattr__(self, "center", frozen_array(check_unit_vector(center, "center")))
        hint = ""
        if isinstance(radius, int | float) and np.pi <= radius <= 180:
            hint = "Degrees become radians with numpy.radians."
        object.__setattr__(self, "radius", check_number(radius, "radius", above=0.0, below=np.pi, hint=hint))

    def _value(self) -> tuple[Any, ...]:
        # A hemisphere equals the cap that it is.
        return Cap, self.center.size, (self.center + 0.0).tobytes(), self.radius

    @property
    def manifold(self) -> Manifold:
        return Sphere(self.center.size - 1)

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        if self.center.size == 2:
            return self._distance_on_circle(X)
        return self.distance_either_sign(X, X @ self.center)

    def _distance_on_circle(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """By the angle from the centre: products of angles ask for it once a row and factor."""
        (a, b), x, y = self.center.tolist(), X[:, 0], X[:, 1]
        angle = np.arctan2(a * y - b * x, a * x + b * y)
        towards = -np.sign(angle)
        np.abs(angle, out=angle)
        if len(angle) and (angle.min() < 1e-15 or angle.max() > np.pi - 1e-15):
            towards[(angle < 1e-15) | (angle > np.pi - 1e-15)] = 0.0  # the centre and its antipode
        d = zero_on_border(np.subtract(self.radius, angle, out=angle))
        inward = np.empty(X.shape, order="F")
        np.multiply(y, -towards, out=inward[:, 0])
        np.multiply(x, towards, out=inward[:, 1])
        return d, inward, np.zeros(len(X))  # Δd = 0 in dimension one

    def distance_either_sign(
        self, X: FloatArray, cosine: FloatArray, sign: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`smooth_distance` of rows times signs (n,), its gradients times these; cosine = sign center·x is consumed."""
        along = cosine if sign is None else cosine * sign
        inward: FloatArray = X * along[:, None]
        np.subtract(self.center, inward, out=inward)  # P c, of length sin ρ
        sine = row_norms(inward)
        d = np.arctan2(sine, cosine)
        np.subtract(self.radius, d, out=d)
        zero_on_border(d)
        inverse_sine = safe_inverse(sine)
        if len(sine) and sine.min() < 1e-15:
            inward[sine < 1e-15] = 0.0  # the centre and its antipode: P c is rounding noise
        inward *= (inverse_sine if sign is None else inverse_sine * sign)[:, None]
        cosine *= inverse_sine
        cosine *= 2.0 - X.shape[1]
        return d, inward, cosine  # Δd = −(D−2) cot ρ, ρ = radius − d

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        """Distance to the ellipse (ellipsoid of revolution) that the border's circle projects to.

        In the coordinates (along the projected centre, across it) its centre is
        (cos r ‖c₋ⱼ‖, 0) and its half-axes are sin r |c_j| and sin r.
        """
        along = np.delete(self.center, axis)
        length = float(np.linalg.norm(along))
        if length < 1e-15:
            along, length = np.eye(along.size)[0], 0.0
        else:
            along = along / length
        half_axes = np.sin(self.radius) * np.array([abs(self.center[axis]), 1.0])

        flat = np.delete(X, axis, axis=1)
        u = flat @ along
        across = flat - u[:, None] * along
        v = row_norms(across)
        point = np.column_stack([u - np.cos(self.radius) * length, v])
        # min ‖S θ − point‖² over ‖θ‖ = 1, S the half-axes: a quadratic on the unit sphere.
        theta, _, hard = minimise_on_sphere(half_axes**2, -half_axes * point, 1.0)
        # Two nearest points, mirror images: keep the one across, whose v is not negative.
        theta[hard] = np.abs(theta[hard])
        offset = point - half_axes * theta
        distance = row_norms(offset)
        offset = safe_divide(offset, distance)
        planar = offset[:, :1] * along + safe_divide(across, v) * offset[:, 1:]
        return distance, np.insert(planar, axis, 0.0, axis=1)

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def row_border(self) -> RowBorder | None:
        return RowBorder("cap", np.append(self.center, self.radius)) if self.center.size == 3 else None

    @property
    def constraints(self) -> Constrained | None:
        offset = np.array([np.cos(self.radius)])
        return LinearConstraints(self.manifold, self.center[None, :], offset)

    @property
    def landmarks(self) -> Landmarks:
        if self.radius > 0.5 * np.pi:
            return Landmarks.ball(-self.center, np.pi - self.radius)
        return Landmarks.ball(self.center, self.radius)

    @property
    def has_exact_nodes(self) -> bool:
        return self.center.size in (3, 4)

    def exact_nodes(self, cell: int, leaf: int) -> tuple[FloatArray, FloatArray] | None:
        """Gauss–Legendre in the height along the axis, equal steps round it: exact for polynomials."""
        if self.center.size == 4:
            return cap_nodes_3d(self.center, self.radius, cell, leaf)
        if self.center.size != 3:
            return None
        share = 3.0 * 2.0**cell * (1.0 + 0.1 * leaf)  # nodes for each radian
        n_heights = int(np.ceil(share * self.radius)) + 8
        n_angles = int(np.ceil(share * 2.0 * np.pi * np.sin(min(self.radius, 0.5 * np.pi)))) + 16
        x, w = np.polynomial.legendre.leggauss(n_heights)
        # 1 − height keeps its digits on small caps.
        height = 2.0 * np.sin(0.5 * self.radius) ** 2
        depth = height * 0.5 * (1.0 + x)
        angle = 2.0 * np.pi * (np.arange(n_angles) + 0.5) / n_angles
        across = np.linalg.svd(self.center[None, :])[2][1:]
        rim = np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1]
        sine = np.sqrt(depth * (2.0 - depth))
        X = (1.0 - depth)[:, None, None] * self.center + sine[:, None, None] * rim
        weights = 0.5 * w * height * (2.0 * np.pi / n_angles)
        return X.reshape(-1, 3), np.repeat(weights, n_angles)

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return None if self.center.size != 3 else [self._circle(360)]

    def border_edges(self, tolerance: float) -> list[FloatArray] | None:
        if self.center.size != 3:
            return None
        # An arc over an angle of 2φ is sin(2r) φ²/4 away from the circle, at most.
        half = np.sqrt(4.0 * tolerance / max(abs(np.sin(2.0 * self.radius)), 1e-12))
        return [self._circle(int(np.ceil(np.pi / min(half, np.pi / 360.0))))]

    def _circle(self, n: int) -> FloatArray:
        across = np.linalg.svd(self.center[None, :])[2][1:]
        turn = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
        circle = np.cos(turn)[:, None] * across[0] + np.sin(turn)[:, None] * across[1]
        return np.asarray(np.cos(self.radius) * self.center + np.sin(self.radius) * circle)

    def __invert__(self) -> Region:
        return Cap(-self.center, np.pi - self.radius)


@final
class Hemisphere(Cap):
    """The half of the sphere around ``pole``: ``Cap(pole, π/2)``, in any dimension.

    Parameters
    ----------
    pole
        Unit vector, shape (D,).

    Examples
    --------
    >>> import tmsm
    >>> tmsm.Hemisphere([-1.0, 0.0, 0.0]).contains([[-0.6, 0.8, 0.0], [0.6, 0.8, 0.0]])
    array([ True, False])
    """

    def __init__(self, pole: ArrayLike) -> None:
        super().__init__(check_unit_vector(pole, "pole"), np.pi / 2)

    @property
    def pole(self) -> FloatArray:
        """The centre of the hemisphere."""
        return self.center

    def __repr__(self) -> str:
        return f"Hemisphere(pole={self.center.tolist()})"

    def to_arguments(self) -> dict[str, Any]:
        return {"pole": self.center}

    def __invert__(self) -> Region:
        return Hemisphere(-self.center)
