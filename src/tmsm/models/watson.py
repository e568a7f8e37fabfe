"""Watson's family on the sphere S^(D−1): log p = κ (a·x)²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.validation import check_number, check_unit_vector
from tmsm.models.constraints import AffineSubspace, Constraint
from tmsm.models.harmonic import HarmonicFamily
from tmsm.models.orbits import OrbitPoint, RotationOrbit
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading, length_reading

__all__ = ["Watson"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Watson(HarmonicFamily):
    """Watson family on the sphere, any dimension, for axes: log p = κ (a·x)² + const.

    With κ > 0 the points lie around ±a, with κ < 0 around the great circle across a. The axis has no sign; its
    entry of largest size is given as positive. On the circle, κ with one axis and −κ with the axis at a right angle to
    it are the same density, so κ is given as not negative.

    Parameters
    ----------
    concentration
        κ if it is known. None, the default: it is estimated.

    Examples
    --------
    >>> import tmsm
    >>> model = tmsm.Watson()
    >>> X = model.sample(2000, random_state=0, axis=[0.0, 0.0, 1.0], concentration=-5.0)
    >>> fit = tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.Sphere(2))).fit(X)
    >>> bool(abs(fit.params_.concentration + 5.0) < 3 * fit.std_errors_.concentration)
    True
    """

    concentration: float | None = None

    fields = (Field("axis", "direction", is_axis=True, is_centre=True), Field("concentration"))
    has_linear = False

    def __post_init__(self) -> None:
        if self.concentration is not None:
            kappa = check_number(self.concentration, "concentration", above=-1e10, below=1e10)
            if kappa == 0.0:
                raise InvalidInputError("concentration must not be zero: the density would have no axis.")
            object.__setattr__(self, "concentration", kappa)

    def make_constraint(self) -> Constraint:
        D = self.embedding_dim
        shape = self._shape(np.eye(D)[0])
        known = self.concentration
        return RotationOrbit(
            embedding_dim=D,
            offset=shape * (known or 0.0),
            basis=shape[:, None] if known is None else np.zeros((shape.size, 0)),
            planes=tuple((0, j) for j in range(1, D)),
            linear=False,
            frame=lambda theta: self._frames(theta)[0],
            frames=self._frames,
            wanted=lambda theta: True,
            words=lambda theta, on_face: "The best minimum found, over all axes.",
        )

    def _shape(self, axis: FloatArray) -> FloatArray:
        return self.join(np.zeros(0), np.outer(axis, axis))

    def _frames(self, theta: FloatArray) -> list[FloatArray]:
        """Frames that start with a principal axis of S, the most outstanding one first."""
        values, axes = np.linalg.eigh(self.split(theta)[1])
        order = np.argsort(-np.abs(values) - 1e-12 * values, kind="stable")
        return [_frame(axes[:, k]) for k in order]

    def slice(self, name: str, value: Any) -> Constraint | None:
        if name == "concentration":
            return Watson(float(value)).on(self.manifold).constraint if self.concentration is None and value else None
        shape = self._shape(np.asarray(value))
        if self.concentration is not None:
            return AffineSubspace(self.concentration * shape, np.zeros((shape.size, 0)))
        return AffineSubspace(np.zeros(shape.size), (shape / np.linalg.norm(shape))[:, None])

    def parameters(self, theta: FloatArray) -> Parameters:
        quadratic = self.split(theta)[1]
        axis = self._frames(theta)[0][:, 0]
        # S = κ (aaᵀ − I/D): its value along a is κ (1 − 1/D).
        kappa = float(axis @ quadratic @ axis) / (1.0 - 1.0 / len(axis))
        if kappa == 0.0:
            raise EstimationError(
                "The estimated concentration is zero, so there is no axis: the data look uniform to this model."
            )
        return Parameters(axis=axis, concentration=kappa if self.concentration is None else self.concentration)

    def readings(self, params: Parameters) -> tuple[Reading, ...]:
        # exp(κ cos² s) falls like exp(−κ s²) from the axis, or from the great circle across it.
        side = 1.0 if params.concentration > 0.0 else -1.0
        name = "from the axis (1σ)" if side > 0.0 else "from the circle (1σ)"
        return (length_reading(name, 2.0 * abs(params.concentration), {"concentration": 2.0 * side}),)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        constraint = self.constraint
        assert isinstance(constraint, RotationOrbit)
        point: OrbitPoint = constraint.point(theta)
        free = self.concentration is None
        return {
            "axis": point.frame_jacobian(0),
            "concentration": point.shape_jacobian() if free else np.zeros((1, theta.size)),
        }

    def natural_parameters(  # type: ignore[override]
        self, *, axis: ArrayLike, concentration: float | None = None
    ) -> FloatArray:
        vector = check_unit_vector(axis, "axis")
        kappa = check_number(self._known_or("concentration", concentration), "concentration", above=-1e10, below=1e10)
        return kappa * self._shape(vector)

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        # The axis is a principal axis of the rows; κ from its second moment r (Sra and Karp 2013).
        values, axes = np.linalg.eigh(self.split(mean)[1])
        half = 0.5 * len(values)
        starts = []
        for r, axis in zip(values + 1.0 / len(values), axes.T, strict=True):
            kappa = (half * r - 0.5) / (r * (1.0 - r)) * (1.0 + (1.0 - r) / (half - 0.5))
            starts.append(kappa * self._shape(axis))
        return starts


def _frame(axis: FloatArray) -> FloatArray:
    """An orthogonal matrix of determinant one whose first column is the axis, its largest entry positive."""
    if axis[np.argmax(np.abs(axis))] < 0.0:
        axis = -axis
    frame = np.linalg.svd(axis[None, :])[2].T.copy()
    frame[:, 0] = axis
    if np.linalg.det(frame) < 0.0:
        frame[:, -1] *= -1.0
    return frame
