"""Grids of pixels on the sphere, and how a map is interpolated between their centres.

Between centres a map is linear along each of two coordinates, so that it is continuous and Lipschitz; its gradient is
exact, and jumps where pixels meet.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from tmsm.foundation.arrays import FloatArray, IntArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.optional import load_package
from tmsm.foundation.validation import short_repr
from tmsm.foundation.values import ValueObject, frozen_array
from tmsm.manifolds.lonlat import lonlat_of, point_at, sincos_degrees

__all__ = ["CrsProjection", "ImageGrid", "MapGrid", "Projection", "RingGrid", "Stencil", "WcsProjection"]

_EDGE = 1e-9  # in pixels
# Longitude and latitude in degrees, and how other coordinate reference systems begin that say all of themselves.
_DEGREES = "OGC:CRS84"
_WKT = re.compile(r"\s*(PROJCRS|GEOGCRS|GEODCRS|BOUNDCRS|COMPOUNDCRS|PROJCS|GEOGCS|COMPD_CS)\s*\[")


class Stencil(NamedTuple):
    """Four pixels around each point: numbers (n, 4), −1 where the map has none, weights, and their gradients."""

    pixel: IntArray
    weight: FloatArray
    slope: FloatArray | None


class MapGrid(ValueObject):
    """Where the pixels of a map are."""

    @property
    @abstractmethod
    def n_pixels(self) -> int:
        """Their number."""

    @abstractmethod
    def stencil(self, X: FloatArray, slopes: bool) -> Stencil:
        """The pixels whose values are interpolated at points (n, 3); gradients of weights, (n, 4, 3), if wanted."""

    @abstractmethod
    def centres(self, pixels: IntArray) -> FloatArray:
        """Unit vectors of some pixels' centres, shape (m, 3); NaN where a pixel is off the sphere."""

    def completed(self, values: FloatArray) -> FloatArray:
        """Values (n_pixels,) followed by those of points that are no pixels, such as poles."""
        return values

    @property
    @abstractmethod
    def spacing(self) -> float:
        """How far pixels are apart, in radians, about."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is, in words."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class RingGrid(MapGrid):
    """Pixels in rings of equal latitude, from south to north, equally spaced in each of them.

    Attributes
    ----------
    latitudes, counts, first_longitudes, spacings, starts
        Of each ring, shape (m,): degrees, number of pixels, the longitude of the first and the distance to the next,
        and the number of its first pixel.
    south, north
        Where the map ends, in degrees.
    kind
        In words.

    A ring with a whole turn is closed.  A pole within half a ring of a closed one has the mean of that ring.
    """

    latitudes: FloatArray
    counts: FloatArray
    first_longitudes: FloatArray
    spacings: FloatArray
    starts: FloatArray
    south: float
    north: float
    kind: str

    @classmethod
    def healpix(cls, nside: int) -> RingGrid:
        """A HEALPix map in ring order (Górski et al. 2005)."""
        ring = np.arange(4 * nside - 1, 0, -1)  # from the south
        from_pole = np.minimum(ring, 4 * nside - ring)
        polar = from_pole < nside
        counts = 4 * np.where(polar, from_pole, nside)
        # z = 1 − i²/(3 nside²) next to a pole: by half-angles, which keep their digits there.
        colatitude = 2.0 * np.arcsin(np.minimum(from_pole / (np.sqrt(6.0) * nside), 1.0))
        polar_latitude = np.sign(2 * nside - ring) * (90.0 - np.degrees(colatitude))
        belt = np.degrees(np.arcsin(np.clip((2 * nside - ring) * (2.0 / (3.0 * nside)), -1.0, 1.0)))
        latitudes = np.where(polar, polar_latitude, belt)
        half = polar | ((from_pole - nside) % 2 == 0)
        spacings = 360.0 / counts
        starts = 12 * nside**2 - np.cumsum(counts)
        return cls(
            latitudes, counts, np.where(half, 0.5 * spacings, 0.0), spacings, starts, -90.0, 90.0,
            f"HEALPix, nside {nside}",
        )  # fmt: skip

    @classmethod
    def raster(cls, lon: FloatArray, lat: FloatArray) -> RingGrid:
        """Longitudes (n,) and latitudes (m,), both ascending in equal steps; pixels go along longitudes first."""
        step, rise = _spacing(lon, 360.0), _spacing(lat, 180.0)
        south, north = max(lat[0] - 0.5 * rise, -90.0), min(lat[-1] + 0.5 * rise, 90.0)
        ones = np.ones(len(lat))
        return cls(
            lat, len(lon) * ones, lon[0] * ones, step * ones, len(lon) * (np.cumsum(ones) - 1.0), south, north,
            f"raster of {len(lat):,} × {len(lon):,} pixels in longitude and latitude",
        )  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("latitudes", "counts", "first_longitudes", "spacings", "starts"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))

    @property
    def label(self) -> str:
        return self.kind

    @property
    def n_pixels(self) -> int:
        return int(self.counts.sum())

    @property
    def spacing(self) -> float:
        turn = 2.0 * np.pi * (np.sin(np.radians(self.north)) - np.sin(np.radians(self.south)))
        share = min(float(self.counts[0] * self.spacings[0]) / 360.0, 1.0)
        return float(np.sqrt(turn * share / self.n_pixels))

    @property
    def _closed(self) -> bool:
        return bool(abs(self.counts[0] * self.spacings[0] - 360.0) < 1e-6 * self.spacings[0])

    @cached_property
    def _rings(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, IntArray]:
        """Latitudes, counts, first longitudes, spacings and starts, with a ring of one value at each pole."""
        lat, counts, first, spacing, starts = (
            self.latitudes, self.counts, self.first_longitudes, self.spacings, self.starts,
        )  # fmt: skip
        for pole, number in ((-90.0, self.n_pixels), (90.0, self.n_pixels + 1)):
            if not self._reaches(pole):
                continue
            keep = np.abs(lat - pole) > 1e-6  # a ring at the pole itself is one point
            lat, counts, first, spacing, starts = (
                np.concatenate([[new], old[keep]] if pole < 0.0 else [old[keep], [new]])
                for new, old in ((pole, lat), (1, counts), (0.0, first), (360.0, spacing), (number, starts))
            )
        return lat, counts.astype(np.intp), first, spacing, starts.astype(np.intp)

    def _reaches(self, pole: float) -> bool:
        return self._closed and (self.north >= 90.0 - 1e-6 if pole > 0.0 else self.south <= -90.0 + 1e-6)

    def completed(self, values: FloatArray) -> FloatArray:
        """With the means of the southernmost and the northernmost ring, over what is not blank."""
        means = []
        for ring in (0, -1):
            start = int(self.starts[ring])
            own = values[start : start + int(self.counts[ring])]
            means.append(float(own[own > 0.0].mean()) if (own > 0.0).any() else 0.0)
        return np.concatenate([values, means])

    def stencil(self, X: FloatArray, slopes: bool) -> Stencil:
        lat, counts, first, spacing, starts = self._rings
        longitude, latitude = lonlat_of(X)
        below = np.clip(np.searchsorted(lat, latitude, side="right") - 1, 0, max(len(lat) - 2, 0))
        above = np.minimum(below + 1, len(lat) - 1)
        rise = np.where(above > below, lat[above] - lat[below], 1.0)
        up = np.clip((latitude - lat[below]) / rise, 0.0, 1.0)
        between = (above > below) & (up > 0.0) & (up < 1.0)
        off = (latitude < self.south - _EDGE) | (latitude > self.north + _EDGE)
        pixel, weight, along, across = [], [], [], []
        for ring, share, sign in ((below, 1.0 - up, -1.0), (above, up, 1.0)):
            left, right, part, moving, beyond = self._in_ring(longitude, ring, counts, first, spacing)
            for number, fraction, direction in ((left, 1.0 - part, -1.0), (right, part, 1.0)):
                pixel.append(np.where(beyond | off, -1, starts[ring] + number))
                weight.append(share * fraction)
                along.append(np.where(moving, direction * share / np.radians(spacing[ring]), 0.0))
                across.append(np.where(between, sign * fraction / np.radians(rise), 0.0))
        if not slopes:
            return Stencil(np.stack(pixel, axis=1), np.stack(weight, axis=1), None)
        (sin_lon, cos_lon), (sin_lat, cos_lat) = sincos_degrees(longitude), sincos_degrees(latitude)
        east = np.stack([-sin_lon, cos_lon, np.zeros_like(sin_lon)], axis=1) / np.maximum(cos_lat, 1e-15)[:, None]
        north = np.stack([-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat], axis=1)
        slope = (
            np.stack(along, axis=1)[:, :, None] * east[:, None] + np.stack(across, axis=1)[:, :, None] * north[:, None]
        )
        return Stencil(np.stack(pixel, axis=1), np.stack(weight, axis=1), slope)

    def _in_ring(
        self, longitude: FloatArray, ring: IntArray, counts: IntArray, first: FloatArray, spacing: FloatArray
    ) -> tuple[Any, ...]:
        """The two pixels of a ring around a longitude, how far it is from one to the other, whether that matters."""
        n, step = counts[ring], spacing[ring]
        if self._closed:
            position = np.remainder((longitude - first[ring]) / step, n)
            left = np.minimum(np.floor(position).astype(np.intp), n - 1)
            part = np.clip(position - left, 0.0, 1.0)
            return left, (left + 1) % n, part, np.ones(len(left), dtype=bool), np.zeros(len(left), dtype=bool)
        # Half a pixel beyond the first and the last centre the map ends.
        position = np.remainder(longitude - first[ring] + (0.5 + _EDGE) * step, 360.0) / step - (0.5 + _EDGE)
        beyond = position > n - 0.5 + _EDGE
        inner = np.clip(position, 0.0, n - 1.0)
        left = np.clip(np.floor(inner).astype(np.intp), 0, np.maximum(n - 2, 0))
        right = np.minimum(left + 1, n - 1)
        return left, right, inner - left, (position > 0.0) & (position < n - 1.0), beyond

    def centres(self, pixels: IntArray) -> FloatArray:
        order = np.argsort(self.starts)
        ring = order[np.searchsorted(self.starts[order], pixels, side="right") - 1]
        lon = self.first_longitudes[ring] + (pixels - self.starts[ring]) * self.spacings[ring]
        return point_at(lon, self.latitudes[ring])


def _spacing(centres: FloatArray, alone: float) -> float:
    return float((centres[-1] - centres[0]) / (len(centres) - 1)) if len(centres) > 1 else alone


class Projection(ValueObject):
    """From the sphere to the pixels of an image, counted from zero at the centre of the first."""

    @abstractmethod
    def to_pixels(self, lon: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Column and row of places in degrees; NaN where they are not on the image's side."""

    @abstractmethod
    def to_sky(self, column: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Degrees of pixels; NaN where a pixel shows no place."""

    @property
    @abstractmethod
    def name(self) -> str:
        """In words."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class WcsProjection(Projection):
    """The celestial part of the world coordinate system of a FITS header."""

    header: str

    @cached_property
    def _wcs(self) -> Any:
        fits = load_package("astropy.io.fits", "An exposure map from a FITS image", "sky")
        wcs = load_package("astropy.wcs", "An exposure map from a FITS image", "sky")
        return wcs.WCS(fits.Header.fromstring(self.header, sep="\n"))

    @property
    def name(self) -> str:
        return f"WCS {self._wcs.wcs.ctype[0][-3:]}"

    def to_pixels(self, lon: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
        column, row = (np.asarray(part, dtype=np.float64) for part in self._wcs.wcs_world2pix(lon, lat, 0))
        # Some projections send the other side of the sphere to the same image.
        back = point_at(*self.to_sky(column, row))
        there = np.linalg.norm(back - point_at(lon, lat), axis=-1) < 1e-6
        return np.where(there, column, np.nan), np.where(there, row, np.nan)

    def to_sky(self, column: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        lon, lat = self._wcs.wcs_pix2world(column, row, 0)
        return np.asarray(lon, dtype=np.float64), np.asarray(lat, dtype=np.float64)


@final
@dataclass(frozen=True, eq=False, repr=False)
class CrsProjection(Projection):
    """A coordinate reference system, as well-known text, and the affine map (a, b, c, d, e, f) of a raster."""

    crs: str
    affine: tuple[float, ...]

    def __post_init__(self) -> None:
        # From a file of others, too: a name or an address would be looked up elsewhere.
        if self.crs != _DEGREES and not _WKT.match(self.crs):
            raise InvalidInputError(f"crs must be well-known text (WKT); got {short_repr(self.crs)}.")
        a, b, _, d, e, _ = affine = tuple(map(float, self.affine))
        if not (np.isfinite(affine).all() and a * e != b * d):
            raise InvalidInputError(f"affine must be six numbers that can be inverted; got {short_repr(self.affine)}.")

    @property
    def name(self) -> str:
        return "projected"

    @cached_property
    def _transform(self) -> Callable[..., Any]:
        transform: Callable[..., Any] = load_package("rasterio.warp", "An exposure map from a raster", "geo").transform
        return transform

    def to_pixels(self, lon: FloatArray, lat: FloatArray) -> tuple[FloatArray, FloatArray]:
        x, y = (np.asarray(part, dtype=np.float64) for part in self._transform(_DEGREES, self.crs, lon, lat))
        a, b, c, d, e, f = self.affine
        det = a * e - b * d
        column, row = (e * (x - c) - b * (y - f)) / det - 0.5, (a * (y - f) - d * (x - c)) / det - 0.5
        known = np.isfinite(column) & np.isfinite(row)
        return np.where(known, column, np.nan), np.where(known, row, np.nan)

    def to_sky(self, column: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        a, b, c, d, e, f = self.affine
        x, y = a * (column + 0.5) + b * (row + 0.5) + c, d * (column + 0.5) + e * (row + 0.5) + f
        lon, lat = (np.asarray(part, dtype=np.float64) for part in self._transform(self.crs, _DEGREES, x, y))
        known = np.isfinite(lon) & np.isfinite(lat)
        return np.where(known, lon, np.nan), np.where(known, lat, np.nan)


@final
@dataclass(frozen=True, eq=False, repr=False)
class ImageGrid(MapGrid):
    """The pixels of an image in some projection; rows first."""

    n_rows: int
    n_columns: int
    projection: Projection

    @property
    def n_pixels(self) -> int:
        return self.n_rows * self.n_columns

    @cached_property
    def spacing(self) -> float:
        """Next to the middle of the image."""
        row, column = self.n_rows // 2, self.n_columns // 2
        corners = np.array([[row, column], [max(row - 1, 0), column], [row, max(column - 1, 0)]])
        a, b, c = self.centres(corners @ np.array([self.n_columns, 1]))
        apart = [float(np.linalg.norm(other - a)) for other in (b, c)]
        return max(apart) if np.isfinite(apart).all() else 0.0

    @property
    def label(self) -> str:
        return f"image of {self.n_rows:,} × {self.n_columns:,} pixels, {self.projection.name}"

    def stencil(self, X: FloatArray, slopes: bool) -> Stencil:
        column, row = self.projection.to_pixels(*lonlat_of(X))
        off = ~((column >= -0.5 - _EDGE) & (column <= self.n_columns - 0.5 + _EDGE))
        off |= ~((row >= -0.5 - _EDGE) & (row <= self.n_rows - 0.5 + _EDGE))
        parts = []
        for position, n in ((column, self.n_columns), (row, self.n_rows)):
            inner = np.clip(np.where(off, 0.0, position), 0.0, n - 1.0)
            low = np.clip(np.floor(inner).astype(np.intp), 0, max(n - 2, 0))
            parts.append((low, np.minimum(low + 1, n - 1), inner - low, (position > 0.0) & (position < n - 1.0)))
        (left, right, x, moves_x), (below, above, y, moves_y) = parts
        pixel = np.stack([r * self.n_columns + c for r in (below, above) for c in (left, right)], axis=1)
        pixel[off] = -1
        weight = np.stack([(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x], axis=1)
        if not slopes:
            return Stencil(pixel, weight, None)
        by_x = np.stack([y - 1, 1 - y, -y, y], axis=1) * moves_x[:, None]
        by_y = np.stack([x - 1, -x, 1 - x, x], axis=1) * moves_y[:, None]
        column_slope, row_slope = self._slopes(X)
        return Stencil(pixel, weight, by_x[:, :, None] * column_slope[:, None] + by_y[:, :, None] * row_slope[:, None])

    def _slopes(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Tangent gradients of column and row, (n, 3) each, by differences: a projection is smooth."""
        # Within a pixel, however small these are.
        h = min(1e-5, 1e-2 * self.spacing) or 1e-5
        helper = np.eye(3)[np.argmin(np.abs(X), axis=1)]
        first = np.cross(X, helper)
        first /= np.linalg.norm(first, axis=1)[:, None]
        slopes = [np.zeros_like(X), np.zeros_like(X)]
        for direction in (first, np.cross(X, first)):
            ahead = self.projection.to_pixels(*lonlat_of(X + h * direction))
            back = self.projection.to_pixels(*lonlat_of(X - h * direction))
            for total, a, b in zip(slopes, ahead, back, strict=True):
                # Across a seam of the projection there is no slope to be had.
                change = np.where(np.abs(a - b) < 0.5 * max(self.n_rows, self.n_columns), a - b, 0.0)
                total += (np.nan_to_num(change) / (2.0 * h))[:, None] * direction
        return slopes[0], slopes[1]

    def centres(self, pixels: IntArray) -> FloatArray:
        row, column = np.divmod(pixels, self.n_columns)
        with np.errstate(invalid="ignore"):
            return point_at(*self.projection.to_sky(column.astype(np.float64), row.astype(np.float64)))
