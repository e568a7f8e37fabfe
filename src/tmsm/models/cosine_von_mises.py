"""The cosine model on the torus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from tmsm.foundation.arrays import IntArray
from tmsm.models.parameters import Field
from tmsm.models.torus import interactions
from tmsm.models.torus_mean import MeanAngleFamily, pair_modes
from tmsm.models.torus_orbits import TorusOrbit

__all__ = ["CosineVonMises"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class CosineVonMises(MeanAngleFamily):
    """Cosine model on the torus: several angles whose differences matter.

    log p = Σ_j κ_j cos(φ_j − μ_j) − Σ_{j<k} λ_jk cos((φ_j − μ_j) − (φ_k − μ_k)) + const for two or more angles
    φ in radians.  Its parameters are ``mean_angles`` μ, shape (dim,), ``concentration`` κ, shape (dim,), and
    ``interaction`` λ, a symmetric matrix (dim, dim) with zeros on its diagonal.  Where λ_jk is negative, the two angles
    increase together.

    Notes
    -----
    The matrix with κ_j − Σ_k λ_jk on its diagonal and λ_jk elsewhere, minus the second derivative of log p at the mean,
    is kept positive semidefinite, so that the mean is a mode.  For two angles with positive concentrations this is
    λ ≤ κ₁κ₂/(κ₁ + κ₂), the condition for one mode; for five and more angles that go together strongly and are hardly
    concentrated there may be further modes.  An angle that others hold in place may have a negative concentration.

    Draws are exact, for up to about four angles.  On the whole torus the density is normalised on a grid, for up to
    three angles and a moderate concentration.

    References
    ----------
    Mardia, Taylor and Subramaniam 2007, Protein bioinformatics and mixtures of bivariate von Mises distributions for
    angular data.

    Examples
    --------
    >>> import tmsm
    >>> model, box = tmsm.models.CosineVonMises(), tmsm.AngleBox([-1.2, -1.5], [1.0, 1.0])
    >>> truth = {"mean_angles": [0.5, 0.2], "concentration": [2.0, 2.0], "interaction": [[0.0, -1.0], [-1.0, 0.0]]}
    >>> X = model.sample(3000, box, random_state=0, **truth)
    >>> fit = tmsm.ScoreMatching(model, box).fit(X)
    >>> bool((abs(fit.params_.mean_angles - truth["mean_angles"]) < 3 * fit.std_errors_.mean_angles).all())
    True
    """

    fields = (
        Field("mean_angles", is_angle=True),
        Field("concentration"),
        Field("interaction", is_hollow=True),
    )
    peak_condition = (
        "the matrix with concentration less the sum of the interactions on its diagonal and interaction elsewhere has "
        "to be positive definite"
    )

    def orbit_of(self, dim: int) -> TorusOrbit:
        return _orbit(dim)


@lru_cache(maxsize=32)
def _orbit(dim: int) -> TorusOrbit:
    j, k = interactions(dim)
    pairs = len(j)
    basis = np.diag(np.repeat([1.0, -1.0], [dim, pairs]))
    curvature = np.zeros((dim + pairs, dim, dim))
    curvature[range(dim), range(dim), range(dim)] = 1.0
    of_pair = range(dim, dim + pairs)
    curvature[of_pair, j, k] = curvature[of_pair, k, j] = 1.0
    curvature[of_pair, j, j] = curvature[of_pair, k, k] = -1.0
    modes: IntArray = pair_modes(dim, (-1,))
    return TorusOrbit(modes, basis, curvature, signed=True, words=_describe)


def _describe(on_face: bool) -> str:
    if on_face:
        return (
            "The best fit whose mean is a mode: at the limit where the mode divides, and the data ask for more. "
            "Errors are those of a fit that may pass it. If the data have several modes, use "
            "models.TrigonometricFamily(2)."
        )
    return "The best minimum found: the mean is a mode."
