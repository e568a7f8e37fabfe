"""Observed against expected: distances to the border and to the centre, whatever the dimension."""

from __future__ import annotations

from typing import Any, Self, final

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.errors import EstimationError, InvalidInputError
from tmsm.plots.style import COLOURS, POINTS, pyplot

__all__ = ["DiagnosticsDisplay"]

_DRAWS = 20_000
_BINS = 30


@final
class DiagnosticsDisplay:
    """Histograms of the rows against draws of the fitted model inside the region.

    Left: distance to the border, where a wrong border or rows missing next to it show.  Right: distance to the
    centre (the angle, on a sphere), where a wrong family shows.  Bars above the band are more rows than
    the model would give.

    Parameters
    ----------
    fit
        A fitted estimator.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        One or two.
    ax_ : matplotlib.axes.Axes
        The first of them.
    figure_ : matplotlib.figure.Figure
    """

    def __init__(self, fit: Any) -> None:
        self.fit = fit

    @classmethod
    def from_estimator(cls, fit: Any, **options: Any) -> DiagnosticsDisplay:
        """Draw; options are those of `plot`."""
        return cls(fit).plot(**options)

    def plot(self, axes: Any = None, *, random_state: int = 0) -> Self:
        """Draw.

        Parameters
        ----------
        axes
            As many matplotlib axes as there are panels; new ones by default.
        random_state
            Seed of the draws from the model.

        Returns
        -------
        self
        """
        one = self.fit._fitted
        region, X = one.kept.region, one.kept.sample()
        limit = region if region.has_border else None
        try:
            draws = one.model.sample(_DRAWS, limit, random_state=random_state, **one.params)
        except EstimationError as error:
            raise EstimationError(f"The fitted model cannot be drawn from inside the region: {error}") from None
        panels = []
        if region.has_border:
            both = [region.signed_distance(np.asfortranarray(rows))[0] for rows in (X, draws)]
            panels.append(("distance to the border", *both))
        centre = next((one.params[name] for name in ("mean_direction", "mean", "axis") if name in one.params), None)
        if centre is not None:
            both = [_from_centre(rows, np.asarray(centre), "mean" in one.params) for rows in (X, draws)]
            panels.append(("distance to the centre", *both))
        if not panels:
            raise InvalidInputError("This fit has neither a border nor a centre to measure distances from.")
        if axes is None:
            plt = pyplot()
            axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), layout="constrained", squeeze=False)[
                1
            ]
        self.axes_ = list(np.atleast_1d(axes).ravel())
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        for ax, (title, observed, expected) in zip(self.axes_, panels, strict=True):
            _draw_histograms(ax, title, observed, expected)
        return self


def _from_centre(X: FloatArray, centre: FloatArray, flat: bool) -> FloatArray:
    if flat:
        return np.asarray(np.linalg.norm(X - centre, axis=1))
    return np.asarray(np.arccos(np.clip(X @ centre, -1.0, 1.0)))


def _draw_histograms(ax: Any, title: str, observed: FloatArray, expected: FloatArray) -> None:
    edges = np.linspace(min(observed.min(), expected.min()), max(observed.max(), expected.max()), _BINS + 1)
    counts = np.histogram(observed, edges)[0]
    mean = np.histogram(expected, edges)[0] * (len(observed) / len(expected))
    ax.stairs(counts, edges, fill=True, color=POINTS, alpha=0.45, label="rows")
    ax.stairs(mean, edges, color=COLOURS[0], lw=1.6, label="expected")
    # Twice the Poisson error of the observed number, and that of the draws.
    error = 2.0 * np.sqrt(mean * (1.0 + len(observed) / len(expected)))
    ax.stairs(mean + error, edges, baseline=np.maximum(mean - error, 0.0), fill=True, color=COLOURS[0], alpha=0.2)
    ax.set(xlabel=title, ylabel="rows")
    ax.legend(frameon=False, fontsize=9)
