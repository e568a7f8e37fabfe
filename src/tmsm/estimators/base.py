"""What all estimators share: the scikit-learn contract and the fitted attributes."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from tmsm.arrays import ArrayLike, FloatArray, IntArray
from tmsm.criterion import Criterion, information_criterion
from tmsm.errors import EstimationError, InvalidInputError, InvalidTypeError, NotFittedError, TmsmWarning
from tmsm.estimators.border_check import misplaced_border
from tmsm.estimators.diagnostics import extrapolation, few_carriers, mass_outside, thin_region, unequal_columns
from tmsm.estimators.fit import Fit, Method
from tmsm.estimators.summary import estimate_rows, readable_p, shortened, summary_table
from tmsm.goodness import GoodnessOfFit, over_identification
from tmsm.groups import Groups
from tmsm.inference import ConfidenceRegion, cautions, direction_ellipse, standard_errors
from tmsm.influence import group_errors
from tmsm.models.base import Model
from tmsm.models.constraints import Constraint
from tmsm.models.parameters import Parameters
from tmsm.plots import DiagnosticsDisplay, FitDisplay
from tmsm.regions.base import Region
from tmsm.resampling import Bootstrap, map_resamples
from tmsm.rows import Rows
from tmsm.validation import check_count, check_option, check_random_state, check_vector

__all__ = ["Estimator", "Fit", "check_model", "check_region", "require_rows"]

# Below it the rows could hardly come from the model, and the status says so.
_SUSPICIOUS = 1e-6
# Below it a test is likely to be taken at its word.
_DOUBTFUL = 0.05
# Cluster-robust errors want so many groups.
_FEW_GROUPS = 40
# Rows for each parameter below which the status says that they are few.
_FEW_ROWS = 20


class Estimator(ABC):
    """Base of the estimators: the constructor stores, `fit` validates and returns self."""

    model: Any
    outside: Any = "raise"
    _fit: Fit | None = None
    _goodness: tuple[Fit, GoodnessOfFit | None] | None = None
    _why_not_fitted: str = "call fit first."

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name, as scikit-learn expects them."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name; an unknown name is an error."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(f"{type(self).__name__} has no parameter {name!r}; it has {list(known)}.")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(),
            requires_fit=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._fit is not None

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if signature[name].default is inspect.Parameter.empty or value is not signature[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def _fitted(self) -> Fit:
        if self._fit is None:
            raise NotFittedError(f"This {type(self).__name__} has no estimate yet: {self._why_not_fitted}")
        return self._fit

    @property
    def params_(self) -> Parameters:
        """The estimate, by name."""
        return self._fitted.params

    @property
    def natural_params_(self) -> FloatArray:
        """θ̂ of the linear form, shape (p,)."""
        fit = self._fitted
        return fit.model.to_original(fit.embedding_dim) @ fit.theta

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of `natural_params_`, shape (p, p)."""
        fit = self._fitted
        back = fit.model.to_original(fit.embedding_dim)
        return back @ self._covariance @ back.T

    @property
    def _covariance(self) -> FloatArray:
        """Covariance of θ in the form that was computed with."""
        return self._fitted.known_covariance

    @property
    def n_samples_(self) -> int:
        """Number of rows that the estimate used."""
        return self._fitted.n_samples

    @property
    def status_(self) -> str:
        """How the estimate was found and what to be wary of."""
        fit = self._fitted
        sentences = [fit.status]
        if fit.undetermined is not None:
            sentences.insert(0, fit.undetermined)
        elif fit.covariance is not None:
            sentences += fit.model.cautions(fit.theta, fit.covariance, fit.embedding_dim)
            sentences += cautions(fit.model, fit.params, fit.intervals(0.95, None))
            skewed = fit.skewed()
            if skewed is not None and not any("hardly determine the" in sentence for sentence in sentences):
                sentences.append(skewed)
        if fit.n_groups is not None and fit.error_df is not None:
            k = fit.model.constraint(fit.embedding_dim).n_free
            sentences += _few_groups(fit.n_groups, fit.error_df + 1.0, k)
        sentences += _few_rows(fit)
        if fit.undetermined is None:
            sentences += extrapolation(fit.params, fit.kept.region)
        sentences += unequal_columns(fit.kept)
        sentences += few_carriers(fit.influence, fit.kept)
        sentences += misplaced_border(fit.influence, fit.covariance, fit.kept, fit.n_samples)
        goodness = self.goodness_of_fit_
        if goodness is not None and goodness.p_value < _DOUBTFUL:
            sentences += thin_region(fit.kept)
        if goodness is not None and goodness.p_value < _SUSPICIOUS:
            sentences.append(
                f"The rows do not look like {type(fit.asked['model']).__name__} inside this region "
                f"({readable_p(goodness.p_value)}): they may be bimodal, axial or of another shape, or the border may "
                "be wrong. Compare with a wider family, and look at a map."
            )
        return " ".join(sentences)

    @property
    def goodness_of_fit_(self) -> GoodnessOfFit | None:
        """Test whether the rows could come from the model: statistic, degrees of freedom, p-value.

        By equations that hold under the model beyond those that the estimate used (over-identification).  It looks
        at no more than 65,536 of the rows; None where there are too few.
        """
        fit = self._fitted
        if self._goodness is None or self._goodness[0] is not fit:
            self._goodness = fit, over_identification(fit.model, fit.kept, fit.theta, fit.log_exposure)
        return self._goodness[1]

    @property
    def information_criterion_(self) -> float:
        """J with the plain geodesic weight, corrected for having been fitted to the same rows: lower is better."""
        return self._criterion().value

    def _criterion(self) -> Criterion:
        fit = self._fitted
        if not fit.complete:
            raise InvalidInputError("A stream keeps only its first rows and has no information criterion: use fit.")
        return information_criterion(fit.model, fit.kept, fit.theta, fit.influence, fit.log_exposure, fit.kept_share)

    def check_rows_of_fit(self, rows: Rows) -> None:
        """Raise unless these are the rows that the estimate was made from."""
        fit = self._fitted
        n = sum(rows.map(lambda block: len(block.X)))
        if n == 0:
            raise InvalidInputError(rows.describe_absence())
        if rows.weighted != fit.kept.weighted:
            raise InvalidInputError(
                f"The fit was made {'with' if fit.kept.weighted else 'without'} sample_weight: give the same here."
            )
        if n != fit.n_samples:
            raise InvalidInputError(
                f"X has {n:,} rows inside the region, and the fit was made from {fit.n_samples:,}: "
                "the rows of the fit are needed. To work on a subset, fit the subset."
            )
        if fit.complete and not rows.kept().same_as(fit.kept):
            raise InvalidInputError("These are not the rows that the fit was made from, which are needed.")

    def bootstrap(
        self,
        X: Any,
        n_resamples: int,
        random_state: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: Any = None,
        n_jobs: int | None = None,
    ) -> Bootstrap:
        """Fit resampled rows, in parallel where it pays, and collect the estimates.

        What the fit took from the data (scales of a weight) stays fixed.  Where weights are combined, up to 65,536
        rows of a model on a sphere are read once: each resample sums again what its rows contribute.

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
            Labels of groups, shape (n,), to be drawn instead of single rows.  A fit that was made with groups keeps
            them up to 65,536 rows, and only beyond that they must be given again.
        n_jobs
            Number of processes; by default one for each processor.
        """
        fit = self._fitted
        n_resamples = check_count(n_resamples, "n_resamples", at_least=2)
        if n_jobs == -1:  # joblib's word for all
            n_jobs = None
        if n_jobs is not None:
            n_jobs = check_count(n_jobs, "n_jobs")
        table = Rows(X, fit.kept.region, sample_weight, fit.asked.get("outside", "raise"))
        self.check_rows_of_fit(table)
        table = self.with_groups_of_fit(table, groups)
        rows, weight = table.table()
        seeds = check_random_state(random_state).integers(2**63, size=n_resamples).tolist()
        refit = partial(_refit, self._for_resampling(None if table.groups else table), rows, weight, table.groups)
        found = list(map_resamples(refit, seeds, n_jobs))
        good = [params for params in found if params is not None]
        if len(good) < 2:
            raise EstimationError(f"{n_resamples - len(good)} of {n_resamples} resamples carried no estimate.")
        values = {name: np.array([params[name] for params in good]) for name in fit.params}
        return Bootstrap(Parameters(**values), fit.params, n_resamples - len(good), fit.asked["model"])

    def with_groups_of_fit(self, rows: Rows, groups: Any = None) -> Rows:
        """The rows of the fit, known to come in the groups of the fit, or else in those given.

        Raise where both are known and differ, or where the fit does not keep the groups of all of its rows.
        """
        fit = self._fitted
        if groups is not None:
            rows = rows.with_groups(Groups.of(groups, len(rows)))
            given = rows.kept().groups
            if fit.groups is not None and given is not None and not given.same_as(fit.groups):
                raise InvalidInputError(
                    "groups puts other rows together than the groups that the fit was made with: "
                    "give the same, or none."
                )
        elif fit.groups is not None:
            if fit.kept_share < 1.0:
                raise InvalidInputError(
                    f"The fit was made with groups, and of its {fit.n_samples:,} rows it keeps those of "
                    f"{len(fit.kept):,} only: give groups= again."
                )
            return fit.kept
        return rows

    def _for_resampling(self, rows: Rows | None) -> Estimator:
        """An estimator like the one that was fitted, with all that came from the data fixed.

        From ``rows``, of which single ones will be drawn, it may compute what resamples have in common.
        """
        return type(self)(**self._fitted.asked)

    def _as_fitted(self) -> Self:
        """A copy with the constructor's arguments of the time of the fit, whatever was set since."""
        made = copy(self)
        for name, value in self._fitted.asked.items():
            setattr(made, name, value)
        return made

    def _fit_chosen(self, X: FloatArray, weight: FloatArray | None, chosen: IntArray, groups: IntArray | None) -> Self:
        """Fit some rows of a table, any of them any number of times, drawn in these groups."""
        return self.fit(X[chosen], sample_weight=None if weight is None else weight[chosen], groups=groups)

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Estimate the parameters."""

    def _cluster(self, rows: Rows, groups: Any) -> None:
        """Take the errors of the estimate, and all that is judged by it later, from groups of rows."""
        self._fit = replace(self._fitted, asked=self.get_params())
        if groups is None:
            return
        if rows.groups is None:
            rows = rows.with_groups(Groups.of(groups, len(rows)))
        fit = replace(self._fit, kept=rows.kept())
        if fit.covariance is not None:
            found = group_errors(fit.influence, rows, fit.model.constraint(fit.embedding_dim).n_free)
            unequal = (
                f" of unequal weight, worth {found.effective:,.0f}" if _unequal(found.count, found.effective) else ""
            )
            fact = (
                "groups",
                f"{found.count:,}{unequal}, within which rows may depend on each other; errors and tests allow for it",
            )
            fit = replace(
                fit,
                covariance=found.covariance,
                n_groups=found.count,
                error_df=max(found.effective - 1.0, 1.0),
                facts=(*fit.facts, fact),
            )
        self._fit = fit

    @property
    def std_errors_(self) -> Parameters:
        """Standard errors, in the same fields as `params_`; of a direction in radians."""
        fit = self._fitted
        return standard_errors(fit.model, fit.theta, self._covariance, fit.embedding_dim)

    def confidence_interval(self, level: float = 0.95, method: Method | None = None) -> Parameters:
        """(low, high) for each field of `params_`; for a direction the half-axes of its region.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        method
            "profile": the values that the data do not reject, whatever the other parameters are; of a centre the reach
            of its `confidence_region`.  "wald": estimate plus or minus a multiple of the standard error; of a direction
            the half-axes of its ellipse.  Both agree near the estimate.  By default "profile", and "wald" for what has
            no profile (the axes of an oval, more than 20 statistics) and for a direction whose ellipse is good.
        """
        if method is not None:
            check_option(method, ["profile", "wald"], "method")
        return self._fitted.intervals(level, method)

    def confidence_region(self, name: str = "mean_direction", level: float = 0.95) -> ConfidenceRegion:
        """The set of centres that the data do not reject.

        It holds where the centre is extrapolated, too: it may be long and one-sided there, or everything.

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
        A value belongs to the region if the smallest squared distance (θ − θ̂)ᵀ Cov⁻¹ (θ − θ̂) of all θ that have this
        value is within the quantile of χ² (Fieller's idea); for a likelihood, twice the loss of log-likelihood.
        """
        return self._fitted.region(name, level)

    def covers(self, point: ArrayLike, level: float = 0.95) -> bool:
        """Whether a point belongs to the confidence region of the centre.

        Parameters
        ----------
        point
            A point of the manifold, shape (D,).
        level
            Confidence level between 0 and 1.
        """
        fit = self._fitted
        if fit.centre is None:
            raise InvalidInputError(f"This model has no centre; its parameters are {list(fit.params)}.")
        point = check_vector(point, "point")
        return bool(fit.region(fit.centre.name, level).contains(point[None, :])[0])

    @property
    def determined_(self) -> bool:
        """Whether the rows say where the centre is: False where the density may be flat, or is lowest, among them."""
        return self._fitted.undetermined is None

    def mean_direction_ellipse(self, level: float = 0.95) -> FloatArray:
        """The delta method's ellipse of the mean direction on S², in order, shape (m, 3).

        It is good where the errors are small; a warning says where it is not.  `confidence_region` is good everywhere.

        Parameters
        ----------
        level
            Confidence level between 0 and 1.
        """
        fit = self._fitted
        if "mean_direction" not in fit.params:
            raise InvalidInputError(f"This model has no mean direction; its parameters are {list(fit.params)}.")
        if not fit.ellipse_is_local("mean_direction", level):
            warnings.warn(
                "The mean direction is too uncertain for an ellipse, which covers less than it should here: "
                "use confidence_region.",
                TmsmWarning,
                stacklevel=2,
            )
        return direction_ellipse(
            fit.model,
            fit.theta,
            self._covariance,
            fit.embedding_dim,
            "mean_direction",
            level,
            error_df=fit.error_df,
        )

    def plot(self, ax: Any = None, *, label: str | None = None, **options: Any) -> FitDisplay:
        """Draw the rows, the border, the estimate with its confidence region, and the fitted density.

        Parameters
        ----------
        ax
            Matplotlib axes; new ones by default.
        label
            A name for the legend.
        **options
            Those of `FitDisplay.plot`: view, level, density, land, legend.

        Returns
        -------
        A display with ``ax_`` and ``figure_``.
        """
        self._fitted  # noqa: B018  raises before a fit
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
        self._fitted  # noqa: B018  raises before a fit
        return DiagnosticsDisplay.from_estimator(self, axes=axes, random_state=random_state)

    def summary(self) -> str:
        """A table to print: estimates, standard errors, intervals, and how they came about."""
        fit = self._fitted
        errors, intervals = self._errors_and_intervals()
        return summary_table(fit.heading, fit.model.fields, fit.params, errors, intervals, self.facts())

    def facts(self) -> list[tuple[str, str]]:
        """How the estimate came about and what to judge it by: pairs of a name and words, as in `summary`."""
        fit = self._fitted
        facts = [("rows", f"{fit.n_samples:,}"), *fit.facts, *self._diagnostics(), ("status", self.status_)]
        if fit.covariance is None:
            facts.append(("std. errors", "not computed"))
        return [(name, shortened(text)) for name, text in facts]

    def estimate_rows(self) -> list[tuple[str, str, str, str]]:
        """The table of `summary`: a heading, then name, estimate, standard error and interval as text."""
        fit = self._fitted
        return estimate_rows(fit.model.fields, fit.params, *self._errors_and_intervals())

    def _errors_and_intervals(self) -> tuple[Parameters | None, Parameters | None]:
        if self._fitted.covariance is None:
            return None, None
        return self.std_errors_, self.confidence_interval()

    def _diagnostics(self) -> list[tuple[str, str]]:
        """What to judge the fit by, in words."""
        fit = self._fitted
        found = []
        outside = mass_outside(fit.model, fit.params, fit.kept.region)
        if outside is not None and fit.undetermined is None:
            found.append(
                (
                    "mass outside",
                    f"{100.0 * outside:{'.0f' if outside > 0.995 else '.2g'}} % of the fitted distribution",
                )
            )
        goodness = self.goodness_of_fit_
        if goodness is not None:
            found.append(
                (
                    "goodness of fit",
                    f"χ² = {goodness.statistic:.3g} on {goodness.df} df, {readable_p(goodness.p_value)}",
                )
            )
        return found


def check_model(model: Any) -> Model:
    """Return the model or say what is wanted."""
    if not isinstance(model, Model):
        raise InvalidTypeError(
            f"model must be a model such as VonMisesFisher(); got {type(model).__name__}"
            + (". Call the class to make one." if isinstance(model, type) else ".")
        )
    return model


def check_region(model: Model, region: Any, log_exposure: Any) -> None:
    """Raise unless the region is one, of the model's manifold, and the exposure a function."""
    if not isinstance(region, Region):
        raise InvalidTypeError(
            f"region must be a region such as Cap(center, radius), or Everywhere(manifold); "
            f"got {type(region).__name__}."
        )
    model.check_manifold(region.manifold)
    if log_exposure is not None and not callable(log_exposure):
        raise InvalidTypeError("log_exposure must be a function of X that returns (value, gradient).")


def require_rows(n: int, constraint: Constraint) -> None:
    """Raise where there are fewer rows than parameters."""
    if n < constraint.n_free:
        raise EstimationError(
            f"{n} row{'s' * (n != 1)} cannot determine {constraint.n_free} parameters; "
            "use more rows, or fix what is known."
        )


def _refit(
    estimator: Estimator, X: FloatArray, weight: FloatArray | None, groups: Groups | None, seed: int
) -> Parameters | None:
    """The estimate from rows, or whole groups of them, drawn with replacement; None if they carry none."""
    rng = np.random.default_rng(int(seed))
    drawn = None
    if groups is None:
        chosen = rng.integers(len(X), size=len(X))
    else:
        chosen, drawn = groups.resample(rng)
    try:
        return estimator._fit_chosen(X, weight, chosen, drawn).params_
    except EstimationError:
        return None


def _few_rows(fit: Fit) -> list[str]:
    """A sentence if there are few rows, or few that count."""
    k, n = fit.model.constraint(fit.embedding_dim).n_free, fit.n_samples
    if n < _FEW_ROWS * k:
        rows = "1 row is" if n == 1 else f"{n:,} rows are"
        return [f"{rows} few for {k} parameters: take the errors for a rough guide."]
    counted = n if fit.n_groups is not None else fit.kept.effective_number / fit.kept_share
    if counted < _FEW_ROWS * k:
        return [
            f"By their weights {n:,} rows count like {counted:,.0f}, which is few for {k} parameters: take the errors "
            "for a rough guide."
        ]
    return []


def _few_groups(count: int, effective: float, n_free: int) -> list[str]:
    """A sentence if there are few groups, or few that matter."""
    if count <= n_free:
        return [
            f"{count} groups cannot tell the errors of {n_free} parameters: some are taken for zero. Do not use "
            "these errors."
        ]
    if effective >= _FEW_GROUPS:
        return []
    if not _unequal(count, effective):
        return [f"{count} groups are few: the errors may be too small."]
    return [f"{count:,} groups are so unequal that they count like {effective:.0f}: take the errors for a rough guide."]


def _unequal(count: int, effective: float) -> bool:
    return effective < min(0.95 * count, count - 0.5)
