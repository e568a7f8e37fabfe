"""The globe as data for plotly: points, border, land, density, centres with their confidence regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tmsm.datasets import load_land
from tmsm.display.plots.fit_display import centre_of, mass_levels, region_of, rings_of
from tmsm.display.plots.style import BORDER, COLOURS, POINTS
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.inference.fit import Fit
from tmsm.manifolds import Sphere
from tmsm.manifolds.coordinates import xyz_to_lonlat
from tmsm.regions import Region

__all__ = ["MAX_POINTS", "globe_data"]

# With so many points a browser without a graphics card turns the globe thirty times a second; with twice as many
# half as often.
MAX_POINTS = 2000
_SYMBOLS = ("circle", "x", "diamond", "triangle-up", "square", "cross")
_GRID = 181
_CLOSEST = 1000.0  # a region of some kilometres


def globe_data(fits: Mapping[str, Fit]) -> tuple[list[dict[str, Any]], dict[str, Any], int]:
    """Traces, layout, and how many points are shown."""
    region, first = region_of(list(fits.values())), next(iter(fits.values()))
    if not region.manifold.has_longitudes:
        raise InvalidInputError(f"A report has a globe: it is for points on S², not on {region.manifold!r}.")
    X = first.kept.sample().X
    shown = X[:: -(-len(X) // MAX_POINTS)]
    traces = [
        _lines(load_land().rings, "land", "#A8A29A", 0.7, legend=False),
        _markers(shown, "points", POINTS, 4, 0.55),
        _lines(_border(region, X), "border", BORDER, 1.4),
    ]
    density = _density_lines(first) if first.undetermined is None else []
    if density:
        traces.append(_lines(density, "50 and 90 % of the fitted mass", COLOURS[4], 1.5, closed=False))
    middle, far = X.mean(axis=0), [X]
    for k, (label, one) in enumerate(fits.items()):
        colour = COLOURS[k % len(COLOURS)]
        centre = centre_of(one)
        if centre is None:
            continue
        rings = rings_of(one, 0.95)
        far.append(np.atleast_2d(centre))
        if rings:
            traces.append(_lines(rings, f"{label}: 95 % region", colour, 2.0))
            far.extend(rings)
        trace = _markers(np.atleast_2d(centre), f"{label}: centre", colour, 13, 1.0)
        trace["marker"] |= {"symbol": _SYMBOLS[k % len(_SYMBOLS)], "line": {"color": "white", "width": 1.5}}
        traces.append(trace)
        middle = middle + centre / len(fits)
    return traces, _layout(middle if np.linalg.norm(middle) > 1e-6 else X[0], np.vstack(far)), len(shown)


def _layout(middle: FloatArray, everything: FloatArray) -> dict[str, Any]:
    middle = middle / np.linalg.norm(middle)
    lon, lat = xyz_to_lonlat(middle)
    # So near that nearly everything can be seen.
    angle = float(np.quantile(_angles(everything, middle), 0.99))
    scale = float(np.clip(0.8 / np.sin(min(angle, 0.5 * np.pi)), 1.0, _CLOSEST))
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
        "lon": np.round(lon, 5).tolist(),
        "lat": np.round(lat, 5).tolist(),
        "marker": {"color": colour, "size": size, "opacity": opacity},
        "hovertemplate": "%{lat:.3f}°, %{lon:.3f}°<extra></extra>",
    }


def _lines(
    curves: Sequence[FloatArray], name: str, colour: str, width: float, *, closed: bool = True, legend: bool = True
) -> dict[str, Any]:
    lon: list[float | None] = []
    lat: list[float | None] = []
    for curve in curves:
        both = xyz_to_lonlat(np.vstack([curve, curve[:1]]) if closed else curve)
        lon += [*np.round(both[0], 5).tolist(), None]
        lat += [*np.round(both[1], 5).tolist(), None]
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


def _border(region: Region, X: FloatArray) -> list[FloatArray]:
    """The border's own curves, or those where its distance is zero round the points."""
    if not region.has_border:
        return []
    curves = region.border_curves
    if curves is not None:
        return curves

    def distance(Y: FloatArray) -> FloatArray:
        return region.signed_distance(np.asfortranarray(Y))[0]

    centre = _unit(X.mean(axis=0), X[0])
    reach = 2.0 * _angles(X, centre).max()
    # Wide enough that all of the rim is outside.
    while reach < np.pi and (distance(_from_plane(*_rim(reach), _frame(centre))) > 0.0).any():
        reach *= 2.0
    return _contours(distance, centre, [0.0], min(reach, np.pi))


def _density_lines(one: Fit) -> list[FloatArray]:
    found = mass_levels(one.model, one.params, one.theta)
    if found is None:
        return []
    levels, dense = found
    given = centre_of(one)
    centre = _unit(dense.mean(axis=0), dense[0]) if given is None else given
    reach = min(1.2 * _angles(dense, centre).max(), np.pi)
    return _contours(lambda X: one.model.log_kernel(X, one.theta), centre, levels, reach)


def _contours(function: Any, centre: FloatArray, levels: Sequence[float], reach: float) -> list[FloatArray]:
    """Curves on the sphere where a function has some values, in the plane of angle and direction from a centre."""
    try:
        import contourpy
    except ImportError:
        raise MissingDependencyError("Reports need contourpy and plotly: pip install 'tmsm[report]'.") from None
    frame = _frame(centre)
    half = np.linspace(-reach, reach, _GRID)
    u, v = (c.ravel() for c in np.meshgrid(half, half))
    values = np.full(u.shape, np.nan)
    seen = np.hypot(u, v) < np.pi * 0.999
    values[seen] = function(_from_plane(u[seen], v[seen], frame))
    lines: Any = contourpy.contour_generator(half, half, np.ma.masked_invalid(values.reshape(_GRID, _GRID)))
    return [_from_plane(line[:, 0], line[:, 1], frame) for level in levels for line in lines.lines(level)]


def _unit(vector: FloatArray, otherwise: FloatArray) -> FloatArray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-9 else np.asarray(otherwise)


def _angles(X: FloatArray, centre: FloatArray) -> FloatArray:
    """Angles to a centre."""
    return Sphere(2).geodesic_distance(X, np.broadcast_to(centre, X.shape))


def _frame(centre: FloatArray) -> FloatArray:
    """The centre and two directions across, as rows."""
    frame: FloatArray = np.linalg.svd(centre[None, :])[2]
    frame[0] = centre
    return frame


def _rim(reach: float) -> tuple[FloatArray, FloatArray]:
    turn = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    return reach * np.cos(turn), reach * np.sin(turn)


def _from_plane(u: FloatArray, v: FloatArray, frame: FloatArray) -> FloatArray:
    angle = np.hypot(u, v)
    share = np.sinc(angle / np.pi)  # sin(angle)/angle
    X: FloatArray = (
        np.cos(angle)[:, None] * frame[0] + (share * u)[:, None] * frame[1] + (share * v)[:, None] * frame[2]
    )
    return X
