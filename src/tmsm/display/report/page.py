"""The page: everything in one file, everything from outside escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tmsm.display.frames import shown_in
from tmsm.display.plots.diagnostics import histograms
from tmsm.display.plots.marks import checked_marks
from tmsm.display.plots.style import COLOURS, POINTS
from tmsm.display.record import components_of
from tmsm.display.report.globe import globe_data
from tmsm.display.report.parts import filled_page, html_table, made_by_html
from tmsm.display.report.words import Finding, described, findings
from tmsm.display.summary import estimate_rows, facts_of, further_tables
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError
from tmsm.foundation.text import readable_share
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.row_weights import robust_weights, weightless_rows
from tmsm.manifolds.frames import Frame

__all__ = ["Section", "TableSection", "html_report"]

_LINE: dict[str, Any] = {"color": COLOURS[0], "width": 2, "shape": "hv"}
_PANEL: dict[str, Any] = {
    "yaxis": {"title": {"text": "points"}},
    "bargap": 0,
    "margin": {"l": 55, "r": 10, "t": 12, "b": 60},
    "legend": {"x": 0.98, "xanchor": "right", "y": 0.98},
    "font": {"size": 12},
}


# A table shows no more of the points that a robust fit leaves aside.
_MOST_OUTLIERS = 20


@dataclass(frozen=True)
class Section:
    """A chart of a report: heading, text, and traces and layout as plotly takes them."""

    title: str
    text: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


@dataclass(frozen=True)
class TableSection:
    """A table of a report: heading, text, and rows of cells, the first of which are the headings of the columns."""

    title: str
    text: str
    rows: Sequence[Sequence[str]]


def html_report(
    fits: Mapping[str, Fitted],
    *,
    title: str,
    made_by: Mapping[str, str] | None = None,
    frame: str | Frame | None = None,
    marks: Mapping[str, Any] | None = None,
    sections: Sequence[Section] = (),
    tables: Sequence[TableSection] = (),
    notes: Sequence[str] = (),
    reword: Callable[[str], str] | None = None,
) -> str:
    """A report on fits of the same points as one HTML page.

    Parameters
    ----------
    fits
        Label -> fitted estimator; the report is about the first, the others are drawn beside it.
    title
        Heading of the page.
    made_by
        Names and values of what made it: command, versions.
    frame
        What directions stand for: "earth", "icrs", "galactic" or "plain"; by default the frame of the rows.
    marks
        Other points to show, label -> one point (3,) or several (n, 3), such as a truth that is known.
    sections
        Charts to show below the estimates.
    tables
        Tables to show above them.
    notes
        What else a reader has to know, such as how many points were left out.
    reword
        A function that every sentence goes through; the command uses it to show its own options in place of Python
        names.
    """
    if not fits:
        raise InvalidInputError("There is no fit to report on.")
    say = (lambda text: text) if reword is None else reword
    first = shown_in(next(iter(fits.values())).result_, frame)
    found = {label: fit.result_.in_frame(first.frame) for label, fit in fits.items()}
    marked = checked_marks(marks, first.region.manifold)
    traces, layout, view, n_shown = globe_data(found, first.frame, marked)
    panels = _panels(first)
    found_out = [*findings(found, marked), *(Finding("note", note) for note in notes)]
    total = first.n_samples
    thinned = (
        "" if n_shown == total else f"Only {n_shown:,} of {total:,} points are drawn, so that the globe turns smoothly."
    )
    return filled_page(
        "template.html",
        {
            "globe": {"traces": traces, "layout": layout, "view": view},
            "panels": panels,
            "sections": [{"traces": list(one.traces), "layout": {**_PANEL, **one.layout}} for one in sections],
        },
        title=escape(title),
        headline=_headline(first),
        thinned=thinned,
        findings="\n".join(f'<li class="{f.kind}">{escape(say(f.text))}</li>' for f in found_out),
        tables="".join(_table_section(one, say) for one in tables),
        further="".join(_table_section(one, say) for one in _further(first)),
        estimates="\n".join(_estimates(label, fit) for label, fit in found.items()),
        facts=html_table(
            [("", ""), *((name, say(text)) for name, text in facts_of(first))], heading=False, css="facts"
        ),
        sections="".join(_section(k, section) for k, section in enumerate(sections)),
        panels="".join(f'<div class="panel" id="panel{k}"></div>' for k in range(len(panels))),
        made_by=made_by_html(made_by),
    )


def _headline(fit: Fit) -> str:
    params, centre = fit.params, fit.centre
    if fit.undetermined is not None:
        return "<strong>The data do not determine a centre.</strong>"
    if components := [one for one in components_of(fit) if "centre" in one]:
        return _components_headline(fit, components)
    if centre is None or centre.is_axis:
        return escape(fit.title)
    error = fit.std_errors[centre.name] if fit.covariance is not None else None
    where = "" if fit.regression is None else "At the mean of the covariates the centre lies at"
    text = f"{where or 'The centre lies at'} <strong>{escape(fit.frame.place(params[centre.name], error))}</strong>"
    if fit.skewed() is not None:
        reach = fit.frame.length(fit.confidence_region(centre.name, 0.95).half_axes[0], digits=2)
        text += f", or up to {reach} from there (95 % confidence region)"
    elif error is not None:
        text += f", with a standard error of {fit.frame.length(error, digits=2)}"
    if "concentration" in params:
        text += f"; concentration {_number(params['concentration'])}"
        if error is not None and (spread := fit.std_errors["concentration"]) > 0.0:
            text += f" ± {_number(spread, 2)}"
        lengths = [one.value for one in fit.model.readings(params) if one.kind == "length"]
        if lengths and max(lengths) < 0.5 * np.pi:
            text += f" (one sigma: {fit.frame.lengths(lengths, digits=2)})"
    return text + "."


def _components_headline(fit: Fit, components: Sequence[Mapping[str, Any]]) -> str:
    """Where the centres of a mixture lie, with their shares."""
    places = []
    for one in components:
        error = one["centre_std_error"]
        place = escape(fit.frame.place(np.array(one["centre"]), error))
        away = "" if error is None else f", standard error {fit.frame.length(error, digits=2)}"
        places.append(f"<strong>{place}</strong> ({readable_share(one['share'])} of the whole{away})")
    listed = places[0] if len(places) == 1 else f"{', '.join(places[:-1])} and {places[-1]}"
    return f"{'The centre lies' if len(places) == 1 else 'The centres lie'} at {listed}."


def _section(k: int, section: Section) -> str:
    return (
        f'<h2>{escape(section.title)}</h2><p>{escape(section.text)}</p><div class="panel chart" id="section{k}"></div>'
    )


def _table_section(section: TableSection, say: Callable[[str], str]) -> str:
    text = f'<p class="caption">{escape(say(section.text))}</p>' if section.text else ""
    return f"<h2>{escape(section.title)}</h2>{text}{html_table(section.rows)}"


def _further(fit: Fit) -> list[TableSection]:
    """Tables that only some fits have: of covariates, and of the points that a robust fit leaves aside."""
    titles = ("Coefficients of the covariates", "How the centre moves")
    found = [TableSection(title, *table) for title, table in zip(titles, further_tables(fit), strict=False)]
    weights, few = robust_weights(fit), weightless_rows(fit)
    if weights is None or few is None or not few.any():
        return found
    X = fit.kept.sample().X
    order = np.argsort(weights, kind="stable")[: min(int(few.sum()), _MOST_OUTLIERS)]
    rows = [("place", "weight (the mean is 1)")]
    rows += [(fit.frame.place(X[k], np.radians(0.01)), f"{weights[k]:.2g}") for k in order]
    shown = f"The {len(order)} with the least of {int(few.sum()):,}." if len(order) < few.sum() else ""
    return [*found, TableSection("Points with nearly no weight", shown, rows)]


def _number(value: float, digits: int = 4) -> str:
    """Some digits, and no exponent before millions."""
    return f"{value:,.0f}" if 10.0**digits <= abs(value) < 1e7 else f"{value:.{digits}g}"


def _estimates(label: str, fit: Fit) -> str:
    heading = f"<h3>{escape(label[:1].upper() + label[1:])}: {escape(described(fit))}</h3>"
    return heading + html_table(estimate_rows(fit))


def _panels(fit: Fit) -> list[dict[str, Any]]:
    try:
        found = histograms(fit)
    except (EstimationError, InvalidInputError):  # the model cannot be drawn from inside the region
        return []
    panels: list[dict[str, Any]] = []
    for one in found:
        middle = 0.5 * (one.edges[1:] + one.edges[:-1])
        low, high = np.maximum(one.expected - one.error, 0.0), one.expected + one.error
        line = {"x": one.edges.tolist(), "type": "scatter", "mode": "lines"}
        band = {**line, "line": {"width": 0, "shape": "hv"}, "showlegend": False, "hoverinfo": "skip"}
        bars = {"x": middle.tolist(), "y": one.observed.tolist(), "marker": {"color": POINTS}, "opacity": 0.55}
        traces = [
            {**bars, "type": "bar", "name": "points"},
            {**band, "y": _steps(low)},
            {**band, "y": _steps(high), "fill": "tonexty", "fillcolor": "rgba(0,114,178,0.2)"},
            {**line, "y": _steps(one.expected), "name": "expected", "line": _LINE},
        ]
        layout: dict[str, Any] = {**_PANEL, "xaxis": {"title": {"text": one.title}, "zeroline": False}}
        panels.append({"traces": traces, "layout": layout})
    return panels


def _steps(values: FloatArray) -> list[float]:
    """Values of bins at their edges, from each to the next."""
    return [*values.tolist(), float(values[-1])]
