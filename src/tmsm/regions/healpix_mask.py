"""Sky masks: the observed pixels of a HEALPix map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from tmsm.foundation.arrays import ArrayLike, BoolArray, FloatArray
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.given_files import check_file
from tmsm.foundation.optional import load_package
from tmsm.foundation.validation import check_count, check_flag, check_number
from tmsm.manifolds import Manifold, Sphere
from tmsm.manifolds.coordinates import lonlat_to_xyz
from tmsm.manifolds.frames import frame_named
from tmsm.regions.borders import RowBorder
from tmsm.regions.healpix_files import kind_of_file, read_healpix, read_moc
from tmsm.regions.landmarks import Landmarks
from tmsm.regions.polygon.outlines import ROOM, chain_edges, height_above_arcs, vertex_numbers
from tmsm.regions.polygon.spherical import SphericalPolygon, polygon_of_outline
from tmsm.regions.region import Region

__all__ = ["HealpixMask"]

# Beyond so many pixels of a whole map no table of all of them is made.
_LARGE_MAP = 200_000_000


@final
@dataclass(frozen=True, eq=False, repr=False)
class HealpixMask(Region):
    """The union of some pixels of a HEALPix map; its border is their outline.

    It needs ``astropy-healpix`` (``pip install tmsm[sky]``). Sides of pixels are curves. They are replaced by arcs
    within ``tolerance`` of them, and the distance to these arcs is exact.

    Parameters
    ----------
    nside
        Resolution of the map, a power of two.
    pixels
        Indices of the observed pixels, or a boolean map of all 12 nside² of them.
    nest
        Whether the order is nested; else it is ring order.
    tolerance
        Largest distance in radians between the side of a pixel and its arcs.
    frame
        The frame of the map, "icrs", "galactic" or "earth", if it is known: points of another frame are refused.

    Examples
    --------
    >>> import tmsm
    >>> mask = tmsm.HealpixMask(nside=1, pixels=[0, 1, 2, 3])  # the four pixels around the north pole
    >>> mask.contains(tmsm.lonlat_to_xyz([0, 0], [80, -80]))
    array([ True, False])
    """

    nside: int
    pixels: Any
    nest: bool
    tolerance: float
    frame: str | None

    def __init__(
        self,
        nside: int,
        pixels: ArrayLike,
        nest: bool = False,
        tolerance: float = 1e-6,
        frame: str | None = None,
    ) -> None:
        nside = check_count(nside, "nside")
        if nside & (nside - 1):
            raise InvalidInputError(f"nside must be a power of two; got {nside}.")
        total = 12 * nside**2
        chosen = np.asarray(pixels)
        if chosen.dtype == np.bool_:
            if chosen.shape != (total,):
                raise InvalidInputError(
                    f"A boolean map of nside {nside} has {total} entries; got shape {chosen.shape}."
                )
            chosen = np.flatnonzero(chosen)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise InvalidInputError("pixels must be whole numbers, one for each observed pixel, or a boolean map.")
        chosen = np.unique(chosen).astype(np.int64)
        if chosen.size == 0:
            raise InvalidInputError("pixels is empty: nothing was observed.")
        if chosen[0] < 0 or chosen[-1] >= total:
            worst = chosen[0] if chosen[0] < 0 else chosen[-1]
            raise InvalidInputError(f"pixels must be between 0 and {total - 1} for nside {nside}; got {worst}.")
        if chosen.size == total:
            raise InvalidInputError("All pixels were observed: use Everywhere(Sphere(2)).")
        chosen.flags.writeable = False
        object.__setattr__(self, "nside", nside)
        object.__setattr__(self, "pixels", chosen)
        object.__setattr__(self, "nest", check_flag(nest, "nest"))
        object.__setattr__(self, "tolerance", check_number(tolerance, "tolerance", at_least=1e-12))
        object.__setattr__(self, "frame", None if frame is None else frame_named(frame).name)

    @classmethod
    def from_file(cls, path: Any, threshold: float = 0.0) -> HealpixMask:
        """The observed pixels of a HEALPix map in FITS, or of a multi-order coverage map (MOC).

        Parameters
        ----------
        path
            A HEALPix map (FITS, implicit or explicit pixels), or a MOC in FITS, JSON or ASCII, which is flattened to
            its finest order.
        threshold
            A pixel of a map was observed if its value is larger.  Missing values (NaN, UNSEEN) were not observed.

        Returns
        -------
        A mask with the resolution, order and frame of the file.
        """
        threshold = check_number(threshold, "threshold")
        path = check_file(path, "the mask")
        kind = kind_of_file(path)
        if kind == "healpix":
            found = read_healpix(path)
        elif kind in ("moc", "moc-json", "moc-ascii"):
            found = read_moc(path, kind)
        else:
            what = "a FITS file without a HEALPix map" if kind == "image" else "neither FITS nor a MOC in JSON or ASCII"
            raise InvalidInputError(f"{path.name} is no HEALPix mask: it is {what}.")
        with np.errstate(invalid="ignore"):
            observed = found.values > threshold
        if not observed.any():
            largest = np.nanmax(found.values) if np.isfinite(found.values).any() else np.nan
            raise InvalidInputError(
                f"{path.name} has no pixel above {threshold:g} (largest: {largest:g}): nothing was observed."
            )
        pixels = np.flatnonzero(observed) if found.pixels is None else found.pixels[observed]
        if pixels.size == 12 * found.nside**2:
            raise InvalidInputError(f"All pixels of {path.name} were observed: use Everywhere(Sphere(2)).")
        return cls(found.nside, pixels, found.nest, frame=found.frame)

    def __repr__(self) -> str:
        share = self.pixels.size / (12 * self.nside**2)
        frame = "" if self.frame is None else f", frame={self.frame!r}"
        return (
            f"HealpixMask(nside={self.nside}, <{self.pixels.size:,} pixels, {share:.3%} of the sky>, "
            f"nest={self.nest}{frame})"
        )

    @property
    def frames(self) -> frozenset[str]:
        return frozenset() if self.frame is None else frozenset([self.frame])

    @property
    def is_costly(self) -> bool:
        return True

    @property
    def manifold(self) -> Manifold:
        return Sphere(2)

    @property
    def area(self) -> float:
        """Area in steradians: all pixels have the same."""
        return float(4 * np.pi * self.pixels.size / (12 * self.nside**2))

    @cached_property
    def outline(self) -> SphericalPolygon:
        """The border as a polygon of great-circle arcs."""
        healpix = load_package("astropy_healpix", "The outline of a HealpixMask", "sky")
        grid = healpix.HEALPix(self.nside, order="nested" if self.nest else "ring")
        # Neighbours come as SW, W, NW, N, NE, E, SE, S; corners as N, W, S, E, so edges as NW, SW, SE, NE.
        with np.errstate(invalid="ignore"):  # some corners of the base pixels have no neighbour
            across = np.asarray(grid.neighbours(self.pixels))[[2, 0, 6, 4]]
        on_border = ~self._observed(across)
        pixel, edge = self.pixels[np.nonzero(on_border)[1]], np.nonzero(on_border)[0]
        pieces, points = _split_edges(grid, pixel, edge, self.tolerance)
        first = np.cumsum(pieces) - pieces
        numbers = vertex_numbers(np.vstack([points[first], _along(grid, pixel, edge, np.ones(len(pixel)))]))
        rings = [
            points[np.concatenate([np.arange(first[k], first[k] + pieces[k]) for k in edges])]
            for edges, _ in chain_edges(numbers[: len(pixel)], numbers[len(pixel) :])
        ]
        return polygon_of_outline(rings)

    def _observed(self, pixels: Any) -> BoolArray:
        """Which of some pixels were observed, in their shape."""
        if 12 * self.nside**2 <= _LARGE_MAP:
            observed: BoolArray = np.zeros(12 * self.nside**2, dtype=bool)
            observed[self.pixels] = True
            chosen: BoolArray = observed[pixels]
            return chosen
        place = np.minimum(np.searchsorted(self.pixels, pixels), self.pixels.size - 1)
        found: BoolArray = self.pixels[place] == pixels
        return found

    @property
    def row_border(self) -> RowBorder | None:
        return self.outline.row_border

    def signed_distance(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.outline.signed_distance(X)

    def projected_distance(self, X: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
        return self.outline.projected_distance(X, axis)

    @property
    def landmarks(self) -> Landmarks:
        return self.outline.landmarks

    @property
    def border_curves(self) -> list[FloatArray] | None:
        return self.outline.border_curves

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the outline in longitude and latitude.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        **style
            Options of Matplotlib for the line, such as ``color``.

        Returns
        -------
        The axes.
        """
        return self.outline.plot(ax, **style)


def _split_edges(grid: Any, pixel: Any, edge: Any, tolerance: float) -> tuple[Any, FloatArray]:
    """Number of arcs for each edge (m,), as few as stay within the tolerance, and the starts of all of them."""
    pieces = np.ones(len(pixel), dtype=np.int64)
    todo = np.arange(len(pixel))
    while todo.size:
        # Both ends of every arc and three points along the edge between them: edges across the equator are S-shaped.
        which, step = _steps(4 * pieces[todo] + 1)
        points = _along(grid, pixel[todo][which], edge[todo][which], step / (4.0 * pieces[todo][which]))
        middle = np.flatnonzero(step % 4 == 2)
        a, b = points[middle - 2], points[middle + 2]
        gap = np.max([height_above_arcs(points[middle + k], a, b) for k in (-1, 0, 1)], axis=0)
        worst = np.maximum.reduceat(gap, np.cumsum(pieces[todo]) - pieces[todo]) / (ROOM * tolerance)
        # Twice as many pieces are four times as close.
        finer = np.ceil(pieces[todo] * np.sqrt(worst)).astype(np.int64)
        pieces[todo] = np.where(worst > 1.0, np.maximum(finer, pieces[todo] + 1), pieces[todo])
        todo = todo[worst > 1.0]
    which, step = _steps(pieces)
    return pieces, _along(grid, pixel[which], edge[which], step / pieces[which])


def _steps(counts: Any) -> tuple[Any, Any]:
    """0, …, count − 1 for each of some counts, one after the other: whose they are, and the numbers."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)


def _along(grid: Any, pixel: Any, edge: Any, share: FloatArray) -> FloatArray:
    """Points at a share of the way along an edge of each pixel, counter-clockwise, shape (m, 3)."""
    # From corner to corner: north, west, south, east and north again.
    x, y = np.array([1.0, 0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    dx, dy = ((1.0 - share) * corner[edge] + share * corner[edge + 1] for corner in (x, y))
    lon, lat = grid.healpix_to_lonlat(pixel, dx, dy)
    return lonlat_to_xyz(lon.to_value("deg"), lat.to_value("deg"))
