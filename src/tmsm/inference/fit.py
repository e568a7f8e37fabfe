"""What a fit found, in one immutable record, and how sure it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from tmsm.data.covariates import Covariates, read_columns
from tmsm.data.groups import Groups
from tmsm.data.rows import Block, Rows
from tmsm.foundation.arrays import FloatArray
from tmsm.foundation.errors import InvalidInputError, NotFittedError
from tmsm.foundation.shared import Shelf
from tmsm.inference.confidence_regions import ConfidenceRegion
from tmsm.inference.covariate_tests import CovariateTests, covariate_tests
from tmsm.inference.criterion import Criterion, information_criterion
from tmsm.inference.delta import check_level, confidence_interval, critical_square, standard_errors
from tmsm.inference.discrepancy import Discrepancy, LikelihoodDiscrepancy, QuadraticDiscrepancy, tangent_projection
from tmsm.inference.goodness import GoodnessOfFit, over_identification
from tmsm.inference.influence import GroupErrors, Influence, group_errors
from tmsm.inference.profile import profile_interval
from tmsm.inference.regression import Regression
from tmsm.manifolds.frames import PLAIN, Frame
from tmsm.matching.covariates import row_thetas
from tmsm.matching.exposure import KnownExposure
from tmsm.matching.moments import Moments, StatisticSums
from tmsm.matching.node_likelihood import NodeLikelihood
from tmsm.matching.pilot import OnePass
from tmsm.models.base import Model
from tmsm.models.parameters import Field, Parameters
from tmsm.models.readings import Reading
from tmsm.numerics.newton import Objective
from tmsm.regions import Region
from tmsm.weights.policies import Choice

__all__ = ["Fit", "Fitted", "Method"]

Method = Literal["profile", "wald"]
T = TypeVar("T")

# Where the delta method's reach differs by more than this factor from the profile's, its ellipse is not local.
_LOCAL = 1.25
_LOWEST = "The data do not determine a centre: the density is lowest among the rows and rises away from them."
# A share is next to its limit if it stands for so few rows, or for so few of its errors.
_LIMIT_ROWS, _LIMIT_ERRORS = 10.0, 4.0
# So many intervals and regions, of different levels and kinds, are kept.
_KEPT = 32


class Fitted(ABC):
    """Whatever holds a fit: estimators after `fit`."""

    @property
    @abstractmethod
    def result_(self) -> Fit:
        """The fit; an error where there is none yet."""


@dataclass(frozen=True)
class Fit:
    """Everything a fit found; estimators show it under names that end in an underscore.

    Attributes
    ----------
    estimator, configuration
        The class that made it, and the arguments of its constructor at that time.
    model
        The family in the form that was computed with, which may be a `centred` one of the user's.
    region
        Where the rows could be seen.
    theta, covariance, params
        θ̂, shape (p,), its covariance (p, p) or None, and the estimate by name.
    influence
        What one row does to θ̂, and with it the equations that θ̂ solves.
    status
        How the estimate was found.
    kept, kept_share
        At most 65,536 of the rows, by which the estimate can be judged later, and their share of all.
    n_samples, n_outside, n_groups
        Rows that were used, rows outside the region that were dropped, and groups that rows come in.
    complete
        Whether the rows are those of one call; a stream cannot read them again.
    error_df
        Degrees of freedom of the covariance; None stands for normal quantiles.
    slope
        The derivative of the equations that the estimate solves, (p, p) or (k, p).
    likelihood
        The mean of −log p over the rows as a function of θ, up to a constant, where the estimate is its minimum.
    nodes, log_likelihood, sums
        What stands for the region in a likelihood, the mean log density of the rows, and the sums of their statistics.
    choice, objective, moments
        Of score matching: the weights, J(θ̂), and the sums of a single weight, or of a stream.
    one_pass
        Of a stream: what it keeps beside the sums, to go on.
    regression
        The coefficients of a fit with covariates; θ and all that follows from it are then those at their mean.
    facts
        Names and words for a summary.
    shown_in
        The frame to write and to draw in; None for that of the rows.
    method
        The kind of weight, and whether the likelihood was used as well.
    exposure
        The known exposure as it was checked; None where there is none.
    """

    estimator: str
    configuration: Mapping[str, Any]
    model: Model
    region: Region
    theta: FloatArray
    covariance: FloatArray | None
    params: Parameters
    influence: Influence
    status: str
    kept: Rows
    kept_share: float
    n_samples: int
    n_outside: int = 0
    n_groups: int | None = None
    complete: bool = True
    error_df: float | None = None
    slope: FloatArray | None = None
    likelihood: Objective | None = None
    nodes: NodeLikelihood | None = None
    log_likelihood: float = float("nan")
    sums: StatisticSums | None = None
    choice: Choice | None = None
    objective: float | None = None
    moments: Moments | None = None
    one_pass: OnePass | None = None
    method: str = ""
    exposure: KnownExposure | None = None
    regression: Regression | None = None
    facts: tuple[tuple[str, str], ...] = ()
    shown_in: Frame | None = None
    _shelf: Shelf = field(default_factory=Shelf, init=False, compare=False, repr=False)

    @property
    def title(self) -> str:
        """Who fitted what."""
        with_what = "" if self.regression is None else f" with {', '.join(self.regression.names)}"
        return f"{self.estimator}: {self.configuration['model']!r}{with_what}"

    @property
    def frame(self) -> Frame:
        """What directions on S² stand for, to write and to draw them: that of the rows, or another."""
        return self.kept.frame if self.shown_in is None else self.shown_in

    def in_frame(self, frame: Frame | None) -> Fit:
        """The same fit, to be written and drawn in a frame; None leaves it as it is."""
        if frame is None or frame == self.frame:
            return self
        if PLAIN not in (frame, self.frame):
            raise InvalidInputError(
                f"The points are of {self.frame.title}, and cannot be shown as those of {frame.title}: leave out frame."
            )
        shown = copy(self)  # with all that was computed: nothing of it depends on the frame
        object.__setattr__(shown, "shown_in", frame)
        return shown

    @property
    def groups(self) -> Groups | None:
        """Which group each of the kept rows belongs to; None where they stand alone."""
        return self.kept.groups

    @property
    def centre(self) -> Field | None:
        """The parameter that says where the density is highest, where the family has one."""
        return self.model.centre_field

    @cached_property
    def centre_point(self) -> FloatArray | None:
        """Where the density is highest, shape (D,): of an axis the end that is nearer to the rows.

        None where the family has no centre, or the rows do not say where it is.
        """
        one = self.centre
        if one is None:
            return self.model.centre_of(self.params)
        if self.undetermined is not None:
            return None
        point = np.asarray(self.params[one.name], dtype=np.float64)
        away = one.is_axis and float(self.kept.sample().X.mean(axis=0) @ point) < 0.0
        return -point if away else point

    @property
    def known_covariance(self) -> FloatArray:
        """The covariance, or an error that says why there is none."""
        if self.covariance is None:
            raise NotFittedError(
                "This fit has no standard errors: it was asked not to compute them, or it came from "
                "partial_fit with more statistics than their one-pass moments allow, or from sums that fit made. "
                "Use fit with standard_errors=True."
            )
        return self.covariance

    @property
    def n_free(self) -> int:
        """Number of parameters that were estimated, all coefficients of covariates included."""
        return self.influence.equations.constraint.n_free

    @property
    def whole_theta(self) -> FloatArray:
        """All that was estimated: θ̂, or the coefficients of covariates, row after row."""
        return self.theta if self.regression is None else self.regression.B.ravel()

    @property
    def whole_covariance(self) -> FloatArray | None:
        """Its covariance."""
        return self.covariance if self.regression is None else self.regression.covariance

    def with_covariance(self, covariance: FloatArray) -> Fit:
        """The same fit with another covariance of all that was estimated."""
        if self.regression is None:
            return replace(self, covariance=covariance)
        regression = self.regression.with_covariance(covariance)
        return replace(self, regression=regression, covariance=regression.theta_covariance(regression.at_mean))

    @property
    def with_coefficients(self) -> Regression:
        """The coefficients of covariates; an error where the fit was made without."""
        if self.regression is None:
            raise InvalidInputError("This fit was made without covariates: use fit(X, covariates=Z).")
        return self.regression

    @cached_property
    def covariate_tests(self) -> CovariateTests:
        """Whether the density depends on the covariates, and whether its centre moves with them."""
        regression = self.with_coefficients
        return covariate_tests(regression, self.influence, self.kept, self.kept_share, self.error_df)

    @property
    def natural_params(self) -> FloatArray:
        """θ̂ of the family as it was written, shape (p,)."""
        return self.model.to_original() @ self.theta

    @property
    def natural_covariance(self) -> FloatArray:
        """Its covariance, shape (p, p)."""
        back = self.model.to_original()
        return back @ self.known_covariance @ back.T

    @property
    def std_errors(self) -> Parameters:
        """Standard errors by name."""
        return standard_errors(self.model, self.theta, self.known_covariance)

    def reading_error(self, reading: Reading) -> float:
        """Standard error of an angle that is read off the parameters, by the delta method."""
        jacobian = self.model.parameter_jacobian(self.theta)
        slope = np.zeros(self.theta.size)
        for name, by_parameter in reading.slopes.items():
            slope += by_parameter @ jacobian[name]
        return float(np.sqrt(max(float(slope @ self.known_covariance @ slope), 0.0)))

    @cached_property
    def goodness_of_fit(self) -> GoodnessOfFit | None:
        """Whether the rows could come from the model; None where there are too few."""
        if not self.model.has_second_derivatives:
            return None
        standard = None if self.regression is None else self.regression.standard
        solved = self.influence.equations
        return over_identification(self.model, self.kept, self.whole_theta, self.exposure, standard, solved)

    @cached_property
    def criterion(self) -> Criterion:
        """An estimate of J on new rows."""
        if not self.complete:
            raise InvalidInputError(
                "A stream has no information criterion, for which fits of the same rows are compared: use fit."
            )
        standard = None if self.regression is None else self.regression.standard
        return information_criterion(
            self.model, self.kept, self.whole_theta, self.influence, self.exposure, self.kept_share, standard
        )

    @cached_property
    def schwarz(self) -> float:
        """−2 log L + k log n of a likelihood: lower is better; n is the effective number of rows.

        For dependent rows tr(n I Cov), I the information of one row, takes the place of k: what the rows of a group
        repeat would pay for parameters that follow single groups.
        """
        assert self.sums is not None, "the estimate is one of a likelihood"
        n, k = self.sums.effective_n, float(self.n_free)
        if self.n_groups is not None:
            one_row = -self.influence.matrix
            scale = np.sqrt(np.maximum(np.diag(one_row), 1e-300))
            unit = one_row / np.outer(scale, scale)
            spread = self.whole_covariance / np.outer(scale, scale)
            k = max(k, n * float(np.trace(np.linalg.pinv(unit, rcond=1e-12, hermitian=True) @ spread)))
        return -2.0 * n * self.log_likelihood + k * float(np.log(n))

    @cached_property
    def discrepancy(self) -> Discrepancy:
        """How badly another θ fits, in squared standard errors."""
        covariance = self.known_covariance
        tangent = self.model.constraint.tangent(self.theta)
        if self.likelihood is not None:
            return LikelihoodDiscrepancy.of(self.theta, covariance, tangent, self.likelihood)
        projection = None
        if self.slope is not None and tangent.shape[1] < len(tangent):
            inverse = None
            if not self.influence.equations.is_combined:
                inverse = -tangent.T @ self.influence.matrix @ tangent
            projection = tangent_projection(self.slope, tangent, inverse)
        return QuadraticDiscrepancy.of(self.theta, covariance, tangent, projection)

    def log_gradient(self, block: Block) -> tuple[FloatArray, FloatArray | None]:
        """∇ log p of rows at the estimate, (n, D), and of a fit with covariates ∂θ/∂B at each, (n, p, p (1 + q))."""
        X = np.ascontiguousarray(block.X)
        if self.regression is None or block.covariates is None:
            return self.model.log_gradient(X, self.theta), None
        design = self.regression.standard.design(block.covariates)
        thetas = row_thetas(self.regression.B, design, self.regression.radius)
        units = zip(thetas.T, np.eye(len(self.theta)), strict=True)
        psi = sum(along[:, None] * self.model.log_gradient(X, unit) for along, unit in units)
        return np.asarray(psi), self.regression.slopes(design)

    def confidence_region(self, name: str, level: float) -> ConfidenceRegion:
        """The confidence region of a centre; kept for the next time."""
        level = check_level(level)
        return self._kept(("region", name, level), lambda: self._region_of(name, level))

    def _region_of(self, name: str, level: float) -> ConfidenceRegion:
        one = next((field for field in self.model.fields if field.name == name), None)
        if one is None:
            names = [field.name for field in self.model.fields]
            raise InvalidInputError(f"This model has no parameter {name!r}; its parameters are {names}.")
        if not one.is_centre:
            raise InvalidInputError(
                f"There is a confidence region of the centre only, not of the {one.title}: "
                "confidence_interval() gives its interval."
            )
        return ConfidenceRegion.of(self.discrepancy, self.model, one, self.region.manifold, level, self.error_df)

    def intervals(self, level: float, method: Method | None) -> Parameters:
        """(low, high) of each field, of a direction how far its region reaches; kept for the next time."""
        level = check_level(level)
        return self._kept(("intervals", level, method), lambda: self._intervals_of(level, method))

    def _kept(self, key: Hashable, make: Callable[[], T]) -> T:
        return self._shelf.take(key, make, lambda _: 1, at_most=_KEPT, size_at_most=_KEPT)

    def _intervals_of(self, level: float, method: Method | None) -> Parameters:
        wald = confidence_interval(self.model, self.theta, self.known_covariance, level, self.error_df)
        if method == "wald":
            return wald
        return Parameters(**{one.name: self._profiled(one, level, wald, method) for one in self.model.fields})

    def _profiled(self, one: Field, level: float, wald: Parameters, method: Method | None) -> Any:
        """An interval by profiling; the delta method's where the family has no profile of the field."""
        if one.kind == "direction":
            if not one.is_centre or not self._has_region(one):
                return wald[one.name]
            if method is None and self.ellipse_is_local(one.name, level):
                return wald[one.name]
            return self.confidence_region(one.name, level).half_axes

        # Profiles of vectors and matrices of a mixture, entry by entry, take too long.
        of_component = one.component is not None and np.ndim(self.params[one.name]) > 0
        if method is None and (one.scale is not None or of_component) and not self._near_limit(one):
            return wald[one.name]

        def critical(k: int) -> float:
            return critical_square(k, level, self.error_df)

        found = profile_interval(self.discrepancy, self.model, one, critical)
        if found is None:
            return wald[one.name]
        return tuple(float(end) if np.ndim(end) == 0 else end for end in found)

    def _near_limit(self, one: Field) -> bool:
        """Whether a share is so close to zero or one, in rows or in errors, that its profile is one-sided."""
        if one.scale != "logit" or self.model.slice(one.name, self.params[one.name]) is None:
            return False
        value = float(self.params[one.name])
        rest = min(value, 1.0 - value)
        return rest * self.n_samples < _LIMIT_ROWS or rest < _LIMIT_ERRORS * float(self.std_errors[one.name])

    def ellipse_is_local(self, name: str, level: float) -> bool:
        """Whether the delta method's ellipse of a direction reaches about as far as its confidence region."""
        wald = np.asarray(self.intervals(level, "wald")[name])
        ratio = self.confidence_region(name, level).half_axes / np.maximum(wald, 1e-300)
        return bool((ratio < _LOCAL).all() and (ratio > 1.0 / _LOCAL).all())

    @property
    def heading(self) -> str:
        """The title, and after it what is to be known before any number is read."""
        undetermined = "The data do not determine a centre: see the status."
        return self.title if self.undetermined is None else f"{self.title}. {undetermined}"

    @property
    def ignores_truncation(self) -> bool:
        """Whether the estimator knows of no region, so that the rows may be those of one all the same."""
        return "region" not in self.configuration

    def same_rows(self, other: Fit) -> bool:
        """Whether another fit is of the same rows."""
        return self.n_samples == other.n_samples and self.kept.same_as(other.kept)

    def judged_like(self, other: Fit) -> Fit:
        """The same estimate, to be judged inside the region of another fit of the same rows."""
        return replace(self, region=other.region, kept=other.kept, exposure=other.exposure)

    def check_rows(self, rows: Rows) -> None:
        """Raise unless these are the rows that the estimate was made from."""
        rows.check_frame(self.kept.frame)
        n = sum(rows.map(lambda block: len(block.X)))
        if n == 0:
            raise InvalidInputError(rows.describe_absence())
        weighted = self.kept.source.weighted
        if rows.source.weighted != weighted:
            raise InvalidInputError(
                f"The fit was made {'with' if weighted else 'without'} sample_weight: give the same here."
            )
        if n != self.n_samples:
            raise InvalidInputError(
                f"X has {n:,} rows inside the region, and the fit was made from {self.n_samples:,}: "
                "the rows of the fit are needed. To work on a subset, fit the subset."
            )
        if self.complete and not rows.kept().same_as(self.kept):
            raise InvalidInputError("These are not the rows that the fit was made from, which are needed.")

    def with_groups(self, rows: Rows, groups: Any = None) -> Rows:
        """The rows of the fit, known to come in the groups of the fit, or else in those given.

        Raise where both are known and differ, or where the fit does not keep the groups of all of its rows.
        """
        if groups is not None:
            rows = rows.grouped(groups)
            given = rows.kept().groups
            if self.groups is not None and given is not None and not given.same_as(self.groups):
                raise InvalidInputError(
                    "groups puts other rows together than the groups that the fit was made with: "
                    "give the same, or none."
                )
        elif self.groups is not None:
            if self.kept_share < 1.0:
                raise InvalidInputError(
                    f"The fit was made with groups, and of its {self.n_samples:,} rows it keeps those of "
                    f"{len(self.kept):,} only: give groups= again."
                )
            return self.kept
        return rows

    def new_covariates(self, rows: Rows, covariates: Any) -> Rows:
        """Rows that the fit has not seen, with their covariates; an error where it needs them, or has none."""
        if self.regression is None:
            if covariates is not None:
                raise InvalidInputError("The fit was made without covariates: give none here.")
            return rows
        names = self.regression.names
        if covariates is None:
            raise InvalidInputError(f"The fit was made with the covariates {list(names)}: give covariates= here, too.")
        values, _ = read_columns(covariates, "covariates", names)
        return rows.with_covariates(replace(Covariates.of(values, len(rows)), names=names))

    def with_covariates(self, rows: Rows, covariates: Any = None) -> Rows:
        """The rows of the fit with the covariates of the fit, or with those given, which must be the same."""
        kept = self.kept.covariates
        if self.regression is None or kept is None or covariates is not None:
            rows = self.new_covariates(rows, covariates)
            given = rows.kept().covariates
            if given is not None and kept is not None and not given.same_as(kept):
                raise InvalidInputError("covariates has other values than the fit was made with: give the same.")
            return rows
        if self.kept_share < 1.0:
            raise InvalidInputError(
                f"The fit was made with covariates, and of its {self.n_samples:,} rows it keeps those of "
                f"{len(self.kept):,} only: give covariates= again."
            )
        return self.kept

    def clustered(self, rows: Rows) -> Fit:
        """The same estimate with its errors, and all that is judged by them later, from the groups of the rows."""
        if rows.groups is None:
            return self
        if self.covariance is None:
            return replace(self, kept=rows.kept())
        return self.with_group_errors(group_errors(self.influence, rows, self.n_free), rows.kept())

    def with_group_errors(self, found: GroupErrors, kept: Rows) -> Fit:
        """The same estimate with errors from groups, and rows in groups that it is judged by."""
        unequal = f", so unequal that they count like {found.effective:,.0f}" if found.unequal else ""
        fact = ("groups", f"{found.count:,}{unequal}; errors and tests allow for dependence within a group")
        return replace(
            self.with_covariance(found.covariance),
            kept=kept,
            n_groups=found.count,
            error_df=max(found.effective - 1.0, 1.0),
            facts=(*self.facts, fact),
        )

    def skewed(self, level: float = 0.95) -> str | None:
        """A sentence where the region of a direction is far from an ellipse round its estimate, else None."""
        one = self.centre
        if one is None or one.kind != "direction" or self.covariance is None or self.undetermined is not None:
            return None
        if not self._has_region(one) or self.ellipse_is_local(one.name, level):
            return None
        reach = self.frame.length(self.confidence_region(one.name, level).half_axes[0], digits=2)
        return (
            f"The error of the {one.title} is larger to one side: its {100 * level:g} % confidence "
            f"region reaches up to {reach} from the estimate."
        )

    @cached_property
    def undetermined(self) -> str | None:
        """A sentence where the rows determine no centre; None where they do, or the family has none."""
        one = self.centre
        if one is None:
            if any(not self.is_lowest(part) for part in self.component_centres) or not self.component_centres:
                return None
            return f"{_LOWEST} Every centre is more than a right angle away from every row."
        name = one.title
        if self.covariance is not None and self._may_be_flat(one):
            # Where something is known, no density of the family is flat.
            known = bool(np.linalg.norm(self.model.constraint.point(np.zeros_like(self.theta)).theta) > 0.0)
            flat = "" if known else "inside this region the density may be flat, and "
            remedies = ["a larger region"] if self.region.has_border else []
            remedies.append("more rows" if self.n_groups is None else "more groups")
            if one.kind == "direction" and not known:
                remedies.append("a known concentration")
            return (
                f"The data do not determine a centre: {flat}the rows reject no {name} at 95 %. Do not use the "
                f"estimated {name}. What helps: {', '.join(remedies)}."
            )
        if self.is_lowest(one):
            return f"{_LOWEST} The estimated {name} is more than a right angle away from every row."
        return None

    @property
    def component_centres(self) -> list[Field]:
        """The centres of the components of a mixture; empty where there are none."""
        return [one for one in self.model.fields if one.component is not None and one.is_factor_centre]

    def is_lowest(self, one: Field) -> bool:
        """Whether a mean direction is so far away that its density is lowest among the rows."""
        if one.kind != "direction" or one.is_axis or not (one.is_centre or one in self.component_centres):
            return False
        centre = np.asarray(self.params[one.name])
        if not self.region.has_border or len(centre) != self.region.manifold.embedding_dim:
            return False
        return bool((self.kept.sample().X @ centre).max() < 0.0)

    def _has_region(self, one: Field) -> bool:
        """Whether the family can say which θ have a given centre."""
        return self.model.slice(one.name, np.asarray(self.params[one.name], dtype=np.float64)) is not None

    def _may_be_flat(self, one: Field) -> bool:
        if not self._has_region(one):
            return False
        if one.kind == "direction":
            return self.confidence_region(one.name, 0.95).everywhere
        return not self.confidence_region(one.name, 0.95).bounded
