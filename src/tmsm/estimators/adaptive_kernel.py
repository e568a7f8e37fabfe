"""A density map as kernels whose widths follow the density, each cut at the border."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tmsm.data.rows import Rows
from tmsm.display.region_words import region_in_words
from tmsm.estimators.mapped import HELD_OUT, MapEstimator, rows_in_words, taken_for_independent
from tmsm.foundation.validation import check_count, check_number
from tmsm.maps.kernel_choice import KernelSettings
from tmsm.maps.kernel_density import KernelDensity
from tmsm.maps.kernel_fit import KernelFit, fit_kernels, log_seen
from tmsm.matching.exposure import LogExposure
from tmsm.regions import Region

__all__ = ["AdaptiveKernel"]


class AdaptiveKernel(MapEstimator):
    """A sum of kernels inside a region; they are narrow where rows are dense and wide where they are rare.

    On S² the kernels are von Mises–Fisher densities, in flat space normal densities. Each is cut at the border and
    divided by its mass inside. This mass is computed along the sides of the border, and in a box by normal integrals;
    if a border has no sides, as on the circle and in unions and differences of regions, 512 draws are used. The map
    shows structure that no smooth series resolves. Next to the border it is flatter than the true density; `DensityMap`
    is not.

    Parameters
    ----------
    region
        Where points could be observed.
    neighbours
        k: the width of a kernel follows the distance to the k-th nearest place. "auto" chooses it.
    width
        The factor between that distance and the width. "auto" chooses it.
    background
        Share of a uniform background, so that the density is not zero far from all rows. "auto" chooses it.
    outside
        What to do with rows outside the region: "raise" or "drop".
    log_exposure
        Logarithm of the known detection probability, up to a constant, as for `ScoreMatching`: rows count with its
        inverse.
    random_state
        A whole number that decides which rows the widths are judged by, if there are many.

    Attributes
    ----------
    widths_ : ndarray of shape (n,)
        Widths of the kernels, in radians on S².
    background_ : float
        Share of the background.
    held_out_ : float
        Mean log density of rows that were held out.
    status_ : str
        How the map was found, and warnings.

    Examples
    --------
    >>> import tmsm
    >>> region = tmsm.Cap([0.0, 0.0, 1.0], 0.5)
    >>> X = tmsm.VonMisesFisher().sample(
    ...     400, region, random_state=0, mean_direction=[0.0, 0.0, 1.0], concentration=20.0
    ... )
    >>> kernels = tmsm.AdaptiveKernel(region).fit(X)
    >>> centre, rim = kernels.predict(tmsm.lonlat_to_xyz([0.0, 0.0], [90.0, 62.0]))
    >>> bool(centre > 3.0 * rim)
    True

    Notes
    -----
    Widths are h = factor · d^power · m^(1 − power), where d is the distance to the k-th nearest place and m the
    geometric mean of d; they are no larger than the region. All of k, power, factor and the background are chosen by
    held-out likelihood. Copies of a row, or rows of its group, are held out with it, and the widths are then computed
    without them. If a place has rows of several groups, distances count it for one of these.

    The band of `interval` and the intervals of shares account for chance only, at the chosen widths; widths that follow
    few neighbours vary by themselves. At peaks the map is too low, which the band does not include. Where the density
    rises towards the border, the map is flatter than the true density by far more than the width of the band, most of
    all in corners. There the band hardly ever contains the true density, while that of `DensityMap` mostly does. Rows
    are treated as independent, also copies of a point. Rows that depend on each other belong to one group.
    """

    def __init__(
        self,
        region: Region,
        *,
        neighbours: int | Literal["auto"] = "auto",
        width: float | Literal["auto"] = "auto",
        background: float | Literal["auto"] = "auto",
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        random_state: int = 0,
    ) -> None:
        self.region = region
        self.neighbours = neighbours
        self.width = width
        self.background = background
        self.outside = outside
        self.log_exposure = log_exposure
        self.random_state = random_state

    def _estimate(self, rows: Rows) -> KernelFit:
        settings = KernelSettings(
            None if _is_auto(self.neighbours) else check_count(self.neighbours, "neighbours"),
            None if _is_auto(self.width) else check_number(self.width, "width", above=0.0),
            None if _is_auto(self.background) else check_number(self.background, "background", at_least=0.0, below=1.0),
            self._seed(),
            self.log_exposure,
        )
        return fit_kernels(rows, settings)

    @property
    def result_(self) -> KernelFit:
        """All that the last call to `fit` found, in one immutable record."""
        found: KernelFit = super().result_
        return found

    @property
    def density_(self) -> KernelDensity:
        """The density that was found."""
        return self.result_.density

    @property
    def widths_(self) -> Any:
        """Widths of the kernels, shape (n,)."""
        return self.density_.kappa**-0.5

    @property
    def background_(self) -> float:
        """Share of the uniform background."""
        return self.density_.background

    @property
    def held_out_(self) -> float:
        """Mean log density of rows that were held out, as they were seen: the same folds as those of `DensityMap`."""
        return self.result_.held_out

    @property
    def status_(self) -> str:
        """How the map was found and what to be wary of."""
        exact = "exactly along the border" if self.result_.exact else "by draws"
        cut = f" Each kernel is cut at the border, {exact}." if self.density_.region.has_border else ""
        kind = "Kernels whose widths follow the density" if self.result_.widths.power > 0.0 else "Kernels of one width"
        return " ".join([f"{kind}.{cut}", *self.cautions])

    @property
    def cautions(self) -> list[str]:
        """What to be wary of, in sentences that are in `status_` too."""
        used, asked = self.result_.widths.k, self.neighbours
        if asked == "auto" or used >= asked:
            return super().cautions
        fewer = f"neighbours is {used:,}, not {asked:,}: there are no more places or groups to look for."
        return [*super().cautions, fewer]

    @property
    def map_name(self) -> str:
        """What pages and tables call this kind of map."""
        return "kernel map"

    def _log_seen(self) -> float:
        exposure = self._exposure
        return 0.0 if exposure is None else log_seen(self.density_, exposure)

    def facts(self) -> list[tuple[str, str]]:
        """How the map came about: pairs of a name and words, as in `summary`."""
        fit, density = self.result_, self.density_
        manifold = density.region.manifold
        unit = density.frame.unit if manifold.has_longitudes else manifold.distance_unit
        low, middle, high = (unit.text(one) for one in np.quantile(self.widths_, (0.05, 0.5, 0.95)))
        rows = rows_in_words(fit.n_rows, fit.n_places, "places", fit.n_outside)
        widths = f"{middle}, all equal"
        if self.widths_.min() >= (1.0 - 1e-9) * fit.widths.widest:
            widths = f"{middle}, as wide as the region: the density is nearly uniform"
        elif fit.widths.power > 0.0:
            widths = f"{low} to {high} (5 to 95 % of the kernels), median {middle}: {fit.widths.in_words}"
        region = region_in_words(density.region, density.frame)
        found = [("region", region), ("rows", rows), ("widths", widths)]
        if density.background > 0.0:
            found.append(("background", f"{100.0 * density.background:.3g} % of the mass, uniform inside the region"))
        found.append(("held out", HELD_OUT.format(fit.held_out)))
        if fit.exposure is not None:
            found.append(("exposure", f"{fit.exposure.description_of_values}; rows count with its inverse"))
        band = (
            "chance alone, without the bias of the smoothing: too narrow at peaks, and far too narrow where the density"
        )
        border = " rises towards a border or a corner" if density.region.has_border else " bends sharply"
        independent = taken_for_independent(fit.n_rows, fit.n_places, density.groups is not None)
        found.append(("band", f"{band}{border}; {independent}"))
        return [*found, ("status", self.status_)]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
