"""What pictures show of an estimate: its centres with their confidence regions, and levels of its density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.text import readable_share
from tmsm.inference.centres import centres_of, ellipse_of
from tmsm.inference.delta import critical_square
from tmsm.inference.fit import Fit
from tmsm.manifolds.torus_angles import angles_to_torus
from tmsm.models.base import DensityAt

__all__ = ["SHARES", "DrawnCentre", "Levels", "cluster_density", "drawn_centres", "mass_levels", "rings_of"]

SHARES = (0.9, 0.5)
_DRAWS = 20_000


@final
@dataclass(frozen=True)
class DrawnCentre:
    """A centre, shape (D,), the border of its confidence region, and of a component its number and share."""

    point: FloatArray
    rings: list[FloatArray]
    number: int | None = None
    share: float | None = None

    def words(self, level: float) -> str:
        """What a legend says after the name of the fit."""
        region = f", {100 * level:g} % region" if self.rings else ""
        if self.number is None or self.share is None:
            return region
        return f": component {self.number} ({readable_share(self.share)}){region}"


def drawn_centres(fit: Fit, level: float) -> list[DrawnCentre]:
    """Those of a fit: one, as many as it has components, or none."""
    found = []
    for centre in centres_of(fit):
        if centre.component is None:
            found.append(DrawnCentre(centre.point, rings_of(fit, level)))
            continue
        ellipse = ellipse_of(fit, centre, level)
        share = next(
            fit.params[field.name]
            for field in fit.model.fields
            if field.component == centre.component and field.own_title == "share"
        )
        rings = [] if ellipse is None else [ellipse.ring]
        found.append(DrawnCentre(centre.point, rings, centre.component, float(share)))
    return found


@final
@dataclass(frozen=True)
class Levels:
    """Levels of a log density that hold the shares of its mass, ascending, and the draws above the first.

    ``words`` say of what.
    """

    density: DensityAt
    levels: list[float]
    dense: FloatArray
    words: str


def cluster_density(fit: Fit) -> DensityAt:
    """The fitted density; of a mixture without its background, which ends at the border."""
    return DensityAt(fit.model.beyond(), fit.model.beyond_theta(fit.theta))


def mass_levels(fit: Fit) -> Levels | None:
    """Of the fitted density; None where it cannot be drawn from."""
    density = cluster_density(fit)
    params = fit.params if density.model is fit.model else density.model.parameters(density.theta)
    try:
        draws = density.model.draw(_DRAWS, np.random.default_rng(0), **params)
    except (EstimationError, InvalidInputError):
        return None
    values = density.log_kernel(draws)
    levels = np.quantile(values, [1.0 - share for share in SHARES])
    if np.ptp(levels) == 0.0:
        return None
    words = "fitted mass" if density.model is fit.model else "fitted mass without the background"
    return Levels(density, levels.tolist(), draws[values >= levels[0]], words)


def rings_of(fitted: Fit, level: float) -> list[FloatArray]:
    """The border of the confidence region of a centre on S² or in the plane; empty where there is none."""
    centre = fitted.centre_point
    if centre is None or fitted.covariance is None or fitted.region.manifold.dim != 2:
        return []
    if fitted.centre is None:
        return _ellipse_of_angles(fitted, level)
    found = fitted.confidence_region(fitted.centre.name, level)
    # Of an axis the end that is drawn may be the other one.
    other = fitted.centre.is_axis and float(found.estimate @ centre) < 0.0
    return [-ring if other else ring for ring in found.rings]


def _ellipse_of_angles(fitted: Fit, level: float) -> list[FloatArray]:
    """The border of the ellipse of two mean angles, by the delta method."""
    name = next((field.name for field in fitted.model.fields if field.is_angle), None)
    if name is None:
        return []
    slope = fitted.model.parameter_jacobian(fitted.theta)[name]
    variances, axes = np.linalg.eigh(slope @ fitted.known_covariance @ slope.T)
    root = (axes * np.sqrt(np.maximum(variances, 0.0))).T
    turn = np.linspace(0.0, 2.0 * np.pi, 120, endpoint=False)
    radius = np.sqrt(critical_square(2, level, fitted.error_df))
    circle = radius * np.column_stack([np.cos(turn), np.sin(turn)])
    return [angles_to_torus(np.remainder(fitted.params[name] + circle @ root, 2.0 * np.pi))]
