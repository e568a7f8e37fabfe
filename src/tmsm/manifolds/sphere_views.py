"""Pictures of the sphere S²: a globe, a map in longitude and latitude, and the projections of pyproj."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.manifolds.cut_lines import Box
from tmsm.manifolds.frames import ICRS, PLAIN, Frame
from tmsm.manifolds.graticule import digits_of, graticule_step
from tmsm.manifolds.lonlat import lonlat_of, point_at
from tmsm.manifolds.projected_map import ProjectedMap
from tmsm.manifolds.sphere_plane import GRATICULE, SphereView, enclosing_cap
from tmsm.manifolds.views import View

__all__ = ["HALF", "Globe", "LonLatMap", "ProjectedMap", "side_of", "sphere_view"]

_NARROW = np.radians(32.0)  # what lies within this needs no globe
HALF = np.radians(80.0)  # what lies within this can be seen on one side of it
_NEAR_BY = np.radians(15.0)  # a globe of what lies within this is drawn from nearer by
_CROWDED = 9.0  # more labels side by side run into each other
_NEAR_POLE = 78.0  # where meridians run together too much for a map in longitude and latitude
_ROOM = 0.08
_EVEN = 0.1  # the length of the mean of rows that lie on all sides
_ONE_SIDED = 0.3  # the length of the mean, along the equator, of what has a side of its own
_THINNEST = 0.3  # of the sides of a window, as a share of the longer one


def sphere_view(
    name: str | None, X: FloatArray, centres: FloatArray, curves: FloatArray, frame: Frame | None = None
) -> View:
    """The view that is asked for, or that suits rows X (n, 3), some centres (k, 3) and points of curves (m, 3)."""
    frame = PLAIN if frame is None else frame
    everything = np.vstack([X, centres, curves])
    middle, radius = enclosing_cap(everything)
    if radius >= HALF:
        middle = side_of(X, centres)
    if name is None:
        flat = radius < _NARROW
        far = float(np.abs(lonlat_of(everything)[1]).max())
        name = "map" if flat and far < _NEAR_POLE else "globe"
        if flat and name == "globe":
            return Globe.near(middle, everything, frame)
    if name == "globe":
        if radius < _NEAR_BY:
            return Globe.near(middle, everything, frame)
        return Globe(middle, None, frame)
    if name == "map":
        return LonLatMap.around(everything, frame)
    return ProjectedMap(name, everything, frame, middle)


def side_of(X: FloatArray, centres: FloatArray) -> FloatArray:
    """The side of the sphere with most of the rows (n, 3), and the centres (k, 3)."""
    middle = X.mean(axis=0) + centres.sum(axis=0) / max(len(centres), 1)
    length = float(np.linalg.norm(middle))
    if length > _EVEN:
        return np.asarray(middle / length)
    # Rows on all sides: along the axis of the inertia of most of them.
    axis = np.linalg.eigh(X.T @ X)[1][:, -1]
    return np.asarray(axis if axis @ middle >= 0.0 else -axis)


def _roomy(low: FloatArray, high: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Corners of a window with some room round a box, not too thin."""
    side = np.maximum(high - low, least)
    longest = float(side.max())
    half = 0.5 * np.maximum(side + 2.0 * _ROOM * longest, _THINNEST * longest)
    return 0.5 * (low + high) - half, 0.5 * (low + high) + half


@final
@dataclass(frozen=True)
class Globe(SphereView):
    """The sphere S² from afar (orthographic), with ``towards`` in the middle and north up.

    Attributes
    ----------
    towards
        Direction of the eye, shape (3,).
    box
        The part that is drawn, in units of the radius; None for the whole disc.
    frame
        What directions stand for.
    """

    towards: FloatArray
    box: Box | None = None
    frame: Frame = PLAIN

    @staticmethod
    def near(towards: FloatArray, X: FloatArray, frame: Frame) -> Globe:
        """Only as much of it as some points (n, 3) need."""
        flat = Globe(towards, None, frame).forward(X)
        low, high = _roomy(np.nanmin(flat, axis=0), np.nanmax(flat, axis=0), 1e-6)
        return Globe(towards, (float(low[0]), float(low[1]), float(high[0]), float(high[1])), frame)

    @property
    def window(self) -> Box:
        return (-1.03, -1.03, 1.03, 1.03) if self.box is None else self.box

    def _axes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        front = np.asarray(self.towards) / np.linalg.norm(self.towards)
        north = np.array([0.0, 0.0, 1.0]) if abs(front[2]) < 0.999999 else np.array([0.0, 1.0, 0.0])
        up = north - (north @ front) * front
        up /= np.linalg.norm(up)
        right = np.cross(up, front)
        return front, -right if self.frame.is_sky else right, up

    def prepare(self, ax: Any) -> None:
        left, bottom, right, top = self.window
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        turn = np.linspace(0.0, 2.0 * np.pi, 721)
        ax.fill(np.cos(turn), np.sin(turn), fc="#F5F7FA", ec="0.6", lw=0.8, zorder=0)
        ax.set(xlim=(left, right), ylim=(bottom, top))
        if self.box is None:
            ax.set_axis_off()
        ax.set_xticks([])
        ax.set_yticks([])
        self.draw_graticule(ax)
        self.draw_scale_bar(ax)

    def forward(self, X: FloatArray) -> FloatArray:
        front, right, up = self._axes()
        flat = np.column_stack([X @ right, X @ up])
        flat[X @ front <= 0.0] = np.nan
        return flat

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        front, right, up = self._axes()
        left, bottom, east, top = (-1.0, -1.0, 1.0, 1.0) if self.box is None else self.box
        x, y = np.linspace(left, east, n), np.linspace(bottom, top, n)
        u, v = np.meshgrid(x, y)
        height = np.sqrt(np.where(u**2 + v**2 < 1.0, 1.0 - u**2 - v**2, np.nan))
        X = u[..., None] * right + v[..., None] * up + height[..., None] * front
        return x, y, X


@final
@dataclass(frozen=True)
class LonLatMap(SphereView):
    """Longitude and latitude in degrees, in a window (west, south, east, north); on the sky west is to the right."""

    window_degrees: Box
    frame: Frame = PLAIN

    @staticmethod
    def around(X: FloatArray, frame: Frame = PLAIN) -> LonLatMap:
        """A window with some room round the points."""
        lon, lat = lonlat_of(X)
        mean = X.mean(axis=0)
        middle = float(lonlat_of(mean if np.linalg.norm(mean[:2]) > 1e-9 else X[0])[0])
        east_of = np.remainder(lon - middle + 180.0, 360.0) - 180.0
        across = max(0.2, float(np.cos(np.radians(0.5 * (lat.min() + lat.max())))))
        low = np.array([across * east_of.min(), lat.min()])
        high = np.array([across * east_of.max(), lat.max()])
        (left, south), (right, north) = _roomy(low, high, 1e-4)
        west, east = middle + left / across, middle + right / across
        if east - west > 360.0:
            # What lies on all sides is cut where maps usually are.
            if np.linalg.norm(mean[:2]) < _ONE_SIDED:
                middle = 180.0 if frame == ICRS else 0.0
            west, east = middle - 180.0, middle + 180.0
        return LonLatMap((float(west), max(float(south), -90.0), float(east), min(float(north), 90.0)), frame)

    @property
    def window(self) -> Box:
        return self.window_degrees

    @property
    def _narrowing(self) -> float:
        """Kilometres to the east for one to the north, of a degree each, in the middle."""
        _, south, _, north = self.window
        return max(0.2, float(np.cos(np.radians(0.5 * (south + north)))))

    @property
    def shape(self) -> float | None:
        west, south, east, north = self.window
        return (north - south) / ((east - west) * self._narrowing)

    def prepare(self, ax: Any) -> None:
        west, south, east, north = self.window
        frame = self.frame
        sides = (east, west) if frame.is_sky else (west, east)
        ax.set(xlim=sides, ylim=(south, north), xlabel=frame.coordinates[0], ylabel=frame.coordinates[1])
        ax.set_aspect(1.0 / self._narrowing)
        longest = max((east - west) * self._narrowing, north - south)
        up = min(graticule_step(longest), graticule_step(1.5 * (north - south)))
        across = min(graticule_step(longest / self._narrowing), graticule_step(1.5 * (east - west)))
        if east - west > _CROWDED * across:
            across *= 2.0
        ax.set_xticks(_multiples(west, east, across))
        ax.set_yticks(_multiples(south, north, up))
        ax.xaxis.set_major_formatter(lambda x, _: frame.longitude_text(x, digits_of(across)))
        ax.yaxis.set_major_formatter(lambda y, _: frame.latitude_text(y, digits_of(up)))
        ax.tick_params(labelsize=9)
        ax.grid(color=GRATICULE, lw=0.5)
        ax.set_axisbelow(True)
        self.draw_scale_bar(ax)

    def forward(self, X: FloatArray) -> FloatArray:
        lon, lat = lonlat_of(X)
        middle = 0.5 * (self.window[0] + self.window[2])
        return np.column_stack([middle + np.remainder(lon - middle + 180.0, 360.0) - 180.0, lat])

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        west, south, east, north = self.window
        x, y = np.linspace(west, east, n), np.linspace(south, north, n)
        lon, lat = np.meshgrid(np.remainder(x + 180.0, 360.0) - 180.0, y)
        return x, y, point_at(lon.ravel(), lat.ravel()).reshape(n, n, 3)

    def _scale(self) -> tuple[float, str]:
        _, south, _, north = self.window
        lat = 0.5 * (south + north)
        here, *others = np.cos(np.radians([lat, south, north]))
        nearest_equator = 1.0 if south * north < 0.0 else max(others)
        uneven = nearest_equator > 1.1 * here or min(others) < 0.9 * here
        step = graticule_step(north - south)
        lat = step * float(np.rint(lat / step)) if uneven else lat
        where = f" at {self.frame.latitude_text(lat, digits_of(step))}" if uneven else ""
        return float(np.degrees(1.0) / max(np.cos(np.radians(lat)), 1e-3)), where


def _multiples(low: float, high: float, step: float) -> FloatArray:
    return step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
