"""A density map as one HTML page: the chosen map, the other one below it, their bands, a slider for the smoothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from tmsm.display.map_summary import Mapped, full_name
from tmsm.display.plots.curves import border_of
from tmsm.display.plots.land import land_curves
from tmsm.display.plots.map_display import values_on, view_of_map
from tmsm.display.plots.marks import MARK_COLOURS, checked_marks
from tmsm.display.plots.style import BORDER, LAND, POINTS
from tmsm.display.report.parts import facts_html, filled_page, html_table, made_by_html
from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds import View
from tmsm.manifolds.frames import ICRS, Frame, frame_named
from tmsm.manifolds.sphere_plane import SphereView
from tmsm.maps.highest import HighestDensityRegion
from tmsm.maps.nodes import even_plan
from tmsm.maps.region_density import RegionDensity

__all__ = ["html_map"]

_GRID = 170
_MAX_POINTS = 3000
# Values are written as whole numbers: thousandths of a decimal power, and of a standard error.
_STEPS = 1000.0


def html_map(
    fitted: Mapped,
    *,
    title: str,
    beside: Mapped | None = None,
    made_by: Mapping[str, str] | None = None,
    frame: str | Frame | None = None,
    marks: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    reword: Callable[[str], str] | None = None,
    shares: Sequence[float] = (0.5, 0.9),
) -> str:
    """A page about a map.

    Parameters
    ----------
    fitted
        The map that was chosen, which the page is about.
    title
        Heading of the page.
    beside
        Another map of the same rows, to be shown below it.
    made_by
        Names and values of what made it: command, versions.
    frame
        What directions on S² stand for; by default the frame of the rows.
    marks
        Other points to show, label -> one point or several.
    notes
        Sentences on how the rows were read.
    reword
        A function that every sentence goes through.
    shares
        Of the mass: the smallest areas that hold them are told.
    """
    say = (lambda text: text) if reword is None else reword
    density = fitted.density_
    meaning = frame_named(frame) if isinstance(frame, str) else density.frame if frame is None else frame
    manifold = density.region.manifold
    inside = even_plan(density.region, 1).nodes().X
    view = view_of_map("map" if manifold.has_longitudes else None, density.region, inside, meaning)
    x, y, logs = values_on(view, density, _GRID)
    seen = np.flatnonzero(np.isfinite(logs.ravel()))
    maps = [fitted] if beside is None else [fitted, beside]
    data = {
        "x": np.round(x, 5).tolist(),
        "y": np.round(y, 5).tolist(),
        "seen": seen.tolist(),
        "maps": [_map_data(view, one, seen) for one in maps],
        "smooth": next((k for k, one in enumerate(maps) if one.smoothings_ is not None), None),
        "lines": _lines(view, density, meaning),
        "points": _flat(view.forward(_thinned(fitted.kept_rows_))),
        "marks": [
            {"name": one.label, "colour": MARK_COLOURS[k % len(MARK_COLOURS)], **_flat(view.forward(one.X))}
            for k, one in enumerate(checked_marks(marks, manifold))
        ],
        "ratio": _ratio(view, x, y),
        "shape": view.shape or 1.0,
        "colours": {"border": BORDER, "land": LAND, "points": POINTS},
        "mirrored": bool(isinstance(view, SphereView) and meaning.is_sky),
        "names": _axis_names(meaning) if manifold.has_longitudes else ["x₁", "x₂"],
        "degrees": _degrees(meaning) if manifold.has_longitudes else None,
    }
    shown_in: Any = replace(density, frame=meaning)  # type: ignore[type-var]
    regions = [region_of_share(shown_in, share) for share in sorted(set(shares))]
    if manifold.has_longitudes and meaning.is_sky:
        notes = [f"Directions are {' and '.join(meaning.coordinates)}, on {meaning.title} as seen from inside.", *notes]
    findings = _findings(fitted, beside, notes)
    return filled_page(
        "map.html",
        data,
        title=escape(title),
        headline=_headline(regions, density, fitted.map_name),
        name=_caption(fitted, beside, first=True),
        beside_name="" if beside is None else _caption(beside, fitted, first=False),
        findings="\n".join(f'<li class="{kind}">{escape(say(text))}</li>' for kind, text in findings),
        regions_of=escape(fitted.map_name),
        regions=html_table(_region_rows(regions, density)),
        facts="".join(
            f"<h3>{_upper(full_name(one))}</h3>" + facts_html([(name, say(text)) for name, text in one.facts()])
            for one in maps
        ),
        made_by=made_by_html(made_by),
    )  # fmt: skip


def region_of_share(density: RegionDensity, share: float) -> HighestDensityRegion:
    """The region of highest density that holds a share."""
    level = density.level_of(share)
    return HighestDensityRegion(share, level.log_density, level.area, density)


def _map_data(view: View, fitted: Mapped, seen: Any) -> dict[str, Any]:
    """What the page shows of a map: at every smoothing of its path, from smooth to rough, or the one that there is."""
    errors = values_on(view, fitted.density_, _GRID, errors=True)[2].ravel()[seen]
    found: dict[str, Any] = {
        "errors": np.round(_STEPS * np.clip(errors, 0.0, 30.0)).astype(int).tolist(),
        "chance": not fitted.density_.errors_have_bias,
    }
    fit = fitted.smoothings_
    if fit is None:
        values = values_on(view, fitted.density_, _GRID)[2].ravel()[seen]
        return {**found, "chosen": 0, "layers": [{"values": _relative(values, fitted)}]}
    layers = []
    for one in fit.path.candidates:
        values = values_on(view, fit.at(one), _GRID)[2].ravel()[seen]
        layers.append(
            {
                "values": _relative(values, fitted),
                "smoothing": float(f"{one.smoothing:.3g}") if np.isfinite(one.smoothing) else None,
                "freedom": round(one.freedom, 1),
                "held_out": round(one.held_out, 5) if np.isfinite(one.held_out) else None,
            }
        )
    return {**found, "chosen": fit.path.best, "layers": layers}


def _relative(logs: FloatArray, fitted: Mapped) -> list[int]:
    """Decimal logarithms of densities over the mean of the region, in thousandths."""
    powers = (logs + np.log(fitted.density_.area)) / np.log(10.0)
    return [int(value) for value in np.round(_STEPS * np.clip(powers, -30.0, 30.0))]


def _thinned(X: FloatArray) -> FloatArray:
    return X[:: max(-(-len(X) // _MAX_POINTS), 1)]


def _flat(places: FloatArray) -> dict[str, list[float | None]]:
    """Places in the picture as two lists, with nothing where a point is not seen."""
    columns = [[None if np.isnan(v) else round(float(v), 4) for v in column] for column in places.T]
    return {"x": columns[0], "y": columns[1]}


def _lines(view: View, density: RegionDensity, frame: Frame) -> dict[str, Any]:
    """The border, and coastlines on the Earth."""
    region = density.region
    found: dict[str, Any] = {}
    if isinstance(view, SphereView):
        if region.has_border:
            found["border"] = _flat(view.flat_lines(border_of(region, even_plan(region, 1).nodes().X), closed=True))
        if frame.has_land:
            found["land"] = _flat(view.flat_lines(land_curves(*view.reach())))
    elif (curves := region.border_curves) is not None:
        closed = [np.vstack([view.forward(curve), view.forward(curve[:1]), [[np.nan, np.nan]]]) for curve in curves]
        found["border"] = _flat(np.vstack(closed))
    return found


def _ratio(view: View, x: FloatArray, y: FloatArray) -> float:
    """How long a unit of y is for one of x."""
    if view.shape is None:
        return 1.0
    return float(view.shape * (x[-1] - x[0]) / (y[-1] - y[0]))


def _axis_names(frame: Frame) -> list[str]:
    """The two angles; which right ascension it is."""
    return [f"{one} (ICRS)" if frame == ICRS else one for one in frame.coordinates]


def _degrees(frame: Frame) -> str:
    """How the page labels degrees: as those of the sky, of the Earth, or plain."""
    return "sky" if frame.is_sky else frame.name


def _upper(text: str) -> str:
    return escape(text[0].upper() + text[1:])


def _caption(fitted: Mapped, other: Mapped | None, *, first: bool) -> str:
    """The name of a map, and whether it was chosen."""
    name = _upper(full_name(fitted))
    if other is None:
        return name
    if first:
        likelier = fitted.held_out_ >= other.held_out_
        why = "it predicts points that were held out better" if likelier else "because it was asked for"
        return f'{name} <span class="chosen">chosen</span> <span class="why">{why}</span>'
    return f'{name} <span class="why">for comparison</span>'


def _headline(regions: Sequence[HighestDensityRegion], density: RegionDensity, by: str) -> str:
    one = next((region for region in regions if region.share == 0.5), regions[0])
    share = 100.0 * one.area / density.area
    mass = "Half" if one.share == 0.5 else f"{100.0 * one.share:g} %"
    return (
        f"{mass} of the mass lies, by the {escape(by)}, in an area of <strong>{escape(one.area_text)}</strong>, "
        f"{share:.2g} % of the region that was observed."
    )


def _region_rows(regions: Sequence[HighestDensityRegion], density: RegionDensity) -> list[list[str]]:
    rows = [["share of the mass", "smallest area", "of the region", "density at its edge (1 = mean)"]]
    for one in regions:
        relative = float(np.exp(one.log_density) * density.area)
        rows.append(
            [f"{100.0 * one.share:g} %", one.area_text, f"{100.0 * one.area / density.area:.3g} %", f"{relative:.3g}"]
        )
    return rows


def _findings(fitted: Mapped, beside: Mapped | None, notes: Sequence[str]) -> list[tuple[str, str]]:
    """What to think of a map, in sentences: the kind and the text of each."""
    found = []
    if fitted.density_.region.has_border:
        text = "Outside the border nothing was observed: nothing is coloured there, and nothing is known."
        found.append(("note", text))
    if beside is not None and np.isfinite(fitted.held_out_) and np.isfinite(beside.held_out_):
        gain = fitted.held_out_ - beside.held_out_
        better, worse = (fitted, beside) if gain >= 0.0 else (beside, fitted)
        text = (
            f"The {better.map_name} predicts points that were held out better than the {worse.map_name}: their mean "
            f"log density is larger by {abs(gain):.2g}."
        )
        found.append(("good" if gain >= 0.0 else "warning", text))
    if not fitted.density_.errors_have_bias:
        text = (
            f"The band of the {fitted.map_name} contains chance alone, not the bias. Where there are no points it is "
            "narrow, and does not show how wrong the map may be there."
        )
        found.append(("note", text))
    found += [("warning", text) for text in fitted.cautions]
    return [*found, *(("note", text) for text in notes)]
