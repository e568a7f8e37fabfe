"""What the sine and the cosine model share: a mode at the mean angles, concentrations and interactions of pairs."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_vector
from tmsm.manifolds.torus_angles import angles_to_torus, check_angles
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters
from tmsm.models.torus import WaveFamily, checked_array, interactions
from tmsm.models.torus_orbits import TorusOrbit, TorusPoint, TorusSlice
from tmsm.models.von_mises_fisher import concentration_from_resultant

__all__ = ["MeanAngleFamily", "pair_modes"]


class MeanAngleFamily(WaveFamily):
    """A family with `mean_angles`, `concentration` and `interaction`; the shape η is κ, then λ_jk for j < k."""

    @abstractmethod
    def orbit_of(self, dim: int) -> TorusOrbit:
        """The set of θ on a torus of so many angles."""

    def modes_of(self, dim: int) -> Any:
        return self.orbit_of(dim).modes

    def make_constraint(self) -> Constraint:
        return self.orbit_of(self.manifold.dim)

    def entry_slice(self, name: str, index: tuple[int, ...], value: float) -> Constraint | None:
        orbit = self.orbit_of(self.manifold.dim)
        d = orbit.dim
        if name == "interaction":
            pairs = list(zip(*interactions(d), strict=True))
            return TorusSlice(orbit, 2 * d + pairs.index((min(index), max(index))), value)
        return TorusSlice(orbit, index[0] + (d if name == "concentration" else 0), value)

    def centre_of(self, params: Parameters) -> FloatArray | None:
        return angles_to_torus(params.mean_angles)

    def _point(self, theta: FloatArray) -> TorusPoint:
        return self.orbit_of(self._dim_of(theta)).point(theta)

    def parameters(self, theta: FloatArray) -> Parameters:
        point = self._point(theta)
        d = point.mean.size
        if not np.abs(point.shape[:d]).min() > 0.0:
            raise EstimationError(
                f"The estimated concentration of angle {int(np.argmin(np.abs(point.shape[:d])))} is zero, so it has no "
                "mean: the data look uniform to this model."
            )
        matrix = np.zeros((d, d))
        matrix[interactions(d)] = point.shape[d:]
        return Parameters(mean_angles=point.mean, concentration=point.shape[:d], interaction=matrix + matrix.T)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        point = self._point(theta)
        d = point.mean.size
        inverse: FloatArray = np.asarray(np.linalg.pinv(point.jacobian), dtype=np.float64)
        matrix = np.zeros((d, d, theta.size))
        j, k = interactions(d)
        matrix[j, k] = matrix[k, j] = inverse[2 * d :]
        return {
            "mean_angles": inverse[:d],
            "concentration": inverse[d : 2 * d],
            "interaction": matrix.reshape(d * d, theta.size),
        }

    def natural_parameters(  # type: ignore[override]
        self, *, mean_angles: ArrayLike, concentration: ArrayLike, interaction: ArrayLike | None = None
    ) -> FloatArray:
        mean = check_angles(check_vector(mean_angles, "mean_angles"), "mean_angles")
        d = mean.size
        if d < 2:
            raise InvalidInputError("mean_angles must have at least two entries; for one angle use VonMisesFisher.")
        kappa = checked_array(concentration, "concentration", (d,))
        matrix = checked_array(np.zeros((d, d)) if interaction is None else interaction, "interaction", (d, d))
        if not (np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0) and not np.diag(matrix).any()):
            raise InvalidInputError("interaction must be a symmetric matrix with zeros on its diagonal.")
        orbit = self.orbit_of(d)
        shape = np.concatenate([kappa, matrix[interactions(d)]])
        if not orbit.is_peak(shape):
            smallest = float(np.linalg.eigvalsh(orbit.matrix(shape))[0])
            raise InvalidInputError(
                f"With these parameters mean_angles are no mode: {self.peak_condition}; its smallest eigenvalue is "
                f"{smallest:.6g}. Use smaller interactions or larger concentrations."
            )
        return TorusPoint(orbit, mean, shape).theta

    peak_condition: str

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        # Independent von Mises densities.
        d = self.manifold.dim
        first = mean[: 2 * d].reshape(d, 2)
        resultants = np.linalg.norm(first, axis=1)
        kappa = [concentration_from_resultant(float(r), 2) for r in resultants]
        start = np.zeros(mean.size)
        start[: 2 * d] = (first * (np.array(kappa) / np.maximum(resultants, 1e-300))[:, None]).ravel()
        return [start]


@lru_cache(maxsize=32)
def pair_modes(dim: int, signs: tuple[int, ...]) -> Any:
    """The unit vectors, then e_j + s e_k for each sign s and j < k, shape (m, dim)."""
    unit = np.eye(dim, dtype=np.intp)
    j, k = interactions(dim)
    modes = np.concatenate([unit, *(unit[j] + sign * unit[k] for sign in signs)])
    modes.flags.writeable = False
    return modes
