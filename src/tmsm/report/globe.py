"""The globe as data for plotly: points, border, land, density, centres with their confidence regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tmsm.arrays import FloatArray
from tmsm.coordinates import xyz_to_lonlat
from tmsm.datasets import load_land
from tmsm.errors import EstimationError, InvalidInputError, MissingDependencyError
from tmsm.estimators.base import Estimator
from tmsm.manifolds import Sphere
from tmsm.plots.fit_display import mass_levels
from tmsm.plots.style import BORDER, COLOURS, POINTS
from tmsm.regions.base import Region

__all__ = ["MAX_POINTS", "globe_data", "region_of"]

# More points than this turn slowly in a browser.
MAX_POINTS = 4000
_SYMBOLS = ("circle", "x", "diamond", "triangle-up", "square", "cross")
_GRID = 181
_DRAWS = 40_000


def region_of(fits: Mapping[str, Estimator]) -> Region:
    """The region of the fits; the naive likelihood has none."""
    regions = [fit._fitted.kept.region for fit in fits.values()]
    return next((region for region in regions if region.has_border), regions[0])


def globe_data(fits: Mapping[str, Estimator]) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Traces, layout, and how many points are shown."""
    region, first = region_of(fits), next(iter(fits.values()))._fitted
    if region.manifold != Sphere(2):
        raise InvalidInputError(f"A report has a globe: it is for points on S², not on {region.manifold!r}.")
    X = first.kept.sample()
    shown = X[:: -(-len(X) // MAX_POINTS)]
    traces = [
        _lines(load_land().rings, "land", "#A8A29A", 0.7, legend=False),
        _markers(shown, "points", POINTS, 4, 0.55),
        _lines(_border(region), "border", BORDER, 1.4),
    ]
    density = _density_lines(first)
    if density:
        traces.append(_lines(density, "50 and 90 % of the fitted mass", COLOURS[4], 1.5, closed=False))
    middle, far = X.mean(axis=0), [X]
    for k, (label, fit) in enumerate(fits.items()):
        one, colour = fit._fitted, COLOURS[k % len(COLOURS)]
        centre = next((one.params[name] for name in ("mean_direction", "axis") if name in one.params), None)
        if centre is None:
            continue
        try:
            ellipse = fit.mean_direction_ellipse() if one.covariance is not None else None
        except (EstimationError, InvalidInputError):
            ellipse = None
        far.append(np.atleast_2d(centre))
        if ellipse is not None:
            traces.append(_lines([ellipse], f"{label}: 95 % region", colour, 2.0))
            far.append(ellipse)
        trace = _markers(np.atleast_2d(centre), f"{label}: centre", colour, 13, 1.0)
        trace["marker"] |= {"symbol": _SYMBOLS[k % len(_SYMBOLS)], "line": {"color": "white", "width": 1.5}}
        traces.append(trace)
        middle = middle + np.asarray(centre) / len(fits)
    return traces, _layout(middle if np.linalg.norm(middle) > 1e-6 else X[0], np.vstack(far)), len(shown)


def _layout(middle: FloatArray, everything: FloatArray) -> dict[str, Any]:
    middle = middle / np.linalg.norm(middle)
    lon, lat = xyz_to_lonlat(middle)
    # So near that nearly everything can be seen.
    angle = float(np.quantile(np.arccos(np.clip(everything @ middle, -1.0, 1.0)), 0.99))
    scale = float(np.clip(0.8 / np.sin(min(angle, 0.5 * np.pi)), 1.0, 20.0))
    grid = {"showgrid": True, "gridcolor": "#D8DEE6", "gridwidth": 0.6}
    return {
        "geo": {
            "projection": {"type": "orthographic", "rotation": {"lon": float(lon), "lat": float(lat)}, "scale": scale},
            "visible": False,  # no base layers: those would be fetched from the network
            "bgcolor": "rgba(0,0,0,0)",
            "lonaxis": {**grid, "dtick": 30},
            "lataxis": {**grid, "dtick": 30},
        },
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "legend": {"orientation": "h", "y": -0.02, "yanchor": "top", "font": {"size": 13}},
        "dragmode": "pan",
    }


def _markers(X: FloatArray, name: str, colour: str, size: float, opacity: float) -> dict[str, Any]:
    lon, lat = xyz_to_lonlat(X)
    return {
        "type": "scattergeo",
        "mode": "markers",
        "name": name,
        "lon": np.round(lon, 4).tolist(),
        "lat": np.round(lat, 4).tolist(),
        "marker": {"color": colour, "size": size, "opacity": opacity},
        "hovertemplate": "%{lat:.2f}°, %{lon:.2f}°<extra></extra>",
    }


def _lines(
    curves: Sequence[FloatArray], name: str, colour: str, width: float, *, closed: bool = True, legend: bool = True
) -> dict[str, Any]:
    lon: list[float | None] = []
    lat: list[float | None] = []
    for curve in curves:
        both = xyz_to_lonlat(np.vstack([curve, curve[:1]]) if closed else curve)
        lon += [*np.round(both[0], 3).tolist(), None]
        lat += [*np.round(both[1], 3).tolist(), None]
    return {
        "type": "scattergeo",
        "mode": "lines",
        "name": name,
        "lon": lon,
        "lat": lat,
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
        "showlegend": legend,
    }


def _border(region: Region) -> list[FloatArray]:
    """The border's own curves, or those where its distance is zero."""
    if not region.has_border:
        return []
    curves = region.border_curves
    if curves is not None:
        return curves
    middle = np.random.default_rng(0).standard_normal((_DRAWS, 3))
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    d = region.signed_distance(np.asfortranarray(middle))[0]
    centre = middle[np.argmax(d)]
    return _contours(lambda X: region.signed_distance(np.asfortranarray(X))[0], centre, [0.0])


def _density_lines(one: Any) -> list[FloatArray]:
    levels = mass_levels(one.model, one.params, one.theta)
    if levels is None:
        return []
    centre = next(
        (one.params[name] for name in ("mean_direction", "axis") if name in one.params), np.array([0, 0, 1.0])
    )
    return _contours(lambda X: one.model.log_kernel(X, one.theta), np.asarray(centre), levels)


def _contours(function: Any, centre: FloatArray, levels: Sequence[float]) -> list[FloatArray]:
    """Curves on the sphere where a function has some values, by the plane of angle and direction from a centre."""
    try:
        import contourpy
    except ImportError:
        raise MissingDependencyError("Reports need contourpy and plotly: pip install 'tmsm[report]'.") from None
    frame = np.linalg.svd(centre[None, :])[2]
    frame[0] = centre
    half = np.linspace(-np.pi, np.pi, _GRID)
    u, v = (c.ravel() for c in np.meshgrid(half, half))
    angle = np.hypot(u, v)
    values = np.full(angle.shape, np.nan)
    seen = angle < np.pi * 0.999
    values[seen] = function(_from_plane(u[seen], v[seen], frame))
    lines: Any = contourpy.contour_generator(half, half, np.ma.masked_invalid(values.reshape(_GRID, _GRID)))
    return [_from_plane(line[:, 0], line[:, 1], frame) for level in levels for line in lines.lines(level)]


def _from_plane(u: FloatArray, v: FloatArray, frame: FloatArray) -> FloatArray:
    angle = np.hypot(u, v)
    share = np.sinc(angle / np.pi)  # sin(angle)/angle
    X: FloatArray = (
        np.cos(angle)[:, None] * frame[0] + (share * u)[:, None] * frame[1] + (share * v)[:, None] * frame[2]
    )
    return X
