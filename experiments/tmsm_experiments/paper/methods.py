"""The paper's four methods, a variant of one of them, and three of ours, each from rows to (φ̂, θ̂, κ̂)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tmsm
from tmsm_experiments.paper.settings import HEMISPHERE, Experiment

GEODESIC, PROJECTED, TRUNCSM, NAIVE = "TMSM, geodesic", "TMSM, projected", "TruncSM", "MLE"
TRUNCSM_OVAL = "TruncSM, covariance of the oval"
DEFAULT, COMBINED, EXACT = "default weight", "combined weight", "exact likelihood"
PAPER = (GEODESIC, PROJECTED, TRUNCSM, NAIVE)
OURS = (DEFAULT, COMBINED, EXACT)
ALL = (*PAPER, TRUNCSM_OVAL, *OURS)
# The axis that the library itself would drop; saying so spares the search.
DROPPED_AXIS = 1


@dataclass(frozen=True)
class TruncSM:
    """The baseline of Liu, Kanamori and Williams: a normal in the plane of the angles (φ, θ).

    The border is the line φ = π/2 and the weight the distance to it: the same estimator as ours, in a flat world.
    ``variances`` along φ and θ are known, or None: then they are equal and estimated.
    """

    variances: tuple[float, float] | None

    def __call__(self, X: np.ndarray) -> tuple[float, float, float]:
        known = self.variances
        model = tmsm.MultivariateNormal(isotropic=True) if known is None else tmsm.MultivariateNormal(np.diag(known))
        angles = np.column_stack(tmsm.xyz_to_colatlon(X))
        seen = tmsm.HalfSpace([1.0, 0.0], np.pi / 2)
        fit = tmsm.ScoreMatching(model, seen, "geodesic", standard_errors=False).fit(angles)
        return *fit.params_.mean, 1.0 / fit.params_.covariance[0, 0]


def _angles(fit) -> tuple[float, float, float]:
    colat, lon = tmsm.xyz_to_colatlon(fit.params_.mean_direction)
    return float(colat), float(lon), float(fit.params_.concentration)


def methods(experiment: Experiment) -> dict[str, Callable[[np.ndarray], tuple[float, float, float]]]:
    """Name -> (φ̂, θ̂, κ̂) from rows."""
    model = experiment.model

    def matching(weight):
        return tmsm.ScoreMatching(model, HEMISPHERE, weight, standard_errors=False)

    fits = {
        GEODESIC: matching("geodesic"),
        PROJECTED: matching(tmsm.Projected(DROPPED_AXIS)),
        NAIVE: tmsm.NaiveMLE(model),
        DEFAULT: matching("auto"),
        COMBINED: matching("combined"),
        EXACT: tmsm.TruncatedMLE(model, HEMISPHERE),
    }
    found = {name: lambda X, fit=fit: _angles(fit.fit(X)) for name, fit in fits.items()}
    kappa, ovalness = experiment.known, experiment.truth.get("ovalness")
    found[TRUNCSM] = TruncSM(None if kappa is None else (1.0 / kappa, 1.0 / kappa))
    if kappa is not None and ovalness is not None:
        # What the oval's covariance is near its mean; the major axis lies along θ.
        found[TRUNCSM_OVAL] = TruncSM((1.0 / (kappa + 2.0 * ovalness), 1.0 / (kappa - 2.0 * ovalness)))
    return {name: found[name] for name in ALL if name in found}
