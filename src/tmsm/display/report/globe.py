"""The globe as data for plotly: points, border, land, density, centres with their confidence regions, marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmsm.display.plots.curves import angles_to, border_of, level_curves, unit_or
from tmsm.display.plots.estimates import DrawnCentre, Levels, drawn_centres, mass_levels
from tmsm.display.plots.fit_display import region_of
from tmsm.display.plots.land import FINE, FINEST, land_near
from tmsm.display.plots.marks import MARK_COLOURS, RING_COLOURS, Mark
from tmsm.display.plots.scene import fitting_border
from tmsm.display.plots.style import BORDER, COLOURS, POINTS, WEIGHTLESS
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.inference.centre_moves import CentrePath, centre_paths
from tmsm.inference.fit import Fit
from tmsm.inference.row_weights import weightless_rows
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.lonlat import lonlat_of
from tmsm.manifolds.sphere_plane import enclosing_cap
from tmsm.manifolds.sphere_views import HALF, Globe, side_of

__all__ = ["MAX_POINTS", "globe_data"]

# With so many points a browser without a graphics card turns the globe thirty times a second; with twice as many
# half as often.
MAX_POINTS = 2000
_SYMBOLS = ("circle", "x", "diamond", "triangle-up", "square", "cross")
_CLOSEST = 20_000.0  # a region of some hundred metres
_WIDE = np.radians(45.0)  # what reaches farther is shown on the whole globe
_ROOM = 1.12
_DENSEST = 3000  # points of a curve that are drawn in any case
_FINE_LAND = np.radians(12.0)  # round the window, where the finer coast is drawn


@dataclass(frozen=True)
class _Pen:
    """How points become traces: the frame, and the decimals of degrees and the step that the window can show."""

    frame: Frame
    digits: int
    step: float

    def degrees(self, X: FloatArray, digits: int | None = None) -> tuple[list[float], list[float]]:
        """Longitudes and latitudes to draw at; plotly has no mirror, so that on the sky east is where west was."""
        lon, lat = lonlat_of(X)
        lon = -lon if self.frame.is_sky else lon
        digits = self.digits if digits is None else digits
        return np.round(lon, digits).tolist(), np.round(lat, digits).tolist()

    def markers(self, X: FloatArray, name: str, **marker: Any) -> dict[str, Any]:
        lon, lat = self.degrees(X)
        error = np.radians(10.0 ** (1 - self.digits))
        return {
            "type": "scattergeo",
            "mode": "markers",
            "name": name,
            "lon": lon,
            "lat": lat,
            "customdata": [self.frame.place(x, error) for x in X],
            "marker": marker,
            "hovertemplate": "%{customdata}<extra></extra>",
        }

    def lines(
        self,
        curves: Sequence[FloatArray],
        name: str,
        colour: str,
        width: float,
        *,
        closed: bool = True,
        digits: int | None = None,
    ) -> dict[str, Any]:
        lon: list[float | None] = []
        lat: list[float | None] = []
        for curve in curves:
            curve = _thinned(curve, self.step)
            both = self.degrees(np.vstack([curve, curve[:1]]) if closed else curve, digits)
            lon += [*both[0], None]
            lat += [*both[1], None]
        return {
            "type": "scattergeo",
            "mode": "lines",
            "name": name,
            "lon": lon,
            "lat": lat,
            "line": {"color": colour, "width": width},
            "hoverinfo": "skip",
        }


@dataclass(frozen=True)
class _Window:
    """What the globe shows at first: its middle, the angle round it, and half its sides in units of the radius."""

    middle: FloatArray
    radius: float
    across: float
    up: float

    @staticmethod
    def over(X: FloatArray, centres: Sequence[FloatArray], curves: Sequence[FloatArray], frame: Frame) -> _Window:
        everything = np.vstack([X, *(np.atleast_2d(c) for c in centres), *curves])
        middle, radius = enclosing_cap(everything)
        if radius >= HALF:
            return _Window(side_of(X, np.vstack([np.empty((0, 3)), *centres])), radius, 1.0, 1.0)
        if radius >= _WIDE:
            return _Window(middle, radius, 1.0, 1.0)
        flat = Globe(middle, None, frame).forward(everything)
        across, up = np.nanmax(np.abs(flat), axis=0)
        return _Window(middle, max(radius, 1e-9), float(across), float(up))

    @property
    def scale(self) -> float:
        """How many times the globe is larger than the picture."""
        return float(np.clip(1.0 / (_ROOM * max(self.across, self.up, 1e-9)), 1.0, _CLOSEST))


def globe_data(
    fits: Mapping[str, Fit], frame: Frame, marks: Sequence[Mark] = ()
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any], int]:
    """Traces, layout, what the page needs to draw a graticule and a scale bar, and how many points are shown."""
    region, first = region_of(list(fits.values())), next(iter(fits.values()))
    if not region.manifold.has_longitudes:
        raise InvalidInputError(f"A report has a globe: it is for points on S², not on {region.manifold!r}.")
    X = first.kept.sample().X
    shown = X[:: -(-len(X) // MAX_POINTS)]
    drawn = {label: drawn_centres(one, 0.95) for label, one in fits.items()}
    single = [mark.X[0] for mark in marks if mark.is_single]
    curves = [ring for some in drawn.values() for one in some for ring in one.rings]
    paths = centre_paths(first)
    curves += [path.points for path in paths]
    places = [*(one.point for some in drawn.values() for one in some), *single]
    border = fitting_border(region, X, np.vstack([X, *(np.atleast_2d(c) for c in places), *curves]))
    window = _Window.over(X, places, [*curves, *border], frame)
    decimals = int(np.clip(np.ceil(4.0 - np.log10(np.degrees(window.radius))), 3, 9))
    pen = _Pen(frame, decimals, window.radius / _DENSEST)

    traces = _land(pen, window) if frame.has_land else []
    traces += [_rings(pen, mark, k) for k, mark in enumerate(mark for mark in marks if not mark.is_single)]
    traces.append(pen.markers(shown, "points", color=POINTS, size=4, opacity=0.55))
    if (few := weightless_rows(first)) is not None and few.any():
        far = X[few][:: -(-int(few.sum()) // MAX_POINTS)]
        traces.append(pen.markers(far, "points with nearly no weight", color=WEIGHTLESS, size=6, symbol="x"))
    if region.has_border:
        border = border or border_of(region, X)
        seen = any((angles_to(window.middle, curve) < 2.0 * window.radius).any() for curve in border)
        traces.append(pen.lines(border, "border" if seen else "border (zoom out to see it)", BORDER, 1.4))
    levels = mass_levels(first) if first.undetermined is None else None
    if levels is not None:
        lines = _density_lines(first, levels)
        traces.append(pen.lines(lines, f"50 and 90 % of the {levels.words}", COLOURS[4], 1.5, closed=False))
    traces += [_star(pen, mark, k) for k, mark in enumerate(mark for mark in marks if mark.is_single)]
    for k, path in enumerate(paths, start=len(fits)):
        traces += _path(pen, path, len(paths) > 1, k)
    for k, (label, some) in enumerate(drawn.items()):
        for j, centre in enumerate(some):
            traces += _centre(pen, label, centre, j if len(fits) == 1 else k)
    page: dict[str, Any] = {"frame": frame.name, "across": _ROOM * window.across, "up": _ROOM * window.up}
    page |= {"closest": _CLOSEST, "finest": FINEST}
    return traces, _layout(pen, window), page, len(shown)


def _layout(pen: _Pen, window: _Window) -> dict[str, Any]:
    (lon,), (lat,) = pen.degrees(window.middle[None, :], 9)
    rotation = {"lon": lon, "lat": lat}
    return {
        "geo": {
            "projection": {"type": "orthographic", "rotation": rotation, "scale": window.scale},
            "center": rotation,
            "visible": False,  # no base layers: those would be fetched from the network
            "bgcolor": "rgba(0,0,0,0)",
            # All of it: what is drawn is cut to the box round these.
            "lonaxis": {"range": [lon - 180.0, lon + 180.0]},
            "lataxis": {"range": [-90.0, 90.0]},
        },
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,  # the page has its own, which fits any width
        "dragmode": "pan",
    }


def _land(pen: _Pen, window: _Window) -> list[dict[str, Any]]:
    """Coastlines: fine ones near a small window, coarse ones beyond."""
    radius, style = window.radius, ("#A8A29A", 0.7)
    if np.degrees(radius) >= FINE:
        curves = land_near(window.middle, np.pi, "110m")
    else:
        near = radius + _FINE_LAND
        curves = land_near(window.middle, near, "50m")
        curves += land_near(window.middle, near, "110m", other_side=True)
    return [pen.lines(curves, "land", *style, closed=False, digits=2 if np.degrees(radius) >= FINE else 3)]


def _thinned(curve: FloatArray, step: float) -> FloatArray:
    """A curve of very many points without those that are closer to the one before than a step."""
    if len(curve) <= _DENSEST:
        return curve
    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1)))
    keep = np.append(True, np.diff(np.floor(length / step)) > 0)
    keep[-1] = True
    return np.asarray(curve[keep])


def _rings(pen: _Pen, mark: Mark, k: int) -> dict[str, Any]:
    """Several points that the fit did not see."""
    some = mark.X[:: -(-len(mark.X) // MAX_POINTS)]
    edge = {"color": RING_COLOURS[k % len(RING_COLOURS)], "width": 0.8}
    return pen.markers(some, mark.label, color="rgba(0,0,0,0)", size=4.5, opacity=0.8, line=edge)


def _star(pen: _Pen, mark: Mark, k: int) -> dict[str, Any]:
    colour, edge = MARK_COLOURS[k % len(MARK_COLOURS)], {"color": "black", "width": 1.0}
    return pen.markers(mark.X, mark.label, color=colour, size=16, opacity=1.0, symbol="star", line=edge)


def _centre(pen: _Pen, label: str, centre: DrawnCentre, k: int) -> list[dict[str, Any]]:
    """A centre in the k-th colour, and the border of its confidence region."""
    colour, name = COLOURS[k % len(COLOURS)], label
    if centre.number is not None:
        name = f"{label}, component {centre.number}"
    traces = [pen.lines(centre.rings, f"{name}: 95 % region", colour, 2.0)] if centre.rings else []
    edge = {"line": {"color": "white", "width": 1.5}, "symbol": _SYMBOLS[k % len(_SYMBOLS)]}
    size = 12 if centre.number is None else 17
    if centre.number is not None:
        edge["symbol"] = "circle"
    trace = pen.markers(centre.point[None, :], f"{name}: centre", color=colour, size=size, opacity=1.0, **edge)
    if centre.number is not None:
        trace |= {"mode": "markers+text", "text": [str(centre.number)], "textfont": {"color": "white", "size": 11}}
    return [*traces, trace]


def _path(pen: _Pen, path: CentrePath, others: bool, k: int) -> list[dict[str, Any]]:
    """Where the centre goes with a covariate, and the confidence regions of both ends."""
    colour, rest = COLOURS[k % len(COLOURS)], ", the others at their mean" * others
    low, high = (f"{path.values[end]:.4g}" for end in (0, -1))
    name, inner = f"centre as {path.covariate} goes from {low} to {high}{rest}", len(path.points) - 2
    line = pen.markers(path.points, name, color=colour, size=[7, *[0] * inner, 7], opacity=1.0)
    line |= {"mode": "lines+markers+text", "line": {"color": colour, "width": 3.0}}
    line |= {"text": [low, *[""] * inner, high], "textfont": {"color": colour, "size": 13}}
    line["textposition"] = ["bottom center", *["top center"] * (inner + 1)]
    shown = zip(path.values, line["customdata"], strict=True)
    line["customdata"] = [f"{path.covariate} {value:.4g}: {place}" for value, place in shown]
    rings = [one.ring for one in (path.first, path.last) if one is not None]
    if not rings:
        return [line]
    about = pen.lines(rings, f"95 % regions at {path.covariate} {low} and {high}", colour, 1.2)
    about["line"]["dash"] = "dot"
    return [about, line]


def _density_lines(one: Fit, found: Levels) -> list[FloatArray]:
    given = one.centre_point
    centre = unit_or(found.dense.mean(axis=0), found.dense[0]) if given is None else given
    reach = min(1.2 * angles_to(centre, found.dense).max(), np.pi)
    return level_curves(found.density.log_kernel, centre, found.levels, reach)
