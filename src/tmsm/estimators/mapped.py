"""What maps of a density have in common: densities at points, pixels and polygons, bands, draws, and files."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Self

import numpy as np

from tmsm.data.named_tables import framed_points
from tmsm.data.rows import Rows
from tmsm.display.map_summary import map_html, map_summary
from tmsm.display.plots.map_display import MapDisplay
from tmsm.display.record import versions
from tmsm.display.report.map_page import html_map
from tmsm.estimators.base import check_exposure, check_is_region
from tmsm.estimators.contract import Contract
from tmsm.estimators.map_outputs import SHARES, check_page, write_map
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import InvalidInputError, InvalidTypeError, NotFittedError
from tmsm.foundation.validation import check_count, check_number, check_random_state
from tmsm.foundation.whole_files import as_path, is_standard_output, write_text
from tmsm.inference.delta import check_level
from tmsm.manifolds.frames import PLAIN
from tmsm.maps.highest import HighestDensityRegion
from tmsm.maps.map_files import contours_geojson
from tmsm.maps.pixels import bands, grid_pixels, healpix_pixels
from tmsm.maps.region_density import RegionDensity
from tmsm.maps.series_fit import SeriesFit
from tmsm.maps.shares import Share
from tmsm.matching.exposure import KnownExposure
from tmsm.regions import Region, SphericalPolygon

__all__ = ["HELD_OUT", "MapEstimator", "rows_in_words", "taken_for_independent"]

# What a summary says of rows that a map was judged by.
HELD_OUT = "{:.5g}, the mean log density of rows that took no part in the fit"


def rows_in_words(n: int, count: int, what: str, n_outside: int) -> str:
    """How many rows there are, at how many places or in how many groups, and how many were dropped."""
    text = f"{n:,}" if count == n else f"{n:,}, {'at' if what == 'places' else 'in'} {count:,} different {what}"
    return text + (f"; {n_outside:,} outside the region were dropped" if n_outside else "")


def taken_for_independent(n_rows: int, n_places: int, has_groups: bool) -> str:
    """What a band takes for independent, in words."""
    if has_groups:
        return "assuming that groups are independent"
    return "assuming that rows are independent" + (", copies of a point too" if n_places < n_rows else "")


class MapEstimator(Contract):
    """Base of the maps: the constructor stores, `fit` validates and returns self."""

    region: Any
    outside: Any
    log_exposure: Any
    random_state: Any

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None, groups: Any = None) -> Self:
        """Estimate the density; what an earlier call found is forgotten.

        Parameters
        ----------
        X
            Points, shape (n, D), in embedding coordinates, or a table with column names, or the path of a file, or
            other data that are read block by block. A map holds the points inside the region in memory.
        y
            Ignored; scikit-learn passes it.
        sample_weight
            Relative weights of the rows, shape (n,); the name of a column where X is a file or a table of Arrow, as
            for groups.
        groups
            Labels, shape (n,), of groups within which rows may depend on each other, such as the positions of one
            animal. They are held out together, and bands treat groups as independent, not rows.

        Returns
        -------
        self
        """
        self._result, self._why_not_fitted = None, "the last call to fit failed."
        check_is_region(self.region)
        check_exposure(self.log_exposure)
        rows = Rows.of(X, self.region, sample_weight, self.outside)
        if groups is not None:
            rows = rows.grouped(groups)
        self._result = self._estimate(rows)
        self._kept = rows.kept()
        return self

    @abstractmethod
    def _estimate(self, rows: Rows) -> Any:
        """What was found."""

    def _seed(self) -> int:
        """A whole number that says which rows are held out together."""
        return int(check_random_state(self.random_state).integers(2**62))

    @property
    def result_(self) -> Any:
        """All that the last call to `fit` found, in one immutable record."""
        if self._result is None:
            raise NotFittedError(f"This {type(self).__name__} has no map yet: {self._why_not_fitted}")
        return self._result

    @property
    def density_(self) -> RegionDensity:
        """The density that was found."""
        found: RegionDensity = self.result_.density
        return found

    @property
    def n_samples_(self) -> int:
        """Number of rows that the map used."""
        return int(self.result_.n_rows)

    @property
    @abstractmethod
    def held_out_(self) -> float:
        """Mean log density of rows that were held out: maps of the same rows are compared by it, larger is better."""

    @property
    @abstractmethod
    def status_(self) -> str:
        """How the map was found and what to be wary of."""

    @property
    def cautions(self) -> list[str]:
        """What to be wary of, in sentences that are in `status_` too."""
        return list(self.result_.notes)

    @abstractmethod
    def facts(self) -> list[tuple[str, str]]:
        """How the map came about: pairs of a name and words, as in `summary`."""

    @property
    def kept_rows_(self) -> FloatArray:
        """The rows of the fit, at most 65,536 of them spread evenly, shape (m, D)."""
        return self._kept.sample().X if self.result_ is not None else np.empty((0, 0))

    def _points(self, X: Any) -> FloatArray:
        """Points that a user asks about, checked."""
        density = self.density_
        manifold = density.region.manifold
        framed = framed_points(X) if manifold.has_longitudes else None
        if framed is not None and PLAIN not in (framed.frame, density.frame) and framed.frame != density.frame:
            raise InvalidInputError(
                f"X is in the frame {framed.frame.name!r}, and the map in {density.frame.name!r}: bring them into one."
            )
        return manifold.check_points(X if framed is None else framed.X)

    def logpdf(self, X: Any) -> FloatArray:
        """Logarithm of the density at points; its integral over the region is one.

        Parameters
        ----------
        X
            Points, shape (n, D).

        Returns
        -------
        Shape (n,), −∞ outside the region.
        """
        rows = self._points(X)
        return self._masked(rows, lambda inside: (self.density_.log_density(inside),), -np.inf)[0]

    def interval(self, X: Any, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """A confidence band of `logpdf` at points.

        Parameters
        ----------
        X
            Points, shape (n, D).
        level
            Confidence level between 0 and 1, for each point by itself.

        Returns
        -------
        low, high : shape (n,) each, −∞ outside the region.
        """
        level, rows = check_level(level), self._points(X)
        found = self._masked(rows, lambda inside: bands(self.density_, inside, level)[1:], -np.inf)
        return found[0], found[1]

    def _masked(self, rows: FloatArray, of: Any, otherwise: float) -> list[FloatArray]:
        """Values of points inside, and another number outside."""
        inside = self.density_.region.signed_distance(np.asfortranarray(rows))[0] > 0.0
        values = of(rows[inside])
        out = []
        for one in values:
            full = np.full(len(rows), otherwise)
            full[inside] = one
            out.append(full)
        return out

    def predict(
        self, where: Any = None, *, nside: int | None = None, step: float | None = None, level: float = 0.95
    ) -> Any:
        """The density at points or in pixels, or the share of the mass in polygons.

        Parameters
        ----------
        where
            Points, shape (n, D); a region, a list or a dictionary of regions; or a GeoDataFrame of polygons.
        nside
            HEALPix pixels of this resolution, instead of ``where``.
        step
            Pixels of so many degrees, or units of the plane, instead of ``where``.
        level
            Of the intervals of pixels and of a GeoDataFrame.

        Returns
        -------
        Densities, shape (n,), zero outside the region; `Share` objects, as many as there are regions, in the same
        container; the GeoDataFrame with columns share, low and high; or pixels with ``density``, ``low`` and ``high``.
        """
        given = [name for name, one in (("where", where), ("nside", nside), ("step", step)) if one is not None]
        if len(given) != 1:
            raise InvalidInputError(f"predict needs one of where, nside and step; got {', '.join(given) or 'none'}.")
        level = check_level(level)
        if nside is not None:
            return healpix_pixels(self.density_, check_count(nside, "nside"), level)
        if step is not None:
            return grid_pixels(self.density_, check_number(step, "step", above=0.0), level)
        if isinstance(where, Region):
            return self.share(where)
        if isinstance(where, Mapping) and all(isinstance(one, Region) for one in where.values()):
            return {name: self.share(one) for name, one in where.items()}
        if isinstance(where, Sequence) and len(where) and all(isinstance(one, Region) for one in where):
            return [self.share(one) for one in where]
        shapes = getattr(where, "geom_type", None)
        if shapes is not None and set(shapes) <= {"Polygon", "MultiPolygon"}:
            return self._shares_of_shapes(where, level)
        return np.exp(self.logpdf(where))

    def _shares_of_shapes(self, frame: Any, level: float) -> Any:
        """A GeoDataFrame of polygons with the shares of each."""
        if not hasattr(frame, "columns"):
            frame = frame.to_frame("geometry")
        shares = [self.share(SphericalPolygon.from_geometry(frame.geometry.iloc[[k]])) for k in range(len(frame))]
        ends = [one.confidence_interval(level) for one in shares]
        return frame.assign(
            share=[float(one) for one in shares], low=[low for low, _ in ends], high=[high for _, high in ends]
        )

    def share(self, region: Region) -> Share:
        """The expected share of new rows that fall into a region.

        Parameters
        ----------
        region
            A part of the region of the map; what lies outside of that does not count.

        Returns
        -------
        A number with ``std_error`` and ``confidence_interval(level)``.
        """
        density = self.density_
        if not isinstance(region, Region):
            raise InvalidTypeError(
                f"share needs a region, such as LonLatBox(west, south, east, north); got {type(region).__name__}."
            )
        if region.manifold != density.region.manifold:
            raise InvalidInputError(
                f"The region lies on {region.manifold!r}, and the map on {density.region.manifold!r}."
            )
        return density.share_in(region)

    def highest_density_region(self, share: float = 0.5) -> HighestDensityRegion:
        """The smallest part of the region that holds a share of the mass, such as a home range.

        Parameters
        ----------
        share
            Between 0 and 1.

        Returns
        -------
        An object with ``rings``, ``area``, ``contains(points)`` and ``log_density``, the level on its border.
        """
        share = check_number(share, "share", above=0.0, below=1.0, hint="Say 0.5 for 50 %.")
        level = self.density_.level_of(share)
        return HighestDensityRegion(share, level.log_density, level.area, self.density_)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Exactly n independent draws from the map, shape (n, D).

        Parameters
        ----------
        n
            Number of rows.
        random_state
            None, an int or a `numpy.random.Generator`.
        """
        n, rng = check_count(n, "n", at_least=0), check_random_state(random_state)
        if n == 0:
            return np.empty((0, self.density_.region.manifold.embedding_dim))
        return self.density_.draw(n, rng)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log density of rows as they are seen, with a known exposure: larger is better.

        Parameters
        ----------
        X
            Points, shape (n, D).
        y
            Ignored.
        sample_weight
            Relative weights of the rows, shape (n,).
        """
        density, exposure = self.density_, self._exposure
        rows = Rows.of(X, density.region, sample_weight, self.outside)
        rows.check_frame(density.frame)
        found = list(rows.map(lambda block: (block.X, block.weights())))
        if not found or not sum(float(w.sum()) for _, w in found) > 0.0:
            raise InvalidInputError(rows.describe_absence())
        total = weights = 0.0
        for points, w in found:
            values = density.log_density(np.asarray(points))
            values = values if exposure is None else values + exposure.row_values(points)
            total, weights = total + float(w @ values), weights + float(w.sum())
        return total / weights - self._log_seen()

    @property
    def _exposure(self) -> KnownExposure | None:
        found: KnownExposure | None = self.result_.exposure
        return found

    @abstractmethod
    def _log_seen(self) -> float:
        """Logarithm of the share of the map's mass that is seen, ∫ e p; zero without an exposure."""

    def plot(self, ax: Any = None, **options: Any) -> MapDisplay:
        """Draw the map inside the border.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        **options
            Those of `MapDisplay.plot`: view, what, rows, shares, frame, marks, land.

        Returns
        -------
        A display with ``ax_`` and ``figure_``.
        """
        return MapDisplay(self.density_, self.kept_rows_).plot(ax, **options)

    def to_geojson(self, shares: Sequence[float] = SHARES) -> dict[str, Any]:
        """Regions of highest density as GeoJSON, one feature for each share.

        Parameters
        ----------
        shares
            Of the mass.
        """
        return contours_geojson([self.highest_density_region(share) for share in shares])

    def write(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the map to a file, whole or not at all, in the format of its ending.

        Parameters
        ----------
        path
            ``.png``, ``.svg``, ``.pdf`` or ``.jpg``: a picture.  ``.tif``: GeoTIFF with three bands, density and the
            ends of its band.  ``.geojson``: regions of highest density.  ``.fits``: HEALPix.
        **options
            ``step`` of a GeoTIFF in degrees, ``nside`` of a HEALPix map (512 at most where none is given), ``shares``
            of contours, ``level`` of the band; of a picture those of `plot`.

        Notes
        -----
        GeoTIFF and GeoJSON mean the Earth: unless the rows are known to be on the sky their densities are per square
        kilometre.  A HEALPix map has them so where the rows are known to be on the Earth, else per steradian.
        """
        write_map(self, as_path(path), **options)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        beside: MapEstimator | None = None,
        marks: Mapping[str, Any] | None = None,
        frame: str | None = None,
        shares: Sequence[float] = (0.5, 0.9),
    ) -> None:
        """Write the map as one HTML page, with a slider for its smoothing and its band.

        Parameters
        ----------
        path
            The file, which ends in ``.html``; one that is there is replaced.
        title
            Heading of the page.
        beside
            Another fitted map of the same rows, to be shown below this one.
        marks
            Places to show, label -> one point (3,) or several (n, 3).
        frame
            What directions on S² stand for: "earth", "icrs", "galactic" or "plain"; by default as the rows have it.
        shares
            Of the mass: the page shows the smallest areas that hold them.
        """
        place = as_path(path)
        if not is_standard_output(place):
            check_page(place)
        page = html_map(
            self, title=title or f"Density of {self.n_samples_:,} points", beside=beside, made_by=versions(),
            marks=marks, frame=frame, shares=shares,
        )  # fmt: skip
        write_text(place, page)

    @property
    @abstractmethod
    def map_name(self) -> str:
        """What pages and tables call this kind of map: "smooth map" or "kernel map"."""

    @property
    def smoothings_(self) -> SeriesFit | None:
        """The fit whose other smoothings a page shows; None where there is one map alone."""
        return None

    def summary(self) -> str:
        """A table to print: how the map was found, and warnings."""
        return map_summary(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts and a small map; before `fit`, the estimator."""
        try:
            return map_html(self)
        except Exception:  # a notebook that shows an object must not fail
            return f"<pre>{escape(repr(self))}</pre>"
