"""A density map as a smooth series that knows the border."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tmsm.data.rows import Rows
from tmsm.display.region_words import region_in_words
from tmsm.estimators.mapped import HELD_OUT, MapEstimator, rows_in_words, taken_for_independent
from tmsm.foundation.errors import InvalidInputError
from tmsm.foundation.validation import check_count, check_number, check_option
from tmsm.maps.bases import BASES, MAX_DEGREE
from tmsm.maps.series_density import SeriesDensity
from tmsm.maps.series_fit import SeriesFit, SeriesSettings, fit_series
from tmsm.matching.exposure import LogExposure
from tmsm.measure.integrals import log_sum
from tmsm.regions import Region

__all__ = ["DensityMap"]

_METHODS = ("auto", "likelihood", "score")


class DensityMap(MapEstimator):
    """A map of the density of points that were only seen inside a region.

    The log density is a smooth series that is fitted inside the region only. So no mass is outside the border, and the
    density is not too low next to it. The smoothness is chosen by held-out likelihood.

    Parameters
    ----------
    region
        Where points could be observed. In flat space it must be bounded.
    degree
        How fine the map is: on a surface there are (degree + 1)² functions. "auto" takes 12, or fewer if there are few
        rows, and up to 18 if there is finer structure.
    smoothing
        The ridge penalty λ on the roughness of the log density, a measure of its squared third derivative whose
        constant depends on the basis. "auto" takes the one with the largest held-out likelihood.
    method
        "likelihood": penalised maximum likelihood with integrals over the region. "score": penalised score matching,
        without integrals. "auto": the first up to dimension two, else the second.
    basis
        "bumps": splines around points inside the region, and polynomials of degree two without penalty. "series":
        spherical harmonics on S², cosines in flat space. "auto": harmonics if the region is a hemisphere or larger,
        else bumps.
    outside
        What to do with rows outside the region: "raise" or "drop".
    log_exposure
        Logarithm of the known detection probability, up to a constant, as for `ScoreMatching`. The map is then that of
        all points, not only of those that were detected.
    random_state
        A whole number that decides which rows are held out together.

    Attributes
    ----------
    smoothing_ : float
        The ridge that was chosen.
    degree_ : int
        The degree.
    freedom_ : float
        Effective number of parameters.
    held_out_ : float
        Mean log density of rows that were held out.
    status_ : str
        How the map was found, and warnings.

    Examples
    --------
    >>> import numpy as np, tmsm
    >>> region = tmsm.LonLatBox(-10.0, 40.0, 20.0, 60.0)
    >>> X = tmsm.VonMisesFisher().sample(
    ...     500, region, random_state=0, mean_direction=tmsm.lonlat_to_xyz(20.0, 50.0), concentration=40.0
    ... )
    >>> density = tmsm.DensityMap(region).fit(X)
    >>> east, west = density.predict(tmsm.lonlat_to_xyz([18.0, -8.0], [50.0, 50.0]))
    >>> bool(east > 3.0 * west)
    True
    >>> share = density.share(tmsm.LonLatBox(5.0, 40.0, 20.0, 60.0))
    >>> bool(0.5 < share < 1.0)
    True

    Notes
    -----
    The band of `interval` accounts for chance and, on average over the region, for the bias of the smoothing. At a peak
    that is sharper than its surroundings the map is still too low. Rows are treated as independent, also copies of a
    point. Rows that depend on each other belong to one group.
    """

    def __init__(
        self,
        region: Region,
        *,
        degree: int | Literal["auto"] = "auto",
        smoothing: float | Literal["auto"] = "auto",
        method: Literal["auto", "likelihood", "score"] = "auto",
        basis: Literal["auto", "bumps", "series"] = "auto",
        outside: Literal["raise", "drop"] = "raise",
        log_exposure: LogExposure | None = None,
        random_state: int = 0,
    ) -> None:
        self.region = region
        self.degree = degree
        self.smoothing = smoothing
        self.method = method
        self.basis = basis
        self.outside = outside
        self.log_exposure = log_exposure
        self.random_state = random_state

    def _estimate(self, rows: Rows) -> SeriesFit:
        degree, smoothing = None, None
        if self.degree != "auto":
            degree = check_count(self.degree, "degree")
            if degree > MAX_DEGREE:
                raise InvalidInputError(f"degree must be {MAX_DEGREE} at most; got {degree}.")
        if self.smoothing != "auto":
            smoothing = check_number(self.smoothing, "smoothing", above=0.0)
        settings = SeriesSettings(
            degree,
            check_option(self.basis, BASES, "basis"),
            check_option(self.method, _METHODS, "method"),
            smoothing,
            self._seed(),
            self.log_exposure,
        )
        return fit_series(rows, settings)

    @property
    def result_(self) -> SeriesFit:
        """All that the last call to `fit` found, in one immutable record."""
        found: SeriesFit = super().result_
        return found

    @property
    def density_(self) -> SeriesDensity:
        """The density that was found."""
        return self.result_.density

    @property
    def smoothings_(self) -> SeriesFit:
        """The fit, whose other smoothings a page shows."""
        return self.result_

    @property
    def smoothing_(self) -> float:
        """The ridge that was chosen."""
        return self.result_.path.chosen.smoothing

    @property
    def degree_(self) -> int:
        """The degree of the series."""
        return self.result_.degree

    @property
    def freedom_(self) -> float:
        """Effective number of parameters."""
        return self.result_.path.chosen.freedom

    @property
    def held_out_(self) -> float:
        """Mean log density of rows that were held out; of score matching above dimension three minus J of these.

        The rows of each fold are judged at the degree and smoothing that are best for the other folds.
        """
        return self.result_.held_out

    @property
    def status_(self) -> str:
        """How the map was found and what to be wary of."""
        fit = self.result_
        how = "The maximum of the penalised likelihood." if fit.method == "likelihood" else "Penalised score matching."
        return " ".join([how, *self.cautions])

    @property
    def map_name(self) -> str:
        """What pages and tables call this kind of map."""
        return "smooth map"

    def _log_seen(self) -> float:
        if self._exposure is None:
            return 0.0
        density = self.density_
        nodes = density.nodes
        return log_sum(density.log_density(nodes.X) + nodes.log_weights + self._exposure.values_at(nodes.X))

    def facts(self) -> list[tuple[str, str]]:
        """How the map came about: pairs of a name and words, as in `summary`."""
        fit, density = self.result_, self.density_
        chosen = fit.path.chosen
        found = [
            ("region", region_in_words(density.region, density.frame)),
            ("rows", rows_in_words(fit.n_rows, fit.n_places, "groups" if fit.grouped else "places", fit.n_outside)),
            ("functions", f"{density.series.words}, {density.series.size} in all"),
        ]
        if np.isfinite(chosen.smoothing):
            how = "chosen by rows that were held out" if self.smoothing == "auto" else "as given"
            found.append(("smoothing", f"{chosen.smoothing:.3g}, {how}; {chosen.freedom:.1f} effective parameters"))
        if fit.held_out_kind == "likelihood" and np.isfinite(fit.held_out):
            found.append(("held out", HELD_OUT.format(fit.held_out)))
        if density.plan is not None:
            found.append(("nodes", f"{len(density.nodes.X):,} quadrature nodes"))
        if fit.exposure is not None:
            found.append(("exposure", fit.exposure.description_of_values))
        band = "chance and, on average over the region, the smoothing's bias; at sharp peaks too narrow"
        found.append(("band", f"{band}; {taken_for_independent(fit.n_rows, fit.n_places, fit.grouped)}"))
        return [*found, ("status", self.status_)]
