"""The matrix Fisher family on the rotations of space: p ∝ exp tr(FᵀR)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import as_float_array
from tmsm.manifolds import Manifold, Rotations
from tmsm.manifolds.rotations import matrix_forms
from tmsm.models.harmonic import HarmonicFamily, traceless_basis
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading

__all__ = ["MatrixFisher"]

# Where two proper singular values add up to less than this share of the largest, no rotation is the mean.
_NO_MEAN = 1e-8
# Parameters that are given twice agree to so many digits.
_SAME = 1e-8
_LARGEST = 1e10


@final
@dataclass(frozen=True, eq=False, repr=False)
class MatrixFisher(HarmonicFamily):
    """Matrix Fisher family on the rotations: log p = tr(FᵀR) + const.

    With the proper singular values F = U diag(s) Vᵀ, U and V rotations and s₁ ≥ s₂ ≥ |s₃|, the density is highest at
    the mean rotation UVᵀ.  From there it falls like that of a normal rotation angle whose variance, about the k-th
    principal axis, is one over the sum of the other two s.  The rows are unit quaternions, points of `Rotations()`.

    Notes
    -----
    On quaternions this is a Bingham density, tr(FᵀR) = qᵀAq.  ``natural_params_`` are the nine coordinates of the
    traceless matrix A in the orthonormal basis of `Bingham`: first the diagonal matrices (1, …, 1, −k, 0, …)/√(k(k+1)),
    then (e_i e_jᵀ + e_j e_iᵀ)/√2 for i < j.  They are twice the nine entries of F, multiplied by an orthogonal
    matrix.

    ``logpdf`` is with respect to the volume of the unit quaternions, of which q and −q are one point: all rotations
    together have the volume π².

    The mean rotation and its errors are smooth wherever s₂ + s₃ > 0, also where singular values are equal.  The
    concentrations s are not smooth where two of them are equal; their errors there are those of two of them in some
    order.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model, cap = tmsm.MatrixFisher(), tmsm.RotationCap(np.eye(3), angle=1.0)
    >>> truth = np.diag([6.0, 4.0, 2.0])
    >>> X = model.sample(2000, cap, random_state=0, parameter=truth)
    >>> fit = tmsm.ScoreMatching(model, cap).fit(X)
    >>> bool((np.abs(fit.params_.parameter - truth) < 4 * fit.std_errors_.parameter).all())
    True
    >>> fit.params_.mean_rotation.shape
    (3, 3)
    """

    home = Rotations()
    fields = (
        Field("parameter", is_symmetric=False),
        Field("mean_rotation", is_symmetric=False),
        Field("concentration"),
    )
    has_linear = False
    copies = 2

    def usual_manifold(self, n_columns: int) -> Manifold:
        return self.home

    @property
    def home_in_words(self) -> tuple[str, str]:
        return "Rotations()", " Its regions are RotationCap, AxisWithin and GeodesicBall(Rotations(), …)."

    def centre_of(self, params: Parameters) -> FloatArray | None:
        q: FloatArray = Rotations().from_matrices(params.mean_rotation)[0]
        return q

    def check_spread(self, X: FloatArray) -> None:
        if np.linalg.eigvalsh(X.T @ X / len(X))[0] < 1e-12:
            raise EstimationError(
                "The unit quaternions of all rows lie on one great subsphere (for instance, all rotations are about "
                "one axis, or half turns): the spread across it is zero, and this family has no finite estimate."
            )

    def parameters(self, theta: FloatArray) -> Parameters:
        F = _to_entries() @ theta
        U, s, V = proper_svd(F.reshape(3, 3))
        return Parameters(parameter=F.reshape(3, 3), mean_rotation=U @ V.T, concentration=s)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        to_entries = _to_entries()
        U, s, V = proper_svd((to_entries @ theta).reshape(3, 3))
        # With K = Uᵀ dF V: ds_i = K_ii, and d(UVᵀ) = U Ω Vᵀ with Ω_ij = (K_ij − K_ji)/(s_i + s_j).
        K = np.einsum("ia,ijp,jb->abp", U, to_entries.reshape(3, 3, -1), V)
        sums = np.maximum(s[:, None] + s[None, :], _NO_MEAN * max(float(s[0]), 1e-300))
        turn = (K - np.swapaxes(K, 0, 1)) / sums[:, :, None]
        mean = np.einsum("ia,abp,jb->ijp", U, turn, V)
        return {
            "parameter": to_entries,
            "mean_rotation": mean.reshape(9, -1),
            "concentration": np.einsum("aap->ap", K),
        }

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        s = np.asarray(params.concentration)
        found = []
        for name, pair in (
            ("widest angle (1σ)", [1, 2]),
            ("middle angle (1σ)", [0, 2]),
            ("narrowest angle (1σ)", [0, 1]),
        ):
            curvature = float(s[pair].sum())
            sigma = 1.0 / np.sqrt(curvature) if curvature > 0.0 else np.inf
            slope = np.zeros(3)
            if np.isfinite(sigma):
                slope[pair] = -0.5 * sigma**3  # d(c^−½) = −½ c^−³ᐟ² dc
            found.append(Reading("concentration", name, "length", float(sigma), {"concentration": slope}))
        return tuple(found)

    def natural_parameters(  # type: ignore[override]
        self,
        *,
        parameter: ArrayLike | None = None,
        mean_rotation: ArrayLike | None = None,
        concentration: ArrayLike | float | None = None,
    ) -> FloatArray:
        """θ, shape (9,), from F, or from a mean rotation M and concentrations s.

        Parameters
        ----------
        parameter
            F, shape (3, 3).
        mean_rotation
            M, shape (3, 3).
        concentration
            s, shape (3,), or one number for all three.  Without F the principal axes are those of the rotated frame,
            F = M diag(s), so that s_k need not be in order.  With F they must agree with it.
        """
        if parameter is None:
            F = _from_mean(mean_rotation, concentration)
        else:
            F = _check_matrix(parameter, "parameter")
            _check_agreement(F, mean_rotation, concentration)
        return _to_theta() @ F.ravel()

    def _check_params(self, params: dict[str, Any]) -> FloatArray:
        if "parameter" not in params and {"mean_rotation", "concentration"} & params.keys():
            params = {"parameter": None, **params}
        return super()._check_params(params)


def proper_svd(F: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations U and V and s₁ ≥ s₂ ≥ |s₃| with F = U diag(s) Vᵀ, all of them 3 × 3."""
    U, s, Vt = np.linalg.svd(F)
    V = Vt.T.copy()
    for turned in (U, V):
        if np.linalg.det(turned) < 0.0:
            turned[:, 2] *= -1.0
            s[2] *= -1.0
    return U, s, V


@lru_cache(maxsize=1)
def _to_theta() -> FloatArray:
    """From the nine entries of F to θ, (9, 9): the coordinates of A = Σ F_ij B_ij; half of it is orthogonal."""
    to_theta = traceless_basis(4).reshape(9, 16) @ matrix_forms().reshape(9, 16).T
    to_theta.flags.writeable = False
    return to_theta


@lru_cache(maxsize=1)
def _to_entries() -> FloatArray:
    """From θ to the nine entries of F, (9, 9)."""
    to_entries = 0.25 * _to_theta().T
    to_entries.flags.writeable = False
    return to_entries


def _check_matrix(values: ArrayLike, name: str) -> FloatArray:
    matrix = as_float_array(values, name)
    if matrix.shape != (3, 3):
        raise InvalidInputError(f"{name} must have shape (3, 3); got {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise InvalidInputError(f"{name} must be finite; it has NaN or infinite entries.")
    if not np.abs(matrix).max() < _LARGEST:
        raise InvalidInputError(f"{name} must have entries below 1e+10 in size; got {np.abs(matrix).max():.3g}.")
    return matrix


def _check_mean(values: ArrayLike | None) -> FloatArray:
    if values is None:
        raise InvalidInputError("mean_rotation must be given, or parameter, the matrix F.")
    matrix = _check_matrix(values, "mean_rotation")
    if np.abs(matrix.T @ matrix - np.eye(3)).max() > 1e-6 or np.linalg.det(matrix) < 0.0:
        raise InvalidInputError(
            "mean_rotation must be a rotation matrix: orthogonal, of determinant one. "
            "Rotations().to_matrices(q)[0] makes one of a quaternion."
        )
    return matrix


def _check_concentrations(values: ArrayLike | float | None) -> FloatArray:
    if values is None:
        raise InvalidInputError("concentration must be given with mean_rotation: three numbers, or one for all three.")
    s = as_float_array(values, "concentration")
    if s.shape not in ((), (3,)):
        raise InvalidInputError(f"concentration must be three numbers, or one for all three; got shape {s.shape}.")
    if not (np.isfinite(s).all() and (np.abs(s) < _LARGEST).all()):
        raise InvalidInputError(f"concentration must be finite and below 1e+10 in size; got {s.tolist()}.")
    return np.broadcast_to(s, (3,))


def _from_mean(mean_rotation: ArrayLike | None, concentration: ArrayLike | float | None) -> FloatArray:
    """F = M diag(s), where M is the rotation at which the density is highest."""
    M, s = _check_mean(mean_rotation), _check_concentrations(concentration)
    if np.sort(s)[:2].sum() < 0.0:
        raise InvalidInputError(
            f"Any two of the concentrations must have a sum that is not negative, or the density would be highest at "
            f"another rotation than the mean; got {s.tolist()}."
        )
    return M * s


def _check_agreement(F: FloatArray, mean_rotation: ArrayLike | None, concentration: ArrayLike | float | None) -> None:
    """Raise where a mean rotation or concentrations are given that are not those of F."""
    U, s, V = proper_svd(F)
    if concentration is not None:
        given = np.sort(_check_concentrations(concentration))[::-1]
        if np.abs(given - s).max() > _SAME * max(float(s[0]), 1.0):
            raise InvalidInputError(
                f"parameter and concentration do not agree: the proper singular values of the matrix are {s.tolist()}. "
                "Give parameter alone, or mean_rotation and concentration."
            )
    if mean_rotation is not None:
        M = _check_mean(mean_rotation)
        # Where the mean is hardly determined, any rotation at which tr(FᵀM) is largest will do.
        if float(s.sum() - (F * M).sum()) > _SAME * max(float(s[0]), 1.0):
            raise InvalidInputError(
                f"parameter and mean_rotation do not agree: the mean rotation of the matrix is {(U @ V.T).tolist()}. "
                "Give parameter alone, or mean_rotation and concentration."
            )
