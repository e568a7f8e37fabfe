"""A density map inside its border, on a globe, a map or a plane; nothing outside is coloured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from tmsm.display.plots.fit_display import draw_border, draw_land, draw_marks
from tmsm.display.plots.marks import checked_marks
from tmsm.display.plots.scene import view_of
from tmsm.display.plots.style import COLOURS, POINTS, axes_for, legend_below
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_option
from tmsm.inference.delta import critical_square
from tmsm.manifolds import View
from tmsm.manifolds.frames import Frame, frame_named
from tmsm.maps.nodes import even_plan
from tmsm.maps.region_density import RegionDensity
from tmsm.regions import Region

__all__ = ["MapDisplay", "values_on", "view_of_map"]

_GRID = 400
_MAX_POINTS = 20_000
# Densities that differ by more than this between the densest tenth and the middle are shown on a log scale.
_WIDE = 30.0
# … and where a peak is so many times as high as nine tenths of the region.
_PEAKED = 15.0
_LOWEST = 1e-4  # of the highest, on a log scale
_KINDS = ("density", "error")
_LEVEL = 0.95


@final
class MapDisplay:
    """A picture of a density map.

    Parameters
    ----------
    density
        The density.
    rows
        Points that it was made from, shape (n, D); None where there are none to draw.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn.
    figure_ : matplotlib.figure.Figure
        The figure of those axes.
    view_ : View
        From points to the picture: ``display.view_.forward(X)``.
    """

    def __init__(self, density: RegionDensity, rows: FloatArray | None = None) -> None:
        self.density = density
        self.rows = rows

    def plot(
        self,
        ax: Any = None,
        *,
        what: str = "density",
        view: str | None = None,
        rows: bool = False,
        shares: Sequence[float] = (0.5, 0.9),
        frame: str | Frame | None = None,
        marks: Mapping[str, Any] | None = None,
        land: bool | None = None,
        highest: float | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        what
            "density", in units of its mean over the region; or "error", the factor of its 95 % band. The band of a
            kernel map accounts for chance only: it is narrow where there are no points, and does not include the bias
            there.
        view
            On S²: "globe", "map" or a projection of pyproj, as in `FitDisplay.plot`.
        rows
            Whether to draw the points.
        shares
            Contours that hold these shares of the mass.
        frame
            What directions on S² stand for: "earth", "icrs", "galactic" or "plain"; by default as the rows have it.
        marks
            Other points to show, label -> one point or several.
        land
            Whether to draw coastlines; by default on the Earth, unless the picture is too small for them.
        highest
            The density at the upper end of the colours; by default the highest there is.
        legend
            Whether to explain the signs.

        Returns
        -------
        self
        """
        kind = check_option(what, _KINDS, "what")
        density, region = self.density, self.density.region
        meaning = frame_named(frame) if isinstance(frame, str) else density.frame if frame is None else frame
        others = checked_marks(marks, region.manifold)
        inside = even_plan(region, 1).nodes().X
        if view is None and region.manifold.has_longitudes and density.area > 2.0 * np.pi * (1.0 + 1e-6):
            view = "map"  # a globe would hide most of it
        self.view_: View = view_of_map(view, region, inside, meaning)
        self.ax_ = axes_for(self.view_.shape) if ax is None else ax
        if ax is None and meaning.is_sky:
            self.ax_.set_title(f"T{meaning.title[1:]}", fontsize=9)
        self.figure_ = self.ax_.figure
        self.view_.prepare(self.ax_)
        if meaning.has_land if land is None else land:
            draw_land(self.ax_, self.view_, always=land is True)
        x, y, logs = values_on(self.view_, density)
        if kind == "density":
            self._draw_density(x, y, logs, highest)
        else:
            self._draw_error(x, y)
        if shares:
            self._draw_contours(x, y, logs, shares, "white" if kind == "density" else COLOURS[0])
        if rows and self.rows is not None:
            shown = self.rows[:: -(-len(self.rows) // _MAX_POINTS)]
            size = 8.0 if len(shown) < 1000 else 2.0
            colour = "white" if kind == "density" else POINTS
            style = {
                "color": colour,
                "edgecolors": "black",
                "linewidths": 0.2,
                "alpha": 0.7,
                "rasterized": True,
                "zorder": 2.2,
            }
            self.view_.scatter(self.ax_, shown, s=size, label=f"rows ({len(shown):,})", **style)
        if region.has_border:
            draw_border(self.ax_, self.view_, region)
        draw_marks(self.ax_, self.view_, others)
        self.legend_ = None
        if legend:
            self.legend_ = legend_below(self.ax_) if ax is None else self.ax_.legend(frameon=False, fontsize=9)
        return self

    def _draw_density(self, x: FloatArray, y: FloatArray, logs: FloatArray, highest: float | None) -> None:
        from matplotlib.colors import LogNorm, Normalize

        values = np.exp(logs) * self.density.area
        known = values[np.isfinite(values)]
        top = float(known.max(initial=1e-300)) if highest is None else highest
        middle, dense = (float(one) for one in np.quantile(known, (0.5, 0.9))) if known.size else (1.0, 1.0)
        wide = max(dense, top / 20.0) > _WIDE * max(middle, 1e-300) or top > _PEAKED * max(dense, 1e-300)
        norm = LogNorm(_LOWEST * top, top, clip=True) if wide else Normalize(0.0, top)
        self._draw_values(x, y, values, "viridis", norm, "density (1 = mean of the region)")

    def _draw_error(self, x: FloatArray, y: FloatArray) -> None:
        from matplotlib.colors import Normalize

        reach = float(np.sqrt(critical_square(1, _LEVEL)))
        _, _, errors = values_on(self.view_, self.density, errors=True)
        factor = np.exp(reach * errors)
        known = factor[np.isfinite(factor)]
        top = float(np.clip(np.quantile(known, 0.98) if known.size else 2.0, 1.2, 20.0))
        words = "95 % band: times or divided by"
        if not self.density.errors_have_bias:
            words += "\n(chance alone, without bias)"
        self._draw_values(x, y, factor, "magma_r", Normalize(1.0, top), words)

    def _draw_values(
        self, x: FloatArray, y: FloatArray, values: FloatArray, colours: str, norm: Any, words: str
    ) -> None:
        drawn = self.ax_.pcolormesh(
            x, y, np.ma.masked_invalid(values), cmap=colours, norm=norm, shading="auto", rasterized=True, zorder=0.6
        )
        self.figure_.colorbar(drawn, ax=self.ax_, label=words, shrink=0.75, pad=0.02)

    def _draw_contours(
        self, x: FloatArray, y: FloatArray, logs: FloatArray, shares: Sequence[float], colour: str
    ) -> None:
        levels = sorted({self.density.level_of(float(share)).log_density for share in shares})
        seen = [one for one in levels if np.nanmin(logs) < one < np.nanmax(logs)]
        if seen:
            self.ax_.contour(
                x,
                y,
                np.ma.masked_invalid(logs),
                levels=seen,
                colors=colour,
                linewidths=0.9,
                linestyles="solid",
                zorder=2,
            )
        told = ", ".join(f"{100.0 * share:g}" for share in sorted(shares))
        grey = "#BBBBBB" if colour == "white" else colour
        self.ax_.plot([], [], color=grey, lw=1.2, label=f"smallest areas with {told} % of the mass")


def view_of_map(view: str | None, region: Region, inside: FloatArray, frame: Frame) -> View:
    """The view that is asked for, or that suits points inside a region (n, D); an error where there is no picture."""
    if view is None:
        try:
            return view_of(None, region, inside, [], [], frame)
        except InvalidInputError:
            raise InvalidInputError(
                f"There are no pictures and pages of maps on {region.manifold!r}, which has no chart in the plane. "
                "predict gives the density at points, and sample draws from it."
            ) from None
    return view_of(view, region, inside, [], [], frame)


def values_on(
    view: View, density: RegionDensity, n: int = _GRID, *, errors: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X (n,), y (n,) and the log density, or its standard error, on their grid (n, n); NaN outside the region."""
    x, y, X = view.grid(n)
    seen = np.isfinite(X).all(axis=-1)
    values = np.full(seen.shape, np.nan)
    points = X[seen]
    inside = density.region.signed_distance(np.asfortranarray(points))[0] > 0.0
    found = np.full(len(points), np.nan)
    found[inside] = (density.log_errors if errors else density.log_density)(points[inside])
    values[seen] = found
    return x, y, values
