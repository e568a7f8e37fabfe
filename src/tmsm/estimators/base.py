"""What all estimators share: the scikit-learn contract and the fitted attributes."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from html import escape
from typing import Any, Self

from tmsm.data.covariates import Covariates
from tmsm.data.rows import Rows
from tmsm.display.geojson import geojson_of
from tmsm.display.notebook import html_of
from tmsm.display.plots import DiagnosticsDisplay, FitDisplay
from tmsm.display.record import FitRecord, versions
from tmsm.display.report import html_report
from tmsm.display.report.words import described
from tmsm.display.summary import estimate_rows, facts_of, summary_of
from tmsm.display.tables import estimates_frame
from tmsm.estimators.coefficients import Coefficients
from tmsm.estimators.contract import Contract
from tmsm.foundation.arrays import ArrayLike, FloatArray
from tmsm.foundation.errors import EstimationError, InvalidInputError, InvalidTypeError, NotFittedError, TmsmWarning
from tmsm.foundation.validation import check_count, check_jobs, check_option, check_random_state, check_vector
from tmsm.foundation.whole_files import as_path, write_text
from tmsm.inference.bootstrap import Bootstrap, Refit, resampled
from tmsm.inference.confidence_regions import ConfidenceRegion
from tmsm.inference.delta import direction_ellipse
from tmsm.inference.extrapolation import Extrapolation, Extrapolator
from tmsm.inference.fit import Fit, Fitted, Method
from tmsm.inference.goodness import GoodnessOfFit
from tmsm.inference.status import status_of
from tmsm.models.base import LinearModel, Model
from tmsm.models.constraints import Constraint
from tmsm.regions import Region

__all__ = [
    "Estimator",
    "check_exposure",
    "check_is_region",
    "check_linear",
    "check_model",
    "check_region",
    "require_rows",
]


class Estimator(Contract, Coefficients):
    """Base of the estimators: the constructor stores, `fit` validates and returns self."""

    model: Any
    outside: Any = "raise"
    _result: Fit | None = None

    @property
    def result_(self) -> Fit:
        """All that the last call to `fit` found, in one immutable record."""
        if self._result is None:
            raise NotFittedError(f"This {type(self).__name__} has no estimate yet: {self._why_not_fitted}")
        return self._result

    @property
    def params_(self) -> Any:
        """The estimate, by name."""
        fit = self.result_
        return fit.model.presented(fit.params)

    @property
    def natural_params_(self) -> FloatArray:
        """θ̂ of the linear form, shape (p,)."""
        return self.result_.natural_params

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of `natural_params_`, shape (p, p)."""
        return self.result_.natural_covariance

    @property
    def n_samples_(self) -> int:
        """Number of rows that the estimate used."""
        return self.result_.n_samples

    @property
    def status_(self) -> str:
        """How the estimate was found and what to be wary of."""
        return status_of(self.result_)

    @property
    def goodness_of_fit_(self) -> GoodnessOfFit | None:
        """Test whether the rows could come from the model: statistic, degrees of freedom, p-value.

        Under the model more equations hold than there are parameters. The test checks all of them (over-identification)
        on at most 65,536 of the rows; None if there are too few rows.
        """
        return self.result_.goodness_of_fit

    @property
    def information_criterion_(self) -> float:
        """J with the plain geodesic weight, corrected for having been fitted to the same rows: lower is better."""
        return self.result_.criterion.value

    def bootstrap(
        self,
        X: Any,
        n_resamples: int,
        random_state: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
        covariates: Any = None,
        n_jobs: int | None = None,
    ) -> Bootstrap:
        """Fit resampled rows and collect the estimates; in parallel if that is faster.

        The scales of the weight stay those of the fit. For combined weights and up to 65,536 rows of a model on a
        sphere, the rows are read once, and each resample adds their contributions again.

        Parameters
        ----------
        X
            The rows of the fit, shape (n, D).
        n_resamples
            How many times; 200 for standard errors, 1,000 for intervals.
        random_state
            None, an int or a `numpy.random.Generator`; the result does not depend on ``n_jobs``.
        sample_weight
            Weights that were given to the fit.
        groups
            Labels of groups, shape (n,), which are drawn instead of single rows. A fit that was made with groups keeps
            them up to 65,536 rows; with more rows, give them again.
        covariates
            Those of the fit, shape (n, q); up to 65,536 rows it keeps them.
        n_jobs
            Number of processes: None or -1 for one on each processor, -2 for one fewer. With an active client of a Dask
            cluster, its workers do the work, and this number does not matter.
        """
        fit = self.result_
        n_resamples = check_count(n_resamples, "n_resamples", at_least=2)
        n_jobs = check_jobs(n_jobs)
        table = Rows.of(X, fit.region, sample_weight, fit.configuration.get("outside", "raise"))
        fit.check_rows(table)
        table = fit.with_groups(fit.with_covariates(table, covariates), groups)
        seeds = check_random_state(random_state).integers(2**63, size=n_resamples).tolist()
        return resampled(fit, self._refit(table), seeds, n_jobs)

    def _refit(self, rows: Rows) -> Refit:
        """What fits rows drawn from these, with all that came from the data fixed."""
        return Refit.of(rows, type(self)(**self.result_.configuration)._estimate)

    def _as_fitted(self) -> Self:
        """A copy with the constructor's arguments of the time of the fit, whatever was set since."""
        made = copy(self)
        for name, value in self.result_.configuration.items():
            setattr(made, name, value)
        return made

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | str | None = None,
        groups: Any = None,
        covariates: Any = None,
    ) -> Self:
        """Estimate the parameters. The result of an earlier call is forgotten.

        Parameters
        ----------
        X
            Points, shape (n, D), in embedding coordinates, or a table with column names. Data larger than memory are
            read block by block: the path of a Parquet or CSV file or of a folder of them; a memory map; a table, a
            dataset or a stream of Arrow; a function without arguments that returns a new iterator of blocks.
        y
            Ignored; scikit-learn passes it.
        sample_weight
            Relative weights of the rows, shape (n,). If X is a file or a table of Arrow, the name of a column, as for
            groups and covariates.
        groups
            Labels, shape (n,), of groups within which rows may depend on each other, such as the positions of one
            storm. Errors, intervals and tests then treat groups as independent, and not rows. The estimate of a single
            weight or a likelihood stays the same. Combined weights are then weighted by the differences between groups.
        covariates
            What else is known of each row, such as a year: shape (n, q), or a data frame, whose columns give the names.
            The natural parameters are then linear in them, θ(z) = `coefficients_` @ (1, z). `params_` and everything
            beside it are those at the mean of z; `predict_params` gives those at any z.

        Returns
        -------
        self
        """
        self._forget()
        self._why_not_fitted = "the last call to fit failed."
        rows = self._rows(X, sample_weight)
        if groups is not None:
            rows = rows.grouped(groups)
        if covariates is not None:
            rows = rows.described(covariates)
            assert rows.covariates is not None, "they were given"
            self._takes(rows.covariates)
        self._result = self._estimate(rows).clustered(rows)
        return self

    def _takes(self, covariates: Covariates) -> None:
        """Raise where this estimator, as it is set, has no use for covariates."""
        raise InvalidInputError(f"{type(self).__name__} does not take covariates: use ScoreMatching.")

    def _forget(self) -> None:
        """Drop what earlier calls found."""
        self._result = None

    def _restore(self, fit: Fit) -> None:
        """Take over a fit that was stored."""
        self._forget()
        self._result = fit

    @abstractmethod
    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> Rows:
        """The rows inside the region, after the constructor's arguments were checked."""

    @abstractmethod
    def _estimate(self, rows: Rows) -> Fit:
        """The estimate from rows, which may come in groups; the estimator itself stays as it is."""

    @property
    def std_errors_(self) -> Any:
        """Standard errors, in the same fields as `params_`; of a direction in radians."""
        fit = self.result_
        return fit.model.presented(fit.std_errors)

    def confidence_interval(self, level: float = 0.95, method: Method | None = None) -> Any:
        """(low, high) for each parameter of `params_`; for a direction the half-axes of its confidence region.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        method
            "profile": all values that the data do not reject, whatever the other parameters are; for a centre the reach
            of its `confidence_region`. "wald": the estimate plus or minus a multiple of its standard error; for a
            direction the half-axes of its ellipse. Both agree if the errors are small. By default "profile", and "wald"
            for what has no profile (the axes of an oval, more than 20 statistics) and for a direction whose ellipse is
            accurate.
        """
        if method is not None:
            check_option(method, ["profile", "wald"], "method")
        fit = self.result_
        return fit.model.presented(fit.intervals(level, method))

    def posterior_shares(self, X: Any) -> FloatArray:
        """The probability of each row to belong to each component of a mixture.

        Parameters
        ----------
        X
            Points, shape (n, D).

        Returns
        -------
        Shape (n, k), and (n, k + 1) with a background, which is the last; rows sum to one.
        """
        fit = self.result_
        found = fit.model.posterior_at(fit.region.manifold.check_points(X), fit.theta)
        if found is None:
            raise InvalidInputError(f"{type(fit.configuration['model']).__name__} has no components: it is no mixture.")
        return found

    def confidence_region(self, name: str = "mean_direction", level: float = 0.95) -> ConfidenceRegion:
        """All centres that the data do not reject.

        It is also valid if the centre is extrapolated. It may then be long and one-sided, or the whole manifold.

        Parameters
        ----------
        name
            The parameter: "mean_direction", "mean" or "axis".
        level
            Confidence level between 0 and 1.

        Returns
        -------
        An object with ``rings`` (closed chains of points), ``everywhere``, ``half_axes`` and ``contains(points)``.

        Notes
        -----
        A value belongs to the region if some θ with this value has a squared distance (θ − θ̂)ᵀ Cov⁻¹ (θ − θ̂) of at
        most the quantile of χ² (Fieller 1954). For a likelihood it is twice the difference of the log-likelihoods.
        """
        return self.result_.confidence_region(name, level)

    def covers(self, point: ArrayLike, level: float = 0.95) -> bool:
        """Whether a point belongs to the confidence region of the centre.

        Parameters
        ----------
        point
            A point of the manifold, shape (D,).
        level
            Confidence level between 0 and 1.
        """
        fit = self.result_
        if fit.centre is None:
            raise InvalidInputError(f"This model has no centre; its parameters are {list(fit.params)}.")
        point = check_vector(point, "point")
        return bool(fit.confidence_region(fit.centre.name, level).contains(point[None, :])[0])

    def extrapolate(self, region: Region) -> Extrapolation:
        """The expected number of rows in a region where nothing was seen, for each row that was seen.

        The number depends on the family. Another family that fits as well inside may expect far more or far fewer rows;
        `tmsm.compare` shows several families.

        Parameters
        ----------
        region
            Where to count, such as ``border.surroundings(0, 250 / 6371)``. A part that overlaps with the region of the
            fit counts as well: give a region outside of it.

        Returns
        -------
        An object with ``value``, ``std_error`` and ``confidence_interval(level)``.

        Notes
        -----
        With a known exposure, the number is that of all rows in the region, as if each of them were detected. The
        exposure must then be a probability, and not only proportional to one. A background of a mixture ends at the
        border and is not counted beyond it. For `NaiveMLE`, which takes the whole manifold for seen, the number is the
        probability of the region. A fit with covariates is refused, because the number differs for every value of them.
        """
        return Extrapolator(self.result_).rows_in(region)

    @property
    def determined_(self) -> bool:
        """Whether the rows determine a centre: False if the density may be flat, or is lowest, among them."""
        return self.result_.undetermined is None

    def mean_direction_ellipse(self, level: float = 0.95) -> FloatArray:
        """The ellipse of the mean direction on S² by the delta method, as a chain of points, shape (m, 3).

        It is accurate if the errors are small; otherwise there is a warning. `confidence_region` is accurate always.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        fit = self.result_
        field = next((field for field in fit.model.fields if field.name == "mean_direction"), None)
        if field is None:
            raise InvalidInputError(f"This model has no mean direction; its parameters are {list(fit.params)}.")
        if not fit.ellipse_is_local(field.name, level):
            warnings.warn(
                "The mean direction is too uncertain for an ellipse, which covers less than it should here: "
                "use confidence_region.",
                TmsmWarning,
                stacklevel=2,
            )
        return direction_ellipse(fit.model, fit.theta, fit.known_covariance, field, level, error_df=fit.error_df)

    def plot(self, ax: Any = None, *, label: str | None = None, **options: Any) -> FitDisplay:
        """Draw the rows, the border, the estimate with its confidence region, and the fitted density.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        label
            A name for the legend.
        **options
            Those of `FitDisplay.plot`: view, level, density, by_component, frame, marks, land, legend.

        Returns
        -------
        A display with ``ax_`` and ``figure_``.
        """
        return FitDisplay.from_estimator(self, label=label, ax=ax, **options)

    def plot_diagnostics(self, axes: Any = None, *, random_state: int = 0) -> DiagnosticsDisplay:
        """Draw histograms of distances to the border and to the centre against what the fitted model expects.

        Parameters
        ----------
        axes
            Matplotlib axes; new ones by default.
        random_state
            Seed of the draws from the model.

        Returns
        -------
        A display with ``axes_`` and ``figure_``.
        """
        return DiagnosticsDisplay.from_estimator(self, axes=axes, random_state=random_state)

    def summary(self) -> str:
        """A table to print: estimates, standard errors, intervals, and how they were found."""
        return summary_of(self.result_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fit to a file, whole or not at all, from which `tmsm.load` makes the same estimator again.

        The file is JSON text: numbers and words to read, then the rows of the fit (at most 65,536 of them), its
        configuration and all its results. A ``log_exposure`` function cannot be written: give it again at loading. A
        `numpy.random.Generator` is written as None.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        """
        place = as_path(path)
        FitRecord.of(self, versions(), whole=True).save(place)

    def to_frame(self, backend: str = "pandas", *, level: float = 0.95) -> Any:
        """The estimates as a data frame with one row for each number.

        Its columns are parameter, index, estimate, std_error, low, high and unit. The index is empty for a number and
        gives the entry of an array. A direction has rows for its coordinates and, on S², for its longitude and
        latitude. Its row with the index "angle" has its standard error and the farthest point of its confidence region,
        in degrees. For a concentration there are also the lengths that follow from it, in the unit of the frame.
        Unknown values are missing.

        Parameters
        ----------
        backend
            "pandas", "polars" or "pyarrow".
        level
            Confidence level of the intervals.
        """
        return estimates_frame(self.result_, backend, level)

    def to_geojson(self, level: float = 0.95) -> dict[str, Any]:
        """The fit on S² as GeoJSON (RFC 7946), for ``json.dump`` and any map program.

        It is a FeatureCollection with the centre, its confidence region, and the border if it consists of rings; the
        property "role" names them. Areas are cut at the antimeridian, and reach up to a pole that they contain. If the
        rows do not determine the centre, it has no geometry, and a confidence region that is the whole sphere is no
        feature: the properties of the centre say so.

        Parameters
        ----------
        level
            Confidence level of the region.
        """
        return geojson_of(self.result_, level)

    @property
    def lonlat_(self) -> tuple[float, float]:
        """Longitude and latitude of the centre in degrees, as its frame writes them: on the sky 0 to 360."""
        fit = self.result_
        if fit.centre is None:
            raise InvalidInputError(f"This model has no centre; its parameters are {list(fit.params)}.")
        if not fit.region.manifold.has_longitudes:
            raise InvalidInputError(f"There are longitudes and latitudes on S², not on {fit.region.manifold!r}.")
        if fit.undetermined is not None:
            raise InvalidInputError(fit.undetermined)
        assert fit.centre_point is not None, "it is determined"
        lon, lat = fit.frame.lonlat(fit.centre_point)
        return float(lon), float(lat)

    def _repr_html_(self) -> str:
        """What a notebook shows: the estimates and a small map; before `fit`, the estimator."""
        try:
            return html_of(self)
        except Exception:  # a notebook that shows an object must not fail
            return f"<pre>{escape(repr(self))}</pre>"

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        marks: Mapping[str, Any] | None = None,
        frame: str | None = None,
        beside: Fitted | Mapping[str, Fitted] | None = None,
    ) -> None:
        """Write a report as one HTML page: a globe that can be turned, the estimates, and what to conclude from them.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        title
            Heading of the page.
        marks
            Places to show beside the fit, as `tmsm.report.html_report` takes them.
        frame
            What directions stand for, as `tmsm.report.html_report` takes it; by default as the rows have it.
        beside
            A fit, or several by name, of the same points to be shown beside this one.  By default the naive likelihood
            of the kept rows, which ignores the border; {} for none.
        """
        fit, place = self.result_, as_path(path)
        if beside is None:
            beside = self.beside()
        others = {type(beside).__name__: beside} if isinstance(beside, Fitted) else dict(beside)
        fits = {"the fit": self, **others}
        page = html_report(fits, title=title or described(fit), made_by=versions(), marks=marks, frame=frame)
        write_text(place, page)

    def beside(self) -> Mapping[str, Fitted]:
        """What a report shows beside the fit, by name."""
        return {}

    def facts(self) -> list[tuple[str, str]]:
        """How the estimate was found: pairs of a name and text, as in `summary`."""
        return facts_of(self.result_)

    def estimate_rows(self) -> list[tuple[str, str, str, str]]:
        """The table of `summary` as a list: a heading, then name, estimate, standard error and interval as text."""
        return estimate_rows(self.result_)


def check_model(model: Any) -> Model:
    """Return the model or say what is wanted."""
    if not isinstance(model, Model):
        raise InvalidTypeError(
            f"model must be a model such as VonMisesFisher(); got {type(model).__name__}"
            + (". Call the class to make one." if isinstance(model, type) else ".")
        )
    return model


def check_linear(model: Model) -> LinearModel:
    """Return a model with a likelihood, or say what else to do."""
    if not isinstance(model, LinearModel):
        raise InvalidTypeError(
            f"{type(model).__name__} is not linear in its parameters, and its integral over the whole manifold is not "
            "known: use ScoreMatching, or TruncatedMLE in a region."
        )
    return model


def check_region(model: Model, region: Any, log_exposure: Any) -> None:
    """Raise unless the region is one, of the model's manifold, and the exposure a function."""
    model.check_manifold(check_is_region(region).manifold)
    check_exposure(log_exposure)


def check_is_region(region: Any) -> Region:
    """Return the region or say what is wanted."""
    if not isinstance(region, Region):
        raise InvalidTypeError(
            f"region must be a region such as Cap(center, radius), or Everywhere(manifold); "
            f"got {type(region).__name__}."
        )
    return region


def check_exposure(log_exposure: Any) -> None:
    """Raise unless an exposure is a function, or there is none."""
    if log_exposure is not None and not callable(log_exposure):
        raise InvalidTypeError(
            "log_exposure must be a function of X that returns its values, or (values, gradients), or an ExposureMap."
        )


def require_rows(n: int, constraint: Constraint) -> None:
    """Raise where there are fewer rows than parameters."""
    if n < constraint.n_free:
        raise EstimationError(
            f"{n} row{'s' * (n != 1)} cannot determine {constraint.n_free} parameters; "
            "use more rows, or fix what is known."
        )
