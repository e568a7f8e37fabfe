"""The rotations of space, SO(3): unit quaternions, of which q and −q are one rotation."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray, row_dots, row_norms
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds.base import DistanceUnit, Manifold
from tmsm.manifolds.charts import Window
from tmsm.manifolds.nearest import NearestPoints
from tmsm.manifolds.solid_charts import SolidChart, ThreeSphereChart
from tmsm.manifolds.sphere import Sphere

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

__all__ = ["Rotations", "is_scipy_rotation", "matrix_forms", "nearer_sign"]

# Entries of RᵀR may be off those of the identity by so much: float32, or six printed digits.
_ORTHOGONAL = 4e-6
# A rotation vector longer than a turn is more likely in degrees.
_TURN = 2.0 * np.pi + 1e-9


@final
@dataclass(frozen=True, eq=False, repr=False)
class Rotations(Manifold):
    """The rotations of space, SO(3), as unit quaternions (x, y, z, w).

    The scalar w comes last, as in SciPy, and q and −q are the same rotation.  Lengths are those of the sphere S³ of
    quaternions, so the geodesic distance of two rotations is *half* the angle of the rotation between them; summaries
    show that angle, in degrees.  The converters (``from_matrices``, ``to_matrices``, …) take and give what other
    programs use.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> space = tmsm.Rotations()
    >>> X = space.from_matrices([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> X.round(6) + 0.0
    array([[0.      , 0.      , 0.707107, 0.707107]])
    >>> angle = 2.0 * space.geodesic_distance(X, np.array([[0.0, 0.0, 0.0, -1.0]]))
    >>> np.degrees(angle).round(6)
    array([90.])
    """

    dim = 3

    @property
    def _cover(self) -> Sphere:
        """The sphere of quaternions, on which everything local takes place."""
        return Sphere(3)

    @property
    def embedding_dim(self) -> int:
        return 4

    def contains(self, X: FloatArray) -> BoolArray:
        return self._cover.contains(X)

    def same_points(self, X: FloatArray) -> list[FloatArray]:
        return [-X]

    def settle(self, X: FloatArray) -> tuple[bool, bool]:
        return self._cover.settle(X)

    def complaint(self, X: FloatArray, name: str, bad: BoolArray) -> str:
        norms = row_norms(X)
        worst = int(np.argmax(np.where(bad, np.abs(norms - 1.0), -1.0)))
        return (
            f"{name} has {int(np.count_nonzero(bad))} of {len(X)} rows that are no unit quaternions "
            f"(worst: row {worst}, norm {norms[worst]:.6g}). Normalise them, or use a converter of Rotations(), "
            "such as from_quaternions, from_matrices or from_rotation_vectors."
        )

    def project_tangent(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._cover.project_tangent(X, V)

    def coordinate_laplacian(self, X: FloatArray) -> FloatArray:
        return self._cover.coordinate_laplacian(X)

    @property
    def n_functions(self) -> int:
        return 9

    def functions(self, X: FloatArray) -> FloatArray:
        # The entries of the matrix, which do not depend on the sign of q; ‖dR‖² = 8 ‖dq‖².
        products: FloatArray = _products(X, X)
        return products @ _scaled_forms().reshape(9, 16).T

    def function_gradient(self, X: FloatArray, a: FloatArray) -> FloatArray:
        # Of qᵀMq along the sphere: 2 (Mq − (qᵀMq) q).
        slope: FloatArray = X @ (2.0 * np.tensordot(a, _scaled_forms(), axes=1))
        return self.project_tangent(X, slope)

    def function_laplacians(self, X: FloatArray) -> FloatArray:
        return self.functions(X) * -8.0  # harmonics of degree two on S³

    def function_velocity(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return 2.0 * _products(X, V) @ _scaled_forms().reshape(9, 16).T

    def function_acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        # Of qᵀMq along a geodesic: 2 vᵀMv + 2 qᵀM q̈.
        both = _products(V, V) + _products(X, self.acceleration(X, V))
        return 2.0 * both @ _scaled_forms().reshape(9, 16).T

    def exponential(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._cover.exponential(X, V)

    def acceleration(self, X: FloatArray, V: FloatArray) -> FloatArray:
        return self._cover.acceleration(X, V)

    def logarithm(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self._cover.logarithm(X, nearer_sign(X, Y))

    def geodesic_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        distance = self._cover.geodesic_distance(X, Y)
        return np.minimum(distance, self._cover.geodesic_distance(X, -np.asarray(Y)))

    def half_square_laplacian(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        return self._cover.half_square_laplacian(X, nearer_sign(X, Y))

    @property
    def diameter(self) -> float:
        return float(0.5 * np.pi)

    @property
    def injectivity_radius(self) -> float:
        return float(0.5 * np.pi)

    def chord(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._cover.chord(distance)

    def chordal_distance(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        X, Y = np.atleast_2d(X), np.atleast_2d(Y)
        return np.minimum(row_norms(X - Y), row_norms(X + Y))

    def nearest_points(self, points: FloatArray) -> NearestPoints:
        # ‖R − S‖ grows with the angle between the two.
        return NearestPoints(points, None, place=self.functions)

    @property
    def distance_unit(self) -> DistanceUnit:
        # The angle of a rotation is twice the distance of quaternions.
        return DistanceUnit(360.0 / np.pi, "°", "degrees")

    def uniform(self, n: int, random_state: Any = None) -> FloatArray:
        return self._cover.uniform(n, random_state)

    def charts(self, window: Window | None) -> SolidChart | None:
        return ThreeSphereChart(faces=4)

    def width_hint(self, n_columns: int) -> str:
        if n_columns == 9:
            return " Matrices become quaternions with Rotations().from_matrices(X.reshape(-1, 3, 3))."
        if n_columns == 3:
            return " Rotation vectors in radians become quaternions with Rotations().from_rotation_vectors."
        return ""

    def as_rows(self, X: Any, name: str = "X", *, empty: bool = False) -> np.ndarray[Any, Any]:
        if is_scipy_rotation(X):
            raise InvalidTypeError(
                f"{name} must be unit quaternions, shape (n, 4); got a SciPy Rotation. "
                "It becomes quaternions with Rotations().from_rotation."
            )
        return super().as_rows(X, name, empty=empty)

    def from_matrices(self, R: ArrayLike) -> FloatArray:
        """Quaternions from rotation matrices.

        Parameters
        ----------
        R
            Shape (n, 3, 3), or (3, 3) for one: orthogonal, of determinant one.

        Returns
        -------
        Unit quaternions, shape (n, 4), whose entry of largest size is positive.

        Examples
        --------
        >>> import numpy as np, tmsm
        >>> tmsm.Rotations().from_matrices(np.eye(3))
        array([[0., 0., 0., 1.]])
        """
        matrices = _check_matrices(R, "R")
        # 4 qqᵀ from R: its row with the largest diagonal entry is 4 q_k q, and loses no digits.
        outer = np.tensordot(matrices.reshape(-1, 9), matrix_forms().reshape(9, 4, 4), axes=1) + np.eye(4)
        largest = np.argmax(np.einsum("nii->ni", outer), axis=1)
        q: FloatArray = outer[np.arange(len(outer)), largest]
        return q / row_norms(q)[:, None]

    def to_matrices(self, X: ArrayLike) -> FloatArray:
        """Rotation matrices, shape (n, 3, 3), from unit quaternions (n, 4).

        Parameters
        ----------
        X
            Unit quaternions with the scalar last, shape (n, 4).

        Examples
        --------
        >>> import tmsm
        >>> tmsm.Rotations().to_matrices([[1.0, 0.0, 0.0, 0.0]])[0]
        array([[ 1.,  0.,  0.],
               [ 0., -1.,  0.],
               [ 0.,  0., -1.]])
        """
        q = self.check_points(X)
        q = q / row_norms(q)[:, None]
        R: FloatArray = _products(q, q) @ matrix_forms().reshape(9, 16).T
        return R.reshape(-1, 3, 3)

    def from_rotation(self, rotation: Rotation) -> FloatArray:
        """Quaternions, shape (n, 4), from a ``scipy.spatial.transform.Rotation`` of one rotation or of n.

        Parameters
        ----------
        rotation
            The rotations.
        """
        if not is_scipy_rotation(rotation):
            raise InvalidTypeError(
                f"rotation must be a scipy.spatial.transform.Rotation; got {type(rotation).__name__}. "
                "There are from_matrices, from_quaternions, from_rotation_vectors and from_euler, too."
            )
        return np.asarray(rotation.as_quat(), dtype=np.float64).reshape(-1, 4)

    def to_rotation(self, X: ArrayLike) -> Rotation:
        """The same rotations as a ``scipy.spatial.transform.Rotation``, from unit quaternions (n, 4).

        Parameters
        ----------
        X
            Unit quaternions with the scalar last, shape (n, 4).
        """
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.check_points(X))

    def from_quaternions(self, q: ArrayLike, *, scalar_first: bool = False) -> FloatArray:
        """Unit quaternions, the scalar last, from quaternions of any length but zero.

        Parameters
        ----------
        q
            Shape (n, 4), or (4,) for one.
        scalar_first
            Whether the scalar comes first, as in (w, x, y, z).

        Returns
        -------
        Shape (n, 4).

        Examples
        --------
        >>> import tmsm
        >>> tmsm.Rotations().from_quaternions([2.0, 0.0, 0.0, 0.0], scalar_first=True)
        array([[0., 0., 0., 1.]])
        """
        rows = _check_table(q, "q", 4)
        norms = row_norms(rows)
        if not (norms > 0.0).all():
            zero = norms == 0.0
            raise InvalidInputError(
                f"q has {int(np.count_nonzero(zero))} of {len(rows)} rows that are zero (first: row "
                f"{int(np.argmax(zero))}): they stand for no rotation."
            )
        rows = rows / norms[:, None]
        return np.roll(rows, -1, axis=1) if scalar_first else rows

    def from_rotation_vectors(self, vectors: ArrayLike) -> FloatArray:
        """Quaternions from rotation vectors: along the axis, as long as the angle in radians.

        Parameters
        ----------
        vectors
            Shape (n, 3), or (3,) for one; at most one turn, 2π, long.

        Returns
        -------
        Unit quaternions, shape (n, 4).

        Examples
        --------
        >>> import numpy as np, tmsm
        >>> tmsm.Rotations().from_rotation_vectors([0.0, 0.0, np.pi]).round(6) + 0.0
        array([[0., 0., 1., 0.]])
        """
        rows = _check_table(vectors, "vectors", 3)
        angles = row_norms(rows)
        if (angles > _TURN).any():
            worst = int(np.argmax(angles))
            raise InvalidInputError(
                f"vectors must be in radians and at most one turn, 2π, long; {int(np.count_nonzero(angles > _TURN))} "
                f"of {len(rows)} are longer (longest: row {worst}, {angles[worst]:.6g}). "
                "Degrees become radians with numpy.radians."
            )
        half = 0.5 * angles
        # sin(φ/2)/φ · vector; np.sinc(a/π) = sin(a)/a.
        return np.column_stack([rows * (0.5 * np.sinc(half / np.pi))[:, None], np.cos(half)])

    def from_euler(self, seq: str, angles: ArrayLike, *, degrees: bool = False) -> FloatArray:
        """Quaternions, shape (n, 4), from Euler angles in radians, or degrees if that is said, as SciPy takes them.

        Parameters
        ----------
        seq
            The axes, such as "ZYX" (about the turned axes) or "zyx" (about the fixed ones).
        angles
            Shape (n, 3), or as many columns as there are axes.
        degrees
            Whether the angles are in degrees.
        """
        from scipy.spatial.transform import Rotation

        values = as_float_array(angles, "angles")
        if not np.isfinite(values).all():
            raise InvalidInputError("angles must be finite; some are NaN or infinite.")
        if not degrees and np.abs(values).max(initial=0.0) > _TURN:
            raise InvalidInputError(
                f"angles must be in radians, within ±2π; the largest is {np.abs(values).max():.6g}. "
                "Say degrees=True if these are degrees."
            )
        try:
            return self.from_rotation(Rotation.from_euler(seq, values, degrees=degrees))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"seq {seq!r} and angles of shape {values.shape} do not fit: {error}") from None


def nearer_sign(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Quaternions Y with the sign that brings them nearer to the matching rows of X."""
    X, Y = np.atleast_2d(X), np.atleast_2d(Y)
    turned: FloatArray = Y * np.where(row_dots(*np.broadcast_arrays(X, Y)) < 0.0, -1.0, 1.0)[:, None]
    return turned


@lru_cache(maxsize=1)
def matrix_forms() -> FloatArray:
    """The entries of the rotation matrix as quadratic forms of the quaternion: R_ij = qᵀ B_ij q, shape (3, 3, 4, 4).

    All of them are symmetric and traceless, ⟨B_ij, B_kl⟩ is 4 for the same entry and else zero, and
    Σ R_ij B_ij = 4 qqᵀ − I.
    """
    B = np.zeros((3, 3, 4, 4))
    for i in range(3):
        B[i, i] = -np.eye(4)
        B[i, i, i, i] = B[i, i, 3, 3] = 1.0
        j, k = (i + 1) % 3, (i + 2) % 3
        for row, column, sign in ((i, j, -1.0), (j, i, 1.0)):  # 2 (q_i q_j ∓ q_k w)
            B[row, column, i, j] = B[row, column, j, i] = 1.0
            B[row, column, k, 3] = B[row, column, 3, k] = sign
    B.flags.writeable = False
    return B


@lru_cache(maxsize=1)
def _scaled_forms() -> FloatArray:
    """Those of the matrix over √8, shape (9, 4, 4): so scaled, they keep lengths."""
    scaled: FloatArray = matrix_forms().reshape(9, 4, 4) / np.sqrt(8.0)
    return scaled


def _products(p: FloatArray, q: FloatArray) -> FloatArray:
    """All p_i q_j of matching rows, shape (n, 16)."""
    return (p[:, :, None] * q[:, None, :]).reshape(len(p), 16)


def is_scipy_rotation(value: Any) -> bool:
    """Whether a value is a rotation of SciPy; without importing it."""
    module = sys.modules.get("scipy.spatial.transform")
    return module is not None and isinstance(value, module.Rotation)


def _check_table(values: ArrayLike, name: str, width: int) -> FloatArray:
    """Finite rows, shape (n, width); one row may be a vector."""
    rows = as_float_array(values, name)
    rows = rows[None, :] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidInputError(f"{name} must have shape (n, {width}), or ({width},) for one; got {np.shape(values)}.")
    _refuse_infinite(rows, name)
    return rows


def _refuse_infinite(rows: FloatArray, name: str) -> None:
    finite = np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"{name} has {int(np.count_nonzero(~finite))} of {len(rows)} rows with NaN or infinite entries "
            f"(first: row {int(np.argmin(finite))}). Drop or repair them."
        )


def _check_matrices(values: ArrayLike, name: str) -> FloatArray:
    """Rotation matrices, shape (n, 3, 3), or an error that names the worst."""
    if is_scipy_rotation(values):
        raise InvalidTypeError(f"{name} must be matrices; got a SciPy Rotation. Use from_rotation.")
    R = as_float_array(values, name)
    R = R[None] if R.ndim == 2 else R
    if R.ndim != 3 or R.shape[1:] != (3, 3):
        raise InvalidInputError(f"{name} must have shape (n, 3, 3), or (3, 3) for one; got {np.shape(values)}.")
    _refuse_infinite(R, name)
    off = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2), initial=0.0)
    if (off > _ORTHOGONAL).any():
        worst = int(np.argmax(off))
        raise InvalidInputError(
            f"{name} has {int(np.count_nonzero(off > _ORTHOGONAL))} of {len(R)} matrices that are not orthogonal "
            f"(worst: row {worst}, where an entry of RᵀR is off by {off[worst]:.3g}). The columns of a rotation matrix "
            "are unit vectors at right angles; scipy.linalg.polar gives the nearest."
        )
    mirrored = np.linalg.det(R) < 0.0
    if mirrored.any():
        raise InvalidInputError(
            f"{name} has {int(np.count_nonzero(mirrored))} of {len(R)} matrices of determinant −1 (first: row "
            f"{int(np.argmax(mirrored))}): they mirror and are no rotations. Change the sign of one axis, "
            "or swap two, in the frames that they come from."
        )
    return R
