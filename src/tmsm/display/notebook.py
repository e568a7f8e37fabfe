"""A fit as a notebook shows it: its table and a small map, as HTML."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from tmsm.display.plots.fit_display import FitDisplay
from tmsm.display.summary import estimate_rows
from tmsm.inference.fit import Fit, Fitted

__all__ = ["embedded_picture", "html_of"]

_WIDTH, _HEIGHT, _DPI = 3.6, 3.0, 72
# A picture with more bytes is left out: a notebook keeps it for ever.
_LARGEST = 64_000


def html_of(fitted: Fitted) -> str:
    """The heading, the estimates, and a map where one can be drawn; everything escaped."""
    fit = fitted.result_
    rows = estimate_rows(fit)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows[1:])
    about = f"{fit.n_samples:,} rows" + ("" if fit.n_groups is None else f" in {fit.n_groups:,} groups")
    return (
        f"<div><strong>{escape(fit.heading)}</strong><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<small>{escape(about)}; summary() says more.</small>{_picture(fitted, fit)}</div>"
    )


def _cell(text: str) -> str:
    """A cell of the table; what is set in stays so."""
    return f"<td>{'&nbsp;' * (len(text) - len(text.lstrip()))}{escape(text.lstrip())}</td>"


def _picture(fitted: Fitted, fit: Fit) -> str:
    """The map as an image within the page; nothing where it cannot be drawn."""
    display = FitDisplay({"fit": fitted})
    return embedded_picture(lambda ax: display.plot(ax, legend=False, land=fit.frame.has_land), "map of the fit")


def embedded_picture(draw: Callable[[Any], Any], words: str) -> str:
    """What is drawn on small axes as an image within a page; nothing where it cannot be drawn."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained")
        canvas: Any = FigureCanvasAgg(figure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draw(figure.subplots())
            written = io.BytesIO()
            canvas.print_png(written)
    except Exception:  # a picture is an extra: without matplotlib, in many dimensions, there is none
        return ""
    data = written.getvalue()
    if len(data) > _LARGEST:
        return ""
    return f'<div><img alt="{words}" src="data:image/png;base64,{base64.b64encode(data).decode("ascii")}"></div>'
