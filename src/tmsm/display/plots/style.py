"""Colours that the colour-blind can tell apart (Okabe and Ito), and axes."""

from __future__ import annotations

from typing import Any

from tmsm.foundation.errors import MissingDependencyError

__all__ = ["BORDER", "COLOURS", "LAND", "MARKERS", "POINTS", "new_axes", "pyplot"]

POINTS, BORDER, LAND = "#009E73", "#000000", "#9A9A9A"
COLOURS = ("#0072B2", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "X", "D", "^", "s", "P")


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingDependencyError("Plots need matplotlib: pip install 'tmsm[plot]'.") from None
    return plt


def new_axes(width: float = 7.0, height: float = 5.6) -> Any:
    """Axes of a figure of their own."""
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1]
