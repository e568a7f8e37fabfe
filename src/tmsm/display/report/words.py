"""What to think of a fit, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.display.plots.fit_display import region_of
from tmsm.display.plots.marks import Mark
from tmsm.foundation.text import readable_p, readable_share
from tmsm.inference.centres import centres_of, ellipse_of, row_shares
from tmsm.inference.diagnostics import mass_outside
from tmsm.inference.fit import Fit
from tmsm.inference.goodness import REJECTED
from tmsm.inference.row_weights import weightless_rows
from tmsm.manifolds import Sphere
from tmsm.manifolds.frames import Frame
from tmsm.models import Mixture

__all__ = ["Finding", "described", "distance_between", "findings"]

_MODELS = {
    "VonMisesFisher": "von Mises–Fisher (a round cluster)",
    "Kent": "Kent (an oval)",
    "FisherBingham": "Fisher–Bingham",
    "Bingham": "Bingham (axes)",
    "Watson": "Watson (axes round one axis)",
    "HeavyTailed": "heavy-tailed (a round cluster with far outliers)",
    "MultivariateNormal": "normal",
}
_METHODS = {
    "ScoreMatching": "score matching",
    "TruncatedMLE": "exact likelihood inside the border",
    "NaiveMLE": "likelihood without the border",
}
_MOSTLY = 0.5
_DOUBT = 0.05
_FEW_ROWS = 100


@dataclass(frozen=True)
class Finding:
    """A sentence, and whether it is "good", a thing to "note", or a "warning"."""

    kind: str
    text: str


def described(fit: Fit) -> str:
    """A fit's method and model in words."""
    model = fit.configuration["model"]
    known = [f"{name} {value:g} known" for name in ("concentration", "ovalness") if (value := _known(model, name))]
    return ", ".join([_METHODS.get(fit.estimator, fit.estimator), _model_words(fit), *known])


def _model_words(fit: Fit) -> str:
    """The family in words."""
    model = fit.model
    if not isinstance(model, Mixture):
        given = type(fit.configuration["model"]).__name__
        return _MODELS.get(given, given)
    component = type(model.component).__name__
    name = _MODELS.get(component, component).split(" (")[0]
    count = f"a mixture of {model.count} {name} components" if model.count > 1 else f"one {name} component"
    if not model.has_background:
        return count
    return f"{count} on a {'uniform' if model.background is True else 'given'} background"


def _known(model: Any, name: str) -> float | None:
    value = vars(model).get(name)
    return float(value) if isinstance(value, int | float) else None


def findings(fits: Mapping[str, Fit], marks: Sequence[Mark] = ()) -> list[Finding]:
    """About the first fit, with the others, and with known places, to compare."""
    fit = next(iter(fits.values()))
    centres = _component_centres(fits) if row_shares(fit) is not None else _centre(fits)
    return [*centres, *_marked(fit, marks), *_effects(fit), *_goodness(fit), *_mass(fit), *_outliers(fit), *_rows(fit)]


def distance_between(a: Any, b: Any, frame: Frame) -> str:
    """The great-circle distance of two directions, in the unit of a frame."""
    return frame.length(float(Sphere(2).geodesic_distance(a, b)[0]))


def _centre(fits: Mapping[str, Fit]) -> list[Finding]:
    fit, region = next(iter(fits.values())), region_of(list(fits.values()))
    centre, frame = fit.centre, fit.frame
    if centre is None or centre.is_axis:
        return []
    if (reason := fit.undetermined) is not None:
        return [Finding("warning", reason)]
    mean = np.asarray(fit.params[centre.name])
    found = []
    if region.has_border:
        depth = float(region.clearance(mean[None, :])[0][0])
        if depth < 0.0:
            text = (
                f"The centre lies {frame.length(-depth)} outside the region that was observed: it is extrapolated, and "
                "depends on the shape of the model."
            )
            found.append(Finding("warning", " ".join([text, *filter(None, [fit.skewed()])])))
        else:
            text = f"The centre lies inside the region that was observed, {frame.length(depth)} from its border."
            skewed = fit.skewed()
            found.append(Finding("good", text) if skewed is None else Finding("warning", f"{text} {skewed}"))
    for label, other in list(fits.items())[1:]:
        if other.centre is not None and not other.centre.is_axis and other.undetermined is None:
            there = np.asarray(other.params[other.centre.name])
            name = f"{label[:1].upper()}{label[1:]}"
            away = distance_between(mean, there, frame)
            error = None if other.covariance is None else other.std_errors[other.centre.name]
            text = f"{name}: the centre would lie {away} from this one, at {frame.place(there, error)}."
            found.append(Finding("note", text))
    return found


def _component_centres(fits: Mapping[str, Fit]) -> list[Finding]:
    """Where the centres of the components of a mixture lie, and whether that was seen."""
    fit, region = next(iter(fits.values())), region_of(list(fits.values()))
    if not region.has_border:
        return []
    if fit.undetermined is not None:
        return [Finding("warning", fit.undetermined)]
    found = []
    for centre in centres_of(fit):
        if centre.is_axis:
            continue
        depth = float(region.clearance(centre.point[None, :])[0][0])
        if depth < 0.0:
            text = (
                f"The {centre.title} lies {fit.frame.length(-depth)} outside the region that was observed: it is "
                "extrapolated, and depends on the shape of the components."
            )
            found.append(Finding("warning", text))
        else:
            away = fit.frame.length(depth)
            text = f"The {centre.title} lies inside the region that was observed, {away} from its border."
            found.append(Finding("good", text))
    return found


def _marked(fit: Fit, marks: Sequence[Mark]) -> list[Finding]:
    """How far the centre is from known places, and whether its confidence region holds them."""
    if row_shares(fit) is not None:
        return [_marked_component(fit, mark) for mark in marks if mark.is_single and centres_of(fit)]
    centre = fit.centre
    if centre is None or centre.is_axis or fit.undetermined is not None:
        return []
    found = []
    for mark in marks:
        if mark.is_single:
            text = f"{mark.label}: {distance_between(fit.params[centre.name], mark.X[0], fit.frame)} from the centre"
            if fit.covariance is not None:
                held = bool(fit.confidence_region(centre.name, 0.95).contains(mark.X)[0])
                text += f", {'inside' if held else 'outside'} its 95 % confidence region"
            found.append(Finding("note", f"{text}."))
    return found


def _marked_component(fit: Fit, mark: Mark) -> Finding:
    """How far the nearest centre of a mixture is from a known place."""
    centres = centres_of(fit)
    away = [float(Sphere(2).geodesic_distance(centre.point, mark.X[0])[0]) for centre in centres]
    nearest = centres[int(np.argmin(away))]
    text = f"{mark.label}: {fit.frame.length(min(away))} from the {nearest.title}, the nearest"
    ellipse = ellipse_of(fit, nearest, 0.95)
    if ellipse is not None:
        text += f", {'inside' if ellipse.contains(mark.X)[0] else 'outside'} its 95 % confidence region"
    return Finding("note", f"{text}.")


def _effects(fit: Fit) -> list[Finding]:
    """What the tests of covariates say."""
    if fit.regression is None:
        return []
    found = [
        Finding(
            "note",
            "The centre and the density depend on the covariates: those given here are at the mean of the covariates.",
        )
    ]
    if fit.covariance is not None:
        found += [Finding("note", test.sentence) for test in fit.covariate_tests]
    return found


def _outliers(fit: Fit) -> list[Finding]:
    """How many points a robust fit leaves aside."""
    few = weightless_rows(fit)
    if few is None:
        return []
    count = int(few.sum())
    if count == 0:
        return [Finding("good", "The fit is robust, and every point has some weight.")]
    verb = "point has" if count == 1 else "points have"
    text = (
        f"The fit is robust: {count:,} of {few.size:,} {verb} nearly no weight, because the fitted density is "
        "low there. They are marked on the globe: check whether they are errors, or belong to something else."
    )
    return [Finding("note", text)]


def _goodness(fit: Fit) -> list[Finding]:
    goodness = fit.goodness_of_fit
    name = _model_words(fit).split(" (")[0]
    if goodness is None:
        return [
            Finding(
                "note",
                "The model cannot be tested: there are too few points, or it has too many parameters.",
            )
        ]
    p = readable_p(goodness.p_value)
    if goodness.p_value >= _DOUBT:
        return [Finding("good", f"The points do not contradict the model, {name} ({p}).")]
    if goodness.p_value >= REJECTED:
        return [Finding("note", f"The points raise a slight doubt about the model, {name} ({p}).")]
    text = (
        f"The points contradict the model, {name} ({p}): do not trust what it says about places that were not "
        "observed. Compare with a wider model, and look at the map."
    )
    return [Finding("warning", text)]


def _mass(fit: Fit) -> list[Finding]:
    outside = mass_outside(fit.model, fit.params, fit.region)
    if outside is None or fit.undetermined is not None:
        return []
    kind = "warning" if outside > _MOSTLY else "note"
    return [
        Finding(kind, f"{readable_share(outside)} of the fitted distribution lies where nothing could be observed.")
    ]


def _rows(fit: Fit) -> list[Finding]:
    found = []
    if fit.n_groups is not None:
        text = f"The points belong to {fit.n_groups:,} groups; errors and tests allow for dependence within them."
        found.append(Finding("note", text))
    else:
        text = (
            "The errors assume that all points are independent. If several of them belong together, such as positions "
            "of one storm or sightings of one animal, fit them with groups."
        )
        found.append(Finding("note", text))
    if fit.n_samples < _FEW_ROWS:
        found.append(Finding("warning", f"{fit.n_samples} points are few: use the errors as a rough guide only."))
    return found
