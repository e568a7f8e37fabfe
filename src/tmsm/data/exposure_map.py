"""Exposure maps: how much was seen where, in pixels of the sphere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from tmsm.data.map_files import read_map
from tmsm.data.map_grids import MapGrid, RingGrid, Stencil
from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.optional import load_package
from tmsm.foundation.validation import as_float_array, check_flag
from tmsm.foundation.values import ValueObject
from tmsm.manifolds.frames import FRAMES, PLAIN, Frame, frame_named
from tmsm.regions import Region

__all__ = ["ExposureMap"]

# Pixels that are looked at together.
_BLOCK = 200_000
# Points that are interpolated together.
_POINTS = 100_000
# How far to look for a pixel that is not blank, in pixels.
# Gradients are taken so far from a point, in pixels, to either side, in a direction along which no map has its pixels.
_NUDGE, _ASKEW = 1e-6, np.array([0.36, 0.48, 0.8])
_REACHES = (0.6, 1.2)


class _Mean(NamedTuple):
    """What was interpolated, the sum of the weights, which of the four pixels are not blank, and their values."""

    value: FloatArray
    total: FloatArray
    known: BoolArray
    values: FloatArray
    stencil: Stencil


@final
@dataclass(frozen=True, eq=False, repr=False)
class ExposureMap(ValueObject):
    """A map of exposure times or detection probabilities on S², for ``log_exposure``.

    Make one with `from_healpix`, `from_raster` or `from_file`. Only ratios of values matter. Between the centres of
    pixels the map is interpolated linearly. Pixels that are zero or missing are left out of the interpolation, and must
    not have their centres inside the region of a fit.

    Parameters
    ----------
    grid
        Where the pixels are.
    values
        One for each pixel, not negative; NaN where nothing is known.
    frame
        The frame of the map, "icrs", "galactic" or "earth"; None if it is not known.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> lon, lat = np.arange(-175.0, 180.0, 10.0), np.arange(-85.0, 90.0, 10.0)
    >>> seen = np.tile(2.0 + np.sin(np.radians(lat))[:, None], (1, 36))  # more in the north
    >>> exposure = tmsm.ExposureMap.from_raster(seen, lon, lat)
    >>> values, gradients = exposure(tmsm.lonlat_to_xyz([0.0], [45.0]))
    >>> bool(abs(values[0] - np.log(2.0 + np.sin(np.pi / 4))) < 0.01)
    True
    """

    grid: MapGrid
    values: FloatArray
    frame: str | None = None

    def __post_init__(self) -> None:
        values = _checked(self.values)
        if values.size != self.grid.n_pixels:
            raise InvalidInputError(f"The grid has {self.grid.n_pixels:,} pixels; got {values.size:,} values.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "frame", None if self.frame is None else frame_named(self.frame).name)

    @classmethod
    def from_healpix(cls, values: ArrayLike, nest: bool = False, frame: str | None = None) -> ExposureMap:
        """A HEALPix map.

        Parameters
        ----------
        values
            Exposure of all 12 nside² pixels, shape (12 nside²,).
        nest
            Whether the order is nested; else it is ring order.
        frame
            "icrs", "galactic", "earth" or None.
        """
        given = as_float_array(values, "values")
        nside = round(float(np.sqrt(given.size / 12.0)))
        if given.ndim != 1 or given.size == 0 or 12 * nside**2 != given.size:
            raise InvalidInputError(
                f"A HEALPix map has 12 nside² values (12, 48, 192, …), shape (n,); got shape {given.shape}."
            )
        if check_flag(nest, "nest"):
            if nside & (nside - 1):
                raise InvalidInputError(f"A map in nested order has an nside that is a power of two; got {nside}.")
            healpix = load_package("astropy_healpix", "A map in nested order", "sky")
            given = given[healpix.HEALPix(nside).ring_to_nested(np.arange(given.size))]
        return cls(RingGrid.healpix(nside), given, frame)

    @classmethod
    def from_raster(cls, values: ArrayLike, lon: ArrayLike, lat: ArrayLike, frame: str | None = None) -> ExposureMap:
        """A regular grid in longitude and latitude.

        Parameters
        ----------
        values
            Exposure, shape (n_lat, n_lon).
        lon, lat
            Centres of the pixels in degrees, shapes (n_lon,) and (n_lat,), in equal steps up or down.  Where the
            longitudes cover the whole turn, the map closes; else it ends half a pixel beyond the last centres.
        frame
            "icrs", "galactic", "earth" or None.
        """
        table = as_float_array(values, "values")
        lon, table = _ascending(np.unwrap(as_float_array(lon, "lon"), period=360.0), table, 1, "lon")
        lat, table = _ascending(as_float_array(lat, "lat"), table, 0, "lat")
        if lat[0] < -90.0 - 1e-6 or lat[-1] > 90.0 + 1e-6:
            raise InvalidInputError(
                f"lat must be degrees between −90 and 90; got {lat[0]:g} to {lat[-1]:g}. Longitude comes first."
            )
        lon, table = _closed_once(lon, table)
        return cls(RingGrid.raster(lon, np.clip(lat, -90.0, 90.0)), table.ravel(), frame)

    @classmethod
    def from_file(cls, path: Any) -> ExposureMap:
        """A map of a file, with its frame.

        Parameters
        ----------
        path
            A HEALPix map in FITS, a FITS image with celestial coordinates in any projection, or a raster that rasterio
            reads, such as GeoTIFF or an ASCII grid.
        """
        found = read_map(path)
        try:
            if found.nest is not None:
                return cls.from_healpix(found.values, found.nest, found.frame)
            if found.lon is not None and found.lat is not None:
                return cls.from_raster(found.values, found.lon, found.lat, found.frame)
            assert found.grid is not None, "one of three kinds"
            return cls(found.grid, found.values.ravel(), found.frame)
        except InvalidInputError as error:
            raise InvalidInputError(f"{found.name}: {error}") from None

    def __call__(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """The logarithm at points (n, 3) and its tangent gradient, shapes (n,) and (n, 3); NaN where there is none."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        parts = [self._interpolated(X[k : k + _POINTS]) for k in range(0, max(len(X), 1), _POINTS)]
        return np.concatenate([value for value, _ in parts]), np.concatenate([gradient for _, gradient in parts])

    def log_values(self, X: Any) -> FloatArray:
        """The logarithm alone, shape (n,).

        Parameters
        ----------
        X
            Points, shape (n, 3).
        """
        X = np.ascontiguousarray(X, dtype=np.float64)
        starts = range(0, max(len(X), 1), _POINTS)
        values: FloatArray = np.concatenate([self._mean(X[k : k + _POINTS], False).value for k in starts])
        return np.log(values)

    def _interpolated(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Value and gradient; on a line through centres of pixels, where it bends, the mean of both sides.

        Points that were rounded as the centres are lie there by the hundred.
        """
        aside = _NUDGE * self.grid.spacing * np.cross(X, _ASKEW)
        sides = np.array([self._gradient(X + aside), self._gradient(X - aside)])
        known = np.isfinite(sides).all(axis=2)
        total = np.where(known[:, :, None], sides, 0.0).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.log(self._mean(X, False).value), total / known.sum(axis=0)[:, None]

    def _gradient(self, X: FloatArray) -> FloatArray:
        """Of the logarithm at points between the lines through centres of pixels, shape (n, 3)."""
        found = self._mean(X, True)
        assert found.stencil.slope is not None, "asked for"
        # e = Σ w v / Σ w, so that ∇e = Σ (v − e) ∇w / Σ w.
        factor = np.where(found.known, found.values - found.value[:, None], 0.0)
        factor /= (np.where(found.total > 0.0, found.total, np.inf) * found.value)[:, None]
        gradient: FloatArray = np.einsum("nk,nkd->nd", factor, found.stencil.slope)
        gradient[np.isnan(found.value)] = np.nan
        return gradient

    def _mean(self, X: FloatArray, slopes: bool, *, alone: bool = False) -> _Mean:
        """The exposure at points (n, 3), NaN where there is none, from pixels that are not blank.

        In a corner of a pixel all those around may be blank.  Then what lies within a pixel is taken, unless ``alone``.
        """
        stencil = self.grid.stencil(X, slopes)
        values = self._completed[stencil.pixel]
        known = (stencil.pixel >= 0) & (values > 0.0)
        weight = np.where(known, stencil.weight, 0.0)
        total = weight.sum(axis=1)
        total[total < 1e-12] = 0.0
        with np.errstate(invalid="ignore"):
            value = np.einsum("nk,nk->n", weight, np.where(known, values, 0.0)) / total
        value[total == 0.0] = np.nan
        found = _Mean(value, total, known, values, stencil)
        if alone:
            return found
        for reach in _REACHES:
            todo = np.flatnonzero((stencil.pixel >= 0).any(axis=1) & np.isnan(value))
            if todo.size == 0:
                break
            around = [self._mean(Y, False, alone=True).value for Y in _ring(X[todo], reach * self.grid.spacing)]
            seen = np.isfinite(around)
            with np.errstate(invalid="ignore"):
                value[todo] = np.where(seen, around, 0.0).sum(axis=0) / seen.sum(axis=0)
        return found

    @cached_property
    def _completed(self) -> FloatArray:
        return np.nan_to_num(self.grid.completed(np.nan_to_num(self.values)))

    def blank_inside(self, region: Region) -> tuple[int, FloatArray | None]:
        """How many pixels that are zero or missing have their centres inside a region, and the first of these.

        Parameters
        ----------
        region
            The region to look at.
        """
        if region not in self._shelf:
            self._shelf[region] = self._count_blank(region)
        return self._shelf[region]

    @cached_property
    def _shelf(self) -> dict[Region, tuple[int, FloatArray | None]]:
        """What is known of regions: several models are often fitted inside one."""
        return {}

    def _count_blank(self, region: Region) -> tuple[int, FloatArray | None]:
        blank = np.flatnonzero(~(self.values > 0.0))
        lower, upper = region.bounds
        count, first = 0, None
        for start in range(0, blank.size, _BLOCK):
            centres = self.grid.centres(blank[start : start + _BLOCK])
            centres = centres[((centres >= lower - 1e-9) & (centres <= upper + 1e-9)).all(axis=1)]
            if len(centres) == 0:
                continue
            inside = region.contains(centres)
            if first is None and inside.any():
                first = centres[np.argmax(inside)]
            count += int(inside.sum())
        return count, first

    @property
    def is_healpix(self) -> bool:
        """Whether its pixels are those of HEALPix, which a mask can be made of."""
        return isinstance(self.grid, RingGrid) and self.grid.kind.startswith("HEALPix")

    @property
    def label(self) -> str:
        """What it is, in words."""
        return f"a map ({self.grid.label}{'' if self.frame is None else f', {FRAMES[self.frame].title}'})"

    @property
    def known_frame(self) -> Frame:
        """Its frame; PLAIN where nothing is known."""
        return PLAIN if self.frame is None else FRAMES[self.frame]

    def __repr__(self) -> str:
        blank = int(np.count_nonzero(~(self.values > 0.0)))
        pixels = f"{self.values.size:,} pixels" + (f", {blank:,} of them blank" if blank else "")
        return f"ExposureMap(<{self.grid.label}: {pixels}>, frame={self.frame!r})"


def _ring(X: FloatArray, radius: float) -> list[FloatArray]:
    """Eight points around each of some unit vectors, (n, 3) each."""
    first = np.cross(X, np.eye(3)[np.argmin(np.abs(X), axis=1)])
    first /= np.linalg.norm(first, axis=1)[:, None]
    second = np.cross(X, first)
    angles = np.arange(8) * (np.pi / 4.0)
    return [np.cos(radius) * X + np.sin(radius) * (np.cos(angle) * first + np.sin(angle) * second) for angle in angles]


def _checked(values: FloatArray) -> FloatArray:
    """A read-only copy of exposures (n,), which are not negative and somewhere positive."""
    values = np.array(as_float_array(values, "values")).ravel()
    bad = (values < 0.0) | np.isinf(values)
    if bad.any():
        first = int(np.argmax(bad))
        raise InvalidInputError(
            f"The exposure must be finite and not negative; in {int(bad.sum()):,} of {bad.size:,} pixels it is not "
            f"(first: pixel {first}, {values[first]:.6g}). Give detection probabilities or exposure times, not their "
            "logarithms, and NaN where nothing is known."
        )
    if not (values > 0.0).any():
        raise InvalidInputError(f"The exposure is zero or missing in all {values.size:,} pixels.")
    values.flags.writeable = False
    return values


def _ascending(centres: FloatArray, table: FloatArray, axis: int, name: str) -> tuple[FloatArray, FloatArray]:
    """Centres of pixels that rise in equal steps, and the table in their order."""
    if centres.ndim != 1 or table.ndim != 2 or table.shape[axis] != centres.size or centres.size == 0:
        raise InvalidInputError(
            f"values must have shape (n_lat, n_lon), one for each centre of a pixel; got shape {table.shape} and "
            f"{name} of shape {centres.shape}."
        )
    if not np.isfinite(centres).all():
        raise InvalidInputError(f"{name} has entries that are no numbers.")
    if centres.size > 1 and centres[0] > centres[-1]:
        centres, table = centres[::-1], np.flip(table, axis)
    steps = np.diff(centres)
    # Centres as files print them: to float32, or to a few digits.
    if steps.size and (steps.min() <= 0.0 or np.ptp(steps) > 1e-3 * steps.mean() + 1e-4 * np.abs(steps).max()):
        raise InvalidInputError(
            f"{name} must be in equal steps, up or down; got steps from {steps.min():g} to {steps.max():g} degrees."
        )
    return centres, table


def _closed_once(lon: FloatArray, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Without a last column that is the first one again, a turn later; an error where there is more than a turn."""
    if lon.size < 2:
        return lon, table
    step = (lon[-1] - lon[0]) / (lon.size - 1)
    turns = lon.size * step - 360.0
    if abs(turns - step) < 0.01 * step and np.allclose(table[:, 0], table[:, -1], equal_nan=True):
        lon, table, turns = lon[:-1], table[:, :-1], 0.0
    if turns > 0.01 * step:
        raise InvalidInputError(
            f"lon covers {lon.size * step:g} degrees, more than a turn: leave out the columns that come twice."
        )
    if abs(turns) <= 0.01 * step:  # exactly a turn, so that it closes
        lon = lon[0] + 360.0 / lon.size * np.arange(lon.size)
    return lon, table
