"""A map in pixels: HEALPix, or a grid of longitudes and latitudes or of the plane, with its band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tmsm.data.map_grids import RingGrid
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.frames import native_frame
from tmsm.inference.delta import check_level, critical_square
from tmsm.manifolds.frames import Frame
from tmsm.manifolds.lonlat import lonlat_of, point_at
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.windows import flat_window, lonlat_extent
from tmsm.regions import Region

__all__ = ["Pixels", "bands", "check_nside", "grid_of", "grid_pixels", "healpix_pixels"]

_MOST_PIXELS = 2**26
_BLOCK = 2**18
# So few are looked at before any density is computed.
_FEW = 50_000


@final
@dataclass(frozen=True, eq=False)
class Pixels:
    """Densities at the centres of pixels, with the band of a level; NaN outside the region, where nothing is known.

    Attributes
    ----------
    density, low, high
        Probability per steradian, or per unit of area in the plane; (12 nside²,) of HEALPix in ring order, else (rows,
        columns).
    level
        Of the band between low and high.
    nside
        Of HEALPix pixels; None of others.
    x, y
        Centres of columns and rows, both ascending: longitudes and latitudes in degrees, or coordinates of the plane.
    step
        Side of a pixel in their unit; None of HEALPix pixels.
    frame
        What directions on S² stand for; None in the plane.
    """

    density: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    nside: int | None
    x: FloatArray
    y: FloatArray
    step: float | None
    frame: Frame | None

    def __repr__(self) -> str:
        inside = int(np.isfinite(self.density).sum())
        kind = f"HEALPix, nside {self.nside}" if self.nside is not None else f"{len(self.y)} × {len(self.x)}"
        return f"<{self.density.size:,} pixels ({kind}), {inside:,} of them inside the region>"

    @property
    def places(self) -> tuple[FloatArray, FloatArray]:
        """Longitude and latitude, or x and y, of every pixel, in the shape of the densities."""
        if self.nside is not None:
            lon, lat = lonlat_of(RingGrid.healpix(self.nside).centres(np.arange(self.density.size)))
            return lon, lat
        x, y = np.meshgrid(self.x, self.y)
        return x, y

    def to_frame(self, backend: str = "pandas") -> Any:
        """The pixels inside the region as a data frame: place, density, low and high.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        """
        inside = np.isfinite(self.density)
        names = ("x", "y") if self.frame is None else tuple(self.frame.short)
        columns = [*(one[inside] for one in self.places), self.density[inside], self.low[inside], self.high[inside]]
        return native_frame((*names, "density", "low", "high"), list(zip(*columns, strict=True)), backend, words=())


def bands(density: RegionDensity, X: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The log density at points inside (n, D) and the ends of its band, shape (n,) each."""
    value = density.log_density(X)
    reach = np.sqrt(critical_square(1, check_level(level))) * density.log_errors(X)
    return value, value - reach, value + reach


def check_nside(region: Region, nside: int | None) -> None:
    """Raise where HEALPix pixels of a region are not possible, too many, or so few that none lies inside."""
    if not region.manifold.has_longitudes:
        raise InvalidInputError(f"HEALPix pixels are of the sphere S², and this map is of {region.manifold!r}.")
    if nside is None:
        return
    count = 12 * nside**2
    if count > _MOST_PIXELS:
        raise InvalidInputError(f"nside={nside} has {count:,} pixels, too many: take a smaller one.")
    if count <= _FEW and not region.contains(RingGrid.healpix(nside).centres(np.arange(count))).any():
        raise _no_healpix_inside(nside)


def _no_healpix_inside(nside: int) -> InvalidInputError:
    return InvalidInputError(
        f"None of the {12 * nside**2:,} pixels of nside={nside} has its centre inside the region. Take a larger "
        "nside, or pixels in degrees, which cover the region alone."
    )


def healpix_pixels(density: RegionDensity, nside: int, level: float) -> Pixels:
    """All pixels of a resolution, those whose centres lie inside with values."""
    check_nside(density.region, nside)
    grid = RingGrid.healpix(nside)
    numbers = np.arange(grid.n_pixels)
    values, low, high = _filled(density, lambda own: grid.centres(numbers[own]), grid.n_pixels, level)
    if not np.isfinite(values).any():
        raise _no_healpix_inside(nside)
    nothing = np.empty(0)
    return Pixels(values, low, high, level, nside, nothing, nothing, None, density.frame)


def grid_of(region: Region, frame: Frame, step: float) -> tuple[FloatArray, FloatArray]:
    """Centres of columns and rows of pixels of a step, in degrees or units of the plane; edges are its multiples."""
    manifold = region.manifold
    if manifold.has_longitudes:
        west, east, south, north = lonlat_extent(region, frame)
    elif manifold.is_flat and manifold.dim == 2:
        x, y = flat_window(region, 32)
        west, east, south, north = x[0], x[-1], y[0], y[-1]
    else:
        raise InvalidInputError(f"Pixels are for the sphere S² and for the plane, and this map is of {manifold!r}.")
    ends = [(np.floor(low / step), np.ceil(high / step)) for low, high in ((west, east), (south, north))]
    counts = [int(high - low) for low, high in ends]
    if counts[0] * counts[1] > _MOST_PIXELS:
        raise InvalidInputError(f"step={step:g} makes {counts[0] * counts[1]:,} pixels, too many: take a larger one.")
    x, y = (step * (low + 0.5 + np.arange(count)) for (low, _), count in zip(ends, counts, strict=True))
    if manifold.has_longitudes:
        x, y = x[: int(np.floor(360.0 / step + 1e-9))], y[np.abs(y) <= 90.0]
    if not (x.size and y.size):
        raise _no_pixel_inside(step)
    if x.size * y.size <= _FEW and not region.contains(_centres(region, x, y, slice(None))).any():
        raise _no_pixel_inside(step)
    return x, y


def _centres(region: Region, x: FloatArray, y: FloatArray, own: slice) -> FloatArray:
    """Some of the pixels of a grid, row by row, as points (m, D)."""
    row, column = np.divmod(np.arange(x.size * y.size)[own], x.size)
    if region.manifold.has_longitudes:
        return point_at(x[column], y[row])
    return np.stack([x[column], y[row]], axis=1)


def _no_pixel_inside(step: float) -> InvalidInputError:
    return InvalidInputError(f"No pixel of step={step:g} has its centre inside the region: take a smaller step.")


def grid_pixels(density: RegionDensity, step: float, level: float) -> Pixels:
    """Pixels of a step in degrees, or in units of the plane, whose edges are multiples of the step."""
    region = density.region
    x, y = grid_of(region, density.frame, step)
    filled = _filled(density, lambda own: _centres(region, x, y, own), x.size * y.size, level)
    values, low, high = (one.reshape(y.size, x.size) for one in filled)
    if not np.isfinite(values).any():
        raise _no_pixel_inside(step)
    return Pixels(values, low, high, level, None, x, y, step, density.frame if region.manifold.has_longitudes else None)


def _filled(density: RegionDensity, centres: Any, count: int, level: float) -> list[FloatArray]:
    """Density, low and high of so many pixels, (count,) each."""
    out = [np.full(count, np.nan) for _ in range(3)]
    for start in range(0, count, _BLOCK):
        X = centres(slice(start, start + _BLOCK))
        inside = np.flatnonzero(density.region.signed_distance(np.asfortranarray(X))[0] > 0.0)
        if inside.size:
            for one, values in zip(out, bands(density, X[inside], level), strict=True):
                one[start + inside] = np.exp(values)
    return out
