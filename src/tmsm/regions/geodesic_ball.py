"""Balls on any manifold whose geodesic distance has a formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray, row_norms, safe_divide, safe_inverse
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_number, check_vector
from tmsm.foundation.values import frozen_array
from tmsm.manifolds import Manifold
from tmsm.regions.borders import SmoothBorder
from tmsm.regions.landmarks import Landmarks
from tmsm.regions.region import Region
from tmsm.regions.rounding import zero_on_border

__all__ = ["GeodesicBall"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class GeodesicBall(SmoothBorder, Region):
    """The points of a manifold whose geodesic distance to ``center`` is below ``radius``.

    On a sphere it is `Cap` and in flat space `Ball`; it exists on every manifold whose distance has a formula, such as
    a torus and other products, rotations and hyperbolic space.

    Parameters
    ----------
    manifold
        The manifold.
    center
        A point of it, shape (D,).
    radius
        Positive, and below the largest distance of two points.

    Notes
    -----
    The distance to the border is d = radius − ρ with the distance ρ to the centre, and Δd = −(Δ(ρ²/2) − 1)/ρ. If the
    radius is at least the injectivity radius of the manifold (π on a torus), the ball overlaps itself: d is then a
    lower bound with kinks. This is valid for scalar weights, but not for the normal-only weight.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> ball = tmsm.GeodesicBall(tmsm.Hyperbolic(2), center=[0.0, 0.0], radius=1.0)
    >>> ball.contains(np.sinh([[0.9, 0.0], [0.0, 1.1]]))
    array([ True, False])
    """

    space: Manifold
    center: FloatArray
    radius: float

    def __init__(self, manifold: Manifold, center: ArrayLike, radius: float) -> None:
        if not isinstance(manifold, Manifold):
            raise InvalidTypeError(f"manifold must be one, such as Sphere(2); got {type(manifold).__name__}.")
        rows = np.array(check_vector(center, "center"))[None, :]
        manifold.check_points(rows, "center")
        manifold.settle(rows)
        object.__setattr__(self, "space", manifold)
        object.__setattr__(self, "center", frozen_array(rows[0]))
        try:
            manifold.geodesic_distance(rows, rows)
            manifold.logarithm(rows, rows)
        except (InvalidInputError, NotImplementedError):
            raise InvalidInputError(
                f"A geodesic ball needs a manifold whose geodesic distance has a formula, and {manifold!r} has none. "
                "Use Implicit(h, manifold) with a function h that is positive inside."
            ) from None
        largest = manifold.diameter
        hint = ""
        if np.isfinite(largest):
            hint = f"No two points of {manifold!r} are farther apart than {largest:.6g}."
        object.__setattr__(self, "radius", check_number(radius, "radius", above=0.0, below=largest, hint=hint))

    def __repr__(self) -> str:
        return f"GeodesicBall(manifold={self.space!r}, center={self.center.tolist()}, radius={self.radius!r})"

    def to_arguments(self) -> dict[str, Any]:
        return {"manifold": self.space, "center": self.center, "radius": self.radius}

    @property
    def manifold(self) -> Manifold:
        return self.space

    @property
    def smooth_border(self) -> SmoothBorder | None:
        return self if self.radius < self.space.injectivity_radius else None

    @property
    def reach(self) -> float:
        return self.radius

    @property
    def reach_outside(self) -> float | None:
        return self.space.injectivity_radius - self.radius

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._distance(X)[:2]

    def smooth_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        d, inward, rho = self._distance(X)
        bend = self.space.half_square_laplacian(X, np.broadcast_to(self.center, X.shape)) - 1.0
        return d, inward, -bend * safe_inverse(rho)

    def _distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """d, its gradient, and the distance ρ to the centre."""
        C = np.broadcast_to(self.center, X.shape)
        rho = self.space.geodesic_distance(X, C)
        towards = self.space.logarithm(X, C)
        inward = safe_divide(towards, row_norms(towards))
        # What the last digits of the coordinates do to ρ.
        digits = rho + row_norms(self.space.plain_gradient(X, inward)) * np.abs(X).max(axis=1, initial=0.0)
        return zero_on_border(self.radius - rho, digits), inward, rho

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return self.space.grown_box(self.center, self.center, self.radius)

    @property
    def landmarks(self) -> Landmarks:
        low, high = self.bounds
        # Where coordinates are no lengths, what holds the ball in them may be much longer than its radius.
        longest = self.radius if self.space.is_embedded else float(np.linalg.norm(np.maximum(high, -low)))
        return Landmarks.ball(self.center, longest, self.radius)

    @property
    def border_curves(self) -> list[FloatArray] | None:
        if self.space.dim != 2 or self.smooth_border is None:
            return None
        turn = np.linspace(0.0, 2.0 * np.pi, 360, endpoint=False)
        first, second = (axis[0] for axis in self.space.tangent_frame(self.center[None, :]))
        V = self.radius * (np.outer(np.cos(turn), first) + np.outer(np.sin(turn), second))
        return [self.space.exponential(np.broadcast_to(self.center, V.shape), V)]
