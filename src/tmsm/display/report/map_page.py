"""A density map as one HTML page: the map with a slider for its smoothing, its band, and the kernels beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from tmsm.display.map_summary import Mapped
from tmsm.display.plots.curves import border_of
from tmsm.display.plots.land import land_curves
from tmsm.display.plots.map_display import values_on
from tmsm.display.plots.marks import MARK_COLOURS, checked_marks
from tmsm.display.plots.scene import view_of
from tmsm.display.plots.style import BORDER, LAND, POINTS
from tmsm.display.report.parts import facts_html, filled_page, html_table, made_by_html
from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds import View
from tmsm.manifolds.frames import Frame, frame_named
from tmsm.manifolds.sphere_plane import SphereView
from tmsm.maps.highest import HighestDensityRegion
from tmsm.maps.nodes import even_plan
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.series_fit import SeriesFit

__all__ = ["html_map"]

_GRID = 170
_MAX_POINTS = 3000
_SHARES = (0.5, 0.9)
# Values are written as whole numbers: thousandths of a decimal power, and of a standard error.
_STEPS = 1000.0


def html_map(
    fitted: Mapped,
    *,
    title: str,
    path: SeriesFit | None = None,
    beside: Mapped | None = None,
    made_by: Mapping[str, str] | None = None,
    frame: str | Frame | None = None,
    marks: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    reword: Callable[[str], str] | None = None,
    chosen: Mapped | None = None,
) -> str:
    """A page about a map.

    Parameters
    ----------
    fitted
        The map.
    title
        Heading of the page.
    path
        The fit of a series, whose other smoothings a slider shows; None where there are none.
    beside
        Another map of the same rows.
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
    chosen
        Which of the two the areas of shares are of; by default the first.
    """
    say = (lambda text: text) if reword is None else reword
    density = fitted.density_
    meaning = frame_named(frame) if isinstance(frame, str) else density.frame if frame is None else frame
    manifold = density.region.manifold
    inside = even_plan(density.region, 1).nodes().X
    view = view_of("map" if manifold.has_longitudes else None, density.region, inside, [], [], meaning)
    x, y, logs = values_on(view, density, _GRID)
    seen = np.flatnonzero(np.isfinite(logs.ravel()))
    errors = values_on(view, density, _GRID, errors=True)[2].ravel()[seen]
    layers = _layers(view, fitted, path, seen)
    other = None if beside is None else _relative(values_on(view, beside.density_, _GRID)[2].ravel()[seen], beside)
    data = {
        "x": np.round(x, 5).tolist(),
        "y": np.round(y, 5).tolist(),
        "seen": seen.tolist(),
        "layers": layers,
        "chosen": next(k for k, layer in enumerate(layers) if layer["chosen"]),
        "errors": np.round(_STEPS * errors).astype(int).tolist(),
        "beside": other,
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
        "names": ["longitude", "latitude"] if manifold.has_longitudes else ["x₁", "x₂"],
    }
    best = fitted if chosen is None else chosen
    shown_in: Any = replace(best.density_, frame=meaning)  # type: ignore[type-var]
    regions = [region_of_share(shown_in, share) for share in _SHARES]
    findings = _findings(fitted, beside, notes)
    facts = [(name, say(text)) for name, text in fitted.facts()]
    beside_facts = [] if beside is None else [(name, say(text)) for name, text in beside.facts()]
    return filled_page(
        "map.html",
        data,
        title=escape(title),
        headline=_headline(regions, density, "" if beside is None else f" by {_name(best)}"),
        findings="\n".join(f'<li class="{kind}">{escape(say(text))}</li>' for kind, text in findings),
        regions=html_table(_region_rows(regions, density)),
        facts=facts_html(facts),
        kind=escape(type(fitted).__name__),
        beside_heading="" if beside is None else f"<h3>Beside it: {escape(type(beside).__name__)}</h3>",
        beside_facts=facts_html(beside_facts) if beside_facts else "",
        beside_name="" if beside is None else escape(_name(beside)),
        made_by=made_by_html(made_by),
    )  # fmt: skip


def region_of_share(density: RegionDensity, share: float) -> HighestDensityRegion:
    """The region of highest density that holds a share."""
    level = density.level_of(share)
    return HighestDensityRegion(share, level.log_density, level.area, density)


def _layers(view: View, fitted: Mapped, path: SeriesFit | None, seen: Any) -> list[dict[str, Any]]:
    """The map at every smoothing of its path, from smooth to rough; else the one that there is."""
    if path is None:
        values = values_on(view, fitted.density_, _GRID)[2].ravel()[seen]
        return [{"chosen": True, "values": _relative(values, fitted), "smoothing": None}]
    layers = []
    for k, one in enumerate(path.path.candidates):
        values = values_on(view, path.at(one), _GRID)[2].ravel()[seen]
        layers.append(
            {
                "chosen": k == path.path.best,
                "values": _relative(values, fitted),
                "smoothing": float(f"{one.smoothing:.3g}") if np.isfinite(one.smoothing) else None,
                "freedom": round(one.freedom, 1),
                "held_out": round(one.held_out, 5) if np.isfinite(one.held_out) else None,
            }
        )
    return layers


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


def _name(fitted: Mapped) -> str:
    return {"DensityMap": "the smooth map", "AdaptiveKernel": "kernels"}.get(type(fitted).__name__, "another map")


def _headline(regions: Sequence[HighestDensityRegion], density: RegionDensity, by: str) -> str:
    half = regions[0]
    share = 100.0 * half.area / density.area
    by = f",{escape(by)}," if by else ""
    return (
        f"Half of the mass lies{by} in <strong>{escape(half.area_text)}</strong>, {share:.2g} % of the region that was "
        "observed."
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
            f"Points that were held out are likelier under {_name(better)} than under {_name(worse)}, by "
            f"{abs(gain):.2g} in the log density of each."
        )
        found.append(("good" if gain >= 0.0 else "warning", text))
    status = fitted.facts()[-1][1].split(". ", 1)
    if len(status) > 1 and status[1].strip():
        found.append(("warning", status[1]))
    return [*found, *(("note", text) for text in notes)]
