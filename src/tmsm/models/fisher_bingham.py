"""The Fisher–Bingham and Bingham families on the sphere S^(D−1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_concentration, check_vector
from tmsm.models.base import Model
from tmsm.models.harmonic import HarmonicFamily, as_quadratic, traceless_basis
from tmsm.models.local import local_form
from tmsm.models.parameters import Field, Parameters
from tmsm.models.von_mises_fisher import concentration_from_resultant

__all__ = ["Bingham", "FisherBingham"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class FisherBingham(HarmonicFamily):
    """Fisher–Bingham family on the sphere, any dimension: log p = l·x + xᵀSx + const.

    The trace of S changes only the constant, so that the estimated S has trace zero.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model = tmsm.FisherBingham()
    >>> truth = {"linear": [4.0, 0.0, 0.0], "quadratic": np.diag([0.0, 1.5, -1.5])}
    >>> X = model.sample(2000, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.Sphere(2))).fit(X)
    >>> fit.params_.quadratic.shape, bool(abs(np.trace(fit.params_.quadratic)) < 1e-9)
    ((3, 3), True)
    """

    fields = (Field("linear"), Field("quadratic"))
    has_linear = True

    def centred(self, X: FloatArray) -> Model:
        return local_form(self, X)

    def parameters(self, theta: FloatArray) -> Parameters:
        linear, quadratic = self.split(theta)
        return Parameters(linear=linear, quadratic=quadratic)

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        p = theta.size
        D = len(self.split(theta)[0])
        quadratic = np.zeros((D * D, p))
        quadratic[:, D:] = traceless_basis(D).reshape(-1, D * D).T
        return {"linear": np.eye(D, p), "quadratic": quadratic}

    def natural_parameters(  # type: ignore[override]
        self, *, linear: ArrayLike, quadratic: ArrayLike | None = None
    ) -> FloatArray:
        vector = check_vector(linear, "linear")
        check_concentration(float(np.linalg.norm(vector)), "the length of linear", at_least=0.0)
        if quadratic is None:
            raise InvalidInputError("quadratic must be given: this model does not know it.")
        matrix = as_quadratic(quadratic)
        if len(matrix) != vector.size:
            raise InvalidInputError(f"linear has {vector.size} entries, quadratic {len(matrix)} rows.")
        return self.join(vector, matrix)

    def _likelihood_starts(self, mean: FloatArray) -> list[FloatArray]:
        return [start_from_resultant(mean, self.embedding_dim)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Bingham(HarmonicFamily):
    """Bingham family on the sphere, any dimension, for axes: log p = xᵀSx + const, S with trace zero.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> model = tmsm.Bingham()
    >>> X = model.sample(2000, random_state=0, quadratic=np.diag([4.0, 0.0, -4.0]))
    >>> fit = tmsm.ScoreMatching(model, tmsm.Everywhere(tmsm.Sphere(2))).fit(X)
    >>> bool(abs(fit.params_.quadratic[0, 0] - 4.0) < 4 * fit.std_errors_.quadratic[0, 0])
    True
    """

    fields = (Field("quadratic"),)
    has_linear = False

    def parameters(self, theta: FloatArray) -> Parameters:
        return Parameters(quadratic=self.split(theta)[1])

    def parameter_jacobian(self, theta: FloatArray) -> dict[str, FloatArray]:
        return {"quadratic": traceless_basis(len(self.split(theta)[1])).reshape(theta.size, -1).T}

    def natural_parameters(self, *, quadratic: ArrayLike) -> FloatArray:  # type: ignore[override]
        return self.join(np.zeros(0), as_quadratic(quadratic))


def start_from_resultant(mean: FloatArray, D: int) -> FloatArray:
    """θ of the von Mises–Fisher density with the mean of t's linear part: where a search begins."""
    theta = np.zeros(mean.size)
    resultant = float(np.linalg.norm(mean[:D]))
    if resultant > 1e-12:
        kappa = concentration_from_resultant(resultant, D)
        theta[:D] = mean[:D] / resultant * kappa
    return theta
