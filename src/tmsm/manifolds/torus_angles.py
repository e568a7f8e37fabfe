"""Named converters between angles in radians and points of the torus."""

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds.base import Manifold
from tmsm.manifolds.product import Torus
from tmsm.manifolds.sphere import Sphere

__all__ = ["angles_to_torus", "check_angles", "torus_to_angles"]

_SLACK = 1e-9


def angles_to_torus(angles: ArrayLike) -> FloatArray:
    """Points of the torus from angles in radians: the cosine and the sine of each angle in turn.

    Parameters
    ----------
    angles
        Shape (n, dim), or (dim,) for one point, within ±2π.  A single column gives points of the circle, `Sphere(1)`.

    Returns
    -------
    Points, shape (n, 2 dim), or (2 dim,) for one.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> tmsm.angles_to_torus([[0.0, np.pi]]).round(12) + 0.0
    array([[ 1.,  0., -1.,  0.]])
    """
    phi = check_angles(angles, "angles")
    X = np.empty((*phi.shape[:-1], 2 * phi.shape[-1]))
    X[..., 0::2], X[..., 1::2] = np.cos(phi), np.sin(phi)
    return X


def torus_to_angles(X: ArrayLike) -> FloatArray:
    """Angles in (−π, π] from points of the torus; the inverse of `angles_to_torus`.

    Parameters
    ----------
    X
        Points, shape (n, 2 dim) or (2 dim,).

    Returns
    -------
    Angles in radians, shape (n, dim) or (dim,).

    Examples
    --------
    >>> import tmsm
    >>> tmsm.torus_to_angles([0.0, 1.0, 1.0, 0.0]).round(6)
    array([1.570796, 0.      ])
    """
    points = as_float_array(X, "X")
    if points.ndim not in (1, 2) or points.shape[-1] < 2 or points.shape[-1] % 2:
        raise InvalidInputError(
            f"X must have shape (n, 2 dim), the cosine and the sine of each angle in turn; got {points.shape}."
        )
    dim = points.shape[-1] // 2
    circle: Manifold = Sphere(1) if dim == 1 else Torus(dim)
    circle.check_points(points.reshape(-1, 2 * dim))
    return np.arctan2(points[..., 1::2], points[..., 0::2])


def check_angles(angles: ArrayLike, name: str) -> FloatArray:
    """Angles in radians, shape (n, dim) or (dim,); what can only be degrees is refused."""
    phi = as_float_array(angles, name)
    if phi.ndim not in (1, 2) or phi.shape[-1] == 0:
        raise InvalidInputError(f"{name} must have shape (n, dim), or (dim,) for one point; got {phi.shape}.")
    rows = phi.reshape(-1, phi.shape[-1])
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        first = int(np.argmin(finite))
        raise InvalidInputError(
            f"{name} has {int(np.count_nonzero(~finite))} of {len(rows)} rows with NaN or infinite entries "
            f"(first: row {first}, {rows[first].tolist()}). Drop or repair them."
        )
    if len(rows) == 0:
        return phi
    far = np.abs(rows).max(axis=0) > 2.0 * np.pi + _SLACK
    wide = np.ptp(rows, axis=0) > 2.0 * np.pi + _SLACK
    if (far | wide).any():
        j = int(np.argmax(far | wide))
        low, high = float(rows[:, j].min()), float(rows[:, j].max())
        worst = int(np.argmax(np.abs(rows[:, j])))
        raise InvalidInputError(
            f"{name} must be in radians, within ±2π and at most 2π apart; angle {j} goes from {low:.6g} to {high:.6g} "
            f"(largest: row {worst}). Degrees become radians with numpy.radians; angles that were counted over several "
            "turns are reduced with numpy.remainder(angles, 2 * numpy.pi)."
        )
    return phi
