"""Maps on their way out: GeoTIFF, HEALPix in FITS, and contours in GeoJSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.optional import load_package
from tmsm.foundation.whole_files import write_text, write_whole
from tmsm.manifolds.frames import EARTH, GALACTIC, ICRS, PLAIN, Frame
from tmsm.manifolds.lonlat import EARTH_RADIUS_KM
from tmsm.maps.highest import HighestDensityRegion
from tmsm.maps.pixels import Pixels

__all__ = ["check_geotiff", "contours_geojson", "healpix_package", "write_contours", "write_geotiff", "write_healpix"]

_BANDS = ("density", "low", "high")
_FITS_UNITS = {"probability per square kilometre": "km-2", "probability per steradian": "sr-1"}
_COORDSYS = {ICRS.name: "C", GALACTIC.name: "G"}


def _scale(frame: Frame | None) -> tuple[float, str]:
    """What densities are multiplied by, and their unit."""
    if frame is None:
        return 1.0, "probability per unit of area"
    if frame == EARTH:
        return EARTH_RADIUS_KM**-2.0, "probability per square kilometre"
    return 1.0, "probability per steradian"


def _meant(frame: Frame) -> Frame:
    """Whoever writes a GeoTIFF or GeoJSON means the Earth, also where nothing is known."""
    return EARTH if frame == PLAIN else frame


def write_geotiff(path: Path, pixels: Pixels, title: str) -> None:
    """Three bands, the density and its band's ends, NaN outside the region; on the Earth per square kilometre."""
    if pixels.step is None:
        raise InvalidInputError("A GeoTIFF holds a grid of longitudes and latitudes, not HEALPix pixels.")
    rasterio = check_geotiff(pixels.frame)
    step = pixels.step
    # Edges are multiples of the step, without the rounding of the centres.
    west, north = (
        float(f"{step * np.rint(edge / step):.14g}") for edge in (pixels.x[0] - 0.5 * step, pixels.y[-1] + 0.5 * step)
    )
    affine = rasterio.Affine(step, 0.0, west, 0.0, -step, north)
    factor, unit = _scale(None if pixels.frame is None else _meant(pixels.frame))
    layers = [_upside_down(one) * factor for one in (pixels.density, pixels.low, pixels.high)]
    options: dict[str, Any] = {
        "driver": "GTiff", "height": pixels.y.size, "width": pixels.x.size, "count": 3, "dtype": "float32",
        "nodata": float("nan"), "compress": "deflate", "predictor": 3, "transform": affine,
    }  # fmt: skip
    if pixels.frame is not None:
        options["crs"] = "EPSG:4326"

    def save(temporary: Path) -> None:
        with rasterio.open(temporary, "w", **options) as file:
            for k, (name, layer) in enumerate(zip(_BANDS, layers, strict=True), start=1):
                file.write(layer.astype(np.float32), k)
                file.set_band_description(k, name)
            file.update_tags(TITLE=title, UNIT=unit, LEVEL=f"{pixels.level:g}", SOFTWARE="tmsm")

    write_whole(path, save)


def check_geotiff(frame: Frame | None) -> Any:
    """The package that writes it; an error where there is none, or where there are no places on the Earth."""
    if frame is not None and frame.is_sky:
        raise InvalidInputError("A GeoTIFF is a map of the Earth: write a map of the sky as HEALPix in FITS.")
    return load_package("rasterio", "Writing a GeoTIFF", "geo")


def healpix_package() -> Any:
    """The package that writes HEALPix maps."""
    return load_package("astropy.io.fits", "Writing a HEALPix map", "sky")


def _upside_down(values: FloatArray) -> FloatArray:
    return values[::-1]


def write_healpix(path: Path, pixels: Pixels, title: str) -> None:
    """A FITS table in ring order with the columns DENSITY, LOW and HIGH, NaN outside the region."""
    if pixels.nside is None:
        raise InvalidInputError("A FITS map holds HEALPix pixels: ask for an nside.")
    fits = healpix_package()
    factor, unit = _scale(pixels.frame)
    columns = [
        fits.Column(name=name.upper(), format="E", array=values * factor, unit=_FITS_UNITS[unit])
        for name, values in zip(_BANDS, (pixels.density, pixels.low, pixels.high), strict=True)
    ]
    table = fits.BinTableHDU.from_columns(columns)
    frame = pixels.frame
    header = {
        "PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": pixels.nside, "FIRSTPIX": 0,
        "LASTPIX": pixels.density.size - 1, "INDXSCHM": "IMPLICIT", "OBJECT": "FULLSKY", "BUNIT": unit,
        "LEVEL": pixels.level, "TITLE": shorten(title, 200).encode("ascii", "replace").decode(), "CREATOR": "tmsm",
    }  # fmt: skip
    if frame is not None and frame.name in _COORDSYS:
        header["COORDSYS"] = _COORDSYS[frame.name]
    for key, value in header.items():
        table.header[key] = value
    write_whole(path, lambda temporary: table.writeto(temporary, overwrite=True))


def contours_geojson(found: Sequence[HighestDensityRegion]) -> dict[str, Any]:
    """Regions of highest density as a FeatureCollection, the largest first."""
    features = []
    for one in sorted(found, key=lambda region: -region.share):
        frame = _meant(one.density.frame)
        factor, unit = _scale(frame)
        properties = {
            "role": "region of highest density", "share": one.share, "area": one.area_in(frame),
            "density": float(np.exp(one.log_density)) * factor, "density_unit": unit,
        }  # fmt: skip
        geometry = {"type": "MultiPolygon", "coordinates": one.polygons}
        features.append({"type": "Feature", "geometry": geometry, "properties": properties})
    return {"type": "FeatureCollection", "features": features}


def write_contours(path: Path, found: Sequence[HighestDensityRegion]) -> None:
    """The same as a file."""
    write_text(path, json.dumps(contours_geojson(found), ensure_ascii=False))
