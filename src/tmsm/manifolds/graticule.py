"""Meridians and parallels that suit a window, their labels, and round lengths for a scale bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.cut_lines import Box
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.lonlat import EARTH_RADIUS_KM, lonlat_of, point_at

__all__ = ["Graticule", "Label", "ScaleBar", "digits_of", "graticule_step", "place_labels", "scale_bar"]

_WIDEST = 30.0
_LINES = 9  # in a window, at most
_BAR = 0.25  # of a window's width, at most


def graticule_step(width: float) -> float:
    """Degrees between lines, for a window of some degrees: 30, 10, 5, 2, 1, 0.5, … with a few lines in it."""
    wanted = max(width, 1e-9) / _LINES
    if wanted > 10.0:
        return _WIDEST
    return _rounded(wanted, up=True)


def digits_of(step: float) -> int:
    """Decimals that tell multiples of a step apart."""
    return int(max(0.0, np.ceil(-np.log10(step) - 1e-9)))


def _rounded(value: float, *, up: bool = False) -> float:
    """The nearest of 1, 2, 5 × 10^k that is not larger, or not smaller."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = [m * power for m in (1.0, 2.0, 5.0, 10.0)]
    found = min(s for s in steps if s >= value * (1 - 1e-9)) if up else max(s for s in steps if s <= value * (1 + 1e-9))
    return float(f"{found:.12g}")


@dataclass(frozen=True)
class Graticule:
    """Meridians and parallels, all of them dense curves of points (m, 3), with their degrees."""

    meridians: tuple[tuple[float, FloatArray], ...]
    parallels: tuple[tuple[float, FloatArray], ...]
    lon_step: float
    lat_step: float

    @staticmethod
    def over(X: FloatArray) -> Graticule:
        """What crosses a neighbourhood of the points of a window, shape (n, 3)."""
        lon, lat = lonlat_of(X)
        west, east = _longitudes(lon)
        south, north = float(lat.min()), float(lat.max())
        lat_step = graticule_step(north - south)
        lon_step = graticule_step(east - west)
        # Squares, nearly, where both are counted in the same steps.
        if east - west < 300.0:
            lon_step = max(lon_step, lat_step)
            widest = np.cos(np.radians(min(abs(south), abs(north)) if south * north > 0 else 0.0))
            lat_step = max(lat_step, graticule_step((east - west) * float(widest)))
        across = np.linspace(max(west - lon_step, east - 360.0), min(east + lon_step, west + 360.0), 361)
        up = np.linspace(max(south - lat_step, -90.0), min(north + lat_step, 90.0), 181)
        whole = east - west >= 300.0
        across = np.linspace(west, west + 360.0, 361) if whole else across
        meridians = np.arange(np.ceil(across[0] / lon_step - 1e-9), np.floor(across[-1] / lon_step + 1e-9) + 1)
        if whole:
            meridians = meridians[: round(360.0 / lon_step)]
        parallels = np.arange(np.ceil(up[0] / lat_step - 1e-9), np.floor(up[-1] / lat_step + 1e-9) + 1)
        parallels = parallels[np.abs(parallels * lat_step) < 90.0 - 1e-9]
        return Graticule(
            tuple((float(k * lon_step), point_at(k * lon_step, up)) for k in meridians),
            tuple((float(k * lat_step), point_at(across, k * lat_step)) for k in parallels),
            lon_step,
            lat_step,
        )


def _longitudes(lon: FloatArray) -> tuple[float, float]:
    """The shortest arc that holds all longitudes: its west and its east end, east of it."""
    ordered = np.sort(lon)
    gaps = np.append(np.diff(ordered), ordered[0] + 360.0 - ordered[-1])
    widest = int(np.argmax(gaps))
    if gaps[widest] < 30.0:
        return -180.0, 180.0
    west = float(ordered[(widest + 1) % len(ordered)])
    return west, west + 360.0 - float(gaps[widest])


@dataclass(frozen=True)
class Label:
    """A text at a place of the picture: ``side`` of it ("left", "right", "bottom", "top"), or "on" it."""

    text: str
    x: float
    y: float
    side: str


def place_labels(
    lines: Sequence[tuple[str, FloatArray]],
    window: Box,
    sides: Sequence[str],
    room: Callable[[str], tuple[float, float]],
) -> list[Label]:
    """One label for each flat line (m, 2) that meets the rim of what is drawn, on the first side where it does.

    Labels that would touch others are left out; ``room`` says how wide and high a text is.
    """
    found: list[Label] = []
    for text, line in lines:
        for label in _candidates(text, line, window, sides):
            if all(_apart(label, other, room) for other in found):
                found.append(label)
                break
    return found


def _candidates(text: str, line: FloatArray, window: Box, sides: Sequence[str]) -> list[Label]:
    left, bottom, right, top = window
    with np.errstate(invalid="ignore"):
        inside = (line[:, 0] >= left) & (line[:, 0] <= right) & (line[:, 1] >= bottom) & (line[:, 1] <= top)
    seen = np.asarray(np.isfinite(line).all(axis=1))
    rims = {"left": (0, left), "right": (0, right), "bottom": (1, bottom), "top": (1, top)}
    found: list[Label] = []
    for k in np.flatnonzero((inside[:-1] ^ inside[1:]) & seen[:-1] & seen[1:]):
        a, b = line[k], line[k + 1]
        for side in sides:
            axis, value = rims[side]
            if (a[axis] - value) * (b[axis] - value) <= 0.0 and a[axis] != b[axis]:
                x, y = a + (b - a) * (value - a[axis]) / (b[axis] - a[axis])
                if left <= x <= right if axis == 1 else bottom <= y <= top:
                    found.append(Label(text, float(x), float(y), side))
    found.sort(key=lambda label: sides.index(label.side))
    # Ends at the edge of the projection, inside the window.
    padded = np.vstack([[np.nan, np.nan], line, [np.nan, np.nan]])
    known = np.isfinite(padded).all(axis=1)
    ends = np.flatnonzero(known[1:-1] & ~(known[:-2] & known[2:]))
    ends = ends[inside[ends]]
    if len(ends):
        middle = 0.5 * (left + right), 0.5 * (bottom + top)
        axis, sign = {"left": (0, 1), "right": (0, -1), "bottom": (1, 1), "top": (1, -1)}[sides[0]]
        x, y = line[ends[np.argmin(sign * line[ends, axis])]]
        off = (x - middle[0]) / (right - left), (y - middle[1]) / (top - bottom)
        across, along = "left" if off[0] < 0 else "right", "bottom" if off[1] < 0 else "top"
        side = across if abs(off[0]) > 0.6 * abs(off[1]) else along
        found.append(Label(text, float(x), float(y), side))
    return found


def _apart(a: Label, b: Label, room: Callable[[str], tuple[float, float]]) -> bool:
    (wide_a, high_a), (wide_b, high_b) = room(a.text), room(b.text)
    if a.side != b.side and {a.side, b.side} != {"left", "bottom"}:
        return True
    return abs(a.x - b.x) > 0.5 * (wide_a + wide_b) or abs(a.y - b.y) > 0.5 * (high_a + high_b)


@dataclass(frozen=True)
class ScaleBar:
    """A round length: in radians, and in words."""

    radians: float
    text: str


def scale_bar(frame: Frame, width: float) -> ScaleBar:
    """The longest round length within a quarter of a window of some radians."""
    wanted = _BAR * width
    if frame.name == "earth":
        km = wanted * EARTH_RADIUS_KM
        length = _rounded(km) if km >= 1.0 else 1e-3 * _rounded(1e3 * km)
        text = f"{length:,.10g} km" if length >= 1.0 else f"{1e3 * length:.10g} m"
        return ScaleBar(length / EARTH_RADIUS_KM, text)
    degrees = float(np.degrees(wanted))
    for size, symbol in ((1.0, "°"), (1.0 / 60.0, "′"), (1.0 / 3600.0, "″")):
        if degrees >= size or symbol == "″":
            steps = [s for s in (1.0, 2.0, 5.0, 10.0, 20.0, 30.0) if s * size <= degrees * (1 + 1e-9)]
            count = steps[-1] if steps else _rounded(degrees / size)
            return ScaleBar(float(np.radians(count * size)), f"{count:.10g}{symbol}")
    raise AssertionError
