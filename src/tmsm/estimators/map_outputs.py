"""Files of a map, by their endings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tmsm.display.region_words import region_in_words
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError
from tmsm.foundation.validation import check_count, check_number
from tmsm.foundation.whole_files import write_whole
from tmsm.manifolds.frames import Frame
from tmsm.maps.highest import HighestDensityRegion
from tmsm.maps.map_files import check_geotiff, healpix_package, write_contours, write_geotiff, write_healpix
from tmsm.maps.pixels import check_nside, grid_of
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.windows import flat_window, lonlat_extent
from tmsm.regions import Region

__all__ = ["PAGES", "PICTURES", "RASTERS", "SHARES", "check_ending", "check_file", "check_page", "write_map"]

PICTURES, RASTERS, PAGES = (".png", ".svg", ".pdf", ".jpg"), (".tif", ".tiff"), (".html", ".htm")
ENDINGS = (*PICTURES, *RASTERS, ".geojson", ".json", ".fits")
# Of regions of highest density that a file holds where nothing else is asked for.
SHARES = (0.25, 0.5, 0.75, 0.9)
# Pixels along the longer side of a raster, and HEALPix pixels across the region, where nothing is asked for.
_PIXELS, _ACROSS = 500, 60
_FINEST = 512
_ROUND = np.array([1.0, 2.0, 2.5, 5.0, 10.0])


class _Map(Protocol):
    @property
    def density_(self) -> RegionDensity: ...

    def predict(self, where: Any = None, *, nside: int | None, step: float | None, level: float) -> Any: ...

    def highest_density_region(self, share: float) -> HighestDensityRegion: ...

    def plot(self, ax: Any = None, **options: Any) -> Any: ...


def check_ending(path: Path) -> str:
    """The ending of a map's file in small letters; an error that lists the known ones for another."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(f"{path.name!r} has an ending that no map is written for: use {', '.join(ENDINGS)}.")
    return ending


def check_page(path: Path) -> None:
    """Raise where a page has the ending of something else."""
    if path.suffix.lower() not in PAGES:
        raise InvalidInputError(f"{path.name!r} has an ending that no page is written for: use {', '.join(PAGES)}.")


def check_file(path: Path, region: Region, frame: Frame, *, step: float | None = None, nside: int | None = None) -> str:
    """The ending of a map's file; an error where a map of this region cannot be written there.

    That is so because of the region, the pixels, or a package that is missing.
    """
    ending, manifold = check_ending(path), region.manifold
    if ending in RASTERS:
        check_geotiff(frame if manifold.has_longitudes else None)
        if step is not None:
            grid_of(region, frame, check_number(step, "step", above=0.0))
    elif ending == ".fits":
        check_nside(region, None if nside is None else check_count(nside, "nside"))
        healpix_package()
    elif ending not in PICTURES and not manifold.has_longitudes:
        raise InvalidInputError(f"GeoJSON holds places on S², not points of {manifold!r}.")
    return ending


def write_map(
    fitted: _Map,
    path: Path,
    *,
    step: float | None = None,
    nside: int | None = None,
    shares: Sequence[float] | None = None,
    level: float = 0.95,
    **options: Any,
) -> None:
    """Write a map in the format of its file's ending."""
    region, frame = fitted.density_.region, fitted.density_.frame
    ending = check_file(path, region, frame, step=step, nside=nside)
    title = f"density inside {region_in_words(region, frame)}"
    if ending not in PICTURES and options:
        raise InvalidTypeError(f"{next(iter(options))} is an option of pictures, and {path.name} is none.")
    if ending in RASTERS:
        pixels = fitted.predict(nside=None, step=_usual_step(fitted.density_) if step is None else step, level=level)
        write_geotiff(path, pixels, title)
    elif ending == ".fits":
        pixels = fitted.predict(nside=_usual_nside(fitted.density_) if nside is None else nside, step=None, level=level)
        write_healpix(path, pixels, title)
    elif ending in (".geojson", ".json"):
        write_contours(path, [fitted.highest_density_region(share) for share in (shares or SHARES)])
    else:
        if shares is not None:
            options["shares"] = shares
        figure = fitted.plot(**options).figure_
        try:
            write_whole(path, lambda temporary: figure.savefig(temporary, format=ending.lstrip("."), dpi=150))
        finally:
            _close(figure)


def _close(figure: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(figure)


def _usual_step(density: RegionDensity) -> float:
    """A round number of degrees, or units, of which there are some hundreds along the region."""
    if density.region.manifold.has_longitudes:
        west, east, south, north = lonlat_extent(density.region)
        longest = max(east - west, north - south)
    else:
        x, y = flat_window(density.region, 2)
        longest = max(x[-1] - x[0], y[-1] - y[0])
    wanted = longest / _PIXELS
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * _ROUND[np.searchsorted(_ROUND, wanted / power * (1.0 - 1e-9))])


def _usual_nside(density: RegionDensity) -> int:
    """A power of two with some tens of pixels across the region."""
    across = np.sqrt(density.area)
    # A pixel of nside is √(4π/12)/nside across.
    wanted = _ACROSS * np.sqrt(np.pi / 3.0) / across
    return int(min(2 ** int(np.ceil(np.log2(max(wanted, 1.0)))), _FINEST))
