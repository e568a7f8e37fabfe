"""``tmsm demo``: the centre of the Milky Way, from the globular clusters that a northern observatory can see."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tmsm.foundation.arrays import FloatArray

if TYPE_CHECKING:
    from tmsm.display.report import Section
    from tmsm.estimators.base import Estimator

__all__ = ["demo"]

# Sagittarius A*, right ascension and declination in degrees.
_TRUTH_AT = (266.417, -29.008)
_LIMIT = -20
_LIMITS = range(-34, 1, 2)
_NAMES = (
    "score matching (default weight)",
    "score matching (paper's weight)",
    "exact likelihood",
    "ignoring the border",
)
_FILES = ("report.html", "sky.png", "curve.png", "diagnostics.png")

_QUESTION = "Where is the centre of the Milky Way, seen from the north?"
_COMMENT = """
Globular clusters surround the centre of the Galaxy, which Harlow Shapley found from them in 1918. A fit that ignores
the border of the view puts the centre into the middle of what was seen. Score matching takes the border of the view
into account, and finds the centre outside. At this limit it happens to be closer than its standard error suggests; the
table above shows all limits."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the pictures.", file_okay=False)] = Path(
        "tmsm-demo"
    ),
) -> None:
    """Find the centre of the Milky Way from the globular clusters that can be seen from the north."""
    from tmsm.cli.outputs import check_outputs
    from tmsm.cli.screen import made_by, show_table
    from tmsm.cli.streams import emit
    from tmsm.datasets import load_globular_clusters
    from tmsm.display.plots import FitDisplay
    from tmsm.display.report import html_report
    from tmsm.display.report.words import distance_between
    from tmsm.foundation.errors import MissingDependencyError
    from tmsm.foundation.text import readable_p
    from tmsm.foundation.whole_files import write_text, write_whole
    from tmsm.manifolds.coordinates import lonlat_to_xyz
    from tmsm.manifolds.frames import ICRS

    check_outputs([], {name: out / name for name in _FILES})
    clusters, truth = load_globular_clusters(), lonlat_to_xyz(*_TRUTH_AT)
    seen = clusters.declination > _LIMIT
    emit(
        f"{_QUESTION}\n"
        f"{seen.sum()} of {len(clusters)} globular clusters lie north of declination −{-_LIMIT}°; the others are "
        "not used.\n"
        f"The truth: Sagittarius A*, at {ICRS.place(truth)}, outside the region that was seen.\n"
    )
    fits = _fits(clusters.X[seen], _LIMIT)
    rows = [("", "centre", "std. error", "to Sagittarius A*", "in the 95 % region")]
    for label, fit in fits.items():
        mean, error = fit.params_.mean_direction, fit.std_errors_.mean_direction
        away, held = distance_between(mean, truth, ICRS), "yes" if fit.covers(truth) else "no"
        rows.append((label, ICRS.place(mean), ICRS.length(error), away, held))
    show_table("Von Mises–Fisher", rows)
    curve = {limit: _errors(clusters.X[clusters.declination > limit], limit, truth) for limit in _LIMITS}
    counts = {limit: int((clusters.declination > limit).sum()) for limit in _LIMITS}
    emit("")
    show_table("Distance to Sagittarius A*, wherever the view ends", _curve_rows(curve, counts))
    emit(_COMMENT)
    first = next(iter(fits.values()))
    if (goodness := first.goodness_of_fit_) is not None:
        emit(f"Goodness of fit of the family: {readable_p(goodness.p_value)}.")

    if any(find_spec(name) is None for name in ("contourpy", "matplotlib", "plotly")):
        raise MissingDependencyError(
            "The report and the pictures need matplotlib and plotly: pip install 'tmsm[plot,report]'."
        )
    marks = {"Sagittarius A*": truth, "clusters that were not seen": clusters.X[~seen]}
    shown = {name: fit for name, fit in fits.items() if "g =" not in name}
    page = html_report(
        shown, title=_QUESTION, made_by=made_by(), frame="icrs", marks=marks, sections=[_section(curve, counts)]
    )
    write_text(out / "report.html", page)
    figures = {
        "sky.png": FitDisplay.from_estimators(shown, frame="icrs", marks=marks, density=False).figure_,
        "curve.png": _curve_figure(curve),
        "diagnostics.png": first.plot_diagnostics().figure_,
    }
    for name, figure in figures.items():
        write_whole(out / name, partial(figure.savefig, format="png", dpi=130))
    emit(f"\nOpen {out / 'report.html'} in a browser. Pictures: {', '.join(str(out / name) for name in figures)}")


def _fits(X: FloatArray, limit: float) -> dict[str, Estimator]:
    """By name, the fits of what is seen north of a declination."""
    from tmsm.estimators import NaiveMLE, ScoreMatching, TruncatedMLE
    from tmsm.models import VonMisesFisher
    from tmsm.regions import Cap

    model, view = VonMisesFisher(), Cap([0.0, 0.0, 1.0], np.radians(90.0 - limit))
    estimators: list[Estimator] = [
        ScoreMatching(model, view),
        ScoreMatching(model, view, "geodesic"),
        TruncatedMLE(model, view),
        NaiveMLE(model),
    ]
    return {name: estimator.fit(X) for name, estimator in zip(_NAMES, estimators, strict=True)}


def _errors(X: FloatArray, limit: float, truth: FloatArray) -> FloatArray:
    """How far each fit is from the truth, in degrees."""
    from tmsm.manifolds import Sphere

    means = np.array([fit.params_.mean_direction for fit in _fits(X, limit).values()])
    return np.degrees(Sphere(2).geodesic_distance(means, np.broadcast_to(truth, means.shape)))


def _curve_rows(curve: dict[int, FloatArray], counts: dict[int, int]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("seen north of", "clusters", *_NAMES)]
    for limit, errors in curve.items():
        rows.append((f"{limit}°".replace("-", "−"), str(counts[limit]), *(f"{error:.1f}°" for error in errors)))
    errors = np.array(list(curve.values()))
    rows.append(("mean", "", *(f"{error:.1f}°" for error in errors.mean(axis=0))))
    better = (errors[:, :-1] < errors[:, -1:]).sum(axis=0)
    rows.append(("closer than ignoring the border", "", *(f"{k} of {len(errors)}" for k in better), ""))
    return rows


def _section(curve: dict[int, FloatArray], counts: dict[int, int]) -> Section:
    """The curve, for the report."""
    from tmsm.display.plots.style import COLOURS
    from tmsm.display.report import Section

    errors = np.array(list(curve.values()))
    limits, seen = list(curve), [f"{n} clusters" for n in counts.values()]
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": limits,
            "y": errors[:, k].round(2).tolist(),
            "text": seen,
            "hovertemplate": "%{y:.1f}° with %{text}<extra>" + name + "</extra>",
            "line": {"color": colour, "dash": "dot" if "g =" in name else "solid"},
        }
        for k, (name, colour) in enumerate(zip(_NAMES, _colours(COLOURS), strict=True))
    ]
    layout: dict[str, Any] = {
        "legend": {"x": 0.02, "xanchor": "left", "y": 0.98, "bgcolor": "rgba(255,255,255,0.7)"},
        "margin": {"l": 55, "r": 15, "t": 15, "b": 60},
        "xaxis": {"title": {"text": "the view ends at this declination (degrees)"}, "zeroline": False},
        "yaxis": {"title": {"text": "distance to Sagittarius A* (degrees)"}, "rangemode": "tozero"},
        "shapes": [{"type": "line", "x0": _LIMIT, "x1": _LIMIT, "y0": 0, "y1": 1, "yref": "paper",
                    "line": {"color": "#9A9A9A", "dash": "dash", "width": 1}}],
    }  # fmt: skip
    better = int((errors[:, 0] < errors[:, -1]).sum())
    text = (
        f"The same at {len(errors)} limits. With its default weight score matching is nearer to the truth than the fit "
        f"that ignores the border {better} times; the mean distance is {errors[:, 0].mean():.1f}° instead of "
        f"{errors[:, -1].mean():.1f}°. The dashed line is the limit of this report."
    )
    return Section("Wherever the view ends", text, traces, layout)


def _curve_figure(curve: dict[int, FloatArray]) -> Any:
    from tmsm.display.plots.style import COLOURS, MARKERS, pyplot

    ax, errors = pyplot().subplots(figsize=(7.0, 4.4), layout="constrained")[1], np.array(list(curve.values()))
    for k, (name, colour) in enumerate(zip(_NAMES, _colours(COLOURS), strict=True)):
        style = {"ls": ":" if "g =" in name else "-", "marker": MARKERS[k], "ms": 5, "color": colour}
        ax.plot(list(curve), errors[:, k], label=name, **style)
    ax.axvline(_LIMIT, color="0.6", ls="--", lw=1)
    ax.set(xlabel="the view ends at this declination (degrees)", ylabel="distance to Sagittarius A* (degrees)")
    ax.set_ylim(bottom=0.0)
    ax.grid(color="0.9", lw=0.5)
    ax.legend(frameon=False, fontsize=9)
    return ax.figure


def _colours(colours: tuple[str, ...]) -> tuple[str, ...]:
    """The colours of the four fits: as on the map, where the second is left out."""
    return colours[0], colours[0], colours[1], colours[2]
