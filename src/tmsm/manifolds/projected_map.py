"""Any map projection that pyproj knows, drawn to its edge."""

from __future__ import annotations

import re
import warnings
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError, MissingDependencyError
from tmsm.manifolds.cut_lines import Box
from tmsm.manifolds.frames import PLAIN, Frame
from tmsm.manifolds.lonlat import lonlat_of, point_at
from tmsm.manifolds.sphere_plane import SphereView, enclosing_cap

__all__ = ["ProjectedMap"]

_ROOM = 0.08
_STRETCHED = 6.0  # places where the scale is so many times the smallest do not make the window wider
_WIDE = np.radians(75.0)  # rows that reach so far are drawn on a map of everything
_OUTLINE = 241  # cells along a side in which the edge is looked for
_AZIMUTHAL = ("aeqd", "airy", "gnom", "laea", "ortho", "stere")
_CONIC = ("aea", "eqdc", "lcc")
# What a definition says of the body that is drawn, and of its units: here it is a sphere of radius one.
_OF_THE_ELLIPSOID = ("datum", "ellps", "units", "no_defs", "type", "towgs84", "nadgrids", "x_0", "y_0", "a", "b", "rf")


@final
class ProjectedMap(SphereView):
    """Any map projection that pyproj knows, of a sphere of radius one; east is to the left on the sky."""

    def __init__(self, projection: str, X: FloatArray, frame: Frame = PLAIN, middle: FloatArray | None = None) -> None:
        try:
            import pyproj
        except ImportError:
            raise MissingDependencyError("Map projections need pyproj: pip install 'tmsm[geo]'.") from None
        self.frame = frame
        inner, radius = enclosing_cap(X)
        middle = inner if middle is None else middle
        try:
            self._proj = pyproj.Proj(_definition(projection, middle, radius))
        except pyproj.exceptions.CRSError as error:
            raise InvalidInputError(
                f"view={projection!r} is neither 'globe' nor 'map' nor a projection that pyproj knows, such as "
                f"'robin' or '+proj=laea +lat_0=40' ({error})."
            ) from None
        everywhere = _all_over() if radius > _WIDE else X[:0]
        flat = self.forward(np.vstack([X, everywhere]))
        scale = self._sizes(np.vstack([X, everywhere]))
        with np.errstate(invalid="ignore"):
            good = np.isfinite(flat).all(axis=1) & (scale > 0.0)
            good &= scale <= _STRETCHED * np.min(scale[good], initial=np.inf)
        if not good[: len(X)].any():
            raise InvalidInputError(f"view={projection!r} shows none of these rows: they lie where it does not reach.")
        low, high = flat[good].min(axis=0), flat[good].max(axis=0)
        longest = max(float(np.max(high - low)), 1e-6)
        half = 0.5 * np.maximum(high - low + 2.0 * (0.03 if len(everywhere) else _ROOM) * longest, 0.3 * longest)
        self._low, self._high = 0.5 * (low + high) - half, 0.5 * (low + high) + half

    @property
    def window(self) -> Box:
        return float(self._low[0]), float(self._low[1]), float(self._high[0]), float(self._high[1])

    def prepare(self, ax: Any) -> None:
        ax.set(xlim=(self._low[0], self._high[0]), ylim=(self._low[1], self._high[1]), aspect="equal")
        ax.set_xticks([])
        ax.set_yticks([])
        outline = self.outline()
        if len(outline):
            ax.plot(*outline.T, color="0.6", lw=0.8, zorder=0.5)
            if self._rim_is_empty():
                ax.set_axis_off()
        ax.set(xlim=(self._low[0], self._high[0]), ylim=(self._low[1], self._high[1]))
        self.draw_graticule(ax)
        self.draw_scale_bar(ax)

    def forward(self, X: FloatArray) -> FloatArray:
        flat = np.column_stack(self._proj(*lonlat_of(X)))
        flat[~np.isfinite(flat).all(axis=1)] = np.nan
        if self.frame.is_sky:
            flat[:, 0] *= -1.0
        return flat

    def grid(self, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        x, y = (np.linspace(self._low[k], self._high[k], n) for k in range(2))
        across, up = (c.ravel() for c in np.meshgrid(x, y))
        return x, y, self._under(np.column_stack([across, up])).reshape(n, n, 3)

    def _under(self, flat: FloatArray) -> FloatArray:
        """The points that are drawn at places of the picture, shape (n, 3); NaN beside the projection.

        A place lies beside it where the projection does not lead back to it.
        """
        x, y = (flat * [-1.0 if self.frame.is_sky else 1.0, 1.0]).T
        lon, lat = self._proj(x, y, inverse=True)
        good = np.isfinite(lon) & np.isfinite(lat) & (np.abs(lat) <= 90.0)
        X = np.full((len(flat), 3), np.nan)
        X[good] = point_at(np.remainder(lon[good] + 180.0, 360.0) - 180.0, lat[good])
        back = np.full(flat.shape, np.nan)
        back[good] = self.forward(X[good])
        with np.errstate(invalid="ignore"):
            off = np.abs(back - flat).max(axis=1) > 1e-6 * float(np.max(self._high - self._low))
        X[off | ~np.isfinite(back).all(axis=1)] = np.nan
        return X

    def outline(self) -> FloatArray:
        """The edge of the projection in the window, shape (m, 2), NaN between its pieces."""
        import contourpy

        room = 0.004 * float(np.max(self._high - self._low))
        x, y = (np.linspace(self._low[k] - room, self._high[k] + room, _OUTLINE) for k in range(2))
        across, up = (c.ravel() for c in np.meshgrid(x, y))
        shown = self._shown(np.column_stack([across, up])).reshape(_OUTLINE, _OUTLINE)
        if shown.all() or not shown.any():
            return np.empty((0, 2))
        lines: Any = contourpy.contour_generator(x, y, shown.astype(np.float64))
        pieces = [self._refined(line, x, y) for line in lines.lines(0.5)]
        return np.vstack([part for piece in pieces for part in (piece, [[np.nan, np.nan]])])

    def _refined(self, line: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
        """A contour's vertices lie between two knots of the grid, one of which is shown: to the edge between them."""
        knot = np.column_stack([(line[:, 0] - x[0]) / (x[1] - x[0]), (line[:, 1] - y[0]) / (y[1] - y[0])])
        origin, step = np.array([x[0], y[0]]), np.array([x[1] - x[0], y[1] - y[0]])
        a, b = origin + step * np.floor(knot + 1e-6), origin + step * np.ceil(knot - 1e-6)
        inside = self._shown(a)[:, None]
        a, b = np.where(inside, a, b), np.where(inside, b, a)
        for _ in range(30):
            middle = 0.5 * (a + b)
            shown = self._shown(middle)[:, None]
            a, b = np.where(shown, middle, a), np.where(shown, b, middle)
        return np.asarray(a)

    def _shown(self, flat: FloatArray) -> BoolArray:
        return np.asarray(np.isfinite(self._under(flat)).all(axis=1))

    def _rim_is_empty(self) -> bool:
        """Whether no part of the rim of the window is shown."""
        low, high, share = self._low, self._high, np.linspace(0.0, 1.0, 50)
        across, up = low[0] + share * (high - low)[0], low[1] + share * (high - low)[1]
        rim = [np.column_stack([across, np.full(50, end[1])]) for end in (low, high)]
        rim += [np.column_stack([np.full(50, end[0]), up]) for end in (low, high)]
        return not self._shown(np.vstack(rim)).any()

    def _sizes(self, X: FloatArray) -> FloatArray:
        """How long a short step on the sphere is in the picture, the larger of two across, shape (n,)."""
        h = 1e-6
        _, _, across = np.linalg.svd(X[:, None, :])
        here = self.forward(X)
        steps = [np.linalg.norm(self.forward(_unit(X + h * across[:, k])) - here, axis=1) / h for k in (1, 2)]
        return np.asarray(np.fmax(*steps))


def _definition(projection: str, middle: FloatArray, radius: float) -> str:
    """The projection for pyproj, of a unit sphere, turned towards the rows where it does not say whither."""
    text = projection if "+proj" in projection else f"+proj={projection}"
    if ":" in projection and "+proj" not in projection:  # a name in a list, such as EPSG:3035
        import pyproj

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about what is left out here on purpose
            given = pyproj.CRS.from_user_input(projection).to_dict()
        text = " ".join(f"+{key}={value}" for key, value in given.items() if key not in _OF_THE_ELLIPSOID)
    found = re.search(r"\+proj=(\w+)", text)
    name = found[1] if found else ""
    zone = re.search(r"\+zone=(\d+)", text)
    if name == "utm" and zone:  # pyproj has it for ellipsoids alone
        text = f"+proj=tmerc +k_0=0.9996 +lon_0={6 * int(zone[1]) - 183}"
    lon, lat = (float(angle) for angle in lonlat_of(middle))
    if "+lon_0" not in text:
        text += f" +lon_0={lon:.6f}"
    if name in _AZIMUTHAL and "+lat_0" not in text:
        text += f" +lat_0={lat:.6f}"
    if name in _CONIC and "+lat_1" not in text:
        apart = float(np.degrees(min(radius, 0.4))) / 2.0
        base = lat if abs(lat) > 5.0 else 5.0
        text += f" +lat_1={np.clip(base - apart, -89, 89):.6f} +lat_2={np.clip(base + apart, -89, 89):.6f}"
        text += "" if "+lat_0" in text else f" +lat_0={lat:.6f}"
    return f"{text} +R=1"


def _all_over() -> FloatArray:
    """Points all over the sphere, its poles and places next to the antimeridian too."""
    lon, lat = np.meshgrid(np.arange(-180.0, 180.0, 2.5), np.linspace(-90.0, 90.0, 73))
    return point_at(lon.ravel(), lat.ravel())


def _unit(X: FloatArray) -> FloatArray:
    unit: FloatArray = X / np.linalg.norm(X, axis=1)[:, None]
    return unit
