"""Pictures of the sphere S²: a globe, a map in longitude and latitude, and the projections of pyproj."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.manifolds.lonlat import lonlat_of, point_at
from tmsm.manifolds.views import View

__all__ = ["Globe", "LonLatMap", "ProjectedMap", "sphere_view"]

_GRATICULE = "0.85"
_NARROW = float(np.cos(np.radians(25.0)))  # what lies closer together than this needs no globe


def sphere_view(name: str | None, X: FloatArray, centres: FloatArray, curves: FloatArray) -> View:
    """The view that is asked for, or that suits rows X (n, 3), some centres (k, 3) and points of curves (m, 3)."""
    everything = np.vstack([X, centres, curves])
    middle = X.mean(axis=0) + centres.sum(axis=0) / max(len(centres), 1)
    middle = middle / np.linalg.norm(middle) if np.linalg.norm(middle) > 1e-6 else X[0]
    if name is None:
        name = "globe" if float((everything @ middle).min()) < _NARROW else "map"
    if name == "globe":
        return Globe(middle)
    return LonLatMap.around(everything) if name == "map" else ProjectedMap(name, everything)


@final
@dataclass(frozen=True)
class Globe(View):
    """The sphere S² from afar (orthographic), with ``towards`` in the middle and north up."""

    towards: FloatArray

    def _frame(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        front = np.asarray(self.towards) / np.linalg.norm(self.towards)
        north = np.array([0.0, 0.0, 1.0]) if abs(front[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        up = north - (north @ front) * front
        up /= np.linalg.norm(up)
        return front, np.cross(up, front), up

    def prepare(self, ax: Any) -> None:
        turn = np.linspace(0.0, 2.0 * np.pi, 361)
        ax.fill(np.cos(turn), np.sin(turn), fc="#F5F7FA", ec="0.6", lw=0.8, zorder=0)
        for lat in range(-60, 61, 30):
            self.line(ax, point_at(np.arange(-180.0, 181.0), lat), color=_GRATICULE, lw=0.5, zorder=0.4)
        for lon in range(-180, 180, 30):
            self.line(ax, point_at(lon, np.arange(-90.0, 91.0)), color=_GRATICULE, lw=0.5, zorder=0.4)
        ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03), aspect="equal")
        ax.set_axis_off()

    def forward(self, X: FloatArray) -> FloatArray:
        front, right, up = self._frame()
        flat = np.column_stack([X @ right, X @ up])
        flat[X @ front <= 0.0] = np.nan
        return flat

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        front, right, up = self._frame()
        x = np.linspace(-1.0, 1.0, n)
        u, v = np.meshgrid(x, x)
        height = np.sqrt(np.where(u**2 + v**2 < 1.0, 1.0 - u**2 - v**2, np.nan))
        X = u[..., None] * right + v[..., None] * up + height[..., None] * front
        return x, x, X


@final
@dataclass(frozen=True)
class LonLatMap(View):
    """Longitude and latitude in degrees, in a window (west, south, east, north)."""

    window: tuple[float, float, float, float]

    @staticmethod
    def around(X: FloatArray) -> LonLatMap:
        """A window with some room round the points."""
        lon, lat = lonlat_of(X)
        middle = float(lonlat_of(_mean(X))[0])
        east_of = np.remainder(lon - middle + 180.0, 360.0) - 180.0
        room_x, room_y = (max(1e-3, 0.15 * float(np.ptp(v))) for v in (east_of, lat))
        west, east = middle + float(east_of.min()) - room_x, middle + float(east_of.max()) + room_x
        if east - west > 360.0:
            west, east = middle - 180.0, middle + 180.0
        return LonLatMap((west, max(float(lat.min()) - room_y, -90.0), east, min(float(lat.max()) + room_y, 90.0)))

    def prepare(self, ax: Any) -> None:
        west, south, east, north = self.window
        ax.set(xlim=(west, east), ylim=(south, north), xlabel="longitude", ylabel="latitude")
        ax.set_aspect(1.0 / max(0.2, float(np.cos(np.radians(0.5 * (south + north))))))
        ax.xaxis.set_major_formatter(lambda x, _: _degrees(np.remainder(x + 180.0, 360.0) - 180.0, "E", "W"))
        ax.yaxis.set_major_formatter(lambda y, _: _degrees(y, "N", "S"))
        ax.grid(color=_GRATICULE, lw=0.5)
        ax.set_axisbelow(True)

    def forward(self, X: FloatArray) -> FloatArray:
        lon, lat = lonlat_of(X)
        middle = 0.5 * (self.window[0] + self.window[2])
        return np.column_stack([middle + np.remainder(lon - middle + 180.0, 360.0) - 180.0, lat])

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        west, south, east, north = self.window
        x, y = np.linspace(west, east, n), np.linspace(south, north, n)
        lon, lat = np.meshgrid(np.remainder(x + 180.0, 360.0) - 180.0, y)
        return x, y, point_at(lon.ravel(), lat.ravel()).reshape(n, n, 3)

    @property
    def longest_step(self) -> float:
        return 180.0


@final
class ProjectedMap(View):
    """Any map projection that pyproj knows, of a sphere of radius one."""

    def __init__(self, projection: str, X: FloatArray) -> None:
        try:
            import pyproj
        except ImportError:
            raise MissingDependencyError("Map projections need pyproj: pip install 'tmsm[geo]'.") from None
        text = projection if "+proj" in projection else f"+proj={projection}"
        middle = float(lonlat_of(_mean(X))[0])
        try:
            self._proj = pyproj.Proj(f"{text} +R=1 +lon_0={middle:.6f}" if "lon_0" not in text else f"{text} +R=1")
        except pyproj.exceptions.CRSError as error:
            raise InvalidInputError(
                f"view={projection!r} is neither 'globe' nor 'map' nor a projection that pyproj knows, such as "
                f"'robin' or '+proj=laea +lat_0=40' ({error})."
            ) from None
        flat = self.forward(X)
        low, high = np.nanmin(flat, axis=0), np.nanmax(flat, axis=0)
        room = 0.12 * max(float(np.max(high - low)), 0.05)
        self._low, self._high = low - room, high + room

    def prepare(self, ax: Any) -> None:
        for lat in range(-75, 90, 15):
            self.line(ax, point_at(np.arange(-179.9, 180.0), lat), color=_GRATICULE, lw=0.5, zorder=0.4)
        for lon in range(-180, 180, 15):
            self.line(ax, point_at(lon, np.arange(-89.0, 90.0)), color=_GRATICULE, lw=0.5, zorder=0.4)
        ax.set(xlim=(self._low[0], self._high[0]), ylim=(self._low[1], self._high[1]), aspect="equal")
        ax.set_xticks([])
        ax.set_yticks([])

    def forward(self, X: FloatArray) -> FloatArray:
        flat = np.column_stack(self._proj(*lonlat_of(X)))
        flat[~np.isfinite(flat).all(axis=1)] = np.nan
        return flat

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        x, y = (np.linspace(self._low[k], self._high[k], n) for k in range(2))
        across, up = (c.ravel() for c in np.meshgrid(x, y))
        lon, lat = self._proj(across, up, inverse=True)
        good = np.isfinite(lon) & np.isfinite(lat) & (np.abs(lat) <= 90.0)
        X = np.full((n * n, 3), np.nan)
        X[good] = point_at(np.remainder(lon[good] + 180.0, 360.0) - 180.0, lat[good])
        return x, y, X.reshape(n, n, 3)

    @property
    def longest_step(self) -> float:
        return 1.0


def _mean(X: FloatArray) -> FloatArray:
    mean = X.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 1e-9 else np.asarray(X[0])


def _degrees(value: float, positive: str, negative: str) -> str:
    letter: Sequence[str] = (positive if value > 0 else negative) if abs(value) > 1e-9 else ""
    return f"{abs(value):g}°{letter}"
