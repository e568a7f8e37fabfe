"""Colours that the colour-blind can tell apart (Okabe and Ito), and axes."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from tmsm.foundation.errors import MissingDependencyError

__all__ = ["BORDER", "COLOURS", "LAND", "MARKERS", "POINTS", "WEIGHTLESS", "axes_for", "legend_below", "pyplot"]

POINTS, BORDER, LAND, WEIGHTLESS = "#009E73", "#000000", "#9A9A9A", "#7A1F1F"
COLOURS = ("#0072B2", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_WIDTH = 6.2  # of a picture, in inches
_LETTERS = 12.0  # of a legend, in an inch
_LINE, _LINES = 0.19, 5.0  # height of one of its lines, and how many have room
MARKERS = ("o", "X", "D", "^", "s", "P")


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingDependencyError("Plots need matplotlib: pip install 'tmsm[plot]'.") from None
    return plt


def axes_for(shape: float | None) -> Any:
    """Axes of a figure of their own, with room for a picture so many times as high as wide and a legend below."""
    width, height = 7.0, 5.6
    if shape is not None:
        height = min(max(_WIDTH * shape, 1.6), 6.5)
        width = min(max(height / shape, 4.2), _WIDTH) + 0.8
        height += 1.5
    ax = pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    if shape is not None:
        # Where the picture does not fill its place, labels may use what is left, down to this.
        ax.figure.get_layout_engine().set(h_pad=0.2, w_pad=0.07)
    return ax


def legend_below(ax: Any) -> Any:
    """A legend of all that is drawn, under the axes, in as many columns as have room."""
    handles, labels = ax.get_legend_handles_labels()
    letters = int(_LETTERS * ax.figure.get_figwidth())
    texts = [fill(label, letters - 6, break_on_hyphens=False) for label in labels]
    longest = max((len(line) for text in texts for line in text.split("\n")), default=1) + 7
    columns = max(1, min(len(texts), letters // longest, 3))
    lines = sum(text.count("\n") + 1 for text in texts) / columns
    ax.figure.set_figheight(ax.figure.get_figheight() + _LINE * max(0.0, lines - _LINES))
    style = {"frameon": False, "fontsize": 9, "ncols": columns, "columnspacing": 1.2, "borderaxespad": 0.8}
    legend = ax.figure.legend(handles, texts, loc="outside lower center", **style)
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):  # points that are too small to tell their colour
            handle.set_sizes([16.0])
    return legend
