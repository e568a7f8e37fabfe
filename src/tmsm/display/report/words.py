"""What to think of a fit, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.display.plots.fit_display import region_of
from tmsm.foundation.text import readable_p
from tmsm.inference.diagnostics import mass_outside
from tmsm.inference.fit import Fit
from tmsm.manifolds import Sphere
from tmsm.manifolds.coordinates import xyz_to_lonlat
from tmsm.manifolds.lonlat import EARTH_RADIUS_KM

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


def described(fit: Fit) -> str:
    """A fit's method and model in words."""
    model = fit.configuration["model"]
    known = [f"{name} {value:g} known" for name in ("concentration", "ovalness") if (value := _known(model, name))]
    name = _MODELS.get(type(model).__name__, type(model).__name__)
    return ", ".join([_METHODS.get(fit.estimator, fit.estimator), name, *known])


def _known(model: Any, name: str) -> float | None:
    value = vars(model).get(name)
    return float(value) if isinstance(value, int | float) else None


def findings(fits: Mapping[str, Fit]) -> list[Finding]:
    """About the first fit, with the others to compare."""
    fit = next(iter(fits.values()))
    return [*_centre(fits), *_goodness(fit), *_mass(fit), *_rows(fit)]


def kilometres(a: Any, b: Any) -> str:
    """The great-circle distance of two directions on the Earth."""
    angle = Sphere(2).geodesic_distance(a, b)[0]
    return f"{EARTH_RADIUS_KM * angle:,.0f} km"


def _centre(fits: Mapping[str, Fit]) -> list[Finding]:
    fit, region = next(iter(fits.values())), region_of(list(fits.values()))
    centre = fit.centre
    if centre is None or centre.is_axis:
        return []
    if (reason := fit.undetermined) is not None:
        return [Finding("warning", reason)]
    mean = np.asarray(fit.params[centre.name])
    found = []
    if region.has_border:
        depth = EARTH_RADIUS_KM * float(region.signed_distance(mean[None, :])[0][0])
        if depth < 0.0:
            text = (
                f"The centre lies {-depth:,.0f} km outside the region that was observed: it is extrapolated, and rests "
                "on the model."
            )
            found.append(Finding("warning", " ".join([text, *filter(None, [fit.skewed()])])))
        else:
            text = f"The centre lies inside the region that was observed, {depth:,.0f} km from its border."
            skewed = fit.skewed()
            found.append(Finding("good", text) if skewed is None else Finding("warning", f"{text} {skewed}"))
    for label, other in list(fits.items())[1:]:
        if other.centre is not None and not other.centre.is_axis and other.undetermined is None:
            there = np.asarray(other.params[other.centre.name])
            name = f"{label[:1].upper()}{label[1:]}"
            text = f"{name}: the centre would lie {kilometres(mean, there)} away, at {place(there)}."
            found.append(Finding("note", text))
    return found


def _goodness(fit: Fit) -> list[Finding]:
    goodness = fit.goodness_of_fit
    model = type(fit.configuration["model"]).__name__
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
        "trusted. Compare with a wider model, and look at the map."
    )
    return [Finding("warning", text)]


def _mass(fit: Fit) -> list[Finding]:
    outside = mass_outside(fit.model, fit.params, fit.region)
    if outside is None or fit.undetermined is not None:
        return []
    kind = "warning" if outside > _MOSTLY else "note"
    return [Finding(kind, f"{100 * outside:.0f} % of the fitted distribution lies where nothing could be observed.")]


def _rows(fit: Fit) -> list[Finding]:
    found = []
    if fit.n_groups is not None:
        text = f"The points belong to {fit.n_groups:,} groups; errors and tests allow for dependence within them."
        found.append(Finding("note", text))
    else:
        text = (
            "The errors take all points for independent. If several belong to one storm, one animal, one visit, say so "
            "(groups)."
        )
        found.append(Finding("note", text))
    if fit.n_samples < _FEW_ROWS:
        found.append(Finding("warning", f"{fit.n_samples} points are few: take the errors for a rough guide."))
    return found
