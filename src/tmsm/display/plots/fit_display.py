"""A fit, or several, on a globe, a map or a plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from tmsm.display.frames import shown_in
from tmsm.display.plots.estimates import DrawnCentre, drawn_centres, mass_levels
from tmsm.display.plots.land import land_curves
from tmsm.display.plots.marks import MARK_COLOURS, MARK_SHAPES, RING_COLOURS, Mark, checked_marks
from tmsm.display.plots.scene import view_of
from tmsm.display.plots.style import BORDER, COLOURS, LAND, MARKERS, POINTS, WEIGHTLESS, axes_for, legend_below
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.inference.centre_moves import CentrePath, centre_paths
from tmsm.inference.fit import Fit, Fitted
from tmsm.inference.row_weights import weightless_rows
from tmsm.manifolds import View
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.sphere_plane import SphereView
from tmsm.regions import Region

__all__ = [
    "FitDisplay",
    "distances_on_grid",
    "draw_border",
    "draw_land",
    "draw_marks",
    "region_of",
]

_MAX_POINTS = 20_000
_GRID = 300


@final
class FitDisplay:
    """A picture of the rows, the border, the estimates with their confidence regions, and the fitted density.

    Parameters
    ----------
    fits
        Label -> fitted estimator, all of the same rows; the density is that of the first.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn.
    figure_ : matplotlib.figure.Figure
        The figure of those axes.
    legend_ : matplotlib.legend.Legend or None
    view_ : View
        From points to the picture: ``display.view_.forward(X)``.

    Examples
    --------
    >>> import tmsm
    >>> model, region = tmsm.VonMisesFisher(), tmsm.Hemisphere([-1.0, 0.0, 0.0])
    >>> X = model.sample(500, region, random_state=0, mean_direction=[0.0, -1.0, 0.0], concentration=6.0)
    >>> fits = {"score matching": tmsm.ScoreMatching(model, region).fit(X), "naive": tmsm.NaiveMLE(model).fit(X)}
    >>> display = tmsm.FitDisplay.from_estimators(fits, view="globe")
    >>> display.figure_.savefig("picture.png")  # doctest: +SKIP
    """

    def __init__(self, fits: Mapping[str, Fitted]) -> None:
        if not fits:
            raise InvalidInputError("There is no fit to draw.")
        self.fits = dict(fits)

    @classmethod
    def from_estimator(cls, fit: Fitted, *, label: str | None = None, **options: Any) -> FitDisplay:
        """Draw one fit.

        Parameters
        ----------
        fit
            A fitted estimator.
        label
            What the legend calls it; by default the name of its class.
        **options
            Those of `plot`.
        """
        return cls({label or type(fit).__name__: fit}).plot(**options)

    @classmethod
    def from_estimators(cls, fits: Mapping[str, Fitted], **options: Any) -> FitDisplay:
        """Draw several fits.

        Parameters
        ----------
        fits
            Label -> fitted estimator, all of the same rows; the density is that of the first.
        **options
            Those of `plot`.
        """
        return cls(fits).plot(**options)

    def plot(
        self,
        ax: Any = None,
        *,
        view: str | None = None,
        level: float = 0.95,
        density: bool = True,
        by_component: bool = False,
        frame: str | Frame | None = None,
        marks: Mapping[str, Any] | None = None,
        land: bool | None = None,
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        view
            On S²: "globe", "map" (longitude and latitude), or a projection of pyproj such as "robin"; by default a
            globe for what is wide and a map for what is not.
        level
            Confidence level of the regions around mean directions.
        density
            Whether to draw contours that hold 50 and 90 % of the first fit's mass, without the background of a mixture.
        by_component
            Whether the colours of rows say to which component of the first fit they are most likely to belong.
        frame
            What directions on S² stand for: "earth", "icrs" or "galactic" (the sky, seen from inside), or "plain"; by
            default the frame of the rows.
        marks
            Other points to show, label -> one point (3,) or several (n, 3). A single point, such as a known truth, gets
            a star; several points get small rings.
        land
            Whether to draw coastlines; by default on the Earth, unless the picture is too small for them.
        legend
            Whether to explain the signs.

        Returns
        -------
        self
        """
        found = [fit.result_ for fit in self.fits.values()]
        region = region_of(found)
        meaning = shown_in(found[0], frame).frame
        others = checked_marks(marks, region.manifold)
        X = found[0].kept.sample().X
        drawn = {label: drawn_centres(one, level) for label, one in zip(self.fits, found, strict=True)}
        centres = [one.point for some in drawn.values() for one in some]
        centres += [mark.X[0] for mark in others if mark.is_single]
        curves = [ring for some in drawn.values() for one in some for ring in one.rings]
        paths = centre_paths(found[0], level) if region.manifold.dim == 2 else []
        curves += [path.points for path in paths]
        if density and region.manifold.is_closed and not region.manifold.has_longitudes:
            levels = mass_levels(found[0])
            curves += [] if levels is None else [levels.dense]  # contours end nowhere on a closed surface
        self.view_ = view_of(view, region, X, centres, curves, meaning)
        self.ax_ = axes_for(self.view_.shape) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.view_.prepare(self.ax_)
        if meaning.has_land if land is None else land:
            draw_land(self.ax_, self.view_, always=land is True)
        if not by_component or not self._draw_members(found[0]):
            self._draw_points(X, found[0].n_samples)
        if (few := weightless_rows(found[0])) is not None and few.any():
            style = {"color": WEIGHTLESS, "marker": "x", "s": 18, "linewidths": 1.1, "zorder": 1.5}
            self.view_.scatter(self.ax_, X[few], label=f"rows with nearly no weight ({few.sum():,})", **style)
        if region.has_border:
            draw_border(self.ax_, self.view_, region)
        if density and found[0].undetermined is None:
            self._draw_density(found[0])
        for k, (label, one) in enumerate(zip(self.fits, found, strict=True)):
            if one.undetermined is not None:
                self.ax_.plot([], [], ls="none", label=f"{label}: centre not determined")
            for j, centre in enumerate(drawn[label]):
                own = len(self.fits) == 1 or (by_component and k == 0)  # a colour for each component
                own_colour = j if centre.number is None else centre.number - 1
                self._draw_centre(f"{label}{centre.words(level)}", centre, own_colour if own else k)
        for k, path in enumerate(paths, start=len(self.fits)):
            self._draw_path(path, len(paths) > 1, k)
        draw_marks(self.ax_, self.view_, others)
        self.legend_ = None
        if legend:
            self.legend_ = legend_below(self.ax_) if ax is None else ax.legend(frameon=False, fontsize=9)
        return self

    def _draw_points(self, X: FloatArray, total: int) -> None:
        shown = X[:: -(-len(X) // _MAX_POINTS)]
        size = 14.0 if len(shown) < 1000 else 5.0 if len(shown) < 10_000 else 1.5
        note = f"{len(shown):,} of {total:,}" if len(shown) < total else f"{total:,}"
        hidden = np.mean(~np.isfinite(self.view_.forward(X)).all(axis=1))
        note += f", {100 * hidden:.0f} % of them not in the picture" if hidden >= 0.005 else ""
        style = {"color": POINTS, "alpha": 0.45, "linewidths": 0, "rasterized": True, "zorder": 1}
        self.view_.scatter(self.ax_, shown, s=size, label=f"rows ({note})", **style)

    def _draw_members(self, fit: Fit) -> bool:
        """The rows in the colours of their likeliest components; whether there are components."""
        X = fit.kept.sample().X
        shown = X[:: -(-len(X) // _MAX_POINTS)]
        posterior = fit.model.posterior_at(shown, fit.theta)
        if posterior is None:
            return False
        best, count = posterior.argmax(axis=1), len(fit.component_centres)
        size = 14.0 if len(shown) < 1000 else 5.0 if len(shown) < 10_000 else 1.5
        style = {"alpha": 0.5, "linewidths": 0, "rasterized": True, "zorder": 1, "s": size}
        for k in range(posterior.shape[1]):
            own = shown[best == k]
            if len(own):
                colour, name = (COLOURS[k % len(COLOURS)], f"component {k + 1}") if k < count else (LAND, "background")
                self.view_.scatter(self.ax_, own, color=colour, label=f"rows, {name} ({len(own):,})", **style)
        return True

    def _draw_density(self, fit: Fit) -> None:
        found = mass_levels(fit)
        if found is None:
            return
        x, y, values = _on_grid(self.view_, found.density.log_kernel)
        for level, width, line in zip(found.levels, (0.9, 1.5), ("--", "-"), strict=True):
            _draw_contour(self.ax_, x, y, values, level, colors=COLOURS[4], linewidths=width, linestyles=line, zorder=2)
        self.ax_.plot([], [], color=COLOURS[4], lw=1.2, label=f"50, 90 % of the {found.words}")

    def _draw_centre(self, label: str, centre: DrawnCentre, k: int) -> None:
        """In the k-th colour: that of the fit, or of the component where there is one fit; the first lie on top."""
        colour, marker, order = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)], 5.0 - 0.01 * k
        for ring in centre.rings:
            self.view_.line(self.ax_, ring, closed=True, color=colour, lw=1.6, zorder=4)
        flat = self.view_.forward(centre.point[None, :])
        if not np.isfinite(flat).all():
            self.ax_.plot([], [], marker=marker, color=colour, ls="none", label=f"{label} (on the other side)")
            return
        style = {"ms": 9, "mfc": colour, "mec": "white", "mew": 1.0, "ls": "none", "zorder": order}
        if centre.number is not None:  # several of one fit, which their numbers tell apart
            self.ax_.plot([], [], marker="o", label=label, **style)
            style["ms"], marker, label = 13, "o", "_"
            text = {"ha": "center", "va": "center_baseline", "color": "white", "fontsize": 8, "fontweight": "bold"}
            self.ax_.annotate(str(centre.number), flat[0], zorder=order + 0.005, **text)
        self.ax_.plot(*flat.T, marker=marker, label=label, **style)

    def _draw_path(self, path: CentrePath, others: bool, k: int) -> None:
        """Where the centre goes with a covariate: an arrow, with the confidence regions of both ends."""
        from matplotlib import patheffects

        colour = COLOURS[k % len(COLOURS)]
        rest = ", the other covariates at their mean" * others
        low, high = (f"{path.values[end]:.4g}" for end in (0, -1))
        label = f"centre as {path.covariate} goes from {low} to {high}{rest}"
        flat = self.view_.forward(path.points)
        if not np.isfinite(flat).all():
            flat = flat[np.isfinite(flat).all(axis=1)]
        self.view_.line(self.ax_, path.points, closed=False, color=colour, lw=2.0, label=label, zorder=4.2)
        if len(flat) < 3:
            return
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.0, "mutation_scale": 16, "shrinkA": 0, "shrinkB": 0}
        self.ax_.annotate("", xy=flat[-1], xytext=flat[-3], arrowprops=arrow, zorder=4.3)
        halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
        for ellipse, end, before, text in ((path.first, 0, 2, low), (path.last, -1, -3, high)):
            if ellipse is not None:
                self.view_.line(self.ax_, ellipse.ring, closed=True, color=colour, lw=1.1, ls=":", zorder=3.9)
            # Beyond the end, off the line.
            away = np.sign(flat[end] - flat[before]) * [5.0, 7.0]
            style = {"color": colour, "fontsize": 9, "fontweight": "bold", "path_effects": halo, "clip_on": True}
            style |= {"ha": "left" if away[0] > 0.0 else "right", "va": "center", "textcoords": "offset points"}
            self.ax_.annotate(text, flat[end], away, zorder=5.1, annotation_clip=True, **style)


def draw_border(ax: Any, view: View, region: Region) -> None:
    """The border of a region: its own curves, or where its distance is zero on a grid."""
    curves = region.border_curves
    if curves is not None and isinstance(view, SphereView):
        flat = view.flat_lines(curves, closed=True)
        ax.plot(*flat.T, color=BORDER, lw=1.1, label="border" + _beyond(flat, view), zorder=3)
        return
    if curves is not None:
        for k, curve in enumerate(curves):
            view.line(ax, curve, closed=True, color=BORDER, lw=1.1, label="border" if k == 0 else None, zorder=3)
        return
    drawn = _draw_contour(ax, *distances_on_grid(view, region), 0.0, colors=BORDER, linewidths=1.3, zorder=3)
    ax.plot([], [], color=BORDER, lw=1.1, label="border" if drawn else "border (beyond the picture)")


def _beyond(flat: FloatArray, view: SphereView) -> str:
    """Words for a line none of which is in the picture."""
    left, bottom, right, top = view.window
    with np.errstate(invalid="ignore"):
        seen = ((flat >= [left, bottom]) & (flat <= [right, top])).all(axis=1)
    return "" if seen.any() else " (beyond the picture)"


def draw_marks(ax: Any, view: View, marks: Sequence[Mark]) -> None:
    """Points beside a fit: a single one as a filled sign, several as small rings."""
    singles = [mark for mark in marks if mark.is_single]
    for k, mark in enumerate(singles):
        face, shape = MARK_COLOURS[k % len(MARK_COLOURS)], MARK_SHAPES[k // len(MARK_COLOURS) % len(MARK_SHAPES)]
        style = {
            "marker": shape,
            "ms": 16 if shape == "*" else 11,
            "mfc": face,
            "mec": "black",
            "mew": 0.8,
            "ls": "none",
            "zorder": 4.5,
        }
        outline = {**style, "mfc": "none", "zorder": 6}  # on top: an estimate may be right there
        flat = view.forward(mark.X)
        seen = np.isfinite(flat).all()
        label = mark.label if seen else f"{mark.label} (on the other side)"
        place = flat.T if seen else np.empty((2, 0))
        ax.plot(*place, label=label, **style)
        ax.plot(*place, **outline)
    for k, mark in enumerate(mark for mark in marks if not mark.is_single):
        shown = mark.X[:: -(-len(mark.X) // _MAX_POINTS)]
        size = 9.0 if len(shown) < 1000 else 4.0
        style = {"facecolors": "none", "edgecolors": RING_COLOURS[k % len(RING_COLOURS)], "linewidths": 0.5}
        label = f"{mark.label} ({len(mark.X):,})"
        view.scatter(ax, shown, s=size, label=label, rasterized=True, zorder=0.9, **style)


def draw_land(ax: Any, view: View, *, always: bool = False) -> None:
    """Coastlines that are fine enough for the picture, or all there are."""
    if isinstance(view, SphereView):
        view.lines(ax, land_curves(*view.reach(), always=always), color=LAND, lw=0.6, zorder=0.6)


def distances_on_grid(view: View, region: Region) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, y and the signed distance to the border on their grid; NaN beside the manifold."""
    return _on_grid(view, lambda X: region.signed_distance(np.asfortranarray(X))[0])


def _on_grid(view: View, function: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    x, y, X = view.grid(_GRID)
    seen = np.isfinite(X).all(axis=-1)
    values = np.full(seen.shape, np.nan)
    values[seen] = function(X[seen])
    return x, y, values


def _draw_contour(ax: Any, x: FloatArray, y: FloatArray, values: FloatArray, level: float, **style: Any) -> bool:
    """One contour, where it is within the picture at all; whether it is."""
    inside = bool(np.nanmin(values) < level < np.nanmax(values))
    if inside:
        ax.contour(x, y, values, levels=[level], **style)
    return inside


def region_of(fits: Sequence[Fit]) -> Region:
    """The region of fits of the same rows; the naive likelihood knows of none."""
    regions = [fit.region for fit in fits]
    return next((region for region in regions if region.has_border), regions[0])
