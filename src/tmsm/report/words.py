"""What to think of a fit, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.coordinates import xyz_to_lonlat
from tmsm.estimators.base import Estimator
from tmsm.estimators.diagnostics import mass_outside
from tmsm.estimators.summary import readable_p
from tmsm.plots.fit_display import region_of
from tmsm.regions.outlines import EARTH_RADIUS_KM

__all__ = ["Finding", "described", "findings", "kilometres", "place"]

_MODELS = {
    "VonMisesFisher": "von Mises–Fisher (a round cluster)",
    "Kent": "Kent (an oval)",
    "FisherBingham": "Fisher–Bingham",
    "Bingham": "Bingham (axes)",
    "Watson": "Watson (axes round one axis)",
}
_METHODS = {
    "ScoreMatching": "score matching",
    "TruncatedMLE": "exact likelihood inside the border",
    "NaiveMLE": "likelihood without the border",
}
_MOSTLY = 0.5
_DOUBT, _CONTRADICTION = 0.05, 0.01
_FEW_ROWS = 100


@dataclass(frozen=True)
class Finding:
    """A sentence, and whether it is "good", a thing to "note", or a "warning"."""

    kind: str
    text: str


def place(direction: Any, error: float | None = None) -> str:
    """A direction as a place on a map, to the digits that an error in radians leaves."""
    lon, lat = (float(angle) for angle in xyz_to_lonlat(np.asarray(direction)))
    digits = 1
    if error is not None and error > 0.0:
        digits = int(np.clip(1 - np.floor(np.log10(np.degrees(error))), 1, 5))
    east, north = "E" if lon >= 0 else "W", "N" if lat >= 0 else "S"
    return f"{abs(lat):.{digits}f}° {north}, {abs(lon):.{digits}f}° {east}"


def described(fit: Estimator) -> str:
    """A fit's method and model in words."""
    model = fit._fitted.asked["model"]
    known = [f"{name} {value:g} known" for name in ("concentration", "ovalness") if (value := _known(model, name))]
    name = _MODELS.get(type(model).__name__, type(model).__name__)
    return ", ".join([_METHODS.get(type(fit).__name__, type(fit).__name__), name, *known])


def _known(model: Any, name: str) -> float | None:
    value = vars(model).get(name)
    return float(value) if isinstance(value, int | float) else None


def findings(fits: Mapping[str, Estimator]) -> list[Finding]:
    """About the first fit, with the others to compare."""
    fit = next(iter(fits.values()))
    return [*_centre(fits), *_goodness(fit), *_mass(fit), *_rows(fit)]


def kilometres(a: Any, b: Any) -> str:
    """The great-circle distance of two directions on the Earth."""
    angle = 2.0 * float(np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))
    return f"{EARTH_RADIUS_KM * angle:,.0f} km"


def _centre(fits: Mapping[str, Estimator]) -> list[Finding]:
    fit, region = next(iter(fits.values())), region_of(fits)
    params = fit.params_
    if "mean_direction" not in params:
        return []
    if (reason := fit._fitted.undetermined) is not None:
        return [Finding("warning", reason)]
    mean = np.asarray(params["mean_direction"])
    found = []
    if region.has_border:
        depth = EARTH_RADIUS_KM * float(region.signed_distance(mean[None, :])[0][0])
        if depth < 0.0:
            text = (
                f"The centre lies {-depth:,.0f} km outside the region that was observed: it is extrapolated, and rests "
                "on the model."
            )
            found.append(Finding("warning", " ".join([text, *filter(None, [fit._fitted.skewed()])])))
        else:
            text = f"The centre lies inside the region that was observed, {depth:,.0f} km from its border."
            skewed = fit._fitted.skewed()
            found.append(Finding("good", text) if skewed is None else Finding("warning", f"{text} {skewed}"))
    for label, other in list(fits.items())[1:]:
        if "mean_direction" in other.params_ and other.determined_:
            there = np.asarray(other.params_["mean_direction"])
            name = f"{label[:1].upper()}{label[1:]}"
            text = f"{name}: the centre would lie {kilometres(mean, there)} away, at {place(there)}."
            found.append(Finding("note", text))
    return found


def _goodness(fit: Estimator) -> list[Finding]:
    goodness = fit.goodness_of_fit_
    model = type(fit._fitted.asked["model"]).__name__
    name = _MODELS.get(model, model).split(" (")[0]
    if goodness is None:
        return [Finding("note", "There are too few points to test whether the model fits.")]
    p = readable_p(goodness.p_value)
    if goodness.p_value >= _DOUBT:
        return [Finding("good", f"The points do not contradict the model, {name} ({p}).")]
    if goodness.p_value >= _CONTRADICTION:
        return [Finding("note", f"The points raise a slight doubt about the model, {name} ({p}).")]
    text = (
        f"The points contradict the model, {name} ({p}): what it says about places that were not observed is not to be "
        "trusted. Compare with a wider model (tmsm compare), and look at the map."
    )
    return [Finding("warning", text)]


def _mass(fit: Estimator) -> list[Finding]:
    one = fit._fitted
    outside = mass_outside(one.model, one.params, one.kept.region)
    if outside is None or one.undetermined is not None:
        return []
    kind = "warning" if outside > _MOSTLY else "note"
    return [Finding(kind, f"{100 * outside:.0f} % of the fitted distribution lies where nothing could be observed.")]


def _rows(fit: Estimator) -> list[Finding]:
    one = fit._fitted
    found = []
    if one.n_groups is not None:
        text = f"The points belong to {one.n_groups:,} groups; errors and tests allow for dependence within them."
        found.append(Finding("note", text))
    else:
        text = (
            "The errors take all points for independent. If several belong to one storm, one animal, one visit, say so "
            "(groups)."
        )
        found.append(Finding("note", text))
    if one.n_samples < _FEW_ROWS:
        found.append(Finding("warning", f"{one.n_samples} points are few: take the errors for a rough guide."))
    return found
