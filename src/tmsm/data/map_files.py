"""Maps of values on the sphere in files: HEALPix and images in FITS, and rasters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tmsm.data.map_grids import CrsProjection, ImageGrid, MapGrid, WcsProjection
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.given_files import check_file
from tmsm.foundation.optional import load_package
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS
from tmsm.regions.healpix_files import kind_of_file, open_fits, read_healpix

__all__ = ["MapFile", "read_map"]

_WHAT = "the exposure map"


@dataclass(frozen=True)
class MapFile:
    """Values of a file, and where they are.

    HEALPix pixels, of which ``nest`` says the order; a grid in longitude and latitude (``lon``, ``lat``); or some
    other ``grid``.
    """

    name: str
    values: FloatArray
    frame: str | None
    nest: bool | None = None
    lon: FloatArray | None = None
    lat: FloatArray | None = None
    grid: MapGrid | None = None


def read_map(path: Any) -> MapFile:
    """A map of a file, by its content."""
    path = check_file(path, _WHAT)
    kind = kind_of_file(path)
    if kind == "healpix":
        found = read_healpix(path)
        values = found.values
        if found.pixels is not None:
            if 12 * found.nside**2 > 2**28:
                raise InvalidInputError(f"{path.name} has nside {found.nside}, too many pixels for a map: degrade it.")
            values = np.full(12 * found.nside**2, np.nan)
            values[found.pixels] = found.values
        return MapFile(path.name, values, found.frame, nest=found.nest)
    if kind.startswith("moc"):
        raise InvalidInputError(
            f"{path.name} is a coverage map (MOC), which tells what was observed, not for how long. Use it as the "
            "region."
        )
    return _read_image(path) if kind == "image" else _read_raster(path)


def _read_image(path: Path) -> MapFile:
    wcs = load_package("astropy.wcs", f"{path.name} is a FITS file, which", "sky")
    with open_fits(path) as file:
        for hdu in file:
            if hdu.header.get("XTENSION", "").strip() == "BINTABLE" and "ZIMAGE" not in hdu.header:
                continue
            if hdu.data is not None and getattr(hdu.data, "ndim", 0) >= 2:
                break
        else:
            raise InvalidInputError(f"{path.name} is no map: it holds no image and no HEALPix table.")
        data: FloatArray = np.asarray(hdu.data, dtype=np.float64)
        found = wcs.WCS(hdu.header)
        if not found.has_celestial:
            raise InvalidInputError(f"{path.name} is no map of the sky: its image has no celestial coordinates.")
        frame = _celestial_frame(path, found.celestial)
        if int(np.prod(data.shape[:-2])) != 1:
            raise InvalidInputError(
                f"{path.name} holds images in {int(np.prod(data.shape[:-2]))} planes; give a file with one."
            )
        data = data.reshape(data.shape[-2], data.shape[-1])
        celestial = found.celestial
        if celestial.wcs.lng != 0:
            data, celestial = data.T, celestial.swapaxes(0, 1)
        if celestial.sip is not None or celestial.cpdis1 is not None:
            raise InvalidInputError(f"{path.name} has a distorted image: resample it to a plain projection first.")
        header = celestial.to_header().tostring(sep="\n", padding=False, endcard=False)
    return _placed(path, data, ImageGrid(data.shape[0], data.shape[1], WcsProjection(header)), frame)


def _celestial_frame(path: Path, found: Any) -> str:
    kind = str(found.wcs.ctype[found.wcs.lng]).split("-")[0].upper()
    system = str(found.wcs.radesys).strip().upper()
    if kind == "GLON":
        return GALACTIC.name
    equinox = float(found.wcs.equinox)
    if kind == "RA" and system in ("", "ICRS", "FK5") and (np.isnan(equinox) or equinox == 2000.0):
        return ICRS.name
    if np.isfinite(equinox):
        system = f"{system} of {equinox:g}"
    raise InvalidInputError(
        f"{path.name} is in the coordinates {' '.join([kind, system]).strip()}. Give it in ICRS or galactic ones."
    )


def _read_raster(path: Path) -> MapFile:
    rasterio = load_package("rasterio", f"{path.name} is not FITS: reading it as a raster", "geo")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.open(path) as file:
                bands, affine, crs = file.count, file.transform, file.crs
                values = None if bands != 1 else file.read(1, masked=True).astype(np.float64).filled(np.nan)
    except rasterio.errors.RasterioError as error:
        raise InvalidInputError(
            f"{path.name} is no map: it is neither FITS nor a raster that can be read ({error})."
        ) from None
    if values is None:
        raise InvalidInputError(f"{path.name} has {bands} bands; give a file with one.")
    if affine.is_identity:
        raise InvalidInputError(f"{path.name} does not say where its pixels are: it is no map.")
    n_rows, n_columns = values.shape
    if crs is None:
        west, east = affine.c, affine.c + n_columns * affine.a
        south, north = sorted((affine.f, affine.f + n_rows * affine.e))
        if max(abs(west), abs(east)) > 540.0 or south < -90.001 or north > 90.001:
            raise InvalidInputError(
                f"{path.name} has no coordinate reference system, and its coordinates are no degrees: add one."
            )
    if (crs is None or crs.is_geographic) and affine.b == 0.0 and affine.d == 0.0:
        lon = affine.c + (np.arange(n_columns) + 0.5) * affine.a
        lat = affine.f + (np.arange(n_rows) + 0.5) * affine.e
        return MapFile(path.name, values, EARTH.name, lon=lon, lat=lat)
    text = "OGC:CRS84" if crs is None else crs.to_wkt()
    grid = ImageGrid(n_rows, n_columns, CrsProjection(text, tuple(float(number) for number in affine[:6])))
    return MapFile(path.name, values, EARTH.name, grid=grid)


def _placed(path: Path, data: FloatArray, grid: ImageGrid, frame: str) -> MapFile:
    """An image as a grid in longitude and latitude where it is one, which may close; else as it is."""
    columns, rows = np.arange(grid.n_columns, dtype=np.float64), np.arange(grid.n_rows, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        edges = [grid.projection.to_sky(columns, np.full_like(columns, row)) for row in (rows[0], rows[-1])]
        sides = [grid.projection.to_sky(np.full_like(rows, column), rows) for column in (columns[0], columns[-1])]
    lon, lat = np.unwrap(edges[0][0], period=360.0), sides[0][1]
    same = np.allclose(np.unwrap(edges[1][0], period=360.0), lon, atol=1e-8) and np.allclose(
        sides[1][1], lat, atol=1e-8
    )
    even = all(part.size < 3 or np.ptp(np.diff(part)) < 1e-6 * np.abs(np.diff(part)).max() for part in (lon, lat))
    if same and even and np.isfinite(lon).all() and np.isfinite(lat).all():
        return MapFile(path.name, data, frame, lon=lon, lat=lat)
    return MapFile(path.name, data, frame, grid=grid)
